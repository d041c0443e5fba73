"""The session of a request, and its time."""

from datetime import date
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client, an_engine
from xs2a_sandbox.clock import REAL, Clock
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.state import MemoryStore, Transaction, session
from xs2a_sandbox.state.session import DEFAULT, anchor, session_clock, session_name

STARTED = date(2026, 1, 31)


@pytest.fixture
def client() -> Client:
    return Client(an_engine())


def set_time(client: Client, name: str, **time: Any) -> None:
    """Set the time as the control interface does."""
    transaction = Transaction(client.engine.store, name, lambda _: {})
    kept = transaction.get_own(*session._TIME) or {}
    transaction.put(*session._TIME, {**kept, **time})
    assert transaction.commit()


def days(number: int) -> dict[str, int]:
    return {"shift": number * 24 * 3600}


# -- the name


@pytest.mark.parametrize(
    ("target", "header", "user", "name", "rest"),
    [
        (("v1", "accounts"), None, None, DEFAULT, ("v1", "accounts")),
        (("v1",), "head", "user", "head", ("v1",)),
        (("v1",), None, "user", "user", ("v1",)),
        (("s", "pre", "v1"), "head", "user", "pre", ("v1",)),
        (("s", "pre"), None, None, "pre", ()),
        (("s", "s", "s", "v1"), None, None, "s", ("s", "v1")),
        (("v1", "s", "x"), None, None, DEFAULT, ("v1", "s", "x")),
        (("s",), None, None, DEFAULT, ("s",)),
    ],
)
def test_the_name_is_read_from_the_path(
    target: tuple[str, ...], header: str | None, user: str | None, name: str, rest: tuple[str, ...]
) -> None:
    headers = Headers([("x-sandbox-SESSION", header)] if header else [])

    assert session_name(Request("GET", "/", headers, user=user), target) == (name, rest)


@pytest.mark.parametrize("name", ["", "a b", "ü", "x" * 65, "a/b", "a\n", "a\x00", "{{x}}"])
def test_an_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(BankError) as error:
        session_name(Request("GET", "/"), ("s", name, "v1"))

    assert error.value.name == "session-invalid"


# -- the time


def time_of(name: str, **kept: Any) -> tuple[Clock, date, Transaction]:
    transaction = Transaction(MemoryStore(), name, lambda _: {})
    if kept:
        transaction.put(*session._TIME, kept)
    return session_clock(transaction, REAL), anchor(transaction, STARTED, REAL), transaction


def test_the_default_session_counts_from_the_start_of_the_process() -> None:
    _, anchor, transaction = time_of(DEFAULT)

    assert anchor == STARTED
    assert transaction.get_own(*session._TIME) is None


def test_other_sessions_count_from_the_day_of_their_first_request() -> None:
    _, anchor, transaction = time_of("ci")

    assert anchor == Clock().today()
    assert transaction.get_own(*session._TIME) == {"anchor": anchor.isoformat()}


def test_that_day_is_kept_when_the_clock_moves() -> None:
    clock, anchor, transaction = time_of("ci", anchor="2020-02-29", **days(3))

    assert anchor == date(2020, 2, 29)
    assert clock.today() == Clock().today(3)
    assert transaction.get_own(*session._TIME) == {"anchor": "2020-02-29", **days(3)}


def test_the_clock_of_a_new_session_can_be_moved_before_its_first_request() -> None:
    _, anchor, transaction = time_of("ci", **days(400))

    assert anchor == Clock().today()
    assert transaction.get_own(*session._TIME) == {"anchor": anchor.isoformat(), **days(400)}


@pytest.mark.parametrize(
    ("frozen", "local"),
    [
        ("2026-06-30T12:00:00+02:00", "2026-06-30T12:00:00+02:00"),
        ("2026-06-30T23:30:00Z", "2026-07-01T01:30:00+02:00"),
        ("2026-12-31T18:00:00-08:00", "2027-01-01T03:00:00+01:00"),
        ("2026-06-30T23:30:00", "2026-06-30T23:30:00+02:00"),
    ],
)
def test_a_frozen_clock_shows_the_banks_time(frozen: str, local: str) -> None:
    clock, _, _ = time_of("ci", frozen=frozen)

    assert clock.now().isoformat() == local
    assert clock.today().isoformat() == local[:10]
    assert clock.now() == clock.now()


# -- the effect on the bank


def status(client: Client, consent_id: str) -> str:
    return client.get(f"/v1/consents/{consent_id}/status").json()["consentStatus"]


def test_today_is_the_day_of_the_sessions_clock(client: Client) -> None:
    set_time(client, "ahead", **days(10))
    ahead = client.named("ahead")

    def status(client: Client, day: int) -> int:
        body = bodies.payment(bodies.SEPA, requestedExecutionDate=facts.today(day))
        return client.post(f"/v1/{bodies.SEPA}", json=body).status

    assert (status(client, 9), status(ahead, 9), status(ahead, 10)) == (200, 400, 200)
    assert ahead.post("/v1/consents", json=bodies.consent(validUntil=facts.today(9))).status == 400
    made = ahead.post("/v1/consents", json=bodies.consent(validUntil=facts.today(10))).json()["consentId"]
    assert ahead.get(f"/v1/consents/{made}").json()["lastActionDate"] == facts.today(10)
