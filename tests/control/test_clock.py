"""A session's clock, set and moved through the control interface."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.admin import Admin, governed, refused
from tests.support.engine_client import Client
from xs2a_sandbox.clock import REAL


@pytest.fixture
def admin() -> Admin:
    return Admin(Client(governed()))


def test_the_clock_runs_with_real_time(admin: Admin) -> None:
    answer = admin.get("clock")

    assert (answer["shift"], answer["frozen"]) == (0, None)
    assert abs(datetime.fromisoformat(answer["now"]) - datetime.now().astimezone()) < timedelta(minutes=1)
    assert answer["today"] == answer["now"][:10]


@pytest.mark.parametrize(
    ("shift", "seconds"),
    [("+90d", 90 * 86400), ("PT15M", 900), (3600, 3600), (-60, -60), ("-P1DT1H", -90000), ("0s", 0)],
)
def test_the_clock_is_shifted(admin: Admin, shift: Any, seconds: int) -> None:
    admin.ask("PUT", "clock", {"shift": "7d"})

    answer = admin.ask("PUT", "clock", {"shift": shift})

    assert (answer.status, answer.json()["shift"]) == (200, seconds)
    off = datetime.fromisoformat(admin.get("clock")["now"]) - datetime.now().astimezone()
    assert abs(off - timedelta(seconds=seconds)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("2027-01-02T03:04:05", "2027-01-02T03:04:05+01:00"),
        ("2027-07-02T03:04:05Z", "2027-07-02T05:04:05+02:00"),
        ("2027-07-02", "2027-07-02T00:00:00+02:00"),
        ("2026-03-29T02:30:00", "2026-03-29T03:30:00+02:00"),
        ("2026-10-25T02:30:00", "2026-10-25T02:30:00+02:00"),
        ("2026-10-25T01:30:00Z", "2026-10-25T02:30:00+01:00"),
    ],
)
def test_the_clock_is_frozen(admin: Admin, written: str, shown: str) -> None:
    admin.ask("PUT", "clock", {"shift": "7d"})

    answer = admin.ask("PUT", "clock", {"frozen": written})

    expected = {"now": shown, "today": shown[:10], "shift": 0, "frozen": shown, "seed": None}
    assert [answer.json(), *(admin.get("clock") for _ in range(2))] == [expected] * 3


def test_the_clock_can_return_to_real_time(admin: Admin) -> None:
    for body in ({"shift": "7d"}, {"frozen": "2027-01-02"}):
        admin.ask("PUT", "clock", body)
        assert admin.ask("PUT", "clock", {"real": True}).json()["shift"] == 0
        assert admin.get("clock")["frozen"] is None


def test_moves_add_up(admin: Admin) -> None:
    for move in ("2d", "-12h", 50, "15", "-5"):
        assert admin.ask("POST", "clock", {"move": move}).status == 200

    assert admin.get("clock")["shift"] == 86400 * 1.5 + 60


def test_a_frozen_clock_is_moved_and_stays_frozen(admin: Admin) -> None:
    """Crosses the end of summer time: moving by one day adds 24 hours."""
    admin.ask("PUT", "clock", {"frozen": "2026-10-24T12:00"})

    admin.ask("POST", "clock", {"move": "1d"})

    answer = admin.get("clock")
    assert (answer["now"], answer["frozen"], answer["shift"]) == (*["2026-10-25T11:00:00+01:00"] * 2, 0)


@pytest.mark.parametrize(
    ("method", "body"),
    [
        ("PUT", {}),
        ("PUT", {"shift": "1d", "frozen": "2027-01-01"}),
        ("PUT", {"shift": "1 day"}),
        ("PUT", {"shift": None}),
        ("PUT", {"shift": True}),
        ("PUT", {"shift": 1.5}),
        ("PUT", {"shift": "P1M"}),
        ("PUT", {"shift": "1M"}),
        ("PUT", {"shift": "400000d"}),
        ("PUT", {"shift": "999999999w"}),
        ("PUT", {"shift": 10**30}),
        ("PUT", {"frozen": "yesterday"}),
        ("PUT", {"frozen": None}),
        ("PUT", {"frozen": 1}),
        ("PUT", {"frozen": "0001-01-01T00:00+14:00"}),
        ("PUT", {"frozen": "9999-12-31T23:59-12:00"}),
        ("PUT", {"real": False}),
        ("PUT", {"real": 1}),
        ("PUT", {"move": "1d"}),
        ("PUT", {"shift": "1d", "anchor": "2020-01-01"}),
        ("POST", {}),
        ("POST", {"move": "-100000d"}),
        ("POST", {"shift": "1d"}),
        ("POST", {"move": {}}),
    ],
)
@pytest.mark.parametrize("frozen", [False, True])
def test_wrong_times_are_refused(admin: Admin, method: str, body: Any, frozen: bool) -> None:
    admin.ask("PUT", "clock", {"frozen": "2027-01-02"} if frozen else {"shift": "1d"})
    before = admin.get("clock")

    assert refused(admin.ask(method, "clock", body), 400, "body-invalid")

    after = admin.get("clock")
    assert (after["shift"], after["frozen"]) == (before["shift"], before["frozen"])


def consent(admin: Admin, **changes: Any) -> Any:
    """Create a consent for all accounts, which is valid at once."""
    return admin.client.post("/v1/consents", json=bodies.consent(**changes)).json()


@pytest.mark.parametrize("session", [None, "ci"])
def test_a_consent_expires_as_time_passes_and_history_stays(admin: Admin, session: str | None) -> None:
    admin = Admin(Client(admin.client.engine, session))
    before = admin.get("state/consents")
    made = consent(admin, validUntil=facts.today(90))
    status = f"{made['_links']['self']['href']}/status"
    assert admin.client.get(status).json() == {"consentStatus": "valid"}

    admin.ask("POST", "clock", {"move": "400d"})

    assert admin.client.get(status).json() == {"consentStatus": "expired"}
    after = admin.get("state/consents")
    del after[made["consentId"]]
    assert after == before
    admin.ask("PUT", "clock", {"real": True})
    assert admin.client.get(status).json() == {"consentStatus": "expired"}


def test_a_session_that_starts_by_setting_its_clock_uses_that_time(admin: Admin) -> None:
    new = admin.named("new")
    new.ask("PUT", "clock", {"frozen": "2040-01-01"})

    assert new.get("clock")["today"] == "2040-01-01"
    refused = new.client.post("/v1/consents", json=bodies.consent(validUntil="2039-12-31"))
    assert (refused.status, refused.error["code"]) == (400, "PERIOD_INVALID")


def test_setting_the_clock_first_keeps_the_day_that_dates_count_from(admin: Admin) -> None:
    ci = admin.named("ci")
    ci.ask("PUT", "clock", {"frozen": "2030-01-01"})

    assert ci.get("state/_session/time")["anchor"] == REAL.today().isoformat()
    answer = ci.get("state/consents")
    assert {id: {**consent, "consentStatus": None} for id, consent in answer.items()} == {
        id: {**consent, "consentStatus": None} for id, consent in admin.get("state/consents").items()
    }


def test_due_events_are_listed_soonest_first(admin: Admin) -> None:
    consent(admin, validUntil=facts.today(9))
    consent(admin, validUntil=facts.today(3))
    due = admin.get("due")["due"]
    assert [one["at"] for one in due] == sorted(one["at"] for one in due)
    (first, *_) = [one for one in due if one["collection"] == "consents"]
    admin.ask("PUT", "clock", {"frozen": first["at"]})
    assert first["id"] not in {one["id"] for one in admin.get("due")["due"]}
