from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from xs2a_sandbox.control.access import FILE, ensure_token, read_token
from xs2a_sandbox.errors import ConfigError


def test_it_is_made_once_and_read_by_its_owner_only(tmp_path: Path) -> None:
    confdir = tmp_path / "new" / "conf"

    token = ensure_token(confdir)

    assert len(token) >= 40
    assert ensure_token(confdir) == read_token(confdir) == token
    assert (confdir / FILE).stat().st_mode & 0o777 == 0o600
    assert confdir.stat().st_mode & 0o777 == 0o700
    assert [file.name for file in confdir.iterdir()] == [FILE]


def test_every_folder_has_its_own(tmp_path: Path) -> None:
    assert ensure_token(tmp_path / "a") != ensure_token(tmp_path / "b")


def test_processes_that_start_at_once_agree(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(lambda _: ensure_token(tmp_path), range(32)))

    assert len(tokens) == 1


def test_one_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    token = ensure_token(tmp_path)
    (tmp_path / FILE).chmod(0o644)

    assert ensure_token(tmp_path) == token
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_where_there_is_none(tmp_path: Path) -> None:
    assert read_token(tmp_path) is None
    assert read_token(tmp_path / "no-such-folder") is None


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"short", b"two words, long enough", b"\xff" * 30, b"a" * 20 + b"\r\nX: y"]
)
def test_a_file_that_holds_something_else(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)

    with pytest.raises(ConfigError, match="holds no admin token"):
        ensure_token(tmp_path)


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match="--confdir DIR"):
        ensure_token(tmp_path / "file")
