"""Mode compare with a redacted recording that answers the app: the bank gets the real values of its pseudonyms."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.far_bank import FarBank, ok
from tests.support.taping import redacted_tape, taped
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.derive.derive import derive
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.redaction import vault

IBAN = "AT459880000010204711"


def settings(tmp_path: Path, bank: FarBank) -> Settings:
    """Return settings for a sandbox that answers from a recording of an account list and an account."""
    json_type = [("Content-Type", "application/json")]
    listed, one = {"accounts": [{"iban": IBAN, "ownerName": "Anna Grünwald"}]}, {"iban": IBAN, "balance": "1.00"}
    entries = [taped(path, body, bank=bank.url, answer_headers=json_type) for path, body in (
        ("/x/accounts", listed), (f"/x/accounts/{IBAN}", one),
    )]  # fmt: skip
    tape = redacted_tape(tmp_path / "conf", *entries)
    derive(tape.path, None)
    return Settings(
        mode="compare",
        bank=bank.url,
        cassettes=(tape.path / "cassettes",),
        state="memory:",
        confdir=tmp_path / "conf",
        noise_reads=0,
    )


def test_the_bank_gets_real_values_and_nothing_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    listed = json.dumps({"accounts": [{"iban": IBAN, "ownerName": "Anna Grünwald"}]}).encode()
    account = json.dumps({"iban": IBAN, "balance": "1.00"}).encode()
    with FarBank(*(ok(body, b"Content-Type: application/json") for body in (listed, account))) as bank:
        configured = settings(tmp_path, bank)
        engine = build(configured)
        assert engine.parts.comparing
        lines: list[str] = []
        engine.parts.comparing.report.say = lines.append

        async def walk() -> str:
            async def get(path: str) -> Any:
                answer = await engine.answer(
                    Request("GET", path, Headers([("Host", "bank.example")]), b"", "bank.example")
                )
                return json.loads(answer.body)

            (one,) = (await get("/x/accounts"))["accounts"]
            await get(f"/x/accounts/{one['iban']}")
            await engine.close()
            return str(one["iban"])

        pseudonym = asyncio.run(walk())
        asked = b"".join(bank.seen).decode()
        assert pseudonym != IBAN
        assert f"GET /x/accounts/{IBAN} " in asked
        assert pseudonym not in asked
        assert [*lines, *engine.parts.comparing.report.end()][0].startswith(
            f"compared with {bank.url}: 2 same, 0 differ"
        )


def test_without_the_vault_the_sandbox_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with FarBank() as bank:
        configured = settings(tmp_path, bank)
        (tmp_path / "conf" / vault.FILE).unlink()
        with pytest.raises(ConfigError, match="its real values are not in a vault"):
            build(configured)
        assert bank.connections == 0
