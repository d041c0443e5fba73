"""The recording of a terminal that the README shows."""

import re
from xml.etree import ElementTree

import pytest
from tools import terminal_recording


@pytest.mark.slow
def test_the_recording_is_what_the_commands_print_today() -> None:
    assert terminal_recording.drawn(terminal_recording.record()) == terminal_recording.PICTURE.read_text()


def test_it_runs_nothing_and_fetches_nothing() -> None:
    text = terminal_recording.PICTURE.read_text()
    drawing = ElementTree.fromstring(text)
    elements = {element.tag.rpartition("}")[2] for element in drawing.iter()}
    assert elements <= {"svg", "style", "defs", "clipPath", "rect", "g", "circle", "text"}
    assert not re.search(r"@font-face|@import|href=|url\((?!#)", text)
