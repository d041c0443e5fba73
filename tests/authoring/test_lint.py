"""What lint finds beyond what is written: examples, answers, expressions and test data, each at its place."""

import re
from pathlib import Path

import pytest

from tests.support.linting import places_of, problems_of, settings
from xs2a_sandbox.features.authoring.lint import check

BROKEN = sorted((Path(__file__).parent / "broken").glob("*.yaml"))


@pytest.fixture(autouse=True)
def empty_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.mark.parametrize("file", BROKEN, ids=lambda file: file.stem)
def test_a_broken_file(file: Path, tmp_path: Path) -> None:
    expected = re.findall(r"^# (\d+:\d+ \S+)$", file.read_text(), re.MULTILINE)

    problems = check(settings(tmp_path), [file])

    assert places_of(problems) == expected, [str(p) for p in problems]
    assert {p.file for p in problems} == {file}


def test_what_is_bundled_is_clean(tmp_path: Path) -> None:
    assert places_of(problems_of(tmp_path)) == []


def test_an_example_that_a_later_layer_answers_is_not_judged(tmp_path: Path) -> None:
    assert not problems_of(
        tmp_path,
        later="""\
            cassette: 1
            rules:
              - {id: none, match: {operation: account-list}, require: none, respond: {status: 503, text: closed}}
            """,
    )


def test_examples_of_the_dialect_are_not_judged_by_other_test_data(tmp_path: Path) -> None:
    data = "testdata: 1\nreplace: true\n"
    case = """\
        cassette: 1
        rules:
          - id: mine
            match: {operation: account-list}
            respond: {body: {accounts: "{{ state.accounts | list }}"}}
            examples: [{request: {headers: {Consent-ID: x}}, expect: {status: 200, body: {accounts: [a]}}}]
        """
    assert places_of(problems_of(tmp_path, data=data)) == []
    assert places_of(problems_of(tmp_path, data=data, case=case)) == ["6:16 example"]


def test_delays_are_not_waited_for(tmp_path: Path) -> None:
    assert not problems_of(
        tmp_path,
        slow="""\
            cassette: 1
            rules:
              - id: slow
                match: {path: /slow}
                respond: {text: a, delay: 5m}
                examples: [{request: {}, expect: {status: 200}}]
            """,
    )


def test_errors_that_are_meant_are_none(tmp_path: Path) -> None:
    assert not problems_of(
        tmp_path,
        meant="""\
            cassette: 1
            rules:
              - id: meant
                match: {path: /meant}
                respond: {error: internal, values: {reason: the drill, name: x}}
                examples: [{request: {}, expect: {status: 500}}]
            """,
    )


def test_a_failing_expression_of_another_rule_is_shown_where_it_stands(tmp_path: Path) -> None:
    problems = problems_of(
        tmp_path,
        case="""\
            cassette: 1
            rules:
              - id: a
                match: {path: "/a", when: "query.n > 5"}
                respond: {text: a}
                examples:
                  - {request: {query: {n: "7"}}, expect: {status: 404}}
            """,
    )
    assert places_of(problems) == ["4:31 template"]
    assert "'>' not supported between instances of 'str' and 'int'" in problems[0].text


def test_each_problem_is_said_once(tmp_path: Path) -> None:
    text = """\
        cassette: 1
        rules:
          - id: a
            match: {path: /a}
            respond: {text: "{{ request.path + 1 }}"}
            examples: [{request: {}, expect: {status: 200}}, {request: {}, expect: {status: 200}}]
        """
    assert places_of(problems_of(tmp_path, case=text)) == ["5:21 template"]


def test_oauth_without_a_page_is_told_wherever_it_begins(tmp_path: Path) -> None:
    """The operation that starts it is another one here, so that nothing says where the page is."""
    habits = "sca: oauth, expires_after: 600, decides_after: 2, confirmation: false"
    text = f"""\
        cassette: 1
        operations:
          - id: start-consent-authorisation
            method: POST
            path: /v1/consents/{{consentId}}/authorisations
            respond: {{status: 204}}
        rules:
          - id: by-handler
            match: {{operation: start-consent-authorisation}}
            handler: authorisations.start
            with: {{family: consent, page: somewhere, {habits}}}
            respond: {{status: 201, body: "{{{{ result }}}}"}}
          - id: by-effect
            match: {{path: /begin}}
            effects:
              - do: begin-authorisation
                with: {{family: consent, id: mine, {habits}}}
            respond: {{status: 204}}
        """
    found = [p for p in problems_of(tmp_path, mine=text) if p.code == "no-page"]
    assert places_of(found) == ["11:51 no-page", "17:48 no-page"]
    for problem in found:
        assert "the authorisation of a consent by OAuth leads to no page" in problem.text
        assert "Give the dialect an operation with handler: authorisations.start" in problem.text


def test_oauth_with_a_page_has_no_problem(tmp_path: Path) -> None:
    text = "cassette: 1\nchanges: {options: {authorisations.start: {sca: oauth}, consents.create: {sca: oauth}}}\n"
    assert places_of(problems_of(tmp_path, mine=text)) == []
