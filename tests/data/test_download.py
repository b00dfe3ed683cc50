"""Missing files are fetched, checked and moved into place; never from the net in here."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest

from nnfuzz import data
from nnfuzz.data import download
from nnfuzz.data.download import Source
from nnfuzz.errors import NnfuzzError

MEMBERS = ("cifar-10-batches-bin/test_batch.bin",)


def archive(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def offer(monkeypatch: pytest.MonkeyPatch, url: str, content: bytes) -> None:
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
    monkeypatch.setitem(download.SOURCES, "cifar10/" + MEMBERS[0], Source(url, md5, MEMBERS))


@pytest.fixture
def packed() -> bytes:
    return archive({MEMBERS[0]: bytes(3073 * 2), "../escaped": b"never written"})


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    (tmp_path / "mirror").mkdir()
    server = HTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "mirror")))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield tmp_path / "mirror", f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_missing_set_is_fetched_over_http_once(
    home: Path,
    served: tuple[Path, str],
    packed: bytes,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mirror, url = served
    (mirror / "c.tar.gz").write_bytes(packed)
    offer(monkeypatch, url + "c.tar.gz", packed)
    assert data.load("cifar10").x.shape == (2, 3, 32, 32)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert url in said
    (mirror / "c.tar.gz").unlink()
    data.load("cifar10")
    assert not capsys.readouterr().err
    assert not list(home.parent.rglob("escaped"))
    assert not list(home.glob(".fetch-*"))


def test_a_file_that_is_not_the_one_wanted_is_thrown_away(
    home: Path, tmp_path: Path, packed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.tar.gz"
    file.write_bytes(packed[:-1])
    offer(monkeypatch, file.as_uri(), packed)
    with pytest.raises(NnfuzzError, match=r"MD5 .* and came one with"):
        data.load("cifar10")
    assert not [path for path in home.rglob("*") if path.is_file()]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/c.tar.gz", "file:///no/such/c.tar.gz"])
def test_without_a_network_the_sentence_says_where_to_put_the_file(
    home: Path, packed: bytes, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, url, packed)
    with pytest.raises(NnfuzzError, match=r"put cifar-10-batches-bin/test_batch.bin into .*home.cifar10 yourself"):
        data.load("cifar10")


@pytest.mark.parametrize("content", [b"no archive", archive({"other": b""})], ids=["rubbish", "other members"])
def test_an_archive_without_the_files_is_one_sentence(
    home: Path, tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.tar.gz"
    file.write_bytes(content)
    offer(monkeypatch, file.as_uri(), content)
    with pytest.raises(NnfuzzError, match="expected to fetch"):
        data.load("cifar10")


def test_a_plain_file_keeps_its_name(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.io import savemat

    file = tmp_path / "test_32x32.mat"
    savemat(file, {"X": np.zeros((32, 32, 3, 1), np.uint8), "y": np.array([[1]], np.uint8)})
    md5 = hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()
    monkeypatch.setitem(download.SOURCES, "svhn/test_32x32.mat", Source(file.as_uri(), md5))
    assert len(data.load("svhn")) == 1
    assert (home / "svhn" / "test_32x32.mat").is_file()


def test_a_mirror_that_does_not_stop_is_stopped(
    home: Path, tmp_path: Path, packed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.tar.gz"
    file.write_bytes(packed)
    offer(monkeypatch, file.as_uri(), packed)
    monkeypatch.setattr(download, "LARGEST", 10)
    with pytest.raises(NnfuzzError, match="expected to fetch"):
        data.load("cifar10")


def test_a_folder_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, packed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NNFUZZ_DATA", str(tmp_path / "file"))
    offer(monkeypatch, "file:///no/such/c.tar.gz", packed)
    with pytest.raises(NnfuzzError, match="expected to fetch"):
        data.load("cifar10")


def test_every_source_is_official_and_encrypted() -> None:
    assert all(source.url.startswith("https://") for source in download.SOURCES.values())
    assert len({source.md5 for source in download.SOURCES.values()}) == 11


def test_the_folder_is_the_users_choice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NNFUZZ_DATA", str(tmp_path))
    assert data.folder() == tmp_path
    monkeypatch.delenv("NNFUZZ_DATA")
    assert data.folder() == Path.home() / ".cache" / "nnfuzz"
