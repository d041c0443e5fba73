"""The vault: encrypted, written by several processes at once, and rejected with a reason if it is damaged."""

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.program import program
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import Headers
from xs2a_sandbox.redaction import vault
from xs2a_sandbox.redaction.pseudonyms import fingerprint
from xs2a_sandbox.redaction.vault import RealRequest

IBAN = "AT459880000010204711"
KEY = b"k" * 32
PASSPHRASE = "XS2A_SANDBOX_VAULT_KEY"


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use no passphrase, and reduce the work for deriving a key from one."""
    monkeypatch.delenv(PASSPHRASE, raising=False)
    monkeypatch.setattr(vault, "_COST", 2)


def a_request(target: str = f"/v1/accounts/{IBAN}") -> RealRequest:
    return RealRequest(target, Headers([("PSU-ID", "anna")]), b'{"a": 1}', is_whole=True)


def parts(real: RealRequest) -> tuple[object, ...]:
    return real.target, real.headers.pairs, real.body, real.is_whole


def filled(confdir: Path, name: str = "request") -> Path:
    opened = vault.open_for_writing(confdir)
    opened.add_key(KEY)
    opened.add("1a2b3c4d", name, a_request(), {"Bbrl": "Anna"})
    return confdir / vault.FILE


def test_stored_values_can_be_read(tmp_path: Path) -> None:
    opened = vault.read(filled(tmp_path), tmp_path)
    assert opened.keys == {fingerprint(KEY): KEY}
    assert list(opened.requests) == ["request"]
    assert parts(opened.requests["request"]) == parts(a_request())
    assert opened.values == {"1a2b3c4d": {"Bbrl": "Anna"}}


def test_the_vault_is_encrypted_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    content = filled(tmp_path / "conf").read_text()
    # Search with their quotes, which base64 never contains: a bare word of four letters occurs once in ten thousand
    # runs.
    assert not {word for word in (IBAN, '"Anna"', '"anna"', '"Bbrl"', KEY.hex()) if word in content}
    for name in (vault.FILE, vault.KEY_FILE):
        assert stat.S_IMODE((tmp_path / "conf" / name).stat().st_mode) == 0o600


def test_a_vault_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    filled(tmp_path).chmod(0o644)
    vault.open_for_writing(tmp_path)
    assert stat.S_IMODE((tmp_path / vault.FILE).stat().st_mode) == 0o600


def test_later_recordings_add_to_the_vault(tmp_path: Path) -> None:
    filled(tmp_path, "one")
    filled(tmp_path, "two")
    assert set(vault.read(tmp_path / vault.FILE, tmp_path).requests) == {"one", "two"}


def test_with_a_passphrase_there_is_no_key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSPHRASE, "korrekt pferd")
    filled(tmp_path)
    assert not (tmp_path / vault.KEY_FILE).exists()
    assert "korrekt" not in (tmp_path / vault.FILE).read_text()
    assert vault.read(tmp_path / vault.FILE, tmp_path).requests
    monkeypatch.setenv(PASSPHRASE, "another")
    with pytest.raises(ConfigError, match="does not open with the passphrase in XS2A_SANDBOX_VAULT_KEY"):
        vault.read(tmp_path / vault.FILE, tmp_path)
    monkeypatch.delenv(PASSPHRASE)
    for attempt in (lambda: vault.read(tmp_path / vault.FILE, tmp_path), lambda: vault.open_for_writing(tmp_path)):
        with pytest.raises(ConfigError, match="opens with a passphrase: set XS2A_SANDBOX_VAULT_KEY"):
            attempt()


def test_a_new_passphrase_for_a_vault_with_a_key_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path)
    monkeypatch.setenv(PASSPHRASE, "korrekt pferd")
    with pytest.raises(ConfigError, match=r"encrypted with the key next to it, .* vault export NEW"):
        vault.open_for_writing(tmp_path)
    vault.export(vault.read(tmp_path / vault.FILE, tmp_path), tmp_path / "new", "korrekt pferd")
    (tmp_path / "new").replace(tmp_path / vault.FILE)
    (tmp_path / vault.KEY_FILE).unlink()
    filled(tmp_path, "more")
    assert set(vault.read(tmp_path / vault.FILE, tmp_path).requests) == {"request", "more"}


def test_an_exported_vault_has_the_same_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = vault.read(filled(tmp_path / "here"), tmp_path / "here")
    vault.export(here, tmp_path / "exported", "korrekt pferd")
    monkeypatch.setenv(PASSPHRASE, "korrekt pferd")
    there = vault.read(tmp_path / "exported", tmp_path / "there")
    assert (there.keys, there.values) == (here.keys, here.values)
    assert {name: parts(one) for name, one in there.requests.items()} == {"request": parts(a_request())}
    assert not (tmp_path / "there").exists()
    assert stat.S_IMODE((tmp_path / "exported").stat().st_mode) == 0o600


def test_the_vault_of_another_machine_does_not_open(tmp_path: Path) -> None:
    theirs = filled(tmp_path / "theirs")
    filled(tmp_path / "mine")
    with pytest.raises(ConfigError, match=r"another machine's, or damaged. .*vault export FILE"):
        vault.read(theirs, tmp_path / "mine")


def test_a_missing_key_is_an_error(tmp_path: Path) -> None:
    file = filled(tmp_path)
    (tmp_path / vault.KEY_FILE).unlink()
    for attempt in (lambda: vault.read(file, tmp_path), lambda: vault.open_for_writing(tmp_path)):
        with pytest.raises(ConfigError, match=f"the key of {file} is missing"):
            attempt()
    assert not (tmp_path / vault.KEY_FILE).exists()


def test_an_invalid_key_is_an_error(tmp_path: Path) -> None:
    file = filled(tmp_path)
    (tmp_path / vault.KEY_FILE).write_text("no key")
    with pytest.raises(ConfigError, match="contains no key of a vault"):
        vault.read(file, tmp_path)


@pytest.mark.parametrize("line", [0, 1, 2])
def test_a_damaged_line_is_named(tmp_path: Path, line: int) -> None:
    file = filled(tmp_path)
    lines = file.read_text().splitlines()
    lines[line] = lines[line][:-20] + ("A" if lines[line][-20] != "A" else "B") + lines[line][-19:]
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(ConfigError, match="damaged" if line else "damaged|is not a vault"):
        vault.read(file, tmp_path)


@pytest.mark.parametrize("content", [b"", b"nothing\n", b"[]\n", b'{"vault": 1', b"\xff\xfe\n"])
def test_a_file_that_is_not_a_vault_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ConfigError, match="is not a vault"):
        vault.read(tmp_path / "x", tmp_path)


def test_a_vault_of_a_later_version_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(json.dumps({"vault": 2}) + "\n")
    with pytest.raises(ConfigError, match="a vault of version 2, but this xs2a-sandbox reads only version 1"):
        vault.read(tmp_path / "x", tmp_path)


def test_an_incomplete_line_after_a_crash_does_no_damage(tmp_path: Path) -> None:
    file = filled(tmp_path, "before")
    with file.open("a") as torn:
        torn.write("gAAAAABh" * 30_000)
    assert set(vault.read(file, tmp_path).requests) == {"before"}
    filled(tmp_path, "after")
    assert set(vault.read(file, tmp_path).requests) == {"before", "after"}


def test_several_recordings_can_write_at_the_same_time(tmp_path: Path) -> None:
    filled(tmp_path, "first")
    code = """
        import sys
        from pathlib import Path
        from xs2a_sandbox.http import Headers
        from xs2a_sandbox.redaction import vault
        opened = vault.open_for_writing(Path(sys.argv[1]))
        for number in range(50):
            real = vault.RealRequest("/x" * 5000, Headers(), b"", True)
            opened.add("1a2b3c4d", f"{sys.argv[2]} {number}", real, {})
    """
    processes = [program(code, str(tmp_path), str(number)) for number in range(3)]
    opened = vault.open_for_writing(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: opened.add("1a2b3c4d", f"here {n}", a_request(), {}), range(50)))
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert len(vault.read(tmp_path / vault.FILE, tmp_path).requests) == 201


def test_processes_that_start_at_the_same_time_share_one_vault(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: filled(tmp_path, f"request {n}"), range(8)))
    assert len(vault.read(tmp_path / vault.FILE, tmp_path).requests) == 8
    assert sorted(os.listdir(tmp_path)) == [vault.FILE, vault.KEY_FILE]


def test_a_system_without_fdatasync_can_store_values_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fdatasync")  # as on macOS
    assert list(vault.read(filled(tmp_path), tmp_path).requests) == ["request"]
