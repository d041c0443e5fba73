"""A report as JUnit XML: a test case for each exchange, which fails as `--fail-on` says."""

from xml.etree import ElementTree

from xs2a_sandbox.difference import Severity, is_at_least
from xs2a_sandbox.report import Exchange, Finding, Report


def write(report: Report, fail_on: Severity | None) -> str:
    root = ElementTree.Element("testsuites", name="xs2a-sandbox compare")
    for operation in report.operations:
        suite = ElementTree.SubElement(root, "testsuite", name=operation)
        for exchange in report.exchanges:
            if exchange.operation == operation:
                _case(suite, exchange, fail_on)
        _count(suite)
    if report.skipped:
        suite = ElementTree.SubElement(root, "testsuite", name="skipped")
        for title in report.skipped:
            case = ElementTree.SubElement(suite, "testcase", classname="skipped", name=title)
            ElementTree.SubElement(case, "skipped", message="it writes, and --allow-writes was not given")
        _count(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _case(suite: ElementTree.Element, exchange: Exchange, fail_on: Severity | None) -> None:
    seconds = (exchange.bank.milliseconds if exchange.bank else 0.0) / 1000
    name = f"{exchange.number}. {exchange.request}"
    case = ElementTree.SubElement(suite, "testcase", classname=exchange.operation, name=name, time=f"{seconds:.3f}")
    if exchange.trouble:
        ElementTree.SubElement(case, "error", message=exchange.trouble)
        return
    failing = [f for f in exchange.findings if fail_on and is_at_least(f.severity, fail_on)]
    if failing:
        message = f"{len(failing)} differences, {exchange.worst} at worst"
        ElementTree.SubElement(case, "failure", message=message, type=failing[0].kind).text = _lines(failing)
    passing = [f for f in exchange.findings if f not in failing]
    if passing:
        ElementTree.SubElement(case, "system-out").text = _lines(passing)


def _lines(findings: list[Finding]) -> str:
    return "\n".join(
        f"{f.severity} {f.kind} at {f.where or 'the body'}: bank {f.bank}, sandbox {f.sandbox}"
        + (f"; {f.drift}" if f.drift else "")
        for f in findings
    )


def _count(suite: ElementTree.Element) -> None:
    for attribute, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{element}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
