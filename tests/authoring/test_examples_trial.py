"""Examples of an interface, tried one by one."""

import logging
from pathlib import Path

import pytest

from tests.support.engine_client import an_engine, cassette
from xs2a_sandbox.features.authoring.examples import Trial, trials

RULES = """\
rules:
  - id: mine
    match: {path: "/mine/{kind}"}
    respond:
      - {when: path.kind == 'broken', status: "{{ path.kind }}", text: a}
      - {delay: 5m, body: {kind: "{{ path.kind }}", sum: "{{ path.kind + 1 }}"}}
    examples:
      - {request: {where: {kind: fine}}, expect: {status: 200, body: {kind: fine}}}
      - {request: {where: {kind: fine}}, expect: {status: 200, body: {kind: other}}}
      - {request: {where: {kind: broken}}, expect: {status: 200}}
      - {request: {}, expect: {status: 200}}
      - {request: {path: /nowhere}, expect: {status: 404}}
"""


def tried(tmp_path: Path, text: str = RULES) -> list[Trial]:
    bank = an_engine(layers=cassette(tmp_path, text))
    return [one for one in trials(bank.interface, bank.schemas, bank.parts.testdata) if one.entry.owner.id == "mine"]


def test_outcome_of_each_example(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fine, wrong, broken, gap, nowhere = tried(tmp_path)

    assert (fine.complaints, fine.failure) == ((), None)
    assert fine.mismatches == (("{{ path.kind + 1 }}", 'can only concatenate str (not "int") to str'),)
    assert fine.exchange
    assert fine.exchange.rule == "mine"
    assert wrong.complaints[0].startswith("the body does not contain")
    assert broken.failure
    assert "the status must be a whole number, not 'broken'" in broken.failure
    assert gap.complaints == ("the example has no value for {kind}; add it under where",)
    assert gap.response is None
    assert nowhere.complaints == ()
    assert nowhere.exchange
    assert (nowhere.exchange.rule, nowhere.exchange.error) == (None, "path-unknown")
    assert caplog.records == []


ANSWERED = """\
rules:
  - id: mine
    match: {path: /mine, query: {kind: fine}}
    respond: {text: a}
    examples:
      - {request: {query: {kind: fine}}, expect: {status: 201}}
      - {request: {query: {kind: other}}, expect: {status: 200}}
      - {request: {query: {kind: fine}, headers: {X-A: "1"}}, expect: {status: 200}}
      - {request: {path: /v1/accounts, headers: {Consent-ID: null}}, expect: {status: 200}}
  - {id: general, match: {path: /mine}, respond: {status: 404, text: b}}
  - {id: urgent, priority: 1, match: {path: /mine, headers: {X-A: "1"}}, respond: {status: 409, text: c}}
"""


def test_a_complaint_names_the_rule_that_answered_and_why_the_own_rule_did_not(tmp_path: Path) -> None:
    itself, unfit, outranked, refused = [one.complaints[0] for one in tried(tmp_path, ANSWERED)]

    def place(line: int) -> str:
        return f"({next(tmp_path.rglob('*.yaml'))}:{line + 2})"

    assert itself == f"the status is 200, not 201, answered by mine {place(2)}; the answer is a"
    assert unfit.startswith(f"the status is 404, not 200, answered by general {place(10)}; mine does not answer: ")
    assert 'query parameter kind is "other", must be fine; the answer is b' in unfit
    assert f"answered by urgent {place(11)}; mine does not answer: urgent has the higher priority: 1" in outranked
    assert ", refused by account-list (" in refused


def test_an_error_that_the_engine_would_log_is_the_failure(tmp_path: Path) -> None:
    text = (
        'rules: [{id: mine, match: {path: /a}, respond: {headers: {X-A: "{{ query.a }}"}, text: a}, examples: [EX]}]\n'
    )
    (one,) = tried(tmp_path, text.replace("EX", '{request: {query: {a: "1\\n2"}}, expect: {status: 200}}'))
    assert one.failure == "the header X-A contains a line break, NUL or characters outside Latin-1"
    assert logging.getLogger("xs2a_sandbox").propagate
