"""What would be answered is said by its status and error; whatever goes wrong on the way is an answer, too."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.writing import BANK, engine, rules
from xs2a_sandbox.bank import Bank, Outcome
from xs2a_sandbox.bank.bank import attempted, refusal
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.call import Session
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.errors import BankError, StoreUnavailable
from xs2a_sandbox.explain.explanation import Reply
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.target import Target, split_target
from xs2a_sandbox.state import MemoryStore, Transaction
from xs2a_sandbox.state.session import DEFAULT


def bank_of(directory: Path) -> Bank:
    own = rules(
        {"id": "teapot", "match": {"path": "/tea"}, "respond": {"status": 418}},
        {"id": "busy", "match": {"path": "/busy"}, "respond": {"error": "busy"}},
        {"id": "broken", "match": {"path": "/broken"}, "respond": {"body": "{{ 'x' * 9999999 }}"}},
        {"id": "writes", "match": {"path": "/writes"}, "effects": [{"set": "state.notes['n']", "to": {"seen": True}}]},
    )
    return engine(directory, own, bank=BANK).banks.default


def tried(bank: Bank, path: str, *, store: Any = None) -> Reply:
    request, outcome = Request("GET", path), Outcome(bank)
    lookup = bank.find("GET", split_target(path).segments)
    state = Transaction(store or MemoryStore(), DEFAULT, lambda _: {})
    call = Call(request, Target(lookup.segments, ()), Session(DEFAULT, ""), Clock(), state)
    return attempted(bank.decide(call, lookup), call, outcome)


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("/v1/things", 200, None),
        ("/tea", 418, None),
        ("/busy", 500, None),
        ("/broken", 500, "internal"),
        ("/nowhere", 404, "path-unknown"),
    ],
)
def test_it_says_status_and_error(tmp_path: Path, path: str, status: int, error: str | None) -> None:
    reply = tried(bank_of(tmp_path), path)
    assert (reply.status, reply.error) == (status, error)


def test_nothing_is_kept(tmp_path: Path) -> None:
    store = MemoryStore()
    assert tried(bank_of(tmp_path), "/writes", store=store).status == 200
    assert not store.sessions()
    assert not store.counts(DEFAULT)


def test_a_store_that_is_gone_is_an_answer(tmp_path: Path) -> None:
    class Gone(MemoryStore):
        def read(self, *_: Any) -> Any:
            raise StoreUnavailable("the disk is full")

    bank = bank_of(tmp_path / "one")
    own = rules({"id": "reads", "match": {"path": "/x", "when": "state.notes.n1"}})
    bank = engine(tmp_path / "two", own).banks.default
    reply = tried(bank, "/x", store=Gone())
    assert reply.error == "busy"


def test_a_refusal_is_said_as_the_bank_says_it(tmp_path: Path) -> None:
    reply = refusal(BankError("internal", reason="too much tea"), Outcome(bank_of(tmp_path)))
    assert reply == Reply(500, "internal", "too much tea")
