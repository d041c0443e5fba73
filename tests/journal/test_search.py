"""The search language of the journal."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.journal.journal import Journal, KeptExchange
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.journal.outcome import Outcome
from xs2a_sandbox.journal.search import EXAMPLES, KEYS, STATES, correct, count_values, fits, parse


def kept(
    target: str = "/v1/accounts",
    body: bytes = b"",
    fault: str | None = None,
    outcome: Outcome | None = None,
    **members: Any,
) -> KeptExchange:
    entry = {
        "session": "default", "method": "GET", "path": target, "status": 200, "milliseconds": 12.5, "source": "handler",
        "rule": "account-list", "operation": "account-list", "fault": fault, **members,
    }  # fmt: skip
    journal = Journal()
    request = Request(method=entry["method"], target=target, body=body)
    journal.add(request, Response(entry["status"], (("X-Colour", "Red"),), b""), LogEntry(**entry), outcome)
    return journal.kept_after(0)[0]


READ = kept()
PAID = kept(
    "/s/ci-42/v1/payments/sepa?x=1", b'{"name": "Gr\xc3\xbcn"}', "reset",
    method="POST", status=503, session="ci-42", milliseconds=812.0, rule="fault-1", operation="initiate-payment",
)  # fmt: skip
MISSED = kept("/v1/nothing", status=404, source="sandbox", rule=None, operation=None, reason="no such path")
PAID = structs.replace(PAID, number=17)
AMENDED = kept(outcome=Outcome("differs"), amended=("ids-null",), warnings=("a warning",))
ALL = {"read": READ, "paid": PAID, "missed": MISSED, "amended": AMENDED}


@pytest.mark.parametrize(
    ("text", "fitting"),
    [
        ("", "read paid missed amended"),
        ("status:200", "read amended"),
        ("status:4xx", "missed"),
        ("status:>=404", "paid missed"),
        ("!status:2XX", "paid missed"),
        ("method:post", "paid"),
        ("METHOD:Post", "paid"),
        ("path:/v1/payments/*", "paid"),
        ("path:/v1/nothing/", "missed"),
        ("op:initiate-*", "paid"),
        ("!op:*", "missed"),
        ("rule:ids-null", "amended"),
        ("rule:account-list", "read amended"),
        ("source:sandbox", "missed"),
        ("session:ci-*", "paid"),
        ("fault:reset", "paid"),
        ("ms:>500", "paid"),
        ("ms:<=12", ""),
        ("number:1", "read missed amended"),
        ("number:>1", "paid"),
        ("number:<=123456789012345", "read paid missed amended"),
        ("is:error", "paid missed"),
        ("is:faulted", "paid"),
        ("is:amended", "amended"),
        ("is:different", "amended"),
        ("!is:different status:200", "read"),
        ("is:warned", "amended"),
        ("is:unmatched", "missed"),
        ("GRÜN", "paid"),
        ('"such path"', "missed"),
        ("'such path' status:404", "missed"),
        ("red !is:error", "read amended"),
        ("!red", ""),
        ("status:4xx method:post", ""),
    ],
)
def test_a_search_finds_its_exchanges(text: str, fitting: str) -> None:
    terms = parse(text)
    assert [name for name, one in ALL.items() if fits(terms, one)] == fitting.split()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stauts:404", "unknown key 'stauts' in 'stauts:404'; did you mean status?"),
        ("colour:red", "there are status, method"),
        ("status:many", "status: takes a status, a class or a comparison, such as status:404"),
        ("status:", "status: needs a value, such as status:4xx"),
        ("number:last", "number: takes the number of an exchange or a comparison"),
        ("ms:soon", "ms: takes milliseconds or a comparison, such as ms:20"),
        ("is:slow", "is: takes one of error, faulted, amended, different, warned, unmatched, not 'slow'"),
        ('"open', "missing closing quote"),
    ],
)
def test_an_invalid_search_is_explained(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=r".") as failure:
        parse(text)
    assert words in str(failure.value)


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("stauts:404", "status:404"),
        ("status:4x", "status:4xx"),
        ("status:4***", "status:4xx"),
        ("Staus:4X", "status:4xx"),
        ("status=404", "status:404"),
        ("ms>500 method:post", "ms:>500 method:post"),
        ('!staus:404 "a phrase" path:/v1/*', '!status:404 "a phrase" path:/v1/*'),
        ("is:eror", "is:error"),
        ("status:404", None),
        ("state=abc", None),
        ("colour:red", None),
        ("is:blue", None),
        ("status:many", None),
        ("stauts:many", None),
        ('"open', None),
        ("", None),
    ],
)
def test_a_search_that_is_mistyped_is_corrected(text: str, corrected: str | None) -> None:
    assert correct(text) == corrected


def test_every_key_has_a_valid_example() -> None:
    assert EXAMPLES.keys() == KEYS.keys()
    for key, value in EXAMPLES.items():
        (term,) = parse(f"!{key}:{value}")
        assert parse(str(term)) != ()
        assert str(term) == f"!{key}:{value}"


def test_values_are_counted_by_the_keys_that_find_them() -> None:
    counts = count_values(ALL.values())
    assert counts["status"] == {"2xx": 2, "5xx": 1, "4xx": 1}
    assert counts["session"] == {"default": 3, "ci-42": 1}
    assert counts["is"].keys() <= set(STATES)
    for key, values in counts.items():
        for value, count in values.items():
            assert sum(fits(parse(f"{key}:{value}"), one) for one in ALL.values()) == count


def test_every_key_and_state_is_documented() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "console.md").read_text()
    assert {key for key in KEYS if f"`{key}:" not in page} == set()
    assert {state for state in STATES if f"`is:{state}`" not in page} == set()
