"""Writes a report in the format of the file's ending, and a file for each finding."""

from functools import partial
from pathlib import Path

from xs2a_sandbox.documents.files import writing
from xs2a_sandbox.documents.report_files import write_report
from xs2a_sandbox.features.campaign import finding_file
from xs2a_sandbox.features.campaign.campaign import Results
from xs2a_sandbox.features.campaign.reports import html, junit
from xs2a_sandbox.features.campaign.reports.json_report import as_json


def write(file: Path, results: Results, findings: Path) -> None:
    """Write a report. `findings` is the folder with the findings' files. Raises ConfigError."""
    writers = {".json": as_json, ".xml": junit.write, ".html": html.as_html}
    write_report(file, {ending: partial(write, results, findings) for ending, write in writers.items()})


def write_findings(folder: Path, results: Results) -> None:
    """Write a file for each finding, replacing those of earlier campaigns. Raises ConfigError."""
    with writing(folder):
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.yaml"):
            old.unlink()
        for result in results.findings:
            (folder / finding_file.name_of(result)).write_text(finding_file.write(result, results, folder))
