"""Check that the conformance tests notice every change of the dialect: `make mutants`.

Every status, code, number, text, null, link, key, schema name, `where`, `require` (also that of `every_request`),
`otherwise`, `with` and `amend` in cassettes/xs2a-1.84 is changed, one at a time. Either a test without sockets must
fail, or the cassettes must be refused.

Survivors are listed in build/reports/mutants.md and must be explained in tools/mutants-explained.yaml.

python -m tools.mutants                 all changes; exits with 1 if a survivor is not explained
python -m tools.mutants errors.yaml     only changes whose names contain the text
python -m tools.mutants --part 1/8      every eighth change

Results are stored in build/mutants.jsonl. An interrupted run continues from there, and so does another part, until a
file of the package, the cassettes, the schemas or the tests changes. Files of parts from other machines can be
concatenated with `cat`. The report is written when all changes have a result.
"""

import argparse
import hashlib
import json
import os
import re
import select
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import yaml

from tools.in_process import leave_doors_out, needs_no_door
from tools.kept_results import KeptResults, digest, every
from xs2a_sandbox.config.settings import Settings
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.engine.engine import Engine
from xs2a_sandbox.errors import SandboxError
from xs2a_sandbox.http.messages import Request, Response

ROOT = Path(__file__).resolve().parents[1]
DIALECT = "xs2a-1.84"
SOURCE = ROOT / "cassettes" / DIALECT
PAGE = ROOT / "build" / "reports" / "mutants.md"
EXPLAINED = ROOT / "tools" / "mutants-explained.yaml"
BASELINE = "baseline"
RESULTS = ROOT / "build" / "mutants.jsonl"
EXAMPLES = "test_examples.py"
TESTS = ROOT / "tests" / "contract"
WORKERS = os.cpu_count() or 1
PATIENCE = 180
"""Minimum seconds for the tests of one mutant, after which it counts as noticed because it hangs. On a slow machine it
gets three times the duration of the tests without it.
"""
LONGEST = 1800
"""Seconds for the tests without any change."""

type Pointer = tuple[str | int, ...]
REMOVED = "(removed)"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change. `about` contains the ids of operations and message numbers that it affects."""

    file: str
    kind: str
    name: str
    before: str
    after: str
    about: frozenset[str]
    content: str

    @property
    def id(self) -> str:
        return f"{self.file} {self.name} {self.kind}{' removed' if self.after == REMOVED else ''}"

    @property
    def key(self) -> str:
        """Return the key of its result."""
        return f"{self.id} {hashlib.sha256(self.content.encode()).hexdigest()[:16]}"


# The changes


class Changes:
    """Return every possible change of one file, in order."""

    def __init__(self, file: str, value: Any) -> None:
        self.file = file
        self.value = value
        self.about: frozenset[str] = frozenset()
        self.mutants: list[Mutant] = []

    def find(self) -> list[Mutant]:
        for name, error in self.value.get("errors", {}).items():
            self.error(("errors", name), error)
        self.about = frozenset()
        for name, matcher in self.value.get("every_request", {}).get("headers", {}).items():
            self.change("require", ("every_request", "headers", name), REMOVED)
            self.matcher(("every_request", "headers", name), matcher)
        for name in ("every_answer", "every_error"):
            if name in self.value:
                self.answer((name,), self.value[name])
        for i, operation in enumerate(self.value.get("operations", ())):
            self.about = frozenset([operation["id"]])
            self.operation(("operations", i), operation)
        for i, rule in enumerate(self.value.get("rules", ())):
            self.about = frozenset([rule["id"]])
            self.where(("rules", i, "match", "where"), rule["match"].get("where", {}))
            self.answers(("rules", i, "respond"), rule.get("respond", []))
            self.leaves("amend", ("rules", i, "amend"), rule.get("amend", {}))
        return self.mutants

    def error(self, at: Pointer, error: Mapping[str, Any]) -> None:
        number = error.get("number", {})
        numbers = number if isinstance(number, dict) else {"": number}
        self.about = frozenset(numbers.values())
        self.change("status", (*at, "status"), error["status"] + 1)
        self.change("code", (*at, "code"), error["code"] + "_X")
        self.change("text", (*at, "text"), error["text"] + "~")
        self.content(at, error)
        for operation, number in numbers.items():
            other = re.sub(r"\d{3}(?=E)", lambda digits: f"{(int(digits[0]) + 50) % 1000:03}", number)
            self.change("number", (*at, "number", operation) if operation else (*at, "number"), other)

    def operation(self, at: Pointer, operation: Mapping[str, Any]) -> None:
        self.where((*at, "where"), operation.get("where", {}))
        for parameter in operation.get("otherwise", {}):
            self.change("otherwise", (*at, "otherwise", parameter), "payment-unknown")
            self.change("otherwise", (*at, "otherwise", parameter), REMOVED)
        for part, entries in operation.get("require", {}).items():
            for name, matcher in entries.items():
                self.change("require", (*at, "require", part, name), REMOVED)
                self.matcher((*at, "require", part, name), matcher)
        for status, name in operation.get("answers", {}).items():
            self.schema((*at, "answers", status), name)
        self.leaves("with", (*at, "with"), operation.get("with", {}))
        self.answers((*at, "respond"), operation["respond"])

    def where(self, at: Pointer, where: Any) -> None:
        for i, alternative in enumerate(where if isinstance(where, list) else [where]):
            self.leaves("where", (*at, i) if isinstance(where, list) else at, alternative, keys=False)

    def matcher(self, at: Pointer, matcher: Any) -> None:
        if isinstance(matcher, bool):
            self.change("require", at, not matcher)
            return
        if isinstance(matcher, str):
            self.schema(at, matcher)
            return
        for operator, operand in matcher.items():
            if operator == "any":
                for i, alternative in enumerate(operand):
                    self.matcher((*at, "any", i), alternative)
            elif operator == "in":
                self.leaves("require", (*at, "in"), operand)
            else:
                weaker = {"absent": True} if operator == "exists" else {"exists": True}
                self.change("require", at, weaker)

    def answers(self, at: Pointer, respond: Any) -> None:
        for i, answer in enumerate(respond if isinstance(respond, list) else [respond]):
            self.answer((*at, i) if isinstance(respond, list) else at, answer)

    def answer(self, at: Pointer, answer: Mapping[str, Any]) -> None:
        if "error" in answer:
            other = "path-unknown" if answer["error"] != "path-unknown" else "payment-unknown"
            self.change("error", (*at, "error"), other)
            self.leaves("text", (*at, "values"), answer.get("values", {}), keys=False)
            return
        if at[0] not in ("every_answer", "every_error"):
            self.change("status", (*at, "status"), answer.get("status", 200) + 1)
        if "when" in answer:
            self.change("when", (*at, "when"), f"not ({answer['when']})")
        if "nulls" in answer:
            self.change("nulls", (*at, "nulls"), "drop")
            self.change("nulls", (*at, "nulls"), REMOVED)
        if "schema" in answer:
            self.schema((*at, "schema"), answer["schema"])
        self.content(at, answer)

    def content(self, at: Pointer, message: Mapping[str, Any]) -> None:
        """Return changes of headers and body, which an error can define, too."""
        for name, value in message.get("headers", {}).items():
            self.change("header", (*at, "headers", name), value + "~")
            self.change("header", (*at, "headers", name), REMOVED)
        self.leaves("body", (*at, "body"), message.get("body", {}))

    def schema(self, at: Pointer, name: str) -> None:
        self.change("schema", at, "balances" if name != "balances" else "account-list")

    def leaves(self, kind: str, at: Pointer, value: Any, *, keys: bool = True) -> None:
        """Return changes of every nested value and key."""
        if isinstance(value, dict):
            for name, inner in value.items():
                if keys:
                    self.change("key", (*at, name), name + "X", key=True)
                self.leaves("link" if name == "href" else kind, (*at, name), inner, keys=keys)
        elif isinstance(value, list) and value:
            for i, inner in enumerate(value):
                self.leaves(kind, (*at, i), inner, keys=keys)
        elif isinstance(value, bool):
            self.change(kind, at, not value)
        elif value is None:
            self.change("null", at, "~")
        else:
            self.change(kind, at, ["~"] if value == [] else f"{value}~")

    def change(self, kind: str, at: Pointer, after: Any, *, key: bool = False) -> None:
        whole = deepcopy(self.value)
        *path, last = at
        parent: Any = whole
        for token in path:
            parent = parent[token]
        before = last if key else parent.get(last, "absent") if isinstance(parent, dict) else parent[last]
        if key:
            renamed = {after if name == last else name: inner for name, inner in parent.items()}
            parent.clear()
            parent.update(renamed)
        elif after == REMOVED:
            del parent[last]
        else:
            parent[last] = after
        shortened = _short(after)
        name = "/".join(str(token) for token in _by_ids(self.value, at))
        content = json.dumps(whole, ensure_ascii=False, default=str)
        self.mutants.append(Mutant(self.file, kind, name, _short(before), shortened, self.about, content))


def _by_ids(value: Any, at: Pointer) -> Iterator[str | int]:
    """Return the pointer with ids instead of positions, without redundant words."""
    for token in at:
        value = value.get(token) if isinstance(value, dict) else value[token]
        if isinstance(token, int) and isinstance(value, dict) and "id" in value:
            yield value["id"]
        elif token not in ("operations", "rules"):
            yield token


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:28]}…{text[-28:]}"


def mutants() -> list[Mutant]:
    changed: list[Mutant] = []
    for file in sorted(SOURCE.glob("*.yaml")):
        # Convert through JSON, so that a value that an anchor repeats is changed in one place at a time.
        value = json.loads(json.dumps(yaml_reader.read(file).value, default=str))
        changed += Changes(file.name, value).find()
    return changed


# The tests


@dataclass
class Lessons:
    """Properties of the tests, learned from one run without a change and from the changes noticed so far."""

    seconds: dict[str, float] = field(default_factory=dict)
    touches: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)

    def learn(self, mutant: Mutant, result: str) -> None:
        if result.startswith("tests/"):
            for about in (*mutant.about, mutant.file):
                self.kills[about, result] += 1

    def order(self, items: Sequence[pytest.Item], mutant: Mutant) -> list[pytest.Item]:
        """Return the most promising tests first: those that noticed similar changes, those that use the changed
        part, then fast ones.
        """

        def rank(item: pytest.Item) -> tuple[int, bool, float]:
            name = item.nodeid
            kills = max((self.kills[about, name] for about in mutant.about), default=self.kills[mutant.file, name])
            return -kills, not (self.touches[name] & mutant.about), self.seconds.get(name, 1.0)

        return sorted(items, key=rank)


class Hunt:
    """A pytest plugin that collects tests once, and runs the tests of each mutant in a forked process."""

    def __init__(self, mutants_to_try: Sequence[Mutant], earlier: Mapping[Mutant, str], kept: KeptResults) -> None:
        self.mutants = mutants_to_try
        self.lessons = Lessons()
        self.kept = kept
        self.results: dict[Mutant, str] = {}
        for mutant, result in earlier.items():
            self.lessons.learn(mutant, result)
        self.failed = False
        self.patience = LONGEST

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if self.is_tried(item)]

    def is_tried(self, item: pytest.Item) -> bool:
        return needs_no_door(item) and item.path.name != "test_index.py"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        session.config.pluginmanager.unregister(name="terminalreporter")  # from here on, print only our own lines
        with tempfile.TemporaryDirectory() as directory:
            self.hunt(session.items, Path(directory))
        return True

    def hunt(self, items: list[pytest.Item], directory: Path) -> None:
        learnt = json.loads(self.kept.read().get(BASELINE, "{}")) or self.baseline(items, directory)
        self.lessons.seconds = learnt["seconds"]
        self.patience = max(PATIENCE, 3 * round(sum(learnt["seconds"].values())))
        self.lessons.touches.update({name: set(touched) for name, touched in learnt["touches"].items()})
        print(f"{len(items)} tests in {sum(learnt['seconds'].values()):.1f} s; {len(self.mutants)} mutants", flush=True)
        self.work(items, directory)

    def baseline(self, items: list[pytest.Item], directory: Path) -> dict[str, Any]:
        """Learn from a run without a change, in which all tests must pass. The result is stored for other parts."""
        baseline = self.fork(lambda: self.measure(items), self.place(directory, BASELINE, None))
        with ended([baseline]):
            answer = self.collect({baseline: directory})[baseline]
        learnt: dict[str, Any] = json.loads(answer or "{}")
        if failing := learnt.get("broken", ["every test: their run did not end"]):
            print("These tests must pass first:", *failing, sep="\n", file=sys.stderr)
            pytest.exit("tests fail without a change", returncode=2)
        self.kept.add(BASELINE, answer)
        return learnt

    def work(self, items: list[pytest.Item], directory: Path) -> None:
        waiting = list(enumerate(self.mutants))
        running: dict[tuple[int, int], Mutant] = {}
        started = monotonic()
        with ended(running):
            while waiting or running:
                while waiting and len(running) < WORKERS:
                    number, mutant = waiting.pop(0)
                    place = self.place(directory, str(number), mutant)
                    ordered = self.lessons.order(items, mutant)
                    running[self.fork(lambda ordered=ordered: self.first_failure(ordered), place)] = mutant
                for child, answer in self.collect(running).items():
                    mutant = running.pop(child)
                    result = json.loads(answer)["by"] if answer else "an early end"
                    self.results[mutant] = result
                    self.kept.add(mutant.key, result)
                    self.lessons.learn(mutant, result)
                    if not result:
                        print(f"SURVIVED {mutant.id}: {mutant.before} → {mutant.after}", flush=True)
                    if len(self.results) % 50 == 0:
                        print(
                            f"{len(self.results)} of {len(self.mutants)} in {monotonic() - started:.0f} s", flush=True
                        )

    def place(self, directory: Path, name: str, mutant: Mutant | None) -> Path:
        """Create a working directory with the changed dialect."""
        dialect = directory / name / "cassettes" / DIALECT
        dialect.mkdir(parents=True)
        for file in SOURCE.glob("*.yaml"):
            changed = mutant is not None and file.name == mutant.file
            (dialect / file.name).write_text(mutant.content if mutant and changed else file.read_text())
        return directory / name

    def fork(self, work: Callable[[], Any], place: Path) -> tuple[int, int]:
        """Return the child's id, and the descriptor of its answer."""
        read, write = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child:
            os.close(write)
            return child, read
        status = 1
        try:
            os.close(read)
            os.setpgid(0, 0)
            os.chdir(place)
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            signal.alarm(self.patience)
            answer = json.dumps(work())
            with open(write, "w") as pipe:
                pipe.write(answer)
            status = 0
        finally:
            os._exit(status)

    def collect(self, running: Mapping[tuple[int, int], Any]) -> dict[tuple[int, int], str]:
        """Return the answers of finished children. Waits for at least one."""
        ready, _, _ = select.select([read for _, read in running], [], [])
        ended = {}
        for child, read in running:
            if read in ready:
                with open(read) as pipe:
                    ended[child, read] = pipe.read()
                os.waitpid(child, 0)
        return ended

    def first_failure(self, items: list[pytest.Item]) -> dict[str, str]:
        try:
            engine = build(Settings(state="memory:", confdir=Path("unused")))
        except SandboxError:
            return {"by": "lint"}
        for item, following in pairs(items):
            if self.fails(item, following, engine):
                return {"by": item.nodeid}
        return {"by": ""}

    def measure(self, items: list[pytest.Item]) -> dict[str, Any]:
        seconds, touches, broken = {}, {}, []
        touched: set[str] = set()
        answer = Engine.answer

        async def seen(engine: Engine, request: Request) -> Response:
            response = await answer(engine, request)
            touched.update(value for name, value in response.headers if name == "X-Sandbox-Rule")
            touched.update(re.findall(r"XS2A\d{3}E", response.body[:4096].decode("utf-8", "replace")))
            return response

        Engine.answer = seen  # type: ignore[method-assign]
        engine = build(Settings(state="memory:", confdir=Path("unused")))
        for item, following in pairs(items):
            touched.clear()
            started = monotonic()
            if self.fails(item, following, engine):
                broken.append(item.nodeid)
            seconds[item.nodeid], touches[item.nodeid] = monotonic() - started, sorted(touched)
        return {"seconds": seconds, "touches": touches, "broken": broken}

    def fails(self, item: pytest.Item, following: pytest.Item | None, engine: Engine) -> bool:
        if item.path.name == EXAMPLES and isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            if DIALECT not in item.name:
                return False
            item.callspec.params["engine"] = engine  # the collected one was created before the change
        self.failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return self.failed


@contextmanager
def ended(children: Collection[tuple[int, int]]) -> Iterator[None]:
    """Stop the children, and the processes that they started, even after an interrupt."""
    try:
        yield
    except BaseException:
        for child, _ in children:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        raise


def pairs(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    return zip(items, [*items[1:], None], strict=True)


# The page


def explained() -> dict[str, str]:
    return yaml.safe_load(EXPLAINED.read_text()) or {} if EXPLAINED.exists() else {}


def page(results: Mapping[Mutant, str], reasons: Mapping[str, str]) -> str:
    survivors = [mutant for mutant, result in results.items() if not result]
    lint = sum(result == "lint" for result in results.values())
    lines = [
        "# Mutants",
        "",
        "`make mutants` writes this page. It changes every status, code, message number, text, null, link, key,",
        "schema name, `where`, `require` (also that of `every_request`), `otherwise`, `with` and `amend` of the",
        "dialect, one at a time. The conformance tests must notice each change.",
        "",
        f"{len(results)} changes: {len(results) - lint - len(survivors)} made a test fail, {lint} were refused when"
        f" the cassettes were read, {len(survivors)} survived.",
        "",
        "| Kind | Changes | Noticed by tests | Refused | Survived |",
        "|---|---:|---:|---:|---:|",
    ]
    for kind in sorted({mutant.kind for mutant in results}):
        of_kind = [result for mutant, result in results.items() if mutant.kind == kind]
        refused, lived = of_kind.count("lint"), of_kind.count("")
        lines.append(f"| {kind} | {len(of_kind)} | {len(of_kind) - refused - lived} | {refused} | {lived} |")
    lines += ["", "## Survivors", ""]
    if not survivors:
        return "\n".join([*lines, "None."]) + "\n"
    lines += ["| Place | Change | Why no test can notice it |", "|---|---|---|"]
    for mutant in sorted(survivors, key=lambda mutant: mutant.id):
        change = f"`{mutant.before}` → `{mutant.after}`".replace("|", "\\|")
        lines.append(f"| {mutant.id} | {change} | {reasons.get(mutant.id, '**not explained**')} |")
    return "\n".join(lines) + "\n"


def sources() -> str:
    """Return a hash of everything that affects a result."""
    folders = ("addons", "cassettes", "schemas", "tests")
    files = [
        file for folder in folders for file in (ROOT / folder).rglob("*") if file.suffix in (".py", ".yaml", ".json")
    ]
    return digest(files, ROOT)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="?", default="", help="only changes whose names contain this text")
    parser.add_argument("--part", type=every, default="1/1", help="N/M: every Mth change, starting with the Nth")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file in which results are stored")
    options = parser.parse_args(arguments)
    every_mutant = mutants()
    chosen = [mutant for mutant in every_mutant if options.only in mutant.id][options.part]
    kept = KeptResults(options.results, sources())
    results = _results(every_mutant, kept)
    waiting = [mutant for mutant in chosen if mutant not in results]
    print(f"{len(chosen)} mutants, {len(chosen) - len(waiting)} of them already tested", flush=True)
    started = monotonic()
    if waiting:
        leave_doors_out()
        os.chdir(ROOT)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        hunt = Hunt(waiting, results, kept)
        pytest.main(["-q", "-p", "no:schemathesis", "-p", "no:xdist", str(TESTS)], plugins=[hunt])
        results |= hunt.results
        if len(hunt.results) < len(waiting):
            print(f"{len(waiting) - len(hunt.results)} remain: run the same command again to continue", file=sys.stderr)
            return 2
    reasons = explained()
    survivors = {mutant.id for mutant in chosen if not results[mutant]}
    unexplained = sorted(survivors - reasons.keys())
    stale: list[str] = []
    if len(results) == len(every_mutant):
        stale = sorted(reasons.keys() - {mutant.id for mutant, result in results.items() if not result})
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(page(results, reasons))
    print(f"{len(waiting)} mutants in {monotonic() - started:.0f} s; of {len(chosen)}, {len(survivors)} survived")
    print(*(f"not explained: {id}" for id in unexplained), *(f"explained, but noticed: {id}" for id in stale), sep="\n")
    print(f"{len(results)} of all {len(every_mutant)} have a result")
    return 1 if unexplained or stale else 0


def _results(of: Sequence[Mutant], kept: KeptResults) -> dict[Mutant, str]:
    """Return the stored results in the order of the mutants."""
    by_key = kept.read()
    return {mutant: by_key[mutant.key] for mutant in of if mutant.key in by_key}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
