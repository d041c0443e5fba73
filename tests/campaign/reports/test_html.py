"""The HTML report."""

from dataclasses import replace

from tests.campaign.results_made_up import FOLDER, FOUND, RESULTS
from xs2a_sandbox.features.campaign.judge import AppFinding
from xs2a_sandbox.features.campaign.reports.html import as_html


def test_the_report_contains_the_findings_and_the_table() -> None:
    page = as_html(RESULTS, FOLDER)

    assert "2 of 3 faults with findings" in page
    assert page.count("The app made 2 payments of &lt;E-1&gt;.") == 1, "equal findings are told once"
    assert "Pays too often: call 1 of initiate-payment <small>2 faults</small>" in page
    assert "The connection is reset, after the bank has acted on the request." in page
    assert "The answer is a page of HTML, after" in page
    assert '<th scope="row">initiate-payment 1</th>' in page
    assert "<strong>exit status 1 with the fault, 0 in the run after it</strong>: busy, before</li>" in page
    assert "mind the gap" in page
    assert RESULTS.command in page


def test_the_report_loads_nothing() -> None:
    assert "http" not in as_html(RESULTS, FOLDER).replace("http-equiv", "")


def test_a_cell_links_to_its_finding() -> None:
    page = as_html(RESULTS, FOLDER)

    for name in ("initiate-payment-1-reset-after.yaml", "initiate-payment-1-html-after.yaml"):
        assert f'<a href="#{name}"' in page
        assert f'<li id="{name}">' in page


def test_what_was_left_out_is_told_and_listed() -> None:
    page = as_html(RESULTS, FOLDER)

    assert "<summary>3 faults were left out because they would show the same as other faults</summary>" in page
    assert "<li>account-list 2: busy (before)</li>" in page
    assert "Left out" not in as_html(replace(RESULTS, left_out=()), FOLDER)


def test_output_of_the_app_is_escaped() -> None:
    page = as_html(
        replace(RESULTS, results=(replace(FOUND, findings=(AppFinding("calls", "<script>alert(1)"),)),)), FOLDER
    )

    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
