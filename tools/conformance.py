"""Write which tests prove which statement about the interfaces: two pages in build/reports, based on the tests'
marks.

python -m tools.conformance            writes build/reports/conformance.md and conformance-berlin-group.md
"""

import contextlib
import io
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "contract"
REPORTS = ROOT / "build" / "reports"

type Proofs = Mapping[str, Mapping[str, str]]
"""Statement id → the tests that carry its mark → the reason why they are skipped, or an empty string."""


@dataclass(frozen=True, slots=True)
class Interface:
    """A dialect, the mark of the tests that prove its statements, and its sections of statements by id."""

    title: str
    mark: str
    index: Path
    page: Path

    def sections(self) -> Mapping[str, Mapping[str, str]]:
        sections: Mapping[str, Mapping[str, str]] = yaml.safe_load(self.index.read_text())
        return sections

    def checkable(self) -> list[str]:
        """Return the ids that need a test. Statements in the section `told` cannot be tested."""
        return [id for name, section in self.sections().items() if name != "told" for id in section]


DOCUMENTED = Interface("Conformance of xs2a-1.84", "spec", TESTS / "statements.yaml", REPORTS / "conformance.md")
BERLIN_GROUP = Interface(
    "Conformance of berlin-group-1.3",
    "berlin_group",
    TESTS / "berlin_group" / "statements.yaml",
    REPORTS / "conformance-berlin-group.md",
)
INTERFACES = (DOCUMENTED, BERLIN_GROUP)


@dataclass
class Marks:
    """A pytest plugin that collects the statements that tests are marked with."""

    proofs: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: defaultdict(dict))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            skipped = "; ".join(str(mark.kwargs.get("reason")) for mark in item.iter_markers("skipif"))
            name = item.nodeid.removeprefix("tests/contract/").partition("[")[0]
            for interface in INTERFACES:
                for marker in item.iter_markers(interface.mark):
                    for statement in marker.args:
                        tests = self.proofs[interface.mark].setdefault(statement, {})
                        # One case that always runs is enough.
                        tests[name] = skipped and tests.get(name, skipped)


def collect() -> Mapping[str, Proofs]:
    """Collect the proofs by mark."""
    marks = Marks()
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        arguments = ["--collect-only", "-qq", "-m", "", f"--rootdir={ROOT}", str(TESTS)]
        status = pytest.main(arguments, plugins=[marks])
    if status:
        raise SystemExit(output.getvalue())
    return {
        mark: {statement: dict(sorted(tests.items())) for statement, tests in sorted(proofs.items())}
        for mark, proofs in marks.proofs.items()
    }


def find_mistakes(interface: Interface, proofs: Proofs) -> list[str]:
    checkable = interface.checkable()
    without = [id for id in checkable if not any(not skipped for skipped in proofs.get(id, {}).values())]
    return [
        *(f"{id} is the mark of a test, but {interface.index.name} lacks it" for id in set(proofs) - set(checkable)),
        *(f"{id} has no test that always runs" for id in without),
    ]


def page(interface: Interface, proofs: Proofs) -> str:
    lines = [
        f"# {interface.title}",
        "",
        f"{len(interface.checkable())} statements that a request can check, and the tests in `tests/contract/` that",
        "prove them through every port.",
    ]
    for name, section in interface.sections().items():
        lines += ["", f"## {name[0].upper()}{name[1:]}", "", "| Id | Statement | Proven by |", "|---|---|---|"]
        for id, text in section.items():
            tests = [
                f"`{test}`" + (f" (skipped where {skipped})" if skipped else "")
                for test, skipped in proofs.get(id, {}).items()
            ]
            lines.append(f"| `{id}` | {re.sub(r'([|])', r'\\\1', text)} | {'<br>'.join(tests) or '–'} |")
    return "\n".join(lines) + "\n"


def main(_: Sequence[str]) -> int:
    proofs = collect()
    REPORTS.mkdir(parents=True, exist_ok=True)
    mistakes = []
    for interface in INTERFACES:
        interface.page.write_text(page(interface, proofs[interface.mark]))
        mistakes += find_mistakes(interface, proofs[interface.mark])
        print(f"wrote {interface.page.relative_to(ROOT)}")
    print(*mistakes, sep="\n", file=sys.stderr)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
