"""The content of a report. No format contains unredacted data."""

import asyncio
import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.support.engine_client import bundled_engine
from xs2a_sandbox.compare.comparison import Comparison, Result, Step
from xs2a_sandbox.compare.masking import IgnoreRule, Ignoring
from xs2a_sandbox.compare.reports.report import ABSENT, NOT_SHOWN, Report, make_printable, report
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.features.compare import suggest_amendments as patch
from xs2a_sandbox.features.compare.reports import suggest_ignores as ignore_suggestion
from xs2a_sandbox.features.compare.reports import text as report_text
from xs2a_sandbox.features.compare.reports.files import WRITERS
from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.http.exchange import Exchange

SECRET = "S3CR3T"
Answers = tuple[Any, Any]


def comparison(*pairs: Answers, target: str = "/v1/things", rules: Any = (), down: bool = False) -> Result:
    """Compare answers. Bank and sandbox answer each request with the next pair: JSON, or a whole response."""
    answers = {str(n): pair for n, pair in enumerate(pairs)}

    def response(value: Any) -> Response:
        return value if isinstance(value, Response) else Response(200, (), to_json(value))

    async def bank(request: Request) -> Response:
        if down:
            raise BankError("bank-late", bank="bank.example", reason="10 seconds")
        return response(answers[request.headers.get("X-Number") or ""][0])

    async def sandbox(request: Request) -> Response:
        return response(answers[request.headers.get("X-Number") or ""][1])

    engine = bundled_engine()
    made = Comparison(engine.interface, engine.schemas, sandbox, bank, ignoring=Ignoring(rules))
    steps = [Step(f"step {n}", Request("GET", target, Headers([("X-Number", n)]))) for n in answers]
    return asyncio.run(made.play([*steps, Step("a write", Request("POST", target))]))


def hidden(entry: Exchange) -> Exchange:
    """A stand-in for redaction that replaces the secret everywhere, also in names."""

    def clean(text: str) -> str:
        return text.replace(SECRET, "xxxxxx")

    def headers(given: Headers) -> Headers:
        return Headers((clean(name), clean(value)) for name, value in given)

    return replace(
        entry,
        target=clean(entry.target),
        headers=headers(entry.headers),
        body=clean(entry.body.decode()).encode(),
        answer_headers=headers(entry.answer_headers),
        answer_body=clean(entry.answer_body.decode()).encode(),
    )


FORMS = [end.removeprefix(".") for end in WRITERS]


def forms(made: Report) -> dict[str, str]:
    text = StringIO()
    # Only operations of the interface are amended.
    known = replace(made, exchanges=tuple(replace(one, operation="account-list") for one in made.exchanges[:1]))
    report_text.write(made, Console(file=text, width=200))
    return {
        "text": text.getvalue(),
        **{end.removeprefix("."): write(made, "low") for end, write in WRITERS.items()},
        "patch": "".join(patch.suggest(known, bundled_engine().interface).cassettes.values()),
        "suggestions": ignore_suggestion.as_yaml(*ignore_suggestion.suggest(made)),
    }


def findings(result: Result, redact: Any = None) -> list[tuple[str, str, str, str]]:
    return [(f.kind, f.where, f.bank, f.sandbox) for e in report(result, "bank", redact).exchanges for f in e.findings]


@pytest.mark.parametrize(
    ("bank", "sandbox", "found"),
    [
        ({"a": 1}, {"a": 2}, ("value", "/a", "1", "2")),
        ({"a": {"b": "x"}}, {}, ("member-missing", "/a", '{"b":"x"}', ABSENT)),
        ({}, {"a": [1]}, ("member-extra", "/a", ABSENT, "[1]")),
        ({"a": None}, {}, ("null", "/a", "null", ABSENT)),
        ({}, {"a": None}, ("null", "/a", ABSENT, "null")),
        ({"a": [1, 2]}, {"a": [1]}, ("length", "/a", "2 elements", "1 elements")),
        ([{"iban": "x"}, {"iban": "y"}], [{"iban": "y"}], ("element-missing", "/0", '{"iban":"x"}', ABSENT)),
        ({"a": "x" * 999}, {"a": 1}, ("type", "/a", '"' + "x" * 238 + "…", "1")),
        (Response(200), Response(201), ("status", "status", "200", "201")),
        (Response(200, (("X-A", "1"),)), Response(200), ("header-missing", "header X-A", "1", ABSENT)),
        (Response(200), Response(200, (("X-A", "1"),)), ("header-extra", "header X-A", ABSENT, "1")),
        (Response(200, (), b"<p>"), Response(200), ("type", "", '"<p>"', ABSENT)),
        (Response(200, (), b"\xff\xfe"), Response(200, (), b"a"), ("value", "", "(2 bytes)", '"a"')),
    ],
)  # fmt: skip
def test_a_finding_shows_both_sides(bank: Any, sandbox: Any, found: tuple[str, ...]) -> None:
    assert findings(comparison((bank, sandbox))) == [found]


def test_the_worst_findings_come_first_and_all_are_counted() -> None:
    made = report(comparison((Response(200, (("X-A", "1"),), b'{"a":1}'), {"a": 2, "c": 1}), ({}, {})), "bank", None)
    assert [f.severity for f in made.exchanges[0].findings] == ["high", "medium", "low"]
    assert [e.worst for e in made.exchanges] == ["high", None]
    assert made.tally.severities == {"high": 1, "medium": 1, "low": 1}
    assert (made.tally.verdicts["same"], made.tally.verdicts["differs"], made.skipped) == (1, 1, ("a write",))


@pytest.mark.parametrize(
    ("bank", "place"),
    [
        ({}, "/accounts is required"),
        ({"accounts": [{"resourceId": "1"}]}, "/accounts/0/iban is required"),
        ({SECRET: 1}, "/xxxxxx is unknown here"),
        ([], "the body must be an object, not an array"),
    ],
)
@pytest.mark.parametrize("form", ["text", "html", "xml"])
def test_a_schema_problem_in_an_answer_with_another_status_has_its_place(bank: Any, place: str, form: str) -> None:
    json_type = (("Content-Type", "application/json"),)
    refused = Response(400, json_type, to_json({}))
    made = report(comparison((bank, refused), target="/v1/accounts"), "bank", hidden)

    assert place in " ".join(forms(made)[form].split())


@pytest.mark.parametrize(
    ("sandbox", "fails"),
    [
        ({"a": 1}, []),
        (Response(200, (("X-A", "1"),), b'{"a":1}'), ["low"]),
        ({"a": 2}, ["medium", "low"]),
        ({"a": "1"}, ["high", "medium", "low"]),
    ],
)
def test_fail_on_includes_higher_severities(sandbox: Any, fails: list[str]) -> None:
    made = report(comparison(({"a": 1}, sandbox)), "bank", None)
    assert [floor for floor in ("high", "medium", "low") if made.fails(floor)] == fails  # type: ignore[arg-type]
    assert not made.fails(None)


def planted() -> Result:
    """Put the secret in every possible place."""
    body = {
        "name": SECRET,
        f"{SECRET}": {"in": 1},
        "list": [{"iban": f"{SECRET}1", "x": SECRET}, {"iban": "B", "x": SECRET}],
        "both": SECRET,
    }
    sandbox = {"name": "other", "list": [{"iban": "B", "x": 1}], "both": SECRET, "note": SECRET, f"{SECRET}X": None}
    return comparison(
        (Response(200, (("Location", f"/v1/{SECRET}"), ("X-Own", SECRET)), to_json(body)), sandbox),
        (Response(200, (), f"<h1>{SECRET}".encode()), Response(200, (), SECRET.encode())),
        (Response(401, (("X-A", SECRET),), b"{}"), Response(200, (("X-A", "1"), (f"X-{SECRET}", SECRET)), b"{}")),
        target=f"/v1/things/{SECRET}?a={SECRET}",
        rules=[IgnoreRule("known", path=("both",)), IgnoreRule("unused", path=("zzz",))],
    )


@pytest.mark.parametrize("form", ["text", *FORMS, "patch", "suggestions"])
def test_a_report_contains_no_unredacted_data(form: str) -> None:
    assert SECRET not in forms(report(planted(), "bank", hidden))[form]


def test_only_exchanges_that_are_shown_are_redacted() -> None:
    shown: list[Exchange] = []

    def redact(exchange: Exchange) -> Exchange:
        shown.append(exchange)
        return exchange

    made = report(comparison(({"a": 1}, {"a": 1}), ({"a": 1}, {"a": 2}), ({}, {})), "bank", redact)
    assert [one.verdict for one in made.exchanges] == ["same", "differs", "same"]
    report_text.write(made, Console(file=StringIO()))
    assert len(shown) == 2


def test_an_unredacted_report_contains_the_secret() -> None:
    made = forms(report(planted(), "bank", None))
    assert [form for form, text in made.items() if SECRET not in text] == []


def test_places_and_values_come_from_the_redacted_answers() -> None:
    found = {(kind, where): (bank, sandbox) for kind, where, bank, sandbox in findings(planted(), hidden)}
    assert found["value", "/name"] == ('"xxxxxx"', '"other"')
    assert found["member-missing", "/xxxxxx"] == ('{"in":1}', ABSENT)
    assert found["type", "/list/0/x"] == ('"xxxxxx"', "1")


def test_removed_content_is_not_shown() -> None:
    def dropped(entry: Exchange) -> Exchange:
        return replace(entry, answer_headers=Headers(), answer_body=b"<!-- 99 bytes -->")

    result = comparison((Response(200, (("X-A", SECRET),), to_json({"a": {"b": SECRET}})), {"a": {"b": 1}}))
    assert findings(result, dropped) == [
        ("type", "/…", '"<!-- 99 bytes -->"', '"<!-- 99 bytes -->"'),
        ("header-missing", "header X-A", NOT_SHOWN, ABSENT),
    ]


def test_exchanges_that_could_not_be_compared_are_in_every_format(tmp_path: Path) -> None:
    made = report(comparison(({}, {}), down=True), "bank", None)
    assert made.tally.verdicts["not answered"] == 1
    for form in ("text", *FORMS):
        assert "bank-late: bank.example, 10 seconds" in forms(made)[form]


def test_unused_rules_are_in_every_format(tmp_path: Path) -> None:
    rules = [IgnoreRule("no longer needed", "ignore.yaml:7", path=("x",))]
    made = report(comparison(({}, {}), rules=rules), "bank", None)
    for form in ("text", "json", "html"):
        assert "ignore.yaml:7" in forms(made)[form]


@pytest.mark.parametrize("text", ["\x1b[31mred", "a\x00b", "\x7f", "\u202eevil", "\ud800", "\ufeff"])
def test_control_characters_are_escaped_for_terminals(text: str) -> None:
    assert make_printable(text).isprintable()
    assert make_printable("plain ünï\nline") == "plain ünï\nline"


BODIES = st.sampled_from(
    [
        b"",
        b"<p>\x00",
        b"\xff",
        b'"\\ud800"',
        b"[" * 300 + b"]" * 300,
        b"9" * 5000,
        b"1e999999",
        b'{"\\u0000":"\\u001b[0m"}',
    ]
)
JSON = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(), v, max_size=4),
    max_leaves=9,
)


@given(BODIES | JSON.map(lambda v: json.dumps(v).encode()), BODIES | JSON.map(lambda v: json.dumps(v).encode()))
def test_every_format_accepts_every_pair_of_bodies(bank: bytes, sandbox: bytes) -> None:
    made = report(comparison((Response(200, (), bank), Response(200, (), sandbox))), "bank", None)
    for form, text in forms(made).items():
        assert text.encode() is not None
        if form == "xml":
            ElementTree.fromstring(text)
        elif form == "json":
            json.loads(text)
