"""Completions, descriptions and definitions in cassettes. `|` marks the cursor; `¦` is the pipe of an expression."""

from functools import cache
from pathlib import Path

import pytest

from xs2a_sandbox.bundled import bundled, dialects
from xs2a_sandbox.cassette.evaluation.expressions import FILTERS, FUNCTIONS, ROOTS
from xs2a_sandbox.documents.json_schema import bundled_schema
from xs2a_sandbox.features.language_server.findings import LintTarget, examine, schema_of
from xs2a_sandbox.features.language_server.names import Name
from xs2a_sandbox.features.language_server.words import Language

RULE = "cassette: 1\nrules:\n  - id: mine\n    "
OPERATION = "cassette: 1\noperations:\n  - id: initiate-payment\n    "


@cache
def language(dialect: str = "xs2a-1.84") -> Language:
    found = examine(LintTarget(dialect, None), {})
    assert found.bank
    return Language(schema_of("cassette"), found.bank)


def split(text: str) -> tuple[str, int]:
    before, _, after = text.partition("|")
    return (before + after).replace("¦", "|"), len(before)


def complete(text: str, language: Language) -> set[str]:
    return {one.text for one in language.complete(*split(text)).suggestions}


@pytest.mark.parametrize(
    ("text", "there", "not_there"),
    [
        ("|", {"cassette", "rules", "operations"}, {"match"}),
        ("cassette: 1\n|", {"rules"}, {"cassette"}),
        (RULE + "|\n    doc: x", {"match", "respond", "amend"}, {"id", "doc", "method"}),
        (RULE + "match: {|}", {"operation", "path", "when"}, {"id"}),
        (RULE + "match: {headers: {X-Y: {|}}}", {"regex", "format", "absent"}, {"schema"}),
        (RULE + "match: {operation: init|}\n    respond: {status: 1}", {"initiate-payment"}, {"mine"}),
        (RULE + "match: {method: |}", {"GET", "POST"}, set()),
        (RULE + "respond:\n      |\n    doc: x", {"status", "body", "error"}, set()),
        (RULE + "respond: {error: |}", {"consent-expired"}, {"error"}),
        (RULE + "respond: {body: {error: |}}", set(), {"consent-expired"}),
        (RULE + "respond: {schema: |}", {"account-list"}, set()),
        (RULE + "handler: |", {"payments.initiate"}, {"move-payment"}),
        (RULE + "effects: [{do: |}]", {"move-payment"}, {"payments.initiate"}),
        (OPERATION + "roles: [|]", {"AISP", "PISP"}, set()),
        (OPERATION + "answers: {200: |}", {"payment-initiation"}, set()),
        (OPERATION + "handler: payments.initiate\n    with: {|}", {"sca"}, {"confirmed_by"}),
        ("cassette: 1\nextends: |", set(dialects()), set()),
        ("cassette: 1\nchanges: {operations: {|}}", {"initiate-payment"}, set()),
    ],
)
def test_keys_and_values(text: str, there: set[str], not_there: set[str]) -> None:
    found = complete(text, language())
    assert there <= found
    assert not not_there & found


@pytest.mark.parametrize(
    ("text", "there", "not_there"),
    [
        (RULE + 'respond: {body: "{{ |"}', ROOTS | {f"{name}(" for name in FUNCTIONS}, {"error", "it"}),
        (RULE + "match: {when: |}", ROOTS, {"error"}),
        (RULE + 'respond: {body: "{{ body.x ¦ |}}"}', FILTERS, ROOTS),
        (RULE + 'respond: {body: "x {{ clock.now }} |"}', set(), ROOTS),
        ('cassette: 1\nevery_error: {body: "{{ |"}', {"error"}, {"it"}),
        ('cassette: 1\nshapes: {one: {x: "{{ |"}}', {"it"}, set()),
        (RULE + 'amend: {headers: {X: "{{ |"}}', {"answer"}, {"error"}),
        (OPERATION + 'respond: {body: "{{ path.|"}', {"product"}, {"request"}),
        (OPERATION + 'respond: {body: "{{ request.client.|"}', {"roles"}, {"method"}),
        (OPERATION + 'respond: {body: "{{ result.|"}', {"status"}, {"clock"}),
        (OPERATION + 'respond: {body: "{{ state.payments.any.|"}', {"status"}, set()),
    ],
)
def test_expressions(text: str, there: set[str], not_there: set[str]) -> None:
    found = complete(text, language())
    assert there <= found
    assert not not_there & found


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        (RULE + "handler: payments.in|it\n", "payments.init"),
        (RULE + "match: {operation: |}", ""),
        (RULE + 'respond: {body: "{{ request.me| }}"}', "me"),
    ],
)
def test_a_suggestion_replaces_the_whole_word(text: str, replaced: str) -> None:
    whole, offset = split(text)
    found = language().complete(whole, offset)
    assert whole[found.start : found.end] == replaced


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (RULE + "ma|tch: {path: /x}", "Which requests the rule answers"),
        (RULE + "match: {operation: initiate-|payment}", "POST /v1/payments/{product}"),
        (RULE + "handler: payments.in|itiate", "Create a payment"),
        (RULE + "respond: {error: consent-ex|pired}", "past its `validUntil`"),
        (RULE + 'respond: {body: "{{ cl|ock.now }}"}', "the session's clock"),
        (RULE + 'respond: {body: "{{ to|day(1) }}"}', "The date of today"),
        (OPERATION + "handler: payments.initiate\n    with: {sc|a: redirect}", "approach"),
    ],
)
def test_descriptions(text: str, part: str) -> None:
    assert part in language().describe(*split(text))


@pytest.mark.parametrize("text", [RULE + "doc: x|y", RULE + 'respond: {body: "{{ body.cl|ock }}"}', "# x|y\n"])
def test_plain_text_has_no_description(text: str) -> None:
    assert language().describe(*split(text)) == ""


def line(name: Name | None) -> tuple[str, str]:
    assert name
    assert name.file
    return name.file.relative_to(bundled("cassettes").parent).as_posix(), name.file.read_text().splitlines()[
        name.line - 1
    ].strip()


@pytest.mark.parametrize(
    ("dialect", "text", "file", "written"),
    [
        (
            "xs2a-1.84",
            RULE + "match: {operation: initiate-|payment}",
            "cassettes/xs2a-1.84/payments.yaml",
            "- id: initiate-payment",
        ),
        (
            "berlin-group-1.3.11",
            RULE + "match: {operation: initiate-|payment}",
            "cassettes/berlin-group-1.3/payments.yaml",
            "- id: initiate-payment",
        ),
        ("xs2a-1.84", RULE + "respond: {error: consent-ex|pired}", "cassettes/xs2a-1.84/errors.yaml", ""),
        ("xs2a-1.84", OPERATION + "answers: {200: account-|list}", "schemas/account-list.schema.json", "{"),
        ("obie-4.0", RULE + "respond: {body: {shape: am|ount}}", "cassettes/obie-4.0/accounts.yaml", "amount:"),
    ],
)
def test_definitions(dialect: str, text: str, file: str, written: str) -> None:
    place, found = line(language(dialect).define(*split(text)))
    assert place == file
    assert written in found


def test_every_name_has_a_definition_where_it_is_written() -> None:
    for dialect in dialects():
        names = language(dialect).bank.names
        for kind in ("operation", "rule", "error", "shape"):
            for name, known in names[kind].items():
                assert name in line(known)[1] or kind == "error", (dialect, kind, name)


def test_settings_and_test_data() -> None:
    assert {"dialect", "port"} <= complete("|", Language(bundled_schema("config")))
    assert {"psus", "accounts"} <= complete("testdata: 2\n|", Language(bundled_schema("testdata")))


def test_a_bank_whose_cases_have_mistakes_has_the_names_of_its_dialect(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("cassette: 1\nrulez: []\n")
    found = examine(LintTarget(None, broken), {})
    assert [problem.code for problem in found.problems] == ["unknown-key"]
    assert found.bank
    assert "initiate-payment" in found.bank.names["operation"]
