"""Where data lies, and how a missing official file gets there: checked first, then moved into place."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tarfile
import tempfile
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.error import URLError

from nnfuzz.errors import NnfuzzError

LARGEST = 1 << 30  # bytes; a mirror that sends more than this is not sending what was asked for


@dataclass(frozen=True)
class Source:
    """One official file. The digests are the ones their publishers print, which is why they are MD5."""

    url: str
    md5: str
    unpack: tuple[str, ...] = ()  # members to take out of a .tar.gz; none = the file is used as it is


MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
FASHION = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
SVHN = "https://ufldl.stanford.edu/housenumbers/"
CIFAR = tuple(f"cifar-10-batches-bin/{part}.bin" for part in [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"])

SOURCES: dict[str, Source] = {
    "mnist/train-images-idx3-ubyte.gz": Source(
        MNIST + "train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"
    ),
    "mnist/train-labels-idx1-ubyte.gz": Source(
        MNIST + "train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"
    ),
    "mnist/t10k-images-idx3-ubyte.gz": Source(MNIST + "t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
    "mnist/t10k-labels-idx1-ubyte.gz": Source(MNIST + "t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    "fashion-mnist/train-images-idx3-ubyte.gz": Source(
        FASHION + "train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"
    ),
    "fashion-mnist/train-labels-idx1-ubyte.gz": Source(
        FASHION + "train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"
    ),
    "fashion-mnist/t10k-images-idx3-ubyte.gz": Source(
        FASHION + "t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"
    ),
    "fashion-mnist/t10k-labels-idx1-ubyte.gz": Source(
        FASHION + "t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"
    ),
    "svhn/train_32x32.mat": Source(SVHN + "train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373"),
    "svhn/test_32x32.mat": Source(SVHN + "test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3"),
    **dict.fromkeys(
        (f"cifar10/{part}" for part in CIFAR),
        Source("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530", CIFAR),
    ),
}


def folder() -> Path:
    """Where data sets and weights lie: $NNFUZZ_DATA, else ~/.cache/nnfuzz."""
    chosen = os.environ.get("NNFUZZ_DATA")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "nnfuzz"


def need(name: str, files: Sequence[str]) -> list[Path]:
    """The paths of a data set's files, fetched first if they are not there."""
    home = folder() / name
    missing = [f for f in files if not _there(home / f)]
    if missing:
        sources = dict.fromkeys(SOURCES[f"{name}/{f}"] for f in missing)
        print(f"nnfuzz: fetching {name} from {', '.join(s.url for s in sources)} into {home}", file=sys.stderr)
        for source in sources:
            _fetch(source, home)
    return [path if (path := home / f).is_file() else path.with_suffix("") for f in files]


def _there(path: Path) -> bool:
    return path.is_file() or (path.suffix == ".gz" and path.with_suffix("").is_file())


def _fetch(source: Source, home: Path) -> None:
    """Whole files or nothing: an interrupted download leaves no trace under a name that is read later."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent, prefix=".fetch-") as temporary:
            part = Path(temporary) / source.url.rsplit("/", 1)[1]
            with urllib.request.urlopen(source.url, timeout=60) as answer, part.open("wb") as file:
                found = _copy(answer, file)
            if found != source.md5:
                raise NnfuzzError(
                    f"{source.url}: expected a file with MD5 {source.md5} and came one with {found}; try again "
                    f"later, or put the official file into {home}"
                )
            for name, path in _members(source, part):
                (home / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, home / name)
    except (OSError, URLError, tarfile.TarError, EOFError) as error:
        raise NnfuzzError(
            f"{source.url}: expected to fetch this file and came {type(error).__name__} ({error}); put "
            f"{', '.join(source.unpack) or source.url.rsplit('/', 1)[1]} into {home} yourself, or set NNFUZZ_DATA "
            "to a folder that has it"
        ) from error


def _copy(answer: IO[bytes], file: IO[bytes]) -> str:
    md5, size = hashlib.md5(usedforsecurity=False), 0
    while block := answer.read(1 << 20):
        size += len(block)
        if size > LARGEST:
            raise OSError(f"more than {LARGEST >> 20} MiB sent")
        md5.update(block)
        file.write(block)
    return md5.hexdigest()


def _members(source: Source, part: Path) -> list[tuple[str, Path]]:
    if not source.unpack:
        return [(part.name, part)]
    taken = []
    with tarfile.open(part) as archive:
        for number, name in enumerate(source.unpack):
            inside = archive.extractfile(archive.getmember(name)) if name in archive.getnames() else None
            if inside is None:
                raise tarfile.TarError(f"no {name} in the archive")
            path = part.with_name(str(number))
            with inside, path.open("wb") as file:
                shutil.copyfileobj(inside, file)
            taken.append((name, path))
    return taken
