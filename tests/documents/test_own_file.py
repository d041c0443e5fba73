"""Files of a folder, and traps among them. No test hangs if a file that never ends is opened."""

import errno
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from xs2a_sandbox.documents import own_file
from xs2a_sandbox.documents.own_file import open_file, read


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder, with a file next to it."""
    (tmp_path / "outside").write_bytes(b"somebody else's")
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "file").write_bytes(b"ours")
    return folder


def link(file: Path, to: Path | str) -> Path:
    file.symlink_to(to)
    return file


def pipe(file: Path) -> Path:
    os.mkfifo(file)
    return file


def listening(file: Path) -> Path:
    socket.socket(socket.AF_UNIX).bind(os.path.relpath(file))
    return file


def sparse(file: Path) -> Path:
    with file.open("wb") as made:
        made.truncate(own_file.LARGEST + 1)
    return file


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: folder / "below" / "file",
        lambda folder: folder / "below" / ".." / "below" / "file",
        lambda folder: link(folder / "link", "below/file"),
        lambda folder: link(folder / "link", folder / "below" / "file"),
        lambda folder: link(folder / "data", "below") / "file",
        lambda folder: link(folder.parent / "other name", "folder") / "below" / "file",
    ],
)
def test_files_in_the_folder_are_read(folder: Path, make: Callable[[Path], Path]) -> None:
    file = make(folder)

    assert read(file, folder=folder) == b"ours"
    with open_file(file, folder=folder) as stream:
        assert stream.read(2) == b"ou"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (
            lambda folder: folder / ".." / "outside",
            "it resolves to .*/outside, outside .*/folder: copy it into that folder",
        ),
        (lambda folder: folder.parent / "outside", "it resolves to"),
        (lambda folder: link(folder / "link", "../outside"), "it resolves to"),
        (lambda folder: link(folder / "link", link(folder / "first", "../outside")), "it resolves to"),
        (lambda folder: link(folder / "up", "..") / "outside", "it resolves to"),
        (lambda folder: link(folder / "zero", "/dev/zero"), "it resolves to"),
        (lambda folder: link(folder / "link", "nowhere"), "No such file or directory"),
        (lambda folder: folder / "nothing", "No such file or directory"),
        (lambda folder: link(folder / "circle", "circle"), "Too many levels of symbolic links"),
        (lambda folder: folder / "below", "Is a directory"),
        (lambda folder: pipe(folder / "pipe"), "it is not a regular file but a pipe"),
        (lambda folder: listening(folder / "socket"), "it is not a regular file but a socket"),
        (lambda folder: sparse(folder / "large"), "it is larger than 64 MiB"),
    ],
)
def test_traps_are_refused(folder: Path, make: Callable[[Path], Path], reason: str) -> None:
    with pytest.raises(OSError) as failure:  # noqa: PT011
        read(make(folder), folder=folder)

    assert re.fullmatch(f"{reason}.*", failure.value.strerror)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/random"])
def test_a_device_is_not_opened(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_(*_: object) -> int:
        raise AssertionError("opened")

    monkeypatch.setattr(os, "open", open_)

    with pytest.raises(OSError, match="it is not a regular file but a device"):
        read(Path(device))


def test_a_pipe_that_replaces_a_file_does_not_block(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, open_ = folder / "below" / "file", os.open

    def late(*arguments: object) -> int:
        file.unlink()
        os.mkfifo(file)
        return open_(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", late)

    with pytest.raises(OSError, match="it is not a regular file but a pipe"):
        read(file, folder=folder)


def test_a_link_that_replaces_a_file_is_not_followed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, open_ = folder / "below" / "file", os.open

    def late(*arguments: object) -> int:
        file.unlink()
        file.symlink_to("../../outside")
        return open_(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", late)

    with pytest.raises(OSError) as failure:  # noqa: PT011
        read(file, folder=folder)
    assert failure.value.errno == errno.ELOOP


def test_a_limit_can_be_set(folder: Path) -> None:
    file = folder / "below" / "file"
    assert read(file, limit=4) == b"ours"
    with pytest.raises(OSError, match="larger than"):
        read(file, limit=3)
