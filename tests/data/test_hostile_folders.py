"""Folders made to do harm: bombs, ways out of the folder, links in circles, pipes."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import pytest

from nnfuzz import data
from nnfuzz.data import images as checks
from nnfuzz.errors import NnfuzzError
from tests.data.test_folders import picture


def header_only_png(path: Path, width: int, height: int) -> None:
    head = b"IHDR" + struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)
    chunk = struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))
    body = struct.pack(">I", 0) + b"IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk + body)


def test_a_decompression_bomb_is_refused_by_its_header(tmp_path: Path) -> None:
    header_only_png(tmp_path / "0_bomb.png", 60_000, 60_000)
    with pytest.raises(NnfuzzError, match="decompression bomb"):
        data.load(str(tmp_path))
    header_only_png(tmp_path / "0_bomb.png", 10_000, 10_000)
    with pytest.raises(NnfuzzError, match="decompression bomb"):
        data.load(str(tmp_path), size=(8, 8))


def test_many_pictures_are_added_up_before_any_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        picture(tmp_path / f"{number}_a.png", size=(10, 10))
    monkeypatch.setattr(checks, "MEMORY", 299)
    with pytest.raises(NnfuzzError, match="GiB of pixels"):
        data.load(str(tmp_path))
    assert len(data.load(str(tmp_path), size=(5, 5))) == 3


@pytest.mark.parametrize("file", ["../outside.png", "sub/../../outside.png", "{absolute}"])
def test_labels_csv_may_not_point_out_of_the_folder(tmp_path: Path, file: str) -> None:
    picture(tmp_path / "outside.png")
    picture(tmp_path / "in" / "a.png")
    file = file.format(absolute=tmp_path / "outside.png")
    (tmp_path / "in" / "labels.csv").write_text(f"a.png,0\n{file},1\n")
    with pytest.raises(NnfuzzError, match="leads out of it"):
        data.load(str(tmp_path / "in"))


def test_links_may_not_leave_the_folder(tmp_path: Path) -> None:
    picture(tmp_path / "out" / "a.png")
    picture(tmp_path / "in" / "cat" / "a.png")
    os.symlink("a.png", tmp_path / "in" / "cat" / "same.png")
    assert len(data.load(str(tmp_path / "in"))) == 2
    os.symlink(tmp_path / "out" / "a.png", tmp_path / "in" / "cat" / "b.png")
    with pytest.raises(NnfuzzError, match=r"cat/b\.png leads out"):
        data.load(str(tmp_path / "in"))
    (tmp_path / "in" / "cat" / "b.png").unlink()
    os.symlink(tmp_path / "out", tmp_path / "in" / "dog")
    with pytest.raises(NnfuzzError, match="dog leads out"):
        data.load(str(tmp_path / "in"))


def test_links_to_nothing_and_in_circles_are_skipped(tmp_path: Path) -> None:
    picture(tmp_path / "0_a.png")
    os.symlink("0_nothing.png", tmp_path / "1_a.png")
    os.symlink("2_a.png", tmp_path / "2_a.png")
    images = data.load(str(tmp_path))
    assert images.files == ("0_a.png",)
    assert len(images.skipped) == 2


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "0_pipe.png")
    with pytest.raises(NnfuzzError, match="plain file"):
        data.load(str(tmp_path))
