"""Lint renders each answer that no example covers."""

from pathlib import Path

import pytest

from tests.support.engine_client import an_engine, cassette
from xs2a_sandbox.features.authoring.lint_answers import dry_run


def problems(tmp_path: Path, rule: str) -> list[str]:
    bank = an_engine(layers=cassette(tmp_path, f"rules:\n  - {rule}\n"))
    (mine,) = [one for one in bank.interface.rules if one.id == "mine"]
    return [f"{p.column} {p.code}: {p.text}" for p in dry_run(mine, bank.interface, bank.schemas, bank.parts.testdata)]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("{id: mine, match: {path: /a}, respond: {text: '{{ request.path + 1 }}'}}", "can only concatenate str"),
        ("{id: mine, match: {path: /a, when: 'request.path > 1'}, respond: {text: a}}", "'>' not supported"),
        ("{id: mine, match: {path: '/{a}'}, respond: {text: '{{ path.a + 1 }}'}}", "'{{ path.a + 1 }}' cannot"),
        ("{id: mine, match: {path: /a}, sequence: [{text: a}, {text: '{{ 9 ** 99 }}'}]}", "a power above 64"),
        (
            "{id: mine, match: {path: /a, body: {/n: 5}}, respond: {text: \"{{ body.n + 'x' }}\"}}",
            "unsupported operand",
        ),
        ("{id: mine, match: {path: /a}, respond: [{when: 'request.path > 1', text: a}, {text: b}]}", "'>' not"),
        ('{id: mine, match: {path: /a}, respond: {headers: {X-A: "a\\n{{ now() }}"}, text: a}}', "a line break"),
    ],
)
def test_answers_that_cannot_be_rendered_are_reported(tmp_path: Path, rule: str, told: str) -> None:
    (text,) = problems(tmp_path, rule)
    assert "template: " in text
    assert told in text


@pytest.mark.parametrize(
    "rule",
    [
        "{id: mine, match: {path: /a}, respond: {status: '{{ query.status | int }}', text: a}}",
        "{id: mine, match: {path: /a}, respond: {body: {a: '{{ (query.n | decimal) * 2 }}', b: '{{ body.a.b }}'}}}",
        "{id: mine, match: {path: /a, body: {/n: {gt: 5}}}, respond: {text: '{{ body.n + 1 }}'}}",
        "{id: mine, match: {path: /a, headers: {X-N: {regex: '^[0-9]+$'}}}, respond: {text: '{{ headers.x }}'}}",
        "{id: mine, match: {path: /a}, respond: {error: payment-unknown, values: {id: '{{ path.id }}'}}}",
        "{id: mine, match: {operation: account-list}, handler: accounts.list, respond: {text: '{{ result.n + 1 }}'}}",
        "{id: mine, match: {path: '/{a}/{b*}', query: {c: {in: [1, 2]}}}, respond: {text: '{{ query.c }}'}}",
    ],
)
def test_answers_that_depend_on_the_request_are_not_reported(tmp_path: Path, rule: str) -> None:
    assert problems(tmp_path, rule) == []


def test_answers_covered_by_an_example_are_not_rendered_again(tmp_path: Path) -> None:
    rule = "{id: mine, match: {path: /a}, respond: {text: '{{ request.path + 1 }}'}, examples: [EXAMPLE]}"
    assert problems(tmp_path, rule.replace("EXAMPLE", "{request: {}, expect: {status: 200}}")) == []
