"""An answer repeats what the app sends, also a member that no request for it had in the recording."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.foreign_banks.learned_app import LearnedApp, learn_text
from tests.support.taping import taped
from xs2a_sandbox.http.exchange import Exchange

PLAIN, DATED = "TRF-40718-QX", "TRF-51926-ZK"
RENT = {"from": "PT50000201231234567890154", "to": "PT50002700000001234567833", "sum": "640.00"}
LATER = {**RENT, "sum": "25.10", "day": "2026-12-03"}


def shown(id: str, state: str, sent: dict[str, Any]) -> dict[str, Any]:
    return {"transfer": {"id": id, "state": state, **sent}}


def record() -> Iterator[Exchange]:
    """Yield a transfer that is read, and one for a day that is cancelled. Nobody reads the latter before."""
    yield taped("/v3/transfers", {"id": PLAIN, "state": "booked"}, "POST", body=RENT, status=201, at=1)
    yield taped(f"/v3/transfers/{PLAIN}", shown(PLAIN, "booked", RENT), at=2)
    yield taped("/v3/transfers", {"id": DATED, "state": "waiting"}, "POST", body=LATER, status=201, at=3)
    yield taped(f"/v3/transfers/{DATED}", shown(DATED, "cancelled", LATER), "DELETE", at=4)
    yield taped(f"/v3/transfers/{DATED}/state", {"id": DATED, "state": "cancelled"}, at=5)


@pytest.fixture(scope="module")
def app() -> LearnedApp:
    return LearnedApp(learn_text(record()))


@pytest.mark.parametrize("sent", [{**RENT, "sum": "12.00"}, {**LATER, "sum": "13.00", "day": "2026-12-24"}])
def test_an_answer_repeats_an_optional_member_if_it_was_sent(app: LearnedApp, sent: dict[str, Any]) -> None:
    _, made = app.send("POST", "/v3/transfers", sent)
    status, read = app.send("GET", f"/v3/transfers/{made['id']}")
    assert (status, read) == (200, shown(made["id"], read["transfer"]["state"], sent))


def test_an_answer_that_shows_less_repeats_nothing_more(app: LearnedApp) -> None:
    _, made = app.send("POST", "/v3/transfers", LATER)
    assert set(made) == {"id", "state"}
    _, state = app.send("GET", f"/v3/transfers/{made['id']}/state")
    assert set(state) == {"id", "state"}
