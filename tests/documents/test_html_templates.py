"""Templates of HTML pages."""

from pathlib import Path

import pytest
from jinja2 import UndefinedError

from xs2a_sandbox.documents.html_templates import environment


def test_values_are_escaped_and_statements_leave_no_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>\n  {% if name %}\n{{ name }}\n  {% endif %}\n</p>\n")
    assert environment(tmp_path).get_template("page.html").render(name="<b>") == "<p>\n&lt;b&gt;\n</p>"


def test_a_missing_value_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("{{ name }}")
    with pytest.raises(UndefinedError):
        environment(tmp_path).get_template("page.html").render()
