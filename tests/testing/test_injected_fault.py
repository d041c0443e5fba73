"""The fault injected by a campaign, as an app's tests see it."""

from pathlib import Path

import pytest

from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault, read_injected, read_reports, report

pytest_plugins = ["pytester"]

FAULT = InjectedFault("consent-expired", "account-list", 2, status=401, code="CONSENT_EXPIRED")


def test_the_fault_is_read_from_the_environment() -> None:
    assert read_injected({"XS2A_SANDBOX_FAULT": FAULT.as_json()}) == FAULT
    assert str(FAULT) == "account-list 2: consent-expired, before"
    assert str(InjectedFault("ids-zero")) == "ids-zero"


def test_without_the_variable_there_is_no_fault() -> None:
    assert read_injected({}) is None
    assert read_injected({"XS2A_SANDBOX_FAULT": ""}) is None
    with pytest.raises(UserMistake, match="must be a fault of a campaign"):
        read_injected({"XS2A_SANDBOX_FAULT": "reset"})


def test_findings_are_reported_as_lines(tmp_path: Path) -> None:
    file = tmp_path / "findings.jsonl"
    assert read_reports(file) == []
    report({}, "test_a", "nobody listens")
    report({"XS2A_SANDBOX_FINDINGS": str(file)}, "test_a", "one\ntwo")
    file.write_text(file.read_text() + "by hand\n[1]\n")

    assert read_reports(file) == [
        {"test": "test_a", "text": "one\ntwo"},
        {"test": "", "text": "by hand"},
        {"test": "", "text": "[1]"},
    ]


def test_a_failing_test_with_the_fault_fixture_is_a_finding(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = pytester.path / "findings.jsonl"
    monkeypatch.setenv("XS2A_SANDBOX_FAULT", FAULT.as_json())
    monkeypatch.setenv("XS2A_SANDBOX_FINDINGS", str(findings))
    pytester.makepyfile(
        """
        def test_told(xs2a_fault):
            assert xs2a_fault.code == "CONSENT_EXPIRED"

        def test_wrong(xs2a_fault):
            assert not xs2a_fault, "nobody told the customer"

        def test_without():
            assert False
        """
    )

    pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=1, failed=2)

    (one,) = read_reports(findings)
    assert one["test"].endswith("::test_wrong")
    assert one["text"].startswith("nobody told the customer")

    findings.unlink()
    monkeypatch.delenv("XS2A_SANDBOX_FAULT")
    pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider")
    # In a run without a fault, every failure counts.
    assert [one["test"].rpartition("::")[2] for one in read_reports(findings)] == ["test_told", "test_without"]
