"""A dialect is learned from a long recording up to the last exchange that shows something new."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import taped
from tests.support.writing import SCHEMAS
from xs2a_sandbox.features.derive.derived_dialect import derive_dialect, report_lines
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.tape import Tape

UNKNOWN = {"fault": "NO_SUCH_FUND", "text": "There is no such fund"}
FUNDS = "FND-30417", "FND-58862"


def record(count: int, others: Mapping[int, Exchange]) -> Iterator[Exchange]:
    """Yield an app that reads the prices of two funds again and again, with other exchanges at these positions."""
    for at in range(1, count + 1):
        fund = FUNDS[at % 2]
        yield others.get(at) or taped(f"/v7/funds/{fund}", {"fund": fund, "price": f"{at}.25", "phase": "open"}, at=at)


def refuse(at: int, number: int = 7) -> Exchange:
    return taped("/v7/funds/FND-99999", {**UNKNOWN, "number": number}, status=404, at=at)


def close(at: int) -> Exchange:
    return taped(f"/v7/funds/{FUNDS[0]}", {"fund": FUNDS[0], "price": "9.00", "phase": "closed"}, at=at)


REFUSED = {10 * at: refuse(10 * at) for at in range(1, 42)}


@pytest.mark.parametrize(
    ("count", "others", "learned"),
    [
        (300, {}, 300),
        (301, {}, 300),
        (420, {400: refuse(400)}, 400),
        (420, {310: close(310)}, 310),
        (420, {**REFUSED, 333: refuse(333, 41)}, 333),
        (420, REFUSED, 300),
    ],
    ids=("short", "one more", "late error", "late state", "late number", "repeated error"),
)
def test_the_end_is_left_out_if_it_shows_nothing_new(count: int, others: Any, learned: int) -> None:
    lines = learn_text(record(count, others)).splitlines()
    assert lines[0] == f"# Learned from {learned} exchanges: xs2a-sandbox derive --dialect mine"
    more = count - learned
    said = f"# Left out: the last {more} exchange{'s' * (more > 1)} of the recording, in which nothing is new."
    assert [line for line in lines if line.startswith("# Left out")] == [said] * (more > 0)


def test_what_a_late_exchange_shows_is_learned() -> None:
    app = LearnedApp(learn_text(record(420, {400: refuse(400)})))
    assert app.send("GET", "/v7/funds/FND-99999") == (404, {**UNKNOWN, "number": 7})


def test_the_report_says_what_was_left_out() -> None:
    entries = tuple(record(420, {310: close(310)}))
    places = tuple(f"tape, exchange {number}" for number in range(1, len(entries) + 1))
    derived = derive_dialect("mine", Tape(Path("tape"), entries, (None,) * len(entries), places), SCHEMAS)
    lines = list(report_lines(derived, Path("cassettes/mine")))
    assert "left out: the last 110 requests of the recording, in which nothing is new" in lines
    assert any("of the other 310 requests get the recorded answer" in line for line in lines)
