from xml.etree import ElementTree

from tests.compare.reports.test_report import comparison
from xs2a_sandbox.compare.reports import files
from xs2a_sandbox.compare.reports.report import report


def test_junit_has_a_case_for_each_exchange() -> None:
    result = comparison(({"a": 1}, {"a": 2}), ({}, {}), ({}, {"low": 1}))
    root = ElementTree.fromstring(files.as_junit(report(result, "bank", None), "medium"))
    (suite, skipped) = root
    assert suite.attrib == {"name": "(none)", "failures": "1", "errors": "0", "skipped": "0", "tests": "3"}
    assert [[child.tag for child in case] for case in suite] == [["failure"], [], ["system-out"]]
    assert skipped.get("skipped") == "1"
