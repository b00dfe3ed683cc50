"""Small files that claim to be huge are refused at once, and little memory is taken for them."""

from __future__ import annotations

import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from nnfuzz import data, models
from nnfuzz.errors import NnfuzzError
from nnfuzz.store import inputs

CHEAP = 64 << 10  # KiB that a refusal may take at most
QUICK = 5.0  # seconds, on a busy machine

Attack = Callable[[Path], object]


def png(path: Path, width: int, height: int, pixels: bytes = b"") -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(pixels, 9)))


def claim(path: Path, shape: str, name: str = "x.npy", kind: str = "|u1", body: bytes = b"") -> None:
    """An array of this shape, by its header."""
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(name, b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + body)


def data_npz(folder: Path) -> object:
    claim(folder / "a.npz", "(9999999999, 28, 28)")
    return data.load(str(folder / "a.npz"))


def data_npz_unfolding(folder: Path) -> object:
    file = zipfile.ZipFile(folder / "a.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with file, file.open("x.npy", "w") as member:
        head = b"{'descr': '|u1', 'fortran_order': False, 'shape': (384, 1024, 1024)}\n"
        member.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        for _ in range(384):
            member.write(bytes(1 << 20))
    assert (folder / "a.npz").stat().st_size < 4 << 20
    return data.load(str(folder / "a.npz"))


def picture_claims(folder: Path) -> object:
    png(folder / "0_a.png", 60_000, 60_000)
    return data.load(str(folder))


def pictures_claim_together(folder: Path) -> object:
    for number in range(110):
        png(folder / f"{number}_a.png", 9_000, 9_000)
    return data.load(str(folder))


def finding_png(folder: Path) -> object:
    png(folder / "findings" / "000000-misclassified.png", 60_000, 60_000)
    return inputs.load(folder, "findings/000000-misclassified.png")


def finding_npz(folder: Path) -> object:
    (folder / "findings").mkdir()
    claim(folder / "findings" / "000000-misclassified.npz", "(99999, 99999, 99)")
    return inputs.load(folder, "findings/000000-misclassified.npz")


def finding_npz_with_two_faces(folder: Path) -> object:
    """numpy.load prefers the member x, whose header was not looked at."""
    (folder / "findings").mkdir()
    file = folder / "findings" / "000000-misclassified.npz"
    claim(file, "(1, 1, 1)", "x.npy", body=b"\0")
    claim(file, "(4, 99999, 99999)", "x")
    if inputs.load(folder, "findings/000000-misclassified.npz").shape == (1, 1, 1):
        raise NnfuzzError("it took the small one, which is fine")
    return None


def weights_of_one_number(folder: Path) -> object:
    """A step of 0: a billion classes in a file of some kilobytes."""
    state = dict(models.build("lenet5").net.state_dict())
    *_, weight, bias = state
    state |= {weight: torch.zeros(1).expand(10**9, 84), bias: torch.zeros(1).expand(10**9)}
    torch.save(state, folder / "a.pt")
    return models.load(f"lenet5@{folder / 'a.pt'}")


def weights_without_storage(folder: Path) -> object:
    state = dict(models.build("lenet5").net.state_dict())
    *_, weight, bias = state
    state |= {weight: torch.empty(10**9, 84, device="meta"), bias: torch.empty(10**9, device="meta")}
    torch.save(state, folder / "a.pt")
    return models.load(f"lenet5@{folder / 'a.pt'}")


def weights_that_unfold(folder: Path) -> object:
    torch.save({"a": torch.zeros(1 << 24)}, folder / "big.pt")
    with zipfile.ZipFile(folder / "big.pt") as big, zipfile.ZipFile(folder / "a.pt", "w", zipfile.ZIP_DEFLATED) as out:
        for member in big.infolist():
            out.writestr(member.filename, big.read(member))
    return models.load(f"lenet5@{folder / 'a.pt'}")


def safetensors_claims(folder: Path) -> object:
    head = b'{"a":{"dtype":"F32","shape":[99999,99999],"data_offsets":[0,39999200004]}}'
    (folder / "a.safetensors").write_bytes(struct.pack("<Q", len(head)) + head)
    return models.load(f"lenet5@{folder / 'a.safetensors'}")


def metadata_claims(folder: Path) -> object:
    save_file(models.build("lenet5").net.state_dict(), folder / "a.safetensors", {"input": "1x99999x99999 pixels/255"})
    return models.load(f"lenet5@{folder / 'a.safetensors'}")


def metadata_without_end(folder: Path) -> object:
    size = "9" * 5000
    save_file({"a": torch.zeros(1)}, folder / "a.safetensors", {"input": f"1x28x{size} pixels/255"})
    return models.load(f"lenet5@{folder / 'a.safetensors'}")


def idx_claims(folder: Path) -> object:
    import gzip

    from nnfuzz.data.named import _idx

    path = folder / "images.gz"
    path.write_bytes(gzip.compress(struct.pack(">4I", 0x803, 2**31, 2**15, 2**15)))
    return _idx(path, 3)


ATTACKS: tuple[Attack, ...] = (
    data_npz, data_npz_unfolding, picture_claims, pictures_claim_together, finding_png, finding_npz,
    finding_npz_with_two_faces, weights_of_one_number, weights_without_storage, weights_that_unfold,
    safetensors_claims, metadata_claims, metadata_without_end, idx_claims,
)  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_refused(tmp_path: Path, attack: Attack) -> None:
    with pytest.raises(NnfuzzError):
        attack(tmp_path)


MEASURE = """
import resource, sys, time
from pathlib import Path
from tests.attacks import test_bombs
from nnfuzz.errors import NnfuzzError
folder = Path(sys.argv[1])
for attack in test_bombs.ATTACKS:
    if attack is test_bombs.weights_that_unfold: continue  # making it takes memory
    (folder / attack.__name__).mkdir()
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    try: attack(folder / attack.__name__)
    except NnfuzzError: pass
    took = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(attack.__name__, round(time.monotonic() - started, 2), took)
"""


@pytest.mark.slow  # a whole Python starts, whose memory is all theirs
def test_quickly_and_with_little_memory(tmp_path: Path) -> None:
    """In a process of its own, since the most that one ever took does not go down again."""
    command = [sys.executable, "-c", "import PIL.PngImagePlugin, safetensors.torch, nnfuzz.models" + MEASURE]
    said = subprocess.run([*command, str(tmp_path)], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in said.splitlines()]
    assert len(rows) == len(ATTACKS) - 1
    for name, seconds, memory in rows:
        assert int(memory) < CHEAP, f"{name} took {int(memory) >> 10} MiB"
        assert float(seconds) < QUICK, f"{name} took {seconds} s"


def test_a_finding_may_be_as_large_as_findings_are(tmp_path: Path) -> None:
    x = torch.randint(256, (2, 30, 40), dtype=torch.uint8)
    (tmp_path / "findings").mkdir()
    inputs.save(x, tmp_path / "findings" / "000000-changed.npz")
    assert torch.equal(inputs.load(tmp_path, "findings/000000-changed.npz"), x)


def test_dense_but_honest_arrays_are_read(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros((2000, 28, 28), np.uint8))
    assert len(data.load(str(tmp_path / "a.npz"))) == 2000
