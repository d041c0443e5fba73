"""Whether a statement's tests fail when it is broken: runs them against each product that breaks it.

For every statement there are products in `breakers/` that break it, each a wrapper around the engine. Of the tests that
carry the statement's mark, in process, one must fail with each of these products, and each must fail with one of them.
Shapes of answers are not checked against schemas/ meanwhile: whoever breaks an answer breaks its schema with it.

python -m tools.prove                 all; exit status 1 when something is not as docs/conformance.md says
python -m tools.prove 2.11 8-unlim    the statements whose ids begin with one of these
python -m tools.prove --part 1/2      every second one
python -m tools.prove --write         writes docs/broken-products.md; of statements not chosen it keeps what it says
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any

import pytest

from tools.breakers import CATALOGUE, Breaker
from tools.conformance_page import HERE, ROOT, checked, statements_of, test_name, unbroken
from tools.in_process import leave_doors_out, needs_no_door
from xs2a_sandbox.engine.engine import Engine
from xs2a_sandbox.http.messages import Request, Response

PAGE = ROOT / "docs" / "broken-products.md"
WORKERS = os.cpu_count() or 1


@dataclass
class Result:
    """Of one statement. `noticed` says which test noticed which breaker first; `hollow` are tests that noticed none."""

    statement: str
    failing: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    noticed: dict[str, str] = field(default_factory=dict)
    unnoticed: list[str] = field(default_factory=list)
    hollow: list[str] = field(default_factory=list)


class Switch:
    """The engine's `answer`, broken or not."""

    def __init__(self) -> None:
        self.breaker: Breaker | None = None
        self.intact = Engine.answer

    def install(self) -> None:
        switch = self

        async def answer(engine: Engine, request: Request) -> Response:
            breaker = switch.breaker
            if breaker is None or "/_sandbox/" in request.target:
                return await switch.intact(engine, request)
            return await breaker.answer(lambda other: switch.intact(engine, other), request)

        Engine.answer = answer  # type: ignore[method-assign]


class Proof:
    """A pytest plugin: collects once, then runs the tests of each statement against each of its breakers."""

    def __init__(self, statements: Sequence[str]) -> None:
        self.statements = statements
        self.results: list[Result] = []
        self.switch = Switch()
        self.outcome = ""
        self.reason = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.outcome, self.reason = "failed", report.longreprtext
        elif report.skipped:
            self.outcome = self.outcome or "skipped"

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        session.config.pluginmanager.unregister(name="terminalreporter")  # from here on, only our own lines
        from tests.contract import answers

        answers.check_shape = lambda _: None
        self.switch.install()
        items = [item for item in session.items if needs_no_door(item)]
        parts = [self.statements[start::WORKERS] for start in range(WORKERS)]
        for read in [_fork(lambda part=part: self.work(items, part)) for part in parts if part]:
            with open(read) as pipe:
                self.results += [Result(**result) for result in json.loads(pipe.read() or "[]")]
        return True

    def work(self, items: Sequence[pytest.Item], statements: Sequence[str]) -> list[dict[str, Any]]:
        return [asdict(self.prove(statement, items)) for statement in statements]

    def prove(self, statement: str, items: Sequence[pytest.Item]) -> Result:
        result = Result(statement)
        tests: dict[str, list[pytest.Item]] = {}
        for item in items:
            if statement in statements_of(item):
                tests.setdefault(test_name(item), []).append(item)
        for name, cases in tests.items():
            outcomes = {self.run(item, items, None) for item in cases}
            if "failed" in outcomes:
                result.failing.append(name)
                result.reasons.append(self.reason)
            if outcomes == {"skipped"}:
                result.skipped.append(name)
        ready = [name for name in tests if name not in result.failing and name not in result.skipped]
        useful: list[str] = []
        for breaker in CATALOGUE.get(statement, ()):
            for name in (*(name for name in ready if name not in useful), *useful):
                if breaker.name in result.noticed and name in useful:
                    break
                if any(self.run(item, items, breaker) == "failed" for item in tests[name]):
                    result.noticed.setdefault(breaker.name, name)
                    if name not in useful:
                        useful.append(name)
            if breaker.name not in result.noticed:
                result.unnoticed.append(breaker.name)
        result.hollow = [name for name in ready if name not in useful]
        return result

    def run(self, item: pytest.Item, items: Sequence[pytest.Item], breaker: Breaker | None) -> str:
        self.outcome = ""
        self.switch.breaker = breaker
        # So that what the session has set up stays, and what the module has set up goes.
        other = next(other for other in (items[0], items[-1]) if other.path != item.path)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=other)
        self.switch.breaker = None
        return self.outcome or "passed"


def _fork(work: Callable[[], Any]) -> int:
    """What to read the child's answer from."""
    read, write = os.pipe()
    sys.stdout.flush()
    if os.fork():
        os.close(write)
        return read
    status = 1
    try:
        os.close(read)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        answer = json.dumps(work())
        with open(write, "w") as pipe:
            pipe.write(answer)
        status = 0
    finally:
        os._exit(status)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("statements", nargs="*", help="beginnings of ids")
    parser.add_argument("--part", default="1/1", help="N/M: every Mth statement from the Nth on")
    parser.add_argument("--write", action="store_true", help="writes the page of what was noticed")
    options = parser.parse_args(arguments)
    first, step = map(int, options.part.split("/"))
    chosen = [id for id in checked() if id.startswith(tuple(options.statements) or "")][first - 1 :: step]
    leave_doors_out()
    os.chdir(ROOT)
    started = monotonic()
    proof = Proof(chosen)
    status = pytest.main(["-q", "-p", "no:schemathesis", "-p", "no:xdist", f"--rootdir={ROOT}", str(HERE)], [proof])
    if len(proof.results) < len(chosen):
        print(f"the tests could not be run (pytest's status {status})", file=sys.stderr)
        return 2
    problems = [line for result in proof.results for line in judge(result)]
    if options.write:
        kept = {key: test for key, test in listed(PAGE.read_text()).items() if key[0] not in chosen}
        noticed = {(result.statement, name): test for result in proof.results for name, test in result.noticed.items()}
        PAGE.write_text(page(kept | noticed))
    print(*problems, sep="\n")
    print(*(reason for result in proof.results for reason in result.reasons), sep="\n\n")
    count = sum(len(CATALOGUE.get(id, ())) for id in chosen)
    print(f"{len(chosen)} statements, {count} broken products, {monotonic() - started:.0f} s: {len(problems)} problems")
    return 1 if problems else 0


def page(noticed: Mapping[tuple[str, str], str]) -> str:
    """`noticed` says which test noticed a product first, by statement and product."""
    lines = [
        "# Broken products",
        "",
        "For each [statement](conformance.md) the products that break it, and a test that notices. Written by",
        "`make mutants`; the products stand in `tools/breakers/`.",
        "",
        "| Statement | Product | Noticed by |",
        "|---|---|---|",
    ]
    products = [(id, breaker.name) for id in checked() for breaker in CATALOGUE.get(id, ())]
    lines += [f"| `{id}` | `{name}` | `{noticed[id, name]}` |" for id, name in products if (id, name) in noticed]
    return "\n".join(lines) + "\n"


def listed(text: str) -> dict[tuple[str, str], str]:
    """What the text of a page says was noticed."""
    rows = re.findall(r"^\| `([^`]*)` \| `([^`]*)` \| `([^`]*)`", text, re.MULTILINE)
    return {(id, name): test for id, name, test in rows}


def judge(result: Result) -> list[str]:
    """What is not as docs/conformance.md says."""
    excused = result.statement in unbroken()
    lines = [f"fails without any fault: {test}" for test in result.failing]
    lines += [f"never ran: {test}" for test in result.skipped]
    lines += [f"nobody notices: {name}" for name in result.unnoticed]
    if not excused:
        lines += [f"fails with none of the broken products: {test}" for test in result.hollow]
    if not result.noticed and not excused:
        lines.append("no product breaks it")
    if result.noticed and excused:
        lines.append("is excused in tools/unbroken.yaml, but has products that break it")
    return [f"{result.statement}: {line}" for line in lines]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
