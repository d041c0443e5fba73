"""Which test proves which statement: writes docs/conformance.md from docs/spec-index.yaml and the tests' marks.

python tests/conformance/report.py            writes the page
python tests/conformance/report.py --check    exit status 1 when the page is not what it should be
"""

import contextlib
import io
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INDEX = ROOT / "docs" / "spec-index.yaml"
PAGE = ROOT / "docs" / "conformance.md"

type Proofs = Mapping[str, list[str]]


@dataclass
class Marks:
    """A pytest plugin: statement → the tests that prove it, by name, without the door."""

    found: dict[str, dict[str, None]] = field(default_factory=dict)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            name = item.nodeid.removeprefix("tests/conformance/").partition("[")[0]
            for mark in item.iter_markers("spec"):
                for statement in mark.args:
                    self.found.setdefault(statement, {})[name] = None


def collect() -> Proofs:
    marks = Marks()
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = pytest.main(["--collect-only", "-qq", f"--rootdir={ROOT}", str(HERE)], plugins=[marks])
    if status:
        raise SystemExit(output.getvalue())
    return {statement: sorted(tests) for statement, tests in marks.found.items()}


def index() -> Mapping[str, Mapping[str, str]]:
    """The three parts of the index: statements, later, readings."""
    return yaml.safe_load(INDEX.read_text())


def unknown(proofs: Proofs) -> list[str]:
    """Ids that a test names and the index does not."""
    return sorted(set(proofs) - {statement for part in index().values() for statement in part})


def unproven(proofs: Proofs) -> list[str]:
    """Statements and readings without a test, those for later aside."""
    known = index()
    return [statement for part in ("statements", "readings") for statement in known[part] if statement not in proofs]


def page(proofs: Proofs) -> str:
    known = index()
    missing = unproven(proofs)
    lines = [
        "# Conformance",
        "",
        "Every checkable statement about the documented interface and the black-box tests that prove it, through every",
        "door. This page is written by `python tests/conformance/report.py`; the statements are in",
        "[spec-index.yaml](spec-index.yaml), the tests in `tests/conformance/`.",
        "",
        f"{len(known['statements'])} statements and {len(known['readings'])} readings of ours;"
        f" {len(missing) or 'none'} without a test; {len(known['later'])} for later.",
    ]
    if missing:
        lines += ["", "## Without a test", "", *(f"- `{statement}`" for statement in missing)]
    titles = {
        "statements": "The interface document",
        "readings": "Our readings, where it is silent",
        "later": "Later: known, but not built yet",
    }
    for part, title in titles.items():
        lines += ["", f"## {title}", "", "| Id | Statement | Proven by |", "|---|---|---|"]
        lines += [_row(statement, text, proofs) for statement, text in known[part].items()]
    return "\n".join(lines) + "\n"


def _row(statement: str, text: str, proofs: Proofs) -> str:
    tests = "<br>".join(f"`{test}`" for test in proofs.get(statement, []))
    return f"| `{statement}` | {re.sub(r'([|])', r'\\\\\1', text)} | {tests or '–'} |"


def main(arguments: list[str]) -> int:
    proofs = collect()
    if wrong := unknown(proofs):
        print(f"not in {INDEX.name}: {', '.join(wrong)}", file=sys.stderr)
        return 1
    text = page(proofs)
    if "--check" in arguments:
        if PAGE.exists() and PAGE.read_text() == text:
            return 0
        print(f"{PAGE.name} is not up to date: run python tests/conformance/report.py", file=sys.stderr)
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
