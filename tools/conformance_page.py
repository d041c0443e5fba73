"""Which test proves which statement: docs/conformance.md, from docs/spec-index.yaml, the tests' marks and the breakers.

python -m tools.conformance_page            writes the page
python -m tools.conformance_page --check    exit status 1 when the page is not what it should be
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

from tools.breakers import CATALOGUE

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "tests" / "contract"
MARK = "spec"
INDEX = ROOT / "docs" / "spec-index.yaml"
PAGE = ROOT / "docs" / "conformance.md"
UNBROKEN = ROOT / "tools" / "unbroken.yaml"

type Proofs = Mapping[str, Mapping[str, str]]
"""Statement → the tests that carry its mark → where they are skipped, or nothing if they always run."""


def statements_of(item: pytest.Item, mark: str = "spec") -> set[str]:
    return {statement for marker in item.iter_markers(mark) for statement in marker.args}


def test_name(item: pytest.Item) -> str:
    """Without the door and the other parameters."""
    return item.nodeid.removeprefix("tests/contract/").partition("[")[0]


@dataclass
class Marks:
    """A pytest plugin that collects the marks of each of some names."""

    names: Sequence[str]
    proofs: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: defaultdict(dict))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            skipped = "; ".join(str(mark.kwargs.get("reason")) for mark in item.iter_markers("skipif"))
            for name in self.names:
                for statement in statements_of(item, name):
                    tests = self.proofs[name].setdefault(statement, {})
                    # One case that always runs is enough.
                    tests[test_name(item)] = skipped and tests.get(test_name(item), skipped)


def collect(*names: str) -> list[Proofs]:
    """The proofs by the marks of each name."""
    marks = Marks(names)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = pytest.main(["--collect-only", "-qq", f"--rootdir={ROOT}", str(HERE)], plugins=[marks])
    if status:
        raise SystemExit(output.getvalue())
    return [
        {statement: dict(sorted(tests.items())) for statement, tests in marks.proofs[name].items()} for name in names
    ]


def index() -> Mapping[str, Mapping[str, str]]:
    """The parts of the index: statements, told, readings."""
    return yaml.safe_load(INDEX.read_text())


def unbroken() -> Mapping[str, str]:
    """Statement → why no product breaks it in the check."""
    return yaml.safe_load(UNBROKEN.read_text()) or {}


def checked() -> list[str]:
    """What has to be proven."""
    return [statement for part in ("statements", "readings") for statement in index()[part]]


def unknown(proofs: Proofs) -> list[str]:
    """Ids that a test names and the index does not."""
    return sorted(set(proofs) - {statement for part in index().values() for statement in part})


def unproven(proofs: Proofs) -> list[str]:
    """Those without a test that always runs."""
    return [id for id in checked() if not any(not skipped for skipped in proofs.get(id, {}).values())]


def page(proofs: Proofs) -> str:
    spec = index()
    products = sum(map(len, CATALOGUE.values()))
    lines = [
        "# Conformance",
        "",
        "Every checkable statement about the documented interface and the black-box tests that prove it, through every",
        "door. *Proven* means that the test fails when the statement is broken: for each statement there are products",
        "that break it (`tools/breakers/`), one of its tests fails with each of them, and each of its tests fails with",
        "one of them. `make mutants` tries that, and so does CI; which test notices which product is listed in",
        "[broken products](broken-products.md).",
        "",
        "This page is written by `python -m tools.conformance_page`; the statements are in",
        "[spec-index.yaml](spec-index.yaml), the tests in `tests/contract/`.",
        "",
        f"{len(spec['statements'])} statements and {len(spec['readings'])} readings of ours, broken by {products}"
        f" products; {len(unproven(proofs)) or 'none'} without a test that always runs; {len(unbroken()) or 'none'}"
        f" without a product that breaks it; {len(spec['told'])} that no request can check.",
    ]
    if missing := unproven(proofs):
        lines += ["", "## Without a test that always runs", "", *(f"- `{id}`" for id in missing)]
    if excused := unbroken():
        lines += ["", "## Without a product that breaks it", "", "| Id | Why |", "|---|---|"]
        lines += [f"| `{id}` | {cell(why)} |" for id, why in excused.items()]
    titles = {"statements": "The interface document", "readings": "Our readings, where it is silent"}
    for part, title in titles.items():
        lines += ["", f"## {title}", "", "| Id | Statement | Proven by | Broken by |", "|---|---|---|---:|"]
        lines += [_row(statement, text, proofs) for statement, text in spec[part].items()]
    lines += ["", "## What no request can check", "", "| Id | Statement |", "|---|---|"]
    lines += [f"| `{statement}` | {cell(text)} |" for statement, text in spec["told"].items()]
    return "\n".join(lines) + "\n"


def _row(statement: str, text: str, proofs: Proofs) -> str:
    tests = [
        f"`{test}`" + (f" (skipped where {skipped})" if skipped else "")
        for test, skipped in proofs.get(statement, {}).items()
    ]
    count = len(CATALOGUE.get(statement, ())) or "–"
    return f"| `{statement}` | {cell(text)} | {'<br>'.join(tests) or '–'} | {count} |"


def cell(text: str) -> str:
    return re.sub(r"([|])", r"\\\1", text)


def main(arguments: list[str]) -> int:
    (proofs,) = collect(MARK)
    if wrong := unknown(proofs):
        print(f"not in {INDEX.name}: {', '.join(wrong)}", file=sys.stderr)
        return 1
    text = page(proofs)
    if "--check" in arguments:
        if PAGE.exists() and PAGE.read_text() == text:
            return 0
        print(f"{PAGE.name} is not up to date: run python -m tools.conformance_page", file=sys.stderr)
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
