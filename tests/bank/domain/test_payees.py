"""Holders of accounts at this bank and others, and doubtful payees of a payment."""

from typing import Any

import pytest

from tests.support.engine_client import Client, an_engine
from tests.support.visitor import transaction
from xs2a_sandbox.bank.domain.payees import COMPARED, doubtful_payees, find_payee, verify
from xs2a_sandbox.state.session import SESSION_FAULTS

ANNA, MUEHLBACH, NOBODY = "AT459880000010204711", "AT229822500040197975", "AT611904300234573201"


class _Call:
    def __init__(self) -> None:
        self.state = transaction(Client(an_engine()))


@pytest.fixture
def call() -> Any:
    return _Call()


@pytest.mark.parametrize(
    ("iban", "name"),
    [
        (ANNA, "Anna Grünwald"),
        ("at45 9880 0000 1020 4711", "Anna Grünwald"),
        ("AT669880000010263115", "Hausgemeinschaft Kastanienhof"),
        (MUEHLBACH, "Mühlbach Maschinenbau GmbH"),
    ],
)
def test_the_holder_of_an_account(call: Any, iban: str, name: str) -> None:
    payee = find_payee(call, {"iban": iban})
    assert payee
    assert payee.name == name


@pytest.mark.parametrize("account", [{"iban": NOBODY}, {"iban": ""}, {}])
def test_an_unknown_account(call: Any, account: Any) -> None:
    assert find_payee(call, account) is None
    asked = {"name": "Anna Grünwald", "identifiers": [{"scheme": "LEI", "value": "X"}], "account": account}
    assert verify(call, asked, COMPARED) == {
        "name_match": "not-possible",
        "suggested_name": None,
        "identifier_match": "not-possible",
    }


@pytest.mark.parametrize(
    ("identifiers", "result"),
    [
        ([("LEI", "529900MUEHLBACH00065")], "match"),
        ([("TXID", "ATU 0000 0075"), ("LEI", "529900muehlbach00065"), ("COID", "7")], "match"),
        ([("LEI", "529900MUEHLBACH00065"), ("TXID", "ATU00000056")], "no-match"),
        ([("LEI", "529900MUEHLBACH00066")], "no-match"),
        ([("COID", "7")], "not-possible"),
        ([("LEI", None)], None),
        ([], None),
    ],
)
def test_identifiers(call: Any, identifiers: Any, result: str | None) -> None:
    listed = [{"scheme": scheme, "value": value} for scheme, value in identifiers]
    outcome = verify(call, {"account": {"iban": MUEHLBACH}, "identifiers": listed}, COMPARED)
    assert outcome == {"name_match": None, "suggested_name": None, "identifier_match": result}


def test_a_name_is_suggested_only_after_a_close_match(call: Any) -> None:
    names = {"Anna Grünwald": None, "Ana Grünwald": "Anna Grünwald", "Otto Moser": None}
    asked = [verify(call, {"account": {"iban": ANNA}, "name": name}, COMPARED) for name in names]
    assert [one["name_match"] for one in asked] == ["match", "close-match", "no-match"]
    assert [one["suggested_name"] for one in asked] == [*names.values()]


@pytest.mark.parametrize(
    ("forced", "expected"),
    [
        ("match", ("match", None, "match")),
        ("close-match", ("close-match", "Anna Grünwald", "match")),
        ("no-match", ("no-match", None, "no-match")),
        ("not-possible", ("not-possible", None, "not-possible")),
    ],
)
def test_a_result_can_be_forced(call: Any, forced: str, expected: tuple[str | None, ...]) -> None:
    asked = {"account": {"iban": ANNA}, "name": "Berta", "identifiers": [{"scheme": "LEI", "value": "X"}]}
    assert tuple(verify(call, asked, forced).values()) == expected


def test_a_fault_takes_precedence_over_the_option_for_one_request(call: Any) -> None:
    SESSION_FAULTS.keep(call.state, [{"id": "fault-1", "payee": "close-match", "next": 1, "seen": 0, "hits": 0}])
    asked = {"account": {"iban": NOBODY}, "name": "Berta"}
    first, second = (verify(call, asked, "no-match") for _ in range(2))
    assert (first["name_match"], first["suggested_name"]) == ("close-match", "Berta")
    assert second["name_match"] == "no-match"


def test_doubtful_payees_of_a_payment() -> None:
    parts = [{"creditor": {"name": name}} for name in ("Anna", "Berta", "Clara")]
    outcomes = [{"name_match": "match"}, None, {"name_match": "no-match", "suggested_name": None}]
    doubtful = [*doubtful_payees({"parts": parts, "verifications": outcomes})]
    assert doubtful == [{"name": "Clara", "name_match": "no-match", "suggested_name": None}]
    assert [*doubtful_payees({"parts": parts})] == []
