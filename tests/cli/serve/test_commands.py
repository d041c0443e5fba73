"""The commands `serve` and `record`, without starting doors."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from xs2a_sandbox.cli import main
from xs2a_sandbox.config import Settings
from xs2a_sandbox.doors import serving


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Record the arguments instead of opening the doors."""
    seen: dict[str, Any] = {}

    async def serve(settings: Settings, **options: Any) -> None:
        seen.update(options, settings=settings)

    monkeypatch.setattr(serving, "serve", serve)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return seen


def run(*words: str) -> Result:
    return CliRunner().invoke(main.cli, words, prog_name="xs2a-sandbox")


def test_redaction_is_turned_off_only_by_the_flag(
    served: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("serve").exit_code == 0
    assert served["redact"] is True
    assert run("serve", "--no-redact").exit_code == 0
    assert served["redact"] is False
    monkeypatch.setenv("XS2A_SANDBOX_NO_REDACT", "true")
    assert run("serve").exit_code == 2
    monkeypatch.delenv("XS2A_SANDBOX_NO_REDACT")
    (tmp_path / "xs2a-sandbox.yaml").write_text("redact: false\n")
    assert run("serve").exit_code == 2


def test_settings_are_reloaded_with_the_same_flags(served: dict[str, Any], tmp_path: Path) -> None:
    assert run("serve", "--port", "7001").exit_code == 0
    (tmp_path / "xs2a-sandbox.yaml").write_text("port: 7002\nhosts: [bank.example]\n")
    again = served["again"]()
    assert (again.port, again.hosts) == (7001, ("bank.example",))
