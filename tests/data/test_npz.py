"""Arrays in .npz files: shapes, types, and what must never be run."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from nnfuzz import data
from nnfuzz.errors import NnfuzzError

PIXELS = np.random.default_rng(0).integers(0, 256, (4, 6, 5, 3), np.uint8)


class Payload:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("keys", [("x", "y"), ("images", "labels")])
@pytest.mark.parametrize("planes", [False, True])
def test_images_and_labels(tmp_path: Path, keys: tuple[str, str], planes: bool) -> None:
    array = PIXELS.transpose(0, 3, 1, 2) if planes else PIXELS
    np.savez_compressed(tmp_path / "a.npz", **{keys[0]: array, keys[1]: np.array([[0], [3], [-1], [2]])})
    images = data.load(str(tmp_path / "a.npz"))
    assert (images.x.permute(0, 2, 3, 1).numpy() == PIXELS).all()
    assert images.x.is_contiguous()
    assert images.label.tolist() == [0, 3, -1, 2]
    assert images.classes == ("0", "1", "2", "3")
    assert images.name == "a"


def test_grey_without_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=PIXELS[..., 0])
    images = data.load(str(tmp_path / "a.npz"))
    assert images.x.shape == (4, 1, 6, 5)
    assert images.label.tolist() == [-1] * 4


def test_splits_as_keras_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x_train=PIXELS, y_train=np.zeros(4), x_test=PIXELS[:1], y_test=np.zeros(1))
    assert data.has_split(str(path), "train")
    assert len(data.load(str(path))) == 1
    assert len(data.load(str(path), "train")) == 4


@pytest.mark.parametrize("kind", [np.int64, np.float32, np.uint16])
def test_whole_numbers_of_another_type(tmp_path: Path, kind: type) -> None:
    np.savez(tmp_path / "a.npz", x=PIXELS.astype(kind))
    assert (data.load(str(tmp_path / "a.npz")).x.permute(0, 2, 3, 1).numpy() == PIXELS).all()


@pytest.mark.parametrize(
    "array",
    [
        PIXELS / 255,
        PIXELS + 0.5,
        np.full((1, 4, 4), np.nan),
        PIXELS.astype(np.int64) - 1000,
        PIXELS.astype(np.int64) + 200,
        PIXELS > 9,
        PIXELS.astype(np.complex64),
        np.round(PIXELS / 255),
    ],
    ids=["scaled", "halves", "nan", "negative", "large", "bool", "complex", "zeros and ones"],
)
def test_pixels_are_not_guessed(tmp_path: Path, array: np.ndarray) -> None:
    np.savez(tmp_path / "a.npz", x=array)
    with pytest.raises(NnfuzzError, match="whole numbers from 0 to 255"):
        data.load(str(tmp_path / "a.npz"))


@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 6, 5, 4), (2, 2, 2, 2, 2)])
def test_shapes_that_are_no_images(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros(shape, np.uint8))
    with pytest.raises(NnfuzzError, match=r"expected images as \[N,H,W\]"):
        data.load(str(tmp_path / "a.npz"))


def test_no_images(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((0, 3, 3)))
    with pytest.raises(NnfuzzError, match="at least one image"):
        data.load(str(tmp_path / "a.npz"))
    np.savez(tmp_path / "a.npz", pictures=PIXELS)
    with pytest.raises(NnfuzzError, match="an array called x or images and came pictures"):
        data.load(str(tmp_path / "a.npz"))


@pytest.mark.parametrize("label", [[0.5, 1, 2, 3], [0, 1, 2, -2], [0, 1, 2, np.inf], ["a", "b", "c", "d"]])
def test_labels_that_are_none(tmp_path: Path, label: list[object]) -> None:
    np.savez(tmp_path / "a.npz", x=PIXELS, y=np.array(label))
    with pytest.raises(NnfuzzError, match="labels that are whole numbers"):
        data.load(str(tmp_path / "a.npz"))


def test_label_counts_and_shapes(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=PIXELS, y=np.zeros((4, 10)))
    with pytest.raises(NnfuzzError, match=r"labels as \[N\]"):
        data.load(str(tmp_path / "a.npz"))
    np.savez(tmp_path / "a.npz", x=PIXELS, y=np.zeros(3))
    with pytest.raises(NnfuzzError, match="one label for each of 4 images"):
        data.load(str(tmp_path / "a.npz"))


def test_pickled_objects_are_not_run(tmp_path: Path) -> None:
    mark, path = tmp_path / "ran", tmp_path / "a.npz"
    np.savez(path, x=np.array([Payload(mark)], dtype=object))
    with pytest.raises(NnfuzzError, match="plain arrays"):
        data.load(str(path))
    np.savez(path, x=PIXELS, y=np.array([Payload(mark)] * 4, dtype=object))
    with pytest.raises(NnfuzzError, match="plain arrays"):
        data.load(str(path))
    path.write_bytes(pickle.dumps(Payload(mark)))
    with pytest.raises(NnfuzzError, match="plain arrays"):
        data.load(str(path))
    assert not mark.exists()


def test_an_array_that_claims_to_be_huge(tmp_path: Path) -> None:
    text = b"{'descr': '|u1', 'fortran_order': False, 'shape': (99999999, 999, 999), }\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
    with pytest.raises(NnfuzzError, match="at most 8 GiB"):
        data.load(str(tmp_path / "a.npz"))


def test_damaged_files(tmp_path: Path) -> None:
    path, whole = tmp_path / "a.npz", io.BytesIO()
    np.savez_compressed(whole, x=PIXELS)
    spoiled = bytearray(whole.getvalue())
    spoiled[60:90] = bytes(30)
    for content in (b"", b"rubbish", whole.getvalue()[:-30], bytes(spoiled)):
        path.write_bytes(content)
        with pytest.raises(NnfuzzError, match="plain arrays"):
            data.load(str(path))
