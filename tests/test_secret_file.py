from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.secret_file import ensure_file, read_file


def test_it_is_made_once_and_read_by_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "new" / "secret"

    assert ensure_file(file, "secret", lambda: "first") == "first"
    assert ensure_file(file, "secret", lambda: "second") == read_file(file, "secret") == "first"

    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert list(file.parent.iterdir()) == [file]


def test_those_who_start_at_once_agree(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda n: ensure_file(tmp_path / "secret", "secret", lambda: f"number {n}"), range(32)))

    assert len(made) == 1


def test_one_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("mine\n")
    file.chmod(0o644)

    assert ensure_file(file, "secret", lambda: "other") == "mine"
    assert file.stat().st_mode & 0o777 == 0o600


def test_where_there_is_none(tmp_path: Path) -> None:
    assert read_file(tmp_path / "secret", "secret") is None


def test_what_cannot_be_kept_or_read(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()

    with pytest.raises(ConfigError, match=r"cannot keep the secret in .*--confdir DIR"):
        ensure_file(tmp_path / "file" / "secret", "secret", lambda: "x")
    with pytest.raises(ConfigError, match=r"the secret .*folder cannot be read"):
        read_file(tmp_path / "folder", "secret")
