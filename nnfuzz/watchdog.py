"""A model that never comes back, in native code that heeds no signal, is ended from outside, its input kept.

Before every pass the run writes the inputs where a second, tiny process can read them. When a pass takes too long,
that process saves them, kills the run, and has the one input found that the model hangs on.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

HEAD = struct.Struct("=qd6q")  # running, since when, dimensions (at most 5, after their number)
POLL = 0.2  # seconds
FOLDER, BATCH = "hung", "batch.npz"


class Watchdog:
    """`guard` for a Target, while it is entered; without a run, nothing is saved."""

    def __init__(self, seconds: float, run: Path | None = None) -> None:
        self.seconds, self.run = seconds, run

    def __enter__(self) -> Watchdog:
        handle, path = tempfile.mkstemp(prefix="nnfuzz-")
        self._file = os.fdopen(handle, "w+b")
        self._room(0)
        run = [str(self.run)] if self.run else []
        command = python("nnfuzz.watchdog", str(os.getpid()), path, str(self.seconds), *run)
        self._other = subprocess.Popen(command, stdin=subprocess.PIPE)
        return self

    def _room(self, size: int) -> None:
        """uint8 inputs only: what a run executes are pixels."""
        self._file.truncate(HEAD.size + size)
        self._memory = mmap.mmap(self._file.fileno(), HEAD.size + size)

    @contextmanager
    def __call__(self, x: Tensor) -> Iterator[None]:
        pixels = x.numpy()
        if HEAD.size + pixels.nbytes > len(self._memory):
            self._room(pixels.nbytes)
        self._memory[HEAD.size : HEAD.size + pixels.nbytes] = pixels.tobytes()
        shape = (*pixels.shape, 0, 0, 0, 0)[:5]
        HEAD.pack_into(self._memory, 0, 1, time.monotonic(), pixels.ndim, *shape)
        try:
            yield
        finally:
            HEAD.pack_into(self._memory, 0, 0, 0.0, 0, 0, 0, 0, 0, 0)

    def __exit__(self, *_: object) -> None:
        assert self._other.stdin
        self._other.stdin.close()
        self._other.wait()
        self._memory.close()
        self._file.close()


def python(module: str, *args: str) -> list[str]:
    """A command that runs a module where this process finds it. With -m Python would look into the working folder
    first, and a folder with other people's files may hold a select.py."""
    path = [place for place in sys.path if place]
    run = f"import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    start = f"import sys; sys.path[:] = {path!r}; {run}"
    return [sys.executable, "-c", start, *args]


def in_flight(path: Path, patience: float) -> np.ndarray | None:
    """The inputs of a pass that takes longer than that."""
    import numpy as np

    try:
        with path.open("rb") as file:
            running, since, count, *shape = HEAD.unpack(file.read(HEAD.size))
            if not running or time.monotonic() - since < patience:
                return None
            shape = shape[:count]
            return np.frombuffer(file.read(int(np.prod(shape))), dtype=np.uint8).reshape(shape)
    except (OSError, struct.error, ValueError):  # just being made anew
        return None


def watch(process: int, memory: Path, patience: float, run: Path | None) -> None:
    """Until the run closes our standard input, by ending in whatever way."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run
    try:
        while not select.select([sys.stdin], [], [], POLL)[0]:
            inputs = in_flight(memory, patience)
            if inputs is not None:
                end(process, patience, inputs, run)
                return
    finally:
        memory.unlink()


def end(process: int, patience: float, inputs: np.ndarray, run: Path | None) -> None:
    """Save first, then find out which one it was, then kill: when the run has ended, its input is there."""
    late = f"nnfuzz: the model did not come back within {patience:g} s"
    if run is None:
        os.kill(process, signal.SIGKILL)
        print(f"{late}; it was ended", file=sys.stderr)
        return
    kept = save(run, inputs)
    if len(inputs) > 1:
        print(f"{late}; looking for the input", file=sys.stderr)
        subprocess.run(python("nnfuzz.hunting.isolate", str(run)), stdin=subprocess.DEVNULL)
        if kept.exists():  # none of them alone: all stay out from now on
            kept = kept.rename(kept.with_name(f"{len(list(kept.parent.iterdir())):02d}.npz"))
        os.kill(process, signal.SIGKILL)
        return
    os.kill(process, signal.SIGKILL)
    print(
        f"{late} from the input in {kept}; it was ended, what was found before is kept, and nnfuzz resume {run} goes on"
        " without that input",
        file=sys.stderr,
    )


def save(run: Path, inputs: np.ndarray) -> Path:
    """A batch under one name, to be looked into; a single input under its number."""
    import numpy as np

    folder = run / FOLDER
    folder.mkdir(exist_ok=True)
    path = folder / (BATCH if len(inputs) > 1 else f"{len(list(folder.glob('[0-9]*.npz'))):02d}.npz")
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(file, x=inputs)
    os.replace(part, path)
    if len(inputs) == 1:
        (folder / BATCH).unlink(missing_ok=True)
    return path


if __name__ == "__main__":
    watch(int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]) if len(sys.argv) > 4 else None)
