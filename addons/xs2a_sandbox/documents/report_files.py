"""Writes reports in the format of the file's ending, and JUnit reports, which CI systems show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from xs2a_sandbox.documents.files import writing


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case of a suite. It passed if it has no `outcome`.

    - `message`, `kind`, `text`: of the outcome
    - `output`: further output of the case
    """

    place: str
    name: str
    outcome: Literal["failure", "error", "skipped"] | None = None
    message: str = ""
    kind: str | None = None
    text: str | None = None
    output: str | None = None
    seconds: float | None = None


def write_report(file: Path, writers: Mapping[str, Callable[[], str]]) -> None:
    """Write the text of the writer for the file's ending. Raises ConfigError if the file cannot be written."""
    text = writers[file.suffix]()
    with writing(file):
        file.write_text(text, encoding="utf-8")


def as_junit(name: str, suites: Mapping[str, Sequence[CaseResult]]) -> str:
    """Return a JUnit report of the cases by suite. The texts must not contain control characters."""
    root = ElementTree.Element("testsuites", name=name)
    for suite_name, cases in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", name=suite_name)
        for case in cases:
            _add_case(suite, case)
        for attribute, outcome in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(attribute, str(sum(case.outcome == outcome for case in cases)))
        suite.set("tests", str(len(cases)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _add_case(suite: ElementTree.Element, case: CaseResult) -> None:
    element = ElementTree.SubElement(suite, "testcase", classname=case.place, name=case.name)
    if case.seconds is not None:
        element.set("time", f"{case.seconds:.3f}")
    if case.outcome:
        outcome = ElementTree.SubElement(element, case.outcome, message=case.message)
        if case.kind:
            outcome.set("type", case.kind)
        outcome.text = case.text
    if case.output is not None:
        ElementTree.SubElement(element, "system-out").text = case.output
