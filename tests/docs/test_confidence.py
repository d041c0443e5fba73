"""docs/confidence.md names proofs that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROMISES, SUITES = (ROOT / "docs" / "confidence.md").read_text().split("## Suites by others")


def rows(text: str) -> list[list[str]]:
    table = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[1:]]


@pytest.mark.parametrize(("promise", "ours", "others"), rows(PROMISES), ids=lambda cell: cell[:40])
def test_every_promise_names_existing_proofs(promise: str, ours: str, others: str) -> None:
    proofs = re.findall(r"`([^`]+)`", ours)

    assert proofs
    for proof in proofs:
        target = proof.removeprefix("make ")
        is_there = f"\n{target}:" in (ROOT / "Makefile").read_text() if target != proof else (ROOT / proof).exists()
        assert is_there, proof
    assert others.startswith("Nobody else") or all(suite_of(name) for name in others.split(", "))


def suite_of(name: str) -> str:
    """Return the row of the suite with this name. Raises StopIteration."""
    return next(suite for suite, *_ in rows(SUITES) if suite.lower().startswith(name.split(" with ")[0].lower()))


@pytest.mark.parametrize(("suite", "source", "tests", "origin", "found"), rows(SUITES), ids=lambda cell: cell[:40])
def test_every_suite_names_existing_tests(suite: str, source: str, tests: str, origin: str, found: str) -> None:
    files = re.findall(r"`([^`]+)`", tests)

    assert files
    assert [file for file in files if not (ROOT / file).is_file()] == []
    assert source
    assert origin
    assert found
