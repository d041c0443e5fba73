"""All conditions of an entry are checked and reported."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.explained import explained
from tests.support.writing import BANK, engine, rules

CROSS_BORDER = "cross-border-credit-transfers"
THINGS = {
    **BANK,
    "operations": [
        *BANK["operations"],
        {
            "id": "send",
            "method": "POST",
            "path": "/v1/{kind}/{product}",
            "where": [
                {"kind": "slow", "product": ["sepa-credit-transfers"]},
                {"kind": "fast", "product": CROSS_BORDER},
            ],
            "require": {"headers": {"X-Request-ID": {"format": "uuid"}}, "body": {"schema": "payments/{product}"}},
            "respond": {"body": "sent"},
        },
    ],
}


def checks(tmp_path: Path, match: dict[str, Any], url: str, **options: Any) -> tuple[list[str], list[str]]:
    explanation = explained(
        engine(tmp_path, rules({"id": "r", "match": match})), options.pop("method", "GET"), url, **options
    )
    mine = next(one for one in [explanation["by"], *explanation["nearest"]] if one and one.get("rule") == "r")
    return mine["fitted"], [one["text"] for one in mine["missed"]]


@pytest.mark.parametrize(
    ("match", "given", "missed"),
    [
        ({"headers": {"PSU-ID": "corp-1"}}, {"headers": {"psu-id": "x"}}, 'header PSU-ID is "x", must be corp-1'),
        ({"headers": {"PSU-ID": {"exists": True}}}, {}, "header PSU-ID is missing"),
        ({"headers": {"A": {"absent": True}}}, {"headers": {"A": "x"}}, 'header A is "x", must be absent'),
        ({"headers": {"A": {"not": "x"}}}, {"headers": {"A": "x"}}, 'header A is "x", must be not x'),
        ({"query": {"n": {"in": ["1", "2"]}}}, {}, "query parameter n is missing, must be one of 1, 2"),
        ({"body": {"/a": {"regex": "^x"}}}, {"body": {"a": "y"}}, 'body member /a is "y", must be a value that'),
        ({"body": {"contains": {"a": 1}}}, {"body": {"a": 2}}, 'body is {"a":2}, must be a value that matches'),
        ({"method": ["PUT", "POST"]}, {}, "method is GET, must be POST or PUT"),
        ({"when": "query.n"}, {}, "when query.n: is false"),
    ],
)  # fmt: skip
def test_each_failed_condition_is_reported(
    tmp_path: Path, match: dict[str, Any], given: dict[str, Any], missed: str
) -> None:
    fitted, found = checks(tmp_path, {"path": "/x", **match}, "/x", **given)

    assert len(found) == 1
    assert found[0].startswith(missed)
    assert "path /x" in fitted


def test_all_met_conditions_are_listed(tmp_path: Path) -> None:
    match = {"path": "/x/{y}", "where": {"y": "1"}, "headers": {"A": {"absent": True}}, "when": "path.y == '1'"}

    assert checks(tmp_path, match, "/x/1") == (
        ["method GET", "path /x/{y}", 'path parameter y is "1"', "header A is absent", "when path.y == '1'"],
        [],
    )


def test_the_nearest_alternative_is_shown(tmp_path: Path) -> None:
    first = explained(engine(tmp_path, bank=THINGS), "POST", "/v1/slo/sepa-credit-transfers")["nearest"][0]

    assert (first["operation"], first["missed"][0]["text"]) == ("send", 'path parameter kind is "slo", must be slow')
    assert 'path parameter product is "sepa-credit-transfers"' in first["fitted"]


def test_an_entry_with_an_unknown_schema_name_is_left_out(tmp_path: Path) -> None:
    explanation = explained(engine(tmp_path, bank=THINGS), "POST", "/v1/fast/..%2F..%2Fsecret", body={})["nearest"][0]

    assert explanation["operation"] == "send"
    assert explanation["lacks"] == ["the header X-Request-ID is missing; it must be a UUID"]


def test_a_rule_of_another_operation_is_reported(tmp_path: Path) -> None:
    other = {"id": "any", "method": "GET", "path": "/v1/{kind}", "respond": {"body": "any"}}
    bank = {**BANK, "operations": [*BANK["operations"], other]}
    rule = {"id": "r", "match": {"operation": "any"}}

    explanation = explained(engine(tmp_path, rules(rule), bank=bank), "GET", "/v1/things")

    assert explanation["by"]["operation"] == "list"
    assert explanation["nearest"][0]["missed"][0]["text"] == "the path belongs to the operation list, not to any"


def test_long_values_are_cut(tmp_path: Path) -> None:
    _, missed = checks(tmp_path, {"path": "/x", "query": {"a": "1"}}, "/x?a=" + "z" * 5000)

    assert len(missed[0]) < 200
