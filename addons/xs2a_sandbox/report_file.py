"""A report as a file, in the form that its name asks for."""

from pathlib import Path

from xs2a_sandbox.difference import Severity
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.report import Report


def write(file: Path, made: Report, fail_on: Severity | None) -> None:
    """`fail_on` is for JUnit. Raises ConfigError for a file that cannot be written."""
    if file.suffix == ".json":
        from xs2a_sandbox import report_json

        text = report_json.write(made)
    elif file.suffix == ".xml":
        from xs2a_sandbox import report_junit

        text = report_junit.write(made, fail_on)
    else:
        from xs2a_sandbox import report_html

        text = report_html.write(made)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {file}: {error.strerror or error}") from None
