"""Interfaces of real banks, served by WireMock, recorded through both doors, and replayed without the bank."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from tools.recorded_banks import (
    DOORS,
    AsDialect,
    Outcome,
    Step,
    as_dialect,
    backwards,
    differences,
    journey,
    led_to,
    page,
    walk,
)

from tests.support.wiremock import BankRequest, missing

BANK, BASE = "https://localhost:9443", "http://127.0.0.1:8081"
REPLAYED = {"X-Sandbox-Source": "rule", "Content-Type": "application/json"}


@pytest.mark.slow
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
@pytest.mark.parametrize("bank", ["olb", "sparkassen"])
def test_every_recorded_request_is_answered_in_the_replay(bank: str, tmp_path: Path) -> None:
    outcomes = list(walk(bank, tmp_path))
    assert [(one.door, one.redacted) for one in outcomes] == [(door, red) for door in DOORS for red in (True, False)]
    for one in outcomes:
        assert one.losses == ()
        assert one.requests == one.recorded == one.answered > 6
        assert 0 < one.rules <= one.requests
        assert one.lines < 30 * one.requests
        assert one.not_recorded == 0


@pytest.mark.slow
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_derived_dialect_answers_its_recording(tmp_path: Path) -> None:
    one = as_dialect("n26", tmp_path)
    assert one.alike == one.requests
    # The bank shows an account whose IBAN has no existing country. The rules answer for it; test data cannot contain
    # it.
    told = ("so effects answer instead", "of the recording cannot be expressed in test data")
    assert all(text.endswith(told) for text in one.unknown)


def test_a_journey_creates_resources_before_use_and_deletes_them_last() -> None:
    targets = [("DELETE", "/v1/consents/c"), ("GET", "/v1/accounts/a/balances"), ("GET", "/v1/accounts")]
    targets += [("POST", "/token"), ("GET", "/v1/consents/c/status"), ("POST", "/v1/consents")]
    requests = [BankRequest(method, target, (), "") for method, target in targets]
    assert [(one.method, one.target) for one in journey(requests)] == [targets[n] for n in (5, 3, 4, 2, 1, 0)]


def test_several_losses_of_one_request_count_once() -> None:
    losses = ("GET /a: 404 instead of 200", "GET /b: /x is missing", "GET /b: /y is missing")
    one = Outcome("bank", "proxy", False, 7, recorded=7, rules=6, lines=90, not_recorded=1, losses=losses)
    assert one.answered == 5
    dialect = AsDialect("bank", "documented-1", 7, alike=6, operations=3, rules=2, unknown=("a",))
    text = page([one], [dialect])
    assert "| bank | proxy | no | 7 | 7 | 5 | 6 | 90 | 1 |\n\n## As dialects" in text
    assert text.endswith("| bank | `documented-1` | 7 | 6 | 3 | 2 | 1 |\n")


def answer(value: Any, status: int = 200, headers: Mapping[str, str] = REPLAYED) -> httpx.Response:
    return httpx.Response(status, headers=headers, content=json.dumps(value).encode())


@pytest.mark.parametrize(
    ("recorded", "replayed", "exact", "redacted"),
    [
        ({"a": 1}, {"a": 1}, [], []),
        ({"a": 1}, {"a": 2}, ["/a is another"], []),
        ({"a": 1}, {"a": "1"}, ["/a is another"], ["/a is another"]),
        ({"a": 1}, {}, ["/a is missing", " is new"], ["/a is missing", " is new"]),
        ({"a": [1, 2]}, {"a": [1]}, ["/a/1 is missing"], ["/a/1 is missing"]),
        ({"a": BANK + "/v1/1"}, {"a": BASE + "/v1/1"}, [], []),
        ({"a": BANK + "/v1/1"}, {"a": BASE + "/v1/2"}, ["/a leads elsewhere"], []),
        ({"a": BANK + "/v1/1"}, {"a": BASE + "/v1"}, ["/a leads elsewhere"], ["/a leads elsewhere"]),
        ({"a": BANK + "/v1/1"}, {"a": BANK + "/v1/1"}, ["/a leads elsewhere"], ["/a leads elsewhere"]),
        ({"a": BANK + "/v1/1"}, {"a": "dropped"}, ["/a is not a link any more"], ["/a is not a link any more"]),
    ],
)
def test_a_different_value_is_reported(recorded: Any, replayed: Any, exact: list[str], redacted: list[str]) -> None:
    for is_exact, expected in ((True, exact), (False, redacted)):
        assert list(differences(answer(recorded), answer(replayed), (BANK,), BASE, exact=is_exact)) == expected


def test_a_different_status_place_or_media_type_is_reported() -> None:
    def seen(other: httpx.Response) -> list[str]:
        return list(differences(answer({}), other, (BANK,), BASE, exact=True))

    assert seen(answer({}, 404)) == ["404 instead of 200"]
    assert seen(answer({}, headers={**REPLAYED, "X-Sandbox-Source": "handler"})) == ["answered by handler"]
    assert "application/problem+json instead of application/json" in seen(
        answer({}, headers={**REPLAYED, "Content-Type": "application/problem+json"})
    )
    assert seen(answer({}, headers={**REPLAYED, "Location": "/a"})) == ["Location is new"]


def test_only_repeated_requests_keep_their_order() -> None:
    def step(target: str, status: int) -> Step:
        return Step(BankRequest("GET", target, (), ""), httpx.Response(status))

    steps = [step("/a", 200), step("/status", 201), step("/b", 200), step("/status", 202)]
    assert [one.answer.status_code for one in backwards(steps)] == [201, 200, 202, 200]
    assert led_to(steps[0], f"{BANK}/a", (BANK,))
    assert not led_to(steps[0], f"{BANK}/a?page=2", (BANK,))
