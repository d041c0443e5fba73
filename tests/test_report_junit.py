from xml.etree import ElementTree

from test_report import comparison
from xs2a_sandbox import report_junit
from xs2a_sandbox.report import report


def test_junit_has_a_case_for_each_exchange() -> None:
    result = comparison(({"a": 1}, {"a": 2}), ({}, {}), ({}, {"low": 1}))
    root = ElementTree.fromstring(report_junit.write(report(result, "bank", None), "medium"))
    (suite, skipped) = root
    assert suite.attrib == {"name": "(none)", "failures": "1", "errors": "0", "skipped": "0", "tests": "3"}
    assert [[child.tag for child in case] for case in suite] == [["failure"], [], ["system-out"]]
    assert skipped.get("skipped") == "1"
