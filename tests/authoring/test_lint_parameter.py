"""Path parameters that can never have the required value."""

from pathlib import Path

import pytest

from tests.support.linting import places_of, problems_of


@pytest.fixture(autouse=True)
def empty_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("{product: sepa-credit-transfer}", "is never sepa-credit-transfer; did you mean sepa-credit-transfers?"),
        ("{product: [sepa, swift]}", "is never sepa or swift; there are "),
        ("{service: bulk-payment}", "is never bulk-payment; did you mean bulk-payments?"),
        ("{service: bulk-payments, product: sepa-credit-transfers}", None),
        ("{product: [sepa, sepa-credit-transfers]}", None),
        ("{product: {prefix: sepa}}", None),
        ("{paymentId: anything}", None),
    ],
)
def test_impossible_values_of_a_path_parameter_are_reported(tmp_path: Path, where: str, message: str | None) -> None:
    case = f"""\
        cassette: 1
        rules:
          - {{id: a, match: {{operation: payment-status, where: {where}}}, require: none, respond: {{text: a}}}}
        """
    problems = problems_of(tmp_path, case=case)
    assert [p.code for p in problems] == (["where"] if message else [])
    assert all(message and message in p.text for p in problems)


def test_impossible_combinations_of_path_parameters_are_reported(tmp_path: Path) -> None:
    case = """\
        cassette: 1
        operations:
          - id: mine
            method: GET
            path: /mine/{a}/{b}
            where: [{a: [x], b: ["1"]}, {a: [y], b: ["2"]}]
            respond: {text: a}
        rules:
          - {id: never, match: {operation: mine, where: {a: x, b: "2"}}, respond: {text: b}}
          - {id: some, match: {operation: mine, where: {a: y, b: ["1", "2"]}}, respond: {text: c}}
        """
    (problem,) = problems_of(tmp_path, case=case)
    assert problem.text == "mine never has a x and b 2 together"


def test_unknown_path_parameters_in_expressions_are_reported(tmp_path: Path) -> None:
    problems = problems_of(
        tmp_path,
        case="""\
            cassette: 1
            rules:
              - id: a
                match: {path: "/a/{product}/{account-id}", when: "path.produkt != 'x'"}
                respond:
                  - {when: "path['acount-id'] == 'x'", text: "{{ path.product }}"}
                  - body:
                      list: ["{{ path.product }} {{ (path.prodct or path.product) | upper }} {{ path['account-id'] }}"]
                      other: "path.nothing"
                effects: [{set: "state.notes['{{ uuid() }}']", to: {text: "{{ path.rpoduct }}"}}]
              - id: b
                match: {path: "/b/{x}"}
                respond: {raw: true, body: {text: "{{ path.nothing }}"}}
              - id: c
                match: {operation: account-list}
                respond: {text: "{{ path }} {{ query.path.a }}"}
            """,
    )
    assert places_of(problems) == ["4:54 where", "6:16 where", "8:18 where", "10:63 where"]
    assert all("; did you mean" in p.text for p in problems)
