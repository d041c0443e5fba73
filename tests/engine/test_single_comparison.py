"""One exchange held against the bank on demand: a sandbox in process beside another one, which is the bank."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.engine.test_live_comparison import CONSENT, CONSENTS, a_bank, in_dollars, requests_at
from tests.support.admin import TOKEN, Admin, refused
from tests.support.doors import Loop
from tests.support.engine_client import Answer, Client
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.build import build


@dataclass(frozen=True, slots=True)
class InLoop(Client):
    """Asks in the loop that the way to the bank is in."""

    loop: Loop | None = None

    def request(self, method: str, target: str, **options: Any) -> Answer:
        assert self.loop
        return self.loop.run(self.send(method, target, **options))


@contextmanager
def beside(url: str, confdir: Path, mode: str) -> Iterator[Admin]:
    async def start() -> Engine:
        return build(Settings(state="memory:", confdir=confdir, bank=url, mode=mode, to=confdir / "to"))

    with Loop() as loop:
        engine = loop.run(start())
        engine.use(admin_token=TOKEN)
        yield Admin(InLoop(engine, loop=loop))
        loop.run(engine.close())


def compared(admin: Admin, number: int = 1, **order: Any) -> Any:
    answer = admin.ask("POST", f"journal/{number}/compare", order)
    assert answer.status == 200, answer.body
    return answer.json()


def test_the_bank_is_asked_what_the_sandbox_has_answered(tmp_path: Path) -> None:
    with a_bank(in_dollars) as bank, beside(bank.url, tmp_path, "spy") as admin:
        admin.client.get("/v1/accounts/AT459880000010204711/balances", consent=CONSENT)
        before = len(requests_at(bank))
        comparison = compared(admin)

    assert requests_at(bank)[before:]
    assert (comparison["operation"], comparison["verdict"]) == ("account-balances", "differs")
    assert {(one["place"], one["bank"], one["sandbox"]) for one in comparison["findings"]} >= {
        ("/balances/*/balanceAmount/currency", '"USD"', '"EUR"')
    }


def test_the_sandbox_is_asked_what_the_bank_has_answered(tmp_path: Path) -> None:
    with a_bank() as bank, beside(bank.url, tmp_path, "record") as admin:
        assert admin.client.get("/v1/consents/nothing").source == "bank"
        comparison = compared(admin)

    assert (comparison["operation"], comparison["findings"]) == ("consent-content", [])


def test_a_write_is_sent_to_the_bank_only_on_demand(tmp_path: Path) -> None:
    with a_bank() as bank, beside(bank.url, tmp_path, "spy") as admin:
        admin.client.post("/v1/consents", json=CONSENTS)
        why = refused(admin.ask("POST", "journal/1/compare"), 409, "bank-writes")
        assert "only sent there with allow_writes" in why
        assert requests_at(bank, "POST") == []
        assert compared(admin, allow_writes=True)["verdict"] == "same"
        assert requests_at(bank, "POST") == ["POST /v1/consents"]


def test_a_bank_that_is_not_to_be_asked_is_not(tmp_path: Path) -> None:
    with a_bank() as bank, beside(bank.url, tmp_path, "simulate") as admin:
        admin.client.get("/v1/accounts", consent=CONSENT)
        assert "--mode spy" in refused(admin.ask("POST", "journal/1/compare"), 409, "bank-not-asked")
        assert requests_at(bank) == []


@pytest.mark.slow
def test_what_the_sides_call_a_thing_is_known_from_mode_compare(tmp_path: Path) -> None:
    with a_bank() as bank, beside(bank.url, tmp_path, "compare") as admin:
        id = admin.client.post("/v1/consents", json=CONSENTS).json()["consentId"]
        admin.client.get(f"/v1/consents/{id}/status")
        comparison = compared(admin, 2)

    assert comparison["trouble"] is None
