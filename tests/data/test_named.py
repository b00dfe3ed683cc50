"""The official file formats, on files made here."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from nnfuzz import data
from nnfuzz.errors import NnfuzzError


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


def write_mnist(folder: Path, x: np.ndarray, y: np.ndarray, part: str = "t10k", packed: bool = True) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for kind, array in (("images-idx3", x), ("labels-idx1", y)):
        path = folder / f"{part}-{kind}-ubyte{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(idx(array)) if packed else idx(array))


@pytest.fixture
def pixels() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (5, 28, 28), np.uint8)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_idx_files_are_read(home: Path, pixels: np.ndarray, name: str, packed: bool) -> None:
    write_mnist(home / name, pixels, np.arange(5, dtype=np.uint8), packed=packed)
    images = data.load(name)
    assert images.x.dtype == torch.uint8
    assert images.x.shape == (5, 1, 28, 28)
    assert (images.x[:, 0].numpy() == pixels).all()
    assert images.label.tolist() == [0, 1, 2, 3, 4]
    assert len(images.classes) == 10
    assert images.name == name


def test_the_split_can_be_part_of_the_name(home: Path, pixels: np.ndarray) -> None:
    write_mnist(home / "mnist", pixels, np.zeros(5, np.uint8), "train")
    assert len(data.load("mnist:train")) == 5
    assert len(data.load("mnist:train", "test")) == 5
    assert data.has_split("mnist", "train")
    assert data.has_split("mnist:train", "train")
    assert not data.has_split("mnist:train", "test")
    with pytest.raises(NnfuzzError, match="mnist:train or mnist:test"):
        data.load("mnist:valid")
    with pytest.raises(NnfuzzError, match="split train or test"):
        data.load("mnist", "valid")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"rubbish",
        gzip.compress(b"\0\0\x08\x03"),
        gzip.compress(idx(np.random.default_rng(0).integers(0, 256, (5, 9, 9), np.uint8)))[:99],
    ],
    ids=["empty", "rubbish", "short header", "cut off"],
)
def test_a_damaged_file_is_one_sentence(home: Path, pixels: np.ndarray, content: bytes) -> None:
    write_mnist(home / "mnist", pixels, np.zeros(5, np.uint8))
    (home / "mnist" / "t10k-images-idx3-ubyte.gz").write_bytes(content)
    with pytest.raises(NnfuzzError, match=r"t10k-images.*expected.*delete"):
        data.load("mnist")


def test_a_header_that_promises_too_much_is_refused_before_reading(home: Path, pixels: np.ndarray) -> None:
    write_mnist(home / "mnist", pixels, np.zeros(5, np.uint8))
    huge = struct.pack(">4I", 0x803, 2**31, 2**15, 2**15)
    (home / "mnist" / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(huge))
    with pytest.raises(NnfuzzError, match="at most 8 GiB"):
        data.load("mnist")


def test_as_many_labels_as_images(home: Path, pixels: np.ndarray) -> None:
    write_mnist(home / "mnist", pixels, np.zeros(4, np.uint8))
    with pytest.raises(NnfuzzError, match="one label for each of 5 images and came 4"):
        data.load("mnist")


def test_a_label_without_a_class_is_refused(home: Path, pixels: np.ndarray) -> None:
    write_mnist(home / "mnist", pixels, np.array([0, 1, 2, 10, 3], np.uint8))
    with pytest.raises(NnfuzzError, match="row 3 has 10"):
        data.load("mnist")


def test_cifar10_records(home: Path) -> None:
    folder = home / "cifar10" / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    record = np.arange(3073 * 2, dtype=np.int64).astype(np.uint8).reshape(2, 3073)
    record[:, 0] = [3, 9]
    record.tofile(folder / "test_batch.bin")
    images = data.load("cifar10")
    assert images.x.shape == (2, 3, 32, 32)
    assert images.x[1, 0, 0, 0] == record[1, 1]
    assert images.x[1, 2, 31, 31] == record[1, -1]
    assert [images.classes[i] for i in images.label] == ["cat", "truck"]
    (folder / "test_batch.bin").write_bytes(b"\0" * 3074)
    with pytest.raises(NnfuzzError, match="records of 3073 bytes"):
        data.load("cifar10")


def test_svhn_calls_the_digit_0_class_10(home: Path) -> None:
    from scipy.io import savemat

    (home / "svhn").mkdir(parents=True)
    x = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 2), np.uint8)
    savemat(home / "svhn" / "test_32x32.mat", {"X": x, "y": np.array([[10], [3]], np.uint8)})
    images = data.load("svhn")
    assert images.label.tolist() == [0, 3]
    assert (images.x[1].permute(1, 2, 0).numpy() == x[..., 1]).all()
    (home / "svhn" / "test_32x32.mat").write_bytes(b"no matlab")
    with pytest.raises(NnfuzzError, match="MATLAB file"):
        data.load("svhn")


def test_digits_need_no_file(home: Path) -> None:
    train, test = data.load("digits:train"), data.load("digits")
    assert train.x.shape == (1437, 1, 8, 8)
    assert test.x.shape == (360, 1, 8, 8)
    assert int(test.x.max()) == 255
    assert set(test.label.tolist()) == set(range(10))
    assert data.digest(test) == data.digest(data.load("digits:test"))
    assert data.digest(test) != data.digest(train)


def test_a_named_set_is_resized_when_asked(home: Path, pixels: np.ndarray) -> None:
    write_mnist(home / "mnist", pixels, np.zeros(5, np.uint8))
    assert data.load("mnist", size=(14, 20)).x.shape == (5, 1, 14, 20)
    assert (data.load("mnist", size=(28, 28)).x == data.load("mnist").x).all()
    with pytest.raises(NnfuzzError, match="height and width"):
        data.load("mnist", size=(0, 3))


def test_the_digest_sees_pixels_labels_and_shape(home: Path) -> None:
    x, label = torch.zeros(2, 1, 2, 2, dtype=torch.uint8), torch.zeros(2, dtype=torch.int64)
    same = data.Images(x, label, ("a",), "one")
    digests = {
        data.digest(same),
        data.digest(data.Images(x + 1, label, ("a",), "one")),
        data.digest(data.Images(x, label - 1, ("a",), "one")),
        data.digest(data.Images(x.reshape(2, 1, 4, 1), label, ("a",), "one")),
    }
    assert len(digests) == 4
    assert data.digest(data.Images(x, label, ("b",), "two", ("f", "g"))) == data.digest(same)


@pytest.mark.parametrize("spec", ["nist", "no/such/folder", "", "mnist2:train", "a\0b"])
def test_an_unknown_name_lists_what_there_is(home: Path, spec: str) -> None:
    with pytest.raises(NnfuzzError, match=r"mnist, fashion-mnist, cifar10, svhn, digits, digits28"):
        data.load(spec)
