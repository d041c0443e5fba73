"""What is proven of the dialect berlin-group-1.3: docs/conformance-berlin-group.md, from the tests' marks.

python -m tools.dialect_conformance            writes the page
python -m tools.dialect_conformance --check    exit status 1 when it is not what it should be, or a test is missing
"""

import sys
from collections.abc import Mapping

import yaml

from tools.conformance_page import ROOT, Proofs, cell, collect

MARK = "berlin_group"
INDEX = ROOT / "docs" / "berlin-group-index.yaml"
PAGE = ROOT / "docs" / "conformance-berlin-group.md"


def index() -> Mapping[str, Mapping[str, str]]:
    """Statements by their ids, in sections."""
    return yaml.safe_load(INDEX.read_text())


def statements() -> set[str]:
    return {id for section in index().values() for id in section}


def page(proofs: Proofs) -> str:
    lines = [
        "# Conformance of berlin-group-1.3",
        "",
        "What the [dialect](dialects.md) `berlin-group-1.3` does of NextGenPSD2 1.3, in our words, and the black-box",
        "tests that prove it, through every door. Every answer that they get fits the Berlin Group's OpenAPI file of",
        "1.3.11 as it is, without anything stripped; schemathesis calls every operation of that file besides",
        "(`tests/contract/test_berlin_group_dialect.py`). Where the file is not there, that is not looked at.",
        "",
        "This page is written by `python -m tools.dialect_conformance`; the statements are in",
        "[berlin-group-index.yaml](berlin-group-index.yaml), the tests in `tests/contract/berlin_group/`.",
        "",
        f"{len(statements())} statements.",
    ]
    for title, section in index().items():
        lines += ["", f"## {title}", "", "| Id | Statement | Proven by |", "|---|---|---|"]
        for id, text in section.items():
            tests = (f"`{test.removeprefix('berlin_group/')}`" for test in proofs.get(id, ()))
            lines.append(f"| `{id}` | {cell(text)} | {'<br>'.join(tests) or '–'} |")
    return "\n".join(lines) + "\n"


def mistake(proofs: Proofs) -> str | None:
    """Says what the tests or the page lack."""
    if wrong := sorted(proofs.keys() ^ statements()):
        return f"either in {INDEX.name} or a test's mark, not both: {', '.join(wrong)}"
    if PAGE.read_text() != page(proofs):
        return f"{PAGE.name} is not up to date: run python -m tools.dialect_conformance"
    return None


def main(arguments: list[str]) -> int:
    (proofs,) = collect(MARK)
    if "--check" not in arguments and proofs.keys() == statements():
        PAGE.write_text(page(proofs))
    if text := mistake(proofs):
        print(text, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
