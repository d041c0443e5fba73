"""The tests pass at any time and in any time zone, and a served sandbox uses the bank's day."""

import os
import re
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import httpx
import pytest

from tests.architecture.travelling import TRAVEL_TO, timeless
from tests.contract import bodies, facts
from tests.support.doors import trusting, wait_until
from tests.support.serving import Serving, served

ROOT = Path(__file__).resolve().parents[2]
VIENNA = ZoneInfo("Europe/Vienna")


@dataclass(frozen=True)
class Place:
    """The time zone of a machine, and its time in ISO format with an offset."""

    time: str
    zone: str = "UTC"

    @property
    def moment(self) -> datetime:
        return datetime.fromisoformat(self.time).astimezone(VIENNA)

    @property
    def environment(self) -> dict[str, str]:
        # Use the zones of the package tzdata, because the machine may have none.
        return {TRAVEL_TO: self.time, "TZ": self.zone, "TZDIR": str(files("tzdata") / "zoneinfo")}

    def __str__(self) -> str:
        return f"{self.time} {self.zone}"


PLACES = (
    Place("2026-11-21T23:30:00+00:00"),
    Place("2028-02-29T23:58:00+01:00", "Europe/Vienna"),
    Place("2026-03-29T01:59:59+01:00", "Europe/Vienna"),
    Place("2026-03-29T23:30:00+02:00", "Pacific/Honolulu"),
    Place("2026-10-25T02:59:59+02:00", "Europe/Vienna"),
    Place("2026-10-25T02:30:00+01:00", "America/New_York"),
    Place("2026-12-31T23:59:00+01:00", "Pacific/Auckland"),
)
"""Times at which days, hours and years end, and machines whose day is the bank's, the one before and the one after."""

OF_THE_DATE = (
    *("tests/contract", "tests/bank/handlers", "tests/bank/domain", "tests/bank/formats", "tests/control"),
    *("tests/cassette/test_call.py", "tests/test_clock.py", "tests/testing/test_sandbox.py"),
    *("tests/journeys/test_scenarios.py", "tests/state/test_session.py"),
    *("-k", "not contract or process and (payments or further or not (requests or bad_input))"),
)
"""The tests that depend on the date, in one run, because collecting takes half of a short one."""


def of_the_day[T](choices: list[T]) -> T:
    return choices[datetime.now(UTC).date().toordinal() % len(choices)]


# -- the suite


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_the_suite_passes_at_any_time_and_place(place: Place) -> None:
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    options = ("-p", "tests.architecture.travelling", "-p", "no:xdist", "-W", "ignore", "--tb", "short")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-m", "not slow", *OF_THE_DATE],
        cwd=ROOT,
        env={**outer, "PYTHONPATH": paths, **place.environment},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert run.returncode == 0, f"{place}:\n{run.stdout[-20_000:]}{run.stderr[-2000:]}"
    (passed,) = re.findall(r"(\d+) passed", run.stdout)
    assert int(passed) > 1000


# -- a served sandbox


class App:
    """Send requests to one of the doors in a session."""

    def __init__(self, sandbox: Serving, client: httpx.Client, session: str) -> None:
        self._sandbox = sandbox
        self._client = client
        self._session = {"X-Sandbox-Session": session}

    def ask(self, method: str, path: str, **headers: str) -> Any:
        return self.send(method, path, None, **headers)

    def send(self, method: str, path: str, body: Any, **headers: str) -> Any:
        usual = {"X-Request-ID": str(uuid4()), "PSU-IP-Address": "192.0.2.1", **self._session}
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self._client.request(method, path, json=body, headers=usual | more)
        return answer.json() | {"status": answer.status_code} if answer.content else {"status": answer.status_code}

    def control(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self._sandbox.token}", **self._session}
        answer = httpx.request(method, f"{self._sandbox.direct}/_sandbox/{path}", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    @property
    def today(self) -> date:
        return date.fromisoformat(self.control("GET", "clock")["today"])

    def consent(self, last: date) -> Any:
        return self.send("POST", "/v1/consents", bodies.consent(validUntil=last.isoformat()))


@contextmanager
def travelled(place: Place, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    for name, value in place.environment.items():
        monkeypatch.setenv(name, value)
    with served(directory, entry="tests.architecture.travelling") as sandbox:
        yield sandbox


@contextmanager
def apps(sandbox: Serving) -> Iterator[list[App]]:
    """Yield an app for each door."""
    trust: ssl.SSLContext = timeless(trusting(sandbox.ca_file))
    bank, options = "https://bank.example", {"verify": trust, "trust_env": False, "timeout": 20.0}
    with (
        httpx.Client(base_url=sandbox.direct, **options) as direct,
        httpx.Client(base_url=sandbox.tls, **options) as tls,
        httpx.Client(base_url=bank, proxy=sandbox.proxy, **options) as proxied,
    ):
        yield [App(sandbox, client, name) for name, client in (("a", direct), ("b", tls), ("default", proxied))]


def walk(place: Place, app: App) -> None:
    """Run the parts of the interface that depend on the day."""
    day, tomorrow = place.moment.date(), place.moment.date() + timedelta(days=1)
    clock = app.control("GET", "clock")
    now = datetime.fromisoformat(clock["now"])
    assert timedelta() <= now - place.moment < timedelta(seconds=60)
    assert now.utcoffset() == now.astimezone(VIENNA).utcoffset()
    assert (app.today, clock["frozen"], clock["shift"]) == (day, None, 0)

    assert app.consent(day - timedelta(days=1))["status"] == 400
    made = app.consent(day)
    assert made["consentStatus"] == "valid"
    assert app.ask("GET", f"/v1/consents/{made['consentId']}")["lastActionDate"] == day.isoformat()

    iban, known = facts.covered(), facts.said_of(day)
    path = f"/v1/accounts/{iban}/transactions?bookingStatus=booked"
    listed = app.ask("GET", path, Consent_ID=made["consentId"])["transactions"]["booked"]
    booked = known[iban]["transactions"]["booked"]
    assert [one["bookingDate"] for one in listed] == [one["bookingDate"] for one in booked]

    def execution(last: date) -> Any:
        body = bodies.payment(bodies.SEPA, requestedExecutionDate=last.isoformat())
        return app.send("POST", f"/v1/{bodies.SEPA}", body)

    assert execution(day - timedelta(days=1))["status"] == 400
    own = execution(tomorrow)["_Left"]["self"]["href"]
    (authorisation,) = app.ask("GET", f"{own}/authorisations")["authorisationIds"]
    assert app.control("POST", f"sca/{authorisation}", {"decide": "approve"})["resourceStatus"] == "ACTC"

    app.control("POST", "clock", {"move": "24h"})

    last = datetime.fromisoformat(app.control("GET", "clock")["now"])
    assert last.astimezone(UTC) - now.astimezone(UTC) < timedelta(hours=24, seconds=60)
    reached = last.date() >= tomorrow
    assert app.ask("GET", f"{own}/status")["transactionStatus"] == ("ACSP" if reached else "ACTC")
    gone = "expired" if reached else "valid"
    assert app.ask("GET", f"/v1/consents/{made['consentId']}/status")["consentStatus"] == gone


def uses_the_banks_day(place: Place, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with travelled(place, directory, monkeypatch) as sandbox, apps(sandbox) as every:
        for app in every:
            walk(place, app)
        path = f"/v1/{uuid4()}"
        assert every[0].ask("GET", path)["status"] == 404
        line = sandbox.line(path)
    logged = datetime.fromisoformat(line.partition(" a ")[0])
    assert timedelta() <= logged - place.moment < timedelta(seconds=90)
    assert logged.utcoffset() == logged.astimezone(VIENNA).utcoffset()


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_served_sandbox_uses_the_banks_day(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uses_the_banks_day(place, tmp_path, monkeypatch)


def test_a_served_sandbox_uses_the_banks_day_at_the_time_and_place_of_the_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uses_the_banks_day(of_the_day(list(PLACES)), tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["UTC", "Europe/Vienna", "Pacific/Auckland"])
def test_midnight_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """Consents end on that day, payments are due on the next day, and sessions have test data from before midnight."""
    place = Place("2026-12-31T23:59:45+01:00", zone)
    day, tomorrow = date(2026, 12, 31), date(2027, 1, 1)
    with travelled(place, tmp_path, monkeypatch) as sandbox, apps(sandbox) as (app, *_, default):
        made = app.consent(day)["consentId"]
        kept = default.control("GET", "state/accounts")
        wait_until(lambda: app.today == tomorrow, 60)

        assert app.ask("GET", f"/v1/consents/{made}/status")["consentStatus"] == "expired"
        assert app.consent(day)["status"] == 400
        assert app.consent(tomorrow)["consentStatus"] == "valid"
        assert default.control("GET", "state/accounts") == kept
        assert (
            kept[facts.covered()]["entries"]["booked"][0]["booked_on"]
            == (facts.as_of(day)["accounts"][facts.covered()]["entries"]["booked"][0]["booked_on"])
        )
        default.control("POST", "reset")
        assert default.control("GET", "state/accounts") != kept
