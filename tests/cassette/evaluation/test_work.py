"""Expressions that would block the sandbox for seconds or for ever are stopped after a limited amount of work."""

import json
import re
import signal
import threading
import urllib.request
from contextlib import suppress
from dataclasses import replace
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
from xs2a_sandbox.features.pytest.server_process import Process


@pytest.mark.parametrize("one", few(expressions(), expressions()[::9]), ids=lambda one: str(one.number))
def test_an_expression_is_cut_off(one: Expression) -> None:
    spent = Work()
    render = compile_text(f"{{{{ {one.text} }}}}")
    assert callable(render)

    with pytest.raises(ExpressionError, match=re.escape(one.says)):
        render({"body": one.body, WORK: spent})

    # A single step can exceed the budget, and only by a limited amount.
    assert BUDGET - spent.left <= BUDGET + ROOM


@pytest.mark.parametrize("name", sorted({*environment.ENVIRONMENT.filters, *environment.ENVIRONMENT.tests}))
def test_filters_and_tests_are_charged_for_their_input(name: str) -> None:
    tables = environment.ENVIRONMENT.filters, environment.ENVIRONMENT.tests
    (paid, *_) = [table[name] for table in tables if name in table]
    before = work.begin(spent := Work())
    first = [environment.ENVIRONMENT] if hasattr(paid, "jinja_pass_arg") else []
    try:
        with suppress(Exception):  # regardless of its arguments, it is charged before
            paid(*first, [1] * 10_000)
    finally:
        work.end(before)

    assert BUDGET - spent.left > 10_000


def test_cost_of_ordinary_expressions() -> None:
    spent = Work()
    source = "body.texts[:300] | map('upper') | select('ne', 'X7') | sort | join(', ') | length"
    render = compile_text(f"{{{{ {source} }}}}")
    assert callable(render)

    assert render({"body": {"texts": [f"x{number}" for number in range(300)]}, WORK: spent}) > 0
    assert BUDGET - spent.left < BUDGET // 50


ENTRIES = [
    {
        "transactionId": f"T-{number}",
        "bookingDate": f"20{number % 100:02}-06-15",
        "transactionAmount": {"amount": "-1.00", "currency": "EUR"},
        "creditorName": "Rahmenbau Enzian",
        "creditorAccount": {"iban": "CH8499882000007654321"},
        "remittanceInformationUnstructured": "Rahmen Nr. 18 bis 24",
    }
    for number in range(20_000)
]
BY_DATE = {
    "selectattr": """
    body:
      from: "{{ body.booked | selectattr('bookingDate', 'ge', '2090-01-01') | list }}"
      until: "{{ body.booked | selectattr('bookingDate', 'lt', '2090-01-01') | list }}"
      newest: "{{ (body.booked | selectattr('bookingDate', 'ge', '2090-01-01') | list)[:10] }}"
    """,
    "each": """
    body:
      from: {each: "{{ body.booked }}", when: entry.bookingDate >= '2090-01-01', give: "{{ entry }}"}
      until: {each: "{{ body.booked }}", when: entry.bookingDate < '2090-01-01', give: "{{ entry }}"}
      newest: "{{ (body.booked + body.booked)[:10] }}"
    """,
    "map": """
    body:
      from: "{{ body.booked | map(attribute='bookingDate') | select('ge', '2090-01-01') | list }}"
      until: "{{ body.booked | rejectattr('bookingDate', 'ge', '2090-01-01') | list }}"
      newest: "{{ (body.booked | map(attribute='bookingDate') | list)[:10] }}"
    """,
}
"""Answers that select entries by date, and read no more than needed."""


@pytest.mark.parametrize("respond", BY_DATE.values(), ids=BY_DATE)
def test_dates_select_among_20000_entries(respond: str, tmp_path: Path) -> None:
    rule = "rules:\n- id: by-date\n  match: {method: POST, path: /by-date}\n  respond:"
    engine = an_engine(layers=cassette(tmp_path, rule + respond.replace("\n    ", "\n      ")))
    engine.use(limits=replace(engine.parts.limits, body=10_000_000))
    client = Client(engine)

    answer = client.post("/by-date", json={"booked": ENTRIES}, headers={"Content-Type": "application/json"})

    assert answer.status == 200
    body = answer.json()
    assert [len(body[name]) for name in ("from", "until")] == [2_000, 18_000]
    assert len(body["newest"]) == 10


@pytest.mark.parametrize(
    "source", ["body.entries | map('d') | list | length", "body.entries | sort | length", "body.entries == body.more"]
)
def test_nested_values_are_charged_when_they_are_read(source: str) -> None:
    spent = Work()
    render = compile_text(f"{{{{ {source} }}}}")
    assert callable(render)
    inner = [[number] * 100 for number in range(1_000)]

    render({"body": {"entries": inner, "more": inner}, WORK: spent})

    assert BUDGET - spent.left > 100_000


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
def test_the_request_fails_like_after_any_other_expression_error(cases: Path, path: str) -> None:
    client = Client(an_engine(layers=[[cases]]))

    answer = client.get(path)

    assert (answer.status, answer.error["code"]) == (500, "INTERNAL_SERVER_ERROR")
    assert client.get("/fine").body == b"fine"


@pytest.mark.slow
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


def test_testing_the_type_of_a_value_does_not_depend_on_its_size() -> None:
    work = Work()
    compiled = compile_text("{{ body if body is not none }}")
    assert callable(compiled)
    compiled({"body": [["x" * 1000]] * 5000, WORK: work})
    assert BUDGET - work.left < 6000
