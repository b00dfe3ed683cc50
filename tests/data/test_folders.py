"""Folders of pictures: layouts, formats, labels, sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from nnfuzz import data
from nnfuzz.errors import NnfuzzError


def picture(path: Path, value: int | tuple[int, ...] = 7, size: tuple[int, int] = (4, 3), mode: str = "L") -> None:
    """A picture of one colour; size is height x width."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size[::-1], value).save(path)


def test_class_folders(tmp_path: Path) -> None:
    picture(tmp_path / "dog" / "b.png", 20)
    picture(tmp_path / "cat" / "a.png", 10)
    picture(tmp_path / "cat" / "more" / "c.bmp", 30)
    (tmp_path / ".git").mkdir()
    images = data.load(str(tmp_path))
    assert images.x.shape == (3, 1, 4, 3)
    assert images.classes == ("cat", "dog")
    assert images.label.tolist() == [0, 0, 1]
    assert images.files == ("cat/a.png", "cat/more/c.bmp", "dog/b.png")
    assert images.x[:, 0, 0, 0].tolist() == [10, 30, 20]
    assert images.name == tmp_path.name
    assert not data.has_split(str(tmp_path), "train")


def test_folders_of_both_splits(tmp_path: Path) -> None:
    picture(tmp_path / "train" / "cat" / "a.png", 1)
    picture(tmp_path / "test" / "cat" / "a.png", 2)
    assert data.has_split(str(tmp_path), "train")
    assert int(data.load(str(tmp_path), "train").x.max()) == 1
    assert int(data.load(str(tmp_path)).x.max()) == 2
    picture(tmp_path / "other" / "train" / "a.png")
    picture(tmp_path / "other" / "tram" / "a.png")
    assert data.load(str(tmp_path / "other")).classes == ("train", "tram")


@pytest.mark.parametrize("header", ["", "file,label\n", "label,file\n"])
def test_labels_csv_with_numbers(tmp_path: Path, header: str) -> None:
    picture(tmp_path / "sub" / "a.png")
    picture(tmp_path / "b.png")
    swapped = header.startswith("label")
    rows = ["2,sub/a.png", ",b.png"] if swapped else ["sub/a.png,2", "b.png,"]
    (tmp_path / "labels.csv").write_text(header + "\n".join(rows) + "\n\n")
    images = data.load(str(tmp_path))
    assert images.label.tolist() == [2, -1]
    assert images.classes == ("0", "1", "2")


def test_labels_csv_with_names(tmp_path: Path) -> None:
    for name in "abc":
        picture(tmp_path / f"{name}.png")
    (tmp_path / "labels.csv").write_text("\ufeffa.png,dog\nb.png,cat\nc.png,dog\nmissing.png,cat\n", "utf-8")
    images = data.load(str(tmp_path))
    assert images.classes == ("cat", "dog")
    assert images.label.tolist() == [1, 0, 1]
    assert images.skipped == ("missing.png: no such file",)


@pytest.mark.parametrize("label", ["-2", "1.5", "999999999", "1e30"])
def test_labels_out_of_range(tmp_path: Path, label: str) -> None:
    picture(tmp_path / "a.png")
    (tmp_path / "labels.csv").write_text(f"a.png,{label}\n")
    with pytest.raises(NnfuzzError, match="whole numbers from 0"):
        data.load(str(tmp_path))


@pytest.mark.parametrize("content", [b"a.png\n", b"\xff\xfe\x00", b'"' + b"a" * 200_000], ids=["one", "bytes", "long"])
def test_a_bad_labels_csv_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    picture(tmp_path / "a.png")
    (tmp_path / "labels.csv").write_bytes(content)
    with pytest.raises(NnfuzzError, match=r"labels\.csv: expected"):
        data.load(str(tmp_path))


def test_numbers_in_front_of_names(tmp_path: Path) -> None:
    picture(tmp_path / "002_n01484850_great_white_shark.png")
    picture(tmp_path / "000_n01440764_tench.png")
    (tmp_path / "README.txt").write_text("about")
    images = data.load(str(tmp_path))
    assert images.label.tolist() == [0, 2]
    assert images.classes == ("tench", "1", "great white shark")
    assert images.skipped == ("README.txt: not a picture",)
    picture(tmp_path / "2_another.png")
    assert data.load(str(tmp_path)).classes == ("0", "1", "2")
    picture(tmp_path / "unlabelled.png")
    with pytest.raises(NnfuzzError, match=r"begin with its label.*unlabelled\.png"):
        data.load(str(tmp_path))


def test_plain_pictures_have_no_label(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    images = data.load(str(tmp_path))
    assert images.label.tolist() == [-1]
    assert images.classes == ()


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".bmp", ".webp", ".gif"])
def test_formats(tmp_path: Path, suffix: str) -> None:
    picture(tmp_path / f"3_a{suffix}", (200, 100, 50), (8, 8), "RGB")
    images = data.load(str(tmp_path))
    assert images.x.shape == (1, 3, 8, 8)
    assert (images.x[0, :, 4, 4].int() - torch.tensor([200, 100, 50])).abs().max() <= 4


def test_grey_becomes_colour_beside_colour(tmp_path: Path) -> None:
    picture(tmp_path / "0_a.png", 9)
    assert data.load(str(tmp_path)).x.shape == (1, 1, 4, 3)
    picture(tmp_path / "1_b.png", (1, 2, 3), mode="RGB")
    images = data.load(str(tmp_path))
    assert images.x[0, :, 0, 0].tolist() == [9, 9, 9]
    assert images.x[1, :, 0, 0].tolist() == [1, 2, 3]


def test_what_is_transparent_is_black(tmp_path: Path) -> None:
    picture(tmp_path / "0_a.png", (200, 100, 50, 0), mode="RGBA")
    picture(tmp_path / "1_b.png", (200, 100, 50, 255), mode="RGBA")
    assert data.load(str(tmp_path)).x[:, :, 0, 0].tolist() == [[0, 0, 0], [200, 100, 50]]
    picture(tmp_path / "grey" / "0_a.png", (90, 255), mode="LA")
    assert data.load(str(tmp_path / "grey")).x.flatten().unique().tolist() == [90]


@pytest.mark.parametrize("colour", [False, True])
def test_sixteen_bits_are_refused(tmp_path: Path, colour: bool) -> None:
    import cv2

    cv2.imwrite(str(tmp_path / "0_a.png"), np.full((4, 4, 3) if colour else (4, 4), 40_000, np.uint16))
    with pytest.raises(NnfuzzError, match="8 bits a channel"):
        data.load(str(tmp_path))


def test_damaged_pictures_are_skipped_and_named(tmp_path: Path) -> None:
    picture(tmp_path / "0_good.png")
    picture(tmp_path / "1_cut.png", size=(4, 3))
    (tmp_path / "1_cut.png").write_bytes((tmp_path / "1_cut.png").read_bytes()[:45])
    (tmp_path / "2_text.jpg").write_text("not a picture")
    (tmp_path / "3_empty.gif").touch()
    (tmp_path / "4_script.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    images = data.load(str(tmp_path))
    assert images.files == ("0_good.png",)
    assert images.label.tolist() == [0]
    assert sorted(s.split(":")[0] for s in images.skipped) == [
        "1_cut.png",
        "2_text.jpg",
        "3_empty.gif",
        "4_script.png",
    ]
    assert all("\n" not in line for line in images.skipped)
    (tmp_path / "0_good.png").unlink()
    with pytest.raises(NnfuzzError, match=r"none could be read \(4 skipped"):
        data.load(str(tmp_path))


def test_an_empty_folder_and_another_file(tmp_path: Path) -> None:
    with pytest.raises(NnfuzzError, match="none could be read"):
        data.load(str(tmp_path))
    (tmp_path / "a.txt").touch()
    with pytest.raises(NnfuzzError, match="another file"):
        data.load(str(tmp_path / "a.txt"))


def test_sizes_differ(tmp_path: Path) -> None:
    picture(tmp_path / "0_a.png", size=(4, 3))
    picture(tmp_path / "1_b.png", size=(8, 6))
    with pytest.raises(NnfuzzError, match=r"0_a.png is 4x3 but 1_b.png is 8x6 .*--resize HxW"):
        data.load(str(tmp_path))
    assert data.load(str(tmp_path), size=(5, 7)).x.shape == (2, 1, 5, 7)


def test_files_and_arrays_are_resized_alike(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (9, 12, 3), np.uint8)
    (tmp_path / "files").mkdir()
    Image.fromarray(pixels).save(tmp_path / "files" / "0_a.png")
    np.savez(tmp_path / "a.npz", x=pixels[None])
    file, array = (data.load(str(tmp_path / name), size=(4, 5)) for name in ("files", "a.npz"))
    assert (file.x == array.x).all()
