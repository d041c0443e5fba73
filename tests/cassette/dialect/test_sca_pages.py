"""The key `sca_pages`: mistakes are reported with their place, and bundled colours have enough contrast."""

from pathlib import Path

import pytest

from tests.support.writing import SCHEMAS, write
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.cassette.dialect.sca_pages import COLOURS, contrast
from xs2a_sandbox.errors import Problem

DIALECT = bundled("cassettes") / "xs2a-1.84"


def read(directory: Path, text: str) -> list[Problem]:
    folder = write(directory / "lago", {"a.yaml": text})
    return layers.check([[DIALECT], [folder]], SCHEMAS, NAMED)[1]


def test_the_bundled_colours_are_readable() -> None:
    for colours in COLOURS.values():
        assert contrast(colours["accent"], colours["on_accent"]) >= 4.5
        assert contrast(colours["accent"], colours["card"]) >= 4.5
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ('{colours: {light: {accent: "red;}body{display:none"}}}', "#"),
        ('{colours: {light: {accent: "#dddddd"}}}', "the contrast between accent and on_accent is 1.4"),
        ("{texts: {de: {aprove: x}}}", "approve"),
        ('{texts: {de: {approve: "{nobody}"}}}', "unknown placeholder {nobody}; this text has no placeholders"),
        ('{texts: {de: {asks: "{app.x}"}}}', "unknown placeholder {app.x}; use {app}"),
        ('{texts: {de: {asks: "{app!r}"}}}', "braces can only contain a name"),
        ('{texts: {de: {approve: "{"}}}', "is not a valid template"),
        ("{languages: [fr]}", "there are no texts in fr"),
        ("{texts: {Deutsch: {approve: x}}}", "Deutsch"),
    ],
)
def test_mistakes_are_reported_with_their_place(spec: str, part: str, tmp_path: Path) -> None:
    problem, *_ = read(tmp_path, f"cassette: 1\nsca_pages: {spec}\n")
    assert problem.line == 2
    assert part in problem.text


def test_two_files_of_a_layer_cannot_set_the_same_text(tmp_path: Path) -> None:
    text = "cassette: 1\nsca_pages: {name: A}\n"
    folder = write(tmp_path / "lago", {"a.yaml": text, "b.yaml": text})
    (problem,) = layers.check([[DIALECT], [folder]], SCHEMAS, NAMED)[1]
    assert "sca_pages is already in" in problem.text
