"""The bundled dialects answer every journey of this folder exactly as before.

After an intended change, run `XS2A_WRITE_GOLDENS=1 pytest tests/goldens` to update the files, and review the diff.
`playing.py` describes the format of journeys.
"""

import difflib
import os
import re

import pytest

from tests.goldens.playing import FOLDER, journeys, play
from tests.support.engine_client import speaking

WRITE = "XS2A_WRITE_GOLDENS"


@pytest.mark.parametrize("journey", journeys())
def test_a_journey_is_answered_as_before(journey: str) -> None:
    now, file = play(journey), FOLDER / f"{journey}.txt"
    if os.environ.get(WRITE):
        file.write_text(now)
    before = file.read_text() if file.exists() else ""
    if now != before:
        lines = difflib.unified_diff(before.splitlines(), now.splitlines(), "as it was", "as it is", lineterm="", n=6)
        pytest.fail(f"{journey} is answered otherwise ({WRITE}=1 keeps it)\n" + "\n".join(lines), pytrace=False)


@pytest.mark.parametrize("dialect", sorted({journey.partition("/")[0] for journey in journeys()}))
def test_every_operation_succeeds_in_a_journey(dialect: str) -> None:
    texts = "\n".join(file.read_text() for file in sorted((FOLDER / dialect).glob("*.txt")))
    succeeded = set(re.findall(r"^2\d\d\n(?:.+\n)*?X-Sandbox-Rule: (.+)$", texts, re.MULTILINE))
    assert set(speaking(dialect).interface.operations) - succeeded == set()
