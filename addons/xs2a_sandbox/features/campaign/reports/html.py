"""The results as a single page without external fonts, images, network access or scripts."""

from pathlib import Path

from xs2a_sandbox.documents.html_templates import environment
from xs2a_sandbox.features.campaign.campaign import Results
from xs2a_sandbox.features.campaign.fault_sentences import describe
from xs2a_sandbox.features.campaign.finding_file import name_of, replay
from xs2a_sandbox.features.campaign.left_out import group_left_out
from xs2a_sandbox.features.campaign.reports.banks import bank_outcomes, banks_summary, results_to_explain
from xs2a_sandbox.features.campaign.reports.table import exits, groups, rows, tried
from xs2a_sandbox.wording import say_count

_TEMPLATES = Path(__file__).resolve().parent / "templates"


def as_html(results: Results, findings: Path) -> str:
    """Return the page. `findings` is the folder with the findings' files."""
    return (
        environment(_TEMPLATES)
        .get_template("campaign.html")
        .render(
            results=results,
            banks=bank_outcomes(results),
            banks_summary=list(banks_summary(results)) if results.banks else [],
            rows=rows(results.results),
            groups=groups(results_to_explain(results)),
            tried=tried(results),
            left_out=group_left_out(results.left_out),
            style=(_TEMPLATES / "campaign.css").read_text(),
            describe=describe,
            exits=exits,
            say_count=say_count,
            name_of=name_of,
            replay=lambda result: replay(result, results, findings),
        )
    )
