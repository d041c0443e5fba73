"""Expressions that would freeze the sandbox for seconds, or for ever: each is cut off after so much work."""

import json
import re
import signal
import threading
import urllib.request
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

from tests.attack.expressions import ROOM, Expression, expressions
from tests.support.doors import DEADLINE, START
from tests.support.engine_client import Client, an_engine, cassette
from tests.support.turns import few
from xs2a_sandbox.cassette.evaluation import expressions as environment
from xs2a_sandbox.cassette.evaluation import work
from xs2a_sandbox.cassette.evaluation.expressions import compile_text
from xs2a_sandbox.cassette.evaluation.work import BUDGET, WORK, Work
from xs2a_sandbox.errors import ExpressionError
from xs2a_sandbox.testing.server_process import Process


@pytest.mark.parametrize("one", few(expressions(), expressions()[::9]), ids=lambda one: str(one.number))
def test_an_expression_is_cut_off(one: Expression) -> None:
    spent = Work()
    render = compile_text(f"{{{{ {one.text} }}}}")
    assert callable(render)

    with pytest.raises(ExpressionError, match=re.escape(one.says)):
        render({"body": one.body, WORK: spent})

    # What goes beyond is one step, and that is weighed no further than the budget.
    assert BUDGET - spent.left <= BUDGET + ROOM


@pytest.mark.parametrize("name", sorted({*environment.ENVIRONMENT.filters, *environment.ENVIRONMENT.tests}))
def test_every_filter_and_test_is_paid_for_by_what_it_is_given(name: str) -> None:
    tables = environment.ENVIRONMENT.filters, environment.ENVIRONMENT.tests
    (paid, *_) = [table[name] for table in tables if name in table]
    before = work.begin(spent := Work())
    first = [environment.ENVIRONMENT] if hasattr(paid, "jinja_pass_arg") else []
    try:
        with suppress(Exception):  # whatever it does not take, it has paid before
            paid(*first, [1] * 10_000)
    finally:
        work.end(before)

    assert BUDGET - spent.left > 10_000


def test_what_an_ordinary_expression_costs() -> None:
    spent = Work()
    source = "body.texts[:300] | map('upper') | select('ne', 'X7') | sort | join(', ') | length"
    render = compile_text(f"{{{{ {source} }}}}")
    assert callable(render)

    assert render({"body": {"texts": [f"x{number}" for number in range(300)]}, WORK: spent}) > 0
    assert BUDGET - spent.left < BUDGET // 50


RULES = """
rules:
  - id: freeze
    match: {path: /freeze}
    respond: {text: "{{ ([1]*100000)|select('in',[2]*100000)|list|length }}"}
  - id: together
    match: {path: /together}
    respond:
      body: [LISTED]
  - id: when
    match: {path: /when, when: "([1]*100000)|select('in',[2]*100000)|list|length == 0"}
    respond: {text: never}
  - id: fine
    match: {path: /fine}
    respond: {text: "{{ 'fi' ~ 'ne' }}"}
"""


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    folder = tmp_path / "cases"
    folder.mkdir()
    listed = ", ".join(["\"{{ ([1]*50000) | map('string') | list | length }}\""] * 100)
    cassette(folder, RULES.replace("LISTED", listed))
    return folder


@pytest.mark.parametrize("path", ["/freeze", "/together", "/when"])
def test_the_request_fails_as_any_other_expression_does(cases: Path, path: str) -> None:
    client = Client(an_engine(layers=[[cases]]))

    answer = client.get(path)

    assert (answer.status, answer.error["code"]) == (500, "INTERNAL_SERVER_ERROR")
    assert client.get("/fine").body == b"fine"


def test_a_sandbox_under_such_requests_answers_and_stops(cases: Path, tmp_path: Path) -> None:
    process = Process(tmp_path / "confdir", ["--cassettes", str(cases)])
    process.start()
    stopped = threading.Event()

    def ask() -> None:
        while not stopped.is_set():
            try:
                urllib.request.urlopen(f"{process.direct}/freeze", timeout=START).close()
            except OSError:
                continue

    asking = [threading.Thread(target=ask) for _ in range(2)]
    try:
        for one in asking:
            one.start()
        with urllib.request.urlopen(f"{process.direct}/_sandbox/health", timeout=START) as answer:
            assert json.load(answer) == {"status": "up"}
        process._process.send_signal(signal.SIGTERM)
        began = monotonic()
        assert process._process.wait(START + DEADLINE) is not None
        assert monotonic() - began < START + DEADLINE
    finally:
        stopped.set()
        for one in asking:
            one.join()
        process.stop()
