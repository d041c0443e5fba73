"""Lint rejects matchers that no body of the media type can match, and accepts those that can match."""

from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.linting import problems_of
from xs2a_sandbox.config import settings
from xs2a_sandbox.errors import Problem
from xs2a_sandbox.features.authoring.lint import check

XML, FORM, TEXT = "application/xml", "application/x-www-form-urlencoded", "text/plain"


def of_rule(tmp_path: Path, media: str, matchers: str) -> list[Problem]:
    text = f"""
        cassette: 1
        rules:
          - id: a
            match: {{method: POST, path: /a, headers: {{Content-Type: {media}}}, body: {{{matchers}}}}}
            respond: {{text: a}}
        """
    return problems_of(tmp_path, mine=text)


@pytest.mark.parametrize(
    ("media", "matchers", "reason"),
    [
        (FORM, "/grant_type/a: x", "have no members"),
        (FORM, "/amount: 5", "put this into quotes"),
        (FORM, "/amount: {in: [5, true]}", "put this into quotes"),
        (FORM, "contains: {grant_type: x}", "contains works only with JSON"),
        (XML, "/p:Document/p:Amt: x", "without their prefix: Document"),
        (XML, "/Document/@Ccy/a: x", "the attribute @Ccy must be the last step"),
        (XML, "/grant type: x", "'grant type' is not a valid element name"),
        (XML, "/Document/Amt: 10.00", "put this into quotes"),
        (XML, "schema: account-list", "schema works only with JSON"),
        (TEXT, "/a: x", "only JSON, forms, multipart bodies and XML have members"),
        ("multipart/form-data", "contains: {a: x}", "contains works only with JSON"),
    ],
)
def test_impossible_matchers_are_reported(tmp_path: Path, media: str, matchers: str, reason: str) -> None:
    (problem,) = of_rule(tmp_path, media, matchers)

    assert problem.code == "body-media"
    assert reason in problem.text
    assert media in problem.text


@pytest.mark.parametrize(
    ("media", "matchers"),
    [
        (FORM, "/grant_type: x, /scope/1: b, /amount: {gt: 5}, /code: {absent: true}"),
        (XML, "/Document/Stmt/Ntry/0/Amt: '1.00', /Document/Stmt/Ntry/Amt/@Ccy: EUR"),
        (TEXT, "/a: {absent: true}"),
        ("multipart/form-data", "/json_standingorderType/days/0: 5, /xml_sct/Document: {exists: true}"),
        ("application/json", "/amount: 5, /a/b/c: x, contains: {a: 1}"),
    ],
)
def test_possible_matchers_are_accepted(tmp_path: Path, media: str, matchers: str) -> None:
    assert not of_rule(tmp_path, media, matchers)


@pytest.mark.parametrize("named", ["operation: pain", "method: POST, path: /pain"])
def test_the_operation_determines_the_media_type(tmp_path: Path, named: str) -> None:
    text = f"""
        cassette: 1
        operations:
          - {{id: pain, method: POST, path: /pain, require: {{body: {{media: {XML}}}}}, respond: {{text: a}}}}
        rules:
          - {{id: b, match: {{{named}, body: {{/Document/@Ccy/a: b}}}}, respond: {{text: b}}}}
        """

    assert [problem.code for problem in problems_of(tmp_path, mine=text)] == ["body-media"]


def test_an_operation_is_checked_too(tmp_path: Path) -> None:
    text = f"""
        cassette: 1
        operations:
          - id: pain
            method: POST
            path: /pain
            require: {{body: {{media: {XML}, schema: account-list}}}}
            respond: {{text: a}}
        """

    assert [problem.code for problem in problems_of(tmp_path, mine=text)] == ["body-media"]


@pytest.mark.parametrize(
    ("place", "hint"),
    [
        ("/debtorAcount/iban", "no body of initiate-payment has /debtorAcount/iban; did you mean debtorAccount?"),
        ("/debtorAccount/ibna", "no body of initiate-payment has /debtorAccount/ibna; did you mean iban?"),
        ("/debtorAccount/iban", None),
        ("/ourOwn/number", None),
    ],
)
def test_a_misspelled_member_of_the_operation_s_body_is_reported(tmp_path: Path, place: str, hint: str | None) -> None:
    rule = f"""
        cassette: 1
        rules:
          - id: a
            match: {{operation: initiate-payment, body: {{{place}: AT61}}}}
            respond: {{status: 503, body: {{}}}}
        """
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.yaml").write_text(dedent(rule))
    problems = check(settings.load({"state": "memory:", "cassettes": (str(tmp_path / "mine"),)}, {}, tmp_path))

    assert [(problem.code, problem.text) for problem in problems] == ([("member", hint)] if hint else [])
