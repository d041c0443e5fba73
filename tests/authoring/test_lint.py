"""Lint tries examples, answers, expressions and test data, and reports each mistake with its place."""

import re
from dataclasses import replace
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


def test_the_bundled_files_have_no_problems(tmp_path: Path) -> None:
    assert places_of(problems_of(tmp_path)) == []


def test_an_example_that_a_later_layer_answers_is_not_checked(tmp_path: Path) -> None:
    assert not problems_of(
        tmp_path,
        later="""\
            cassette: 1
            rules:
              - {id: none, match: {operation: account-list}, require: none, respond: {status: 503, text: closed}}
            """,
    )


def test_a_file_that_is_also_configured_keeps_its_layer(tmp_path: Path) -> None:
    folder = tmp_path / "cases"
    folder.mkdir()
    for name in ("one", "two"):
        text = (
            f"cassette: 1\nrules:\n  - {{id: {name}, match: {{operation: account-list}}, respond: {{status: 503}}}}\n"
        )
        (folder / f"{name}.yaml").write_text(text)
    (found,) = check(replace(settings(tmp_path), cassettes=(folder,)), [folder / "two.yaml"])
    assert (found.code, found.file.name) == ("ambiguous", "two.yaml")


def test_examples_of_the_dialect_are_not_checked_with_other_test_data(tmp_path: Path) -> None:
    data = "testdata: 2\nreplace: true\n"
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


def test_delays_are_skipped(tmp_path: Path) -> None:
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


def test_intended_errors_are_not_problems(tmp_path: Path) -> None:
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


def test_a_failing_expression_of_another_rule_is_reported_at_its_place(tmp_path: Path) -> None:
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


def test_each_problem_is_reported_once(tmp_path: Path) -> None:
    text = """\
        cassette: 1
        rules:
          - id: a
            match: {path: /a}
            respond: {text: "{{ request.path + 1 }}"}
            examples: [{request: {}, expect: {status: 200}}, {request: {}, expect: {status: 200}}]
        """
    assert places_of(problems_of(tmp_path, case=text)) == ["5:21 template"]


BEGINNINGS = """\
    cassette: 1
    authorisation: {of: {consent: SAID}}
    rules:
      - id: by-handler
        match: {operation: start-consent-authorisation}
        handler: authorisations.start
        with: {family: consent, sca: oauth, approaches: [oauth]}
        respond: {status: 201, body: "{{ result }}"}
      - id: by-effect
        match: {path: /begin}
        effects:
          - do: begin-authorisation
            with: {family: consent, id: mine, sca: oauth}
        respond: {status: 204}
    """


def authorisation_problems(tmp_path: Path, said: str) -> list[str]:
    problems = problems_of(tmp_path, mine=BEGINNINGS.replace("SAID", said))
    return [f"{p.line}:{p.column} {p.code}" for p in problems if p.file.name == "mine.yaml"]


def test_starting_an_authorisation_that_the_dialect_does_not_offer_is_reported(tmp_path: Path) -> None:
    assert authorisation_problems(tmp_path, "null") == ["7:20 no-authorisation", "13:24 no-authorisation"]


def test_an_authorisation_on_an_unknown_page_is_reported(tmp_path: Path) -> None:
    assert authorisation_problems(tmp_path, "{page: null, approaches: [embedded]}") == ["7:53 page"]


def test_an_authorisation_with_a_page_has_no_problem(tmp_path: Path) -> None:
    assert authorisation_problems(tmp_path, "{sca: oauth}") == []


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        (
            '{of: {payment: {page: "payments?id={id}&product={produkt}"}}}',
            "2:38 page: documents in payments have no member 'produkt'; did you mean product?",
        ),
        (
            '{of: {consent: {rows: [{label: Until, text: "{{ resource.validUntill }}"}]}}}',
            "2:60 member: resource has no member 'validUntill'; did you mean valid_until?",
        ),
        (
            '{endpoint: {finds: {consent: "{{ request.methode }}"}}}',
            "2:45 member: request has no member 'methode'; did you mean method?",
        ),
    ],
)
def test_unknown_names_in_the_section_authorisation_are_reported(tmp_path: Path, section: str, expected: str) -> None:
    problems = problems_of(tmp_path, mine=f"cassette: 1\nauthorisation: {section}\n")
    assert [f"{p.line}:{p.column} {p.code}: {p.text}" for p in problems] == [expected]


@pytest.mark.parametrize("fault", ["half-json", "wrong-shape", "extra-members", "empty-lists", "no-next-page", "html"])
def test_content_of_a_fault_needs_no_schema(tmp_path: Path, fault: str) -> None:
    case = f"""\
        cassette: 1
        rules:
          - id: spoiled
            match: {{operation: account-balances}}
            amend: {{fault: {fault}}}
            examples:
              - request:
                  where: {{account-id: AT459880000010204711}}
                  headers: {{Consent-ID: 9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911}}
                expect: {{status: 200}}
        """
    assert places_of(problems_of(tmp_path, case=case)) == []
