from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from xs2a_sandbox.control.access import FILE, ensure_token, read_token
from xs2a_sandbox.errors import ConfigError


def test_the_token_is_created_once_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    confdir = tmp_path / "new" / "conf"

    token = ensure_token(confdir)

    assert len(token) >= 40
    assert ensure_token(confdir) == read_token(confdir) == token
    assert (confdir / FILE).stat().st_mode & 0o777 == 0o600
    assert confdir.stat().st_mode & 0o777 == 0o700
    assert [file.name for file in confdir.iterdir()] == [FILE]


def test_every_folder_has_a_different_token(tmp_path: Path) -> None:
    assert ensure_token(tmp_path / "a") != ensure_token(tmp_path / "b")


def test_processes_that_start_at_the_same_time_get_the_same_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(lambda _: ensure_token(tmp_path), range(32)))

    assert len(tokens) == 1


def test_a_token_file_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    token = ensure_token(tmp_path)
    (tmp_path / FILE).chmod(0o644)

    assert ensure_token(tmp_path) == token
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_no_token_is_read_if_the_file_or_folder_is_missing(tmp_path: Path) -> None:
    assert read_token(tmp_path) is None
    assert read_token(tmp_path / "no-such-folder") is None


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"short", b"two words, long enough", b"\xff" * 30, b"a" * 20 + b"\r\nX: y"]
)
def test_a_file_without_a_valid_token_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)

    with pytest.raises(ConfigError, match="contains no valid admin token"):
        ensure_token(tmp_path)


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match="--confdir DIR"):
        ensure_token(tmp_path / "file")
