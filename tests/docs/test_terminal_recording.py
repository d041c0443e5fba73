"""The recording of a terminal in the README."""

import re
from xml.etree import ElementTree

import pytest
from tools import terminal_recording


@pytest.mark.slow
def test_the_recording_matches_the_current_output_of_the_commands() -> None:
    assert terminal_recording.drawn(terminal_recording.record()) == terminal_recording.PICTURE.read_text()


def test_the_picture_has_no_scripts_and_no_external_references() -> None:
    text = terminal_recording.PICTURE.read_text()
    drawing = ElementTree.fromstring(text)
    elements = {element.tag.rpartition("}")[2] for element in drawing.iter()}
    assert elements <= {"svg", "style", "defs", "clipPath", "rect", "g", "circle", "text"}
    assert not re.search(r"@font-face|@import|href=|url\((?!#)", text)
