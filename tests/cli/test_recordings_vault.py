"""`xs2a-sandbox vault` always protects an exported vault with a passphrase."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.taping import redacted_tape, taped
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.redaction import vault

IBAN = "AT459880000010204711"
PASSPHRASE = "XS2A_SANDBOX_VAULT_KEY"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(PASSPHRASE, raising=False)
    monkeypatch.setattr(vault, "_COST", 2)
    redacted_tape(Path("conf"), taped(f"/v1/accounts/{IBAN}"))


def export(file: str = "v", confdir: str = "conf") -> Result:
    return CliRunner().invoke(cli, ["vault", "export", file, "--confdir", confdir], prog_name="xs2a-sandbox")


def test_no_vault_is_exported_without_a_passphrase() -> None:
    done = export()
    assert done.exit_code == 2
    assert "needs a passphrase: set XS2A_SANDBOX_VAULT_KEY" in done.output
    assert not Path("v").exists()


def test_an_exported_vault_opens_with_the_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSPHRASE, "korrekt pferd")
    done = export()
    assert (done.exit_code, done.output) == (0, "the vault with 1 request was written to v\n")
    assert IBAN not in Path("v").read_text()
    (real,) = vault.read(Path("v"), Path("nowhere")).requests.values()
    assert real.target == f"/v1/accounts/{IBAN}"


def test_an_existing_file_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSPHRASE, "korrekt pferd")
    Path("v").write_text("mine")
    done = export()
    assert done.exit_code == 2
    assert "v already exists: choose another name, or remove the file" in done.output
    assert Path("v").read_text() == "mine"


def test_a_missing_vault_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSPHRASE, "korrekt pferd")
    done = export(confdir="elsewhere")
    assert done.exit_code == 2
    assert "there is no vault" in done.output
    assert not Path("elsewhere").exists()
