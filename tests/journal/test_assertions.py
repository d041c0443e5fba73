"""Searching the journal, and the message if nothing is found."""

from datetime import UTC, datetime
from typing import Any

import pytest

from xs2a_sandbox.http import Headers, to_json
from xs2a_sandbox.journal.assertions import (
    FILTERS,
    Filter,
    Search,
    Times,
    candidates,
    describe_nearest,
    line,
    list_entries,
    select,
    verify,
)
from xs2a_sandbox.journal.journal import Journaled


def entry(number: int = 1, **changes: Any) -> Journaled:
    values: dict[str, Any] = {
        "number": number,
        "time": datetime(2026, 11, 21, tzinfo=UTC),
        "session": "default",
        "bank": "https://bank.example",
        "method": "GET",
        "target": "/v1/accounts?withBalance=true",
        "headers": Headers([("Consent-ID", "c1")]),
        "body": b'{"a": {"b": 1.0, "c": 2}}',
        "status": 200,
        "answer_headers": Headers(),
        "answer_body": b"",
        "source": "handler",
        "rule": "account-list",
        "milliseconds": 1.0,
        **changes,
    }
    return Journaled(**values)


@pytest.mark.parametrize(
    "wanted",
    [
        Search(),
        Search(method="GET", path="/v1/accounts", status=200, source="handler", rule="account-list"),
        Search(session="default", since=0),
        Search(headers={"consent-id": "c1"}),
        Search(query={"withBalance": "true"}),
        Search(body={"a": {"b": 1}}),
        Search(path="/v1/*"),
        Search(path="/v1/accounts/"),
    ],
    ids=str,
)
def test_a_matching_exchange_has_no_differences(wanted: Search) -> None:
    assert wanted.differences(entry()) == []


@pytest.mark.parametrize(
    ("wanted", "place", "text"),
    [
        (Search(method="POST"), "method", "the method is GET, not POST"),
        (Search(path="/v1/account"), "path", "the path is /v1/accounts, not /v1/account"),
        (Search(path="/accounts"), "path", "the path is /v1/accounts, not /accounts"),
        (Search(status=401), "status", "the status is 200, not 401"),
        (Search(rule="other"), "rule", "the rule is account-list, not other"),
        (Search(session="me"), "session", "the session is default, not me"),
        (Search(since=1), "since", "the number is 1, not after 1"),
        (Search(headers={"Consent-ID": "c2"}), "headers.Consent-ID", "the header Consent-ID is c1, not c2"),
        (Search(headers={"PSU-ID": "x"}), "headers.PSU-ID", "the header PSU-ID is absent, not x"),
        (Search(query={"withBalance": "false"}), "query.withBalance", "withBalance in the query is true, not false"),
        (Search(body={"a": {"b": 2}}), "body", 'the body does not contain {"a":{"b":2}}'),
    ],
)
def test_a_difference_has_its_place_and_text(wanted: Search, place: str, text: str) -> None:
    assert wanted.differences(entry()) == [(place, text)]


@pytest.mark.parametrize("target", ["/xs2a/v1/accounts", "/a/b/v1/accounts/", "/v1/accounts"])
def test_paths_of_a_bank_start_at_v1_regardless_of_the_prefix(target: str) -> None:
    assert select([entry(target=target)], Search(path="/v1/accounts"))


@pytest.mark.parametrize(
    ("times", "fits", "text"),
    [
        (Times(), {1, 2, 3, 4, 99}, "at least once"),
        (Times(0, 0), {0}, "never"),
        (Times(1, 1), {1}, "once"),
        (Times(3, 3), {3}, "3 times"),
        (Times(0, 2), {0, 1, 2}, "at most twice"),
        (Times(2, 4), {2, 3, 4}, "2 to 4 times"),
        (Times(0), {0, 1, 2, 3, 4, 99}, "at least 0 times"),
    ],
)
def test_the_number_of_times_is_checked(times: Times, fits: set[int], text: str) -> None:
    assert {count for count in (0, 1, 2, 3, 4, 99) if count in times} == fits
    assert str(times) == text


def test_the_nearest_exchanges_have_the_fewest_differences_and_the_latest_is_first() -> None:
    entries = [entry(1, method="PUT", status=500), entry(2, status=500), entry(3, status=404), entry(4)]
    verdict = verify(entries, Search(method="GET", status=201), Times())
    assert not verdict.holds
    assert [found.number for found, _ in verdict.nearest] == [4, 3, 2]
    assert verify(entries, Search(status=500), Times(2, 2)).holds


def test_a_verdict_is_readable() -> None:
    seen = [entry(1), entry(2, method="DELETE", target="/v1/consents/c1", status=204, rule=None)]
    assert str(verify(seen, Search(method="POST", path="/v1/consents", body={"x": 1}), Times(1, 1))) == (
        'expected once: POST /v1/consents body={"x":1}\n'
        "found never\n"
        "\n"
        "nearest:\n"
        "  #2 DELETE /v1/consents/c1 → 204 handler -\n"
        "      the method is DELETE, not POST\n"
        "      the path is /v1/consents/c1, not /v1/consents\n"
        '      the body does not contain {"x":1}\n'
        "  #1 GET /v1/accounts?withBalance=true → 200 handler account-list\n"
        "      the method is GET, not POST\n"
        "      the path is /v1/accounts, not /v1/consents\n"
        '      the body does not contain {"x":1}\n'
        "\n"
        "requests:\n"
        "  #1 GET /v1/accounts?withBalance=true → 200 handler account-list\n"
        "  #2 DELETE /v1/consents/c1 → 204 handler -"
    )


def test_a_verdict_about_an_empty_journal_says_that_there_are_no_requests() -> None:
    assert str(verify([], Search(method="GET"), Times())).endswith("no request has reached the sandbox")


def test_too_many_matches_show_no_nearest_exchange() -> None:
    assert "nearest" not in str(verify([entry(1), entry(2), entry(3, status=404)], Search(status=200), Times(1, 1)))


def test_errors_warnings_and_nearest_entries_are_listed_below_the_line() -> None:
    near = {"operation": "account-list", "method": "GET", "path": "/v1/accounts", "place": "a.yaml:3"}
    body = {
        "tppMessages": [{"text": "unknown path"}],
        "sandbox": {"message": "nothing has this path", "nearest": [near, {"rule": "mine"}]},
    }
    lost = entry(status=404, answer_body=to_json(body), warnings=("odd",))
    assert list_entries([lost])[1:] == [
        "      unknown path",
        "      odd",
        "      nothing has this path",
        "      near: operation account-list GET /v1/accounts (a.yaml:3)",
        "      near: rule mine",
    ]
    assert candidates(lost) == describe_nearest(lost)[1:]


@pytest.mark.parametrize("body", [{"sandbox": 1}, {"sandbox": {"nearest": 3}}, {"tppMessages": [1]}, [1], "x", None])
def test_an_answer_of_any_shape_can_be_listed(body: Any) -> None:
    assert len(list_entries([entry(status=404, answer_body=to_json(body))])) == 1


def test_only_the_last_exchanges_are_listed() -> None:
    assert list_entries([entry(number) for number in range(1, 14)], 10)[:2] == [
        "  … and 3 before",
        f"  {line(entry(4))}",
    ]


def test_a_fault_is_shown() -> None:
    assert "→ 200 (reset)" in line(entry(fault="reset"))


VALUES: dict[str, Any] = {
    "text": "none such",
    "before": 0,
    "number": 10**6,
    "texts": {"none": "such"},
    "json": {"none": "such"},
}


@pytest.mark.parametrize("one", FILTERS, ids=lambda one: one.name)
def test_every_filter_excludes_exchanges(one: Filter) -> None:
    entries = [entry(1), entry(2)]
    assert select(entries, Search(**{one.name: None})) == entries
    value = VALUES.get(one.name, VALUES[one.kind])
    assert select(entries, Search(**{one.name: value})) == []
    assert one.name in str(Search(**{one.name: value})) or one.name in ("method", "path")
