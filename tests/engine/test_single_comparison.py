"""A single exchange compared with the bank on demand: a sandbox in process, whose bank is another sandbox."""

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
    """Sends requests in the event loop of the connection to the bank."""

    loop: Loop | None = None

    def request(self, method: str, target: str, **options: Any) -> Answer:
        assert self.loop
        return self.loop.run(self.send(method, target, **options))


@contextmanager
def sandbox_with(url: str, confdir: Path, mode: str) -> Iterator[Admin]:
    async def start() -> Engine:
        return build(Settings(state="memory:", confdir=confdir, bank=url, mode=mode, to=confdir / "to"))

    with Loop() as loop:
        engine = loop.run(start())
        engine.use(admin_token=TOKEN)
        yield Admin(InLoop(engine, loop=loop))
        loop.run(engine.close())


def compare(admin: Admin, number: int = 1, **order: Any) -> Any:
    answer = admin.ask("POST", f"journal/{number}/compare", order)
    assert answer.status == 200, answer.body
    return answer.json()


def test_a_request_that_the_sandbox_answered_is_sent_to_the_bank(tmp_path: Path) -> None:
    with a_bank(in_dollars) as bank, sandbox_with(bank.url, tmp_path, "spy") as admin:
        admin.client.get("/v1/accounts/AT459880000010204711/balances", consent=CONSENT)
        before = len(requests_at(bank))
        assert admin.get("journal?search=is:different")["found"] == 0
        comparison = compare(admin)
        listed = admin.get("journal?search=is:different&counts=true")

    assert [one["verdict"] for one in listed["exchanges"]] == ["differs"]
    assert listed["counts"]["is"] == {"different": 1}
    assert requests_at(bank)[before:]
    assert (comparison["operation"], comparison["verdict"]) == ("account-balances", "differs")
    assert {(one["place"], one["bank"], one["sandbox"]) for one in comparison["findings"]} >= {
        ("/balances/*/balanceAmount/currency", '"USD"', '"EUR"')
    }


def test_a_request_that_the_bank_answered_is_sent_to_the_sandbox(tmp_path: Path) -> None:
    with a_bank() as bank, sandbox_with(bank.url, tmp_path, "record") as admin:
        assert admin.client.get("/v1/consents/nothing").source == "bank"
        comparison = compare(admin)

    assert (comparison["operation"], comparison["findings"]) == ("consent-content", [])


def test_a_write_is_sent_to_the_bank_only_on_demand(tmp_path: Path) -> None:
    with a_bank() as bank, sandbox_with(bank.url, tmp_path, "spy") as admin:
        admin.client.post("/v1/consents", json=CONSENTS)
        why = refused(admin.ask("POST", "journal/1/compare"), 409, "bank-writes")
        assert "sent only with allow_writes" in why
        assert requests_at(bank, "POST") == []
        assert compare(admin, allow_writes=True)["verdict"] == "same"
        assert requests_at(bank, "POST") == ["POST /v1/consents"]


def test_a_bank_in_mode_simulate_gets_no_request(tmp_path: Path) -> None:
    with a_bank() as bank, sandbox_with(bank.url, tmp_path, "simulate") as admin:
        admin.client.get("/v1/accounts", consent=CONSENT)
        assert "--mode spy" in refused(admin.ask("POST", "journal/1/compare"), 409, "bank-not-asked")
        assert requests_at(bank) == []


@pytest.mark.slow
def test_ids_learned_in_mode_compare_are_used(tmp_path: Path) -> None:
    with a_bank() as bank, sandbox_with(bank.url, tmp_path, "compare") as admin:
        id = admin.client.post("/v1/consents", json=CONSENTS).json()["consentId"]
        admin.client.get(f"/v1/consents/{id}/status")
        comparison = compare(admin, 2)

    assert comparison["trouble"] is None
