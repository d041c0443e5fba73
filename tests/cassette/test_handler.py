"""Options of handlers in `with`, and the required parameters of paths, checked when cassettes are loaded."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_client import DIALECT, bundled_engine, cassette
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.cassette.handler import Handler, Option, ReadsAndRaises, deeds, handler
from xs2a_sandbox.cassette.matchers import RequestPart
from xs2a_sandbox.documents.json_schema import Schema

RULE = """
    rules:
      - id: mine
        match: {match}
        handler: {handler}
        {rest}
"""


def problems(directory: Path, handler: str, rest: str = "", match: str = "{operation: account-list}") -> list[str]:
    text = RULE.replace("{match}", match).replace("{handler}", handler).replace("{rest}", rest)
    _, mistakes = layers.check([[DIALECT], *cassette(directory, text)], bundled_engine().schemas, NAMED)
    return sorted(f"{p.line}:{p.column} {p.code}: {p.text}" for p in mistakes)


@pytest.mark.parametrize(
    ("handler", "rest", "match", "expected"),
    [
        (
            "accounts.transactions",
            "with: {list: {booked: [booked]}}",
            "{operation: account-transactions}",
            [
                "8:11 missing-key: the handler accounts.transactions needs the key lists in `with`",
                "8:12 unknown-key: unknown key list; did you mean lists?",
            ],
        ),
        (
            "consents.create",
            "with: {status: {named: awaiting}}",
            "{operation: create-consent}",
            ["8:20 missing-key: the key all is missing in status"],
        ),
        (
            "accounts.transactions",
            "input: {account: x, lists: booked}\n        respond: {status: 204}",
            "{path: /mine}",
            ["7:14 missing-key: the handler accounts.transactions needs the key lists in `with`"],
        ),
        (
            "accounts.transactions",
            "with: {lists: {booked: [boked]}}",
            "{operation: account-transactions}",
            ['8:29 wrong-value: must be "booked", "pending" or "information", not "boked"; did you mean booked?'],
        ),
        (
            "baskets.read",
            "respond: {status: 204}",
            "{path: '/mine/{basketID}'}",
            [
                "7:14 missing-input: the handler baskets.read needs the input basket, and this path does not have "
                "the path parameter basketId: specify under `input` where requests contain it"
            ],
        ),
        (
            "payments.read",
            "input: {service: payments}\n        respond: {status: 204}",
            "{path: '/mine/{paymentId}'}",
            [
                "7:14 missing-input: the handler payments.read needs the input product, and this path does not have "
                "the path parameter product: specify under `input` where requests contain it"
            ],
        ),
        # For its own calls a rule can override the section `authorisation`.
        (
            "authorisations.start",
            "with: {family: consent, sca: embedded}",
            "{operation: start-consent-authorisation}",
            [],
        ),
        ("accounts.list", "respond: {status: 204}", "{operation: account-list}", []),
        (
            "payments.read",
            "input: {service: payments, product: mine}\n        respond: {status: 204}",
            "{path: '/x/{paymentId}'}",
            [],
        ),
    ],
)
def test_impossible_options_are_reported(
    tmp_path: Path, handler: str, rest: str, match: str, expected: list[str]
) -> None:
    assert problems(tmp_path, handler, rest, match) == expected


def test_an_operation_cannot_set_its_own_approach(tmp_path: Path) -> None:
    text = """
    operations:
      - id: start-mine
        method: POST
        path: /mine/{consentId}/authorisations
        handler: authorisations.start
        with: {family: consent, sca: redirect}
        respond: {status: 204}
    """
    _, mistakes = layers.check([[DIALECT], *cassette(tmp_path, text)], bundled_engine().schemas, NAMED)

    (problem,) = [p for p in mistakes if p.code == "unknown-key"]
    assert problem.text == "a single operation cannot set sca: set it for all operations, in the section authorisation"
    assert problem.line == 9


def test_options_determine_what_is_read_and_raised() -> None:
    @handler(
        "mine.do",
        reads="where.kind headers.psu-id",
        raises="a",
        returns="x y",
        options={
            "kind": Option("K.", {}, choices={"big": deeds("body/big", "b")}),
            "page": Option("P.", {}, deeds=deeds("query.page")),
        },
    )
    def do(call: Any) -> dict[str, Any]:
        """Does
        it.
        """
        return {"x": call, "y": 1}

    kind, psu = RequestPart("where", "kind"), RequestPart("headers", "psu-id")
    assert do(5) == {"x": 5, "y": 1}  # type: ignore[arg-type]
    assert (do.name, do.doc, do.returns, do.errors) == ("mine.do", "Does it.", ("x", "y"), {"a", "b"})
    assert do.with_options({}) == ReadsAndRaises(frozenset({kind, psu}), frozenset("a"))
    assert do.with_options({"kind": "big", "page": None}) == ReadsAndRaises(
        frozenset({kind, psu, RequestPart("body", "/big")}), frozenset("ab")
    )
    assert do.with_options({"page": 5}).reads == {kind, psu, RequestPart("query", "page")}


def test_a_missing_option_has_its_default() -> None:
    @handler("mine.do", options={"many": Option("M.", {"type": "boolean"}, default=True, deeds=deeds("", "a"))})
    def do(call: Any) -> dict[str, Any]:
        """Does it."""
        return {"many": call.options["many"]}

    assert do.defaults == {"many": True}
    assert do.with_options({}).raises == {"a"}
    assert do.with_options({"many": False}).raises == frozenset()


@pytest.mark.parametrize("own", NAMED.values(), ids=NAMED.keys())
def test_defaults_have_the_type_of_the_option(own: Handler) -> None:
    for name, value in own.defaults.items():
        assert list(Schema(name, own.options[name].schema, lambda uri: {}).complaints(value)) == []
