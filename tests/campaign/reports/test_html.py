"""The report for a browser."""

from dataclasses import replace

from tests.campaign.results_made_up import FOLDER, FOUND, RESULTS
from xs2a_sandbox.features.campaign.judge import AppFinding
from xs2a_sandbox.features.campaign.reports.html import as_html


def test_it_has_the_findings_and_the_table() -> None:
    page = as_html(RESULTS, FOLDER)

    assert "2 of 3 faults with findings" in page
    assert "2 payments of the intent &lt;E-1&gt;" in page
    assert '<th scope="row">initiate-payment 1</th>' in page
    assert page.index('<th scope="col">busy') < page.index('<th scope="col">html')
    assert "mind the gap" in page
    assert RESULTS.command in page


def test_it_needs_nothing_else() -> None:
    assert "http" not in as_html(RESULTS, FOLDER).replace("http-equiv", "")


def test_a_cell_leads_to_its_finding() -> None:
    page = as_html(RESULTS, FOLDER)

    for name in ("initiate-payment-1-reset-after.yaml", "initiate-payment-1-html-after.yaml"):
        assert f'<a href="#{name}"' in page
        assert f'<h3 id="{name}">' in page


def test_what_an_app_says_is_no_markup() -> None:
    page = as_html(replace(RESULTS, results=(replace(FOUND, findings=(AppFinding("x", "<script>alert(1)"),)),)), FOLDER)

    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
