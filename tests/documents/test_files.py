import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from xs2a_sandbox.documents import files
from xs2a_sandbox.documents.files import ensure_folder
from xs2a_sandbox.errors import ConfigError


def fits(text: str) -> bool:
    return "diary" not in text


def ensure_file(file: Path, what: str, make: Callable[[], str]) -> str:
    return files.ensure_file(file, what, make, fits)


def read_file(file: Path, what: str) -> str | None:
    return files.read_file(file, what, fits)


def test_the_secret_is_created_once_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "new" / "secret"

    assert ensure_file(file, "secret", lambda: "first") == "first"
    assert ensure_file(file, "secret", lambda: "second") == read_file(file, "secret") == "first"

    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert list(file.parent.iterdir()) == [file]


def test_processes_that_start_at_the_same_time_get_the_same_secret(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda n: ensure_file(tmp_path / "secret", "secret", lambda: f"number {n}"), range(32)))

    assert len(made) == 1


@pytest.mark.parametrize("mode", [0o644, 0o666, 0o640, 0o660, 0o604])
def test_a_secret_that_others_can_read_is_closed_to_them_with_a_warning(
    tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "secret"
    file.write_text("mine\n")
    file.chmod(mode)

    assert ensure_file(file, "secret", lambda: "other") == "mine"
    assert file.stat().st_mode & 0o777 == 0o600
    assert f"the secret {file} could be read by others (mode {mode:04o})" in caplog.text
    caplog.clear()
    assert ensure_file(file, "secret", lambda: "other") == "mine"
    assert not caplog.records


def test_a_file_that_only_has_the_name_of_a_secret_is_not_changed(tmp_path: Path) -> None:
    """The permissions are changed only after the content has shown that the file is ours."""
    file = tmp_path / "secret"
    file.write_text("Dear diary")
    file.chmod(0o666)

    assert ensure_file(file, "secret", lambda: "other") == "Dear diary"
    assert file.stat().st_mode & 0o777 == 0o666


def test_the_target_of_a_link_is_not_changed(tmp_path: Path) -> None:
    target, file = tmp_path / "target", tmp_path / "secret"
    target.write_text("mine")
    target.chmod(0o644)
    file.symlink_to(target)

    with pytest.raises(
        ConfigError, match=rf"can be read by others \(mode 0644\), and it is behind a link: .* {target}"
    ):
        ensure_file(file, "secret", lambda: "other")

    assert target.stat().st_mode & 0o777 == 0o644
    target.chmod(0o600)
    assert ensure_file(file, "secret", lambda: "other") == "mine"


def test_a_folder_is_created_and_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    ensure_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    ensure_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_behind_a_link_is_not_changed(tmp_path: Path) -> None:
    target, folder = tmp_path / "target", tmp_path / "conf"
    target.mkdir()
    target.chmod(0o755)
    folder.symlink_to(target)

    with pytest.raises(ConfigError, match=rf"other users can read \(mode 0755\): chmod 700 {target}, or"):
        ensure_folder(folder)

    assert target.stat().st_mode & 0o777 == 0o755
    target.chmod(0o700)
    ensure_folder(folder)
    assert target.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")
def test_a_link_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("planted")
    (tmp_path / "target").chmod(0o600)
    (tmp_path / "secret").symlink_to(tmp_path / "target")
    os.chown(tmp_path / "secret", 12345, 12345, follow_symlinks=False)

    with pytest.raises(ConfigError, match=r"is a link that another user created \(uid 12345\); remove it"):
        ensure_file(tmp_path / "secret", "secret", lambda: "other")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_an_open_secret_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("planted")
    (tmp_path / "secret").chmod(0o644)
    os.chown(tmp_path / "secret", 12345, 12345)

    with pytest.raises(ConfigError, match="and it is not yours: chmod 600"):
        read_file(tmp_path / "secret", "secret")


def test_a_broken_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "secret").symlink_to(tmp_path / "nowhere")

    with pytest.raises(ConfigError, match="is a broken symbolic link; remove it"):
        ensure_file(tmp_path / "secret", "secret", lambda: "other")

    assert not (tmp_path / "nowhere").exists()


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "secret")

    with pytest.raises(ConfigError, match="it is not a regular file"):
        read_file(tmp_path / "secret", "secret")


def test_a_missing_secret_is_none(tmp_path: Path) -> None:
    assert read_file(tmp_path / "secret", "secret") is None


def test_a_secret_that_cannot_be_written_or_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()

    with pytest.raises(ConfigError, match=r"cannot store the secret in .*--confdir DIR"):
        ensure_file(tmp_path / "file" / "secret", "secret", lambda: "x")
    with pytest.raises(ConfigError, match=r"the secret .*folder cannot be read"):
        read_file(tmp_path / "folder", "secret")
