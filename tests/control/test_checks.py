"""A session's checks, set while the sandbox runs."""

import pytest

from tests.support.engine_client import Client, an_engine
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.checks import CHECK_NAMES


def client(**options: object) -> Client:
    engine = an_engine(real=RealBank(**options))  # type: ignore[arg-type]
    engine.use(admin_token="t")
    return Client(engine)


AUTH = {"Authorization": "Bearer t"}
BY_DEFAULT = {"profile": "documented", "refusing": [], "warning": []}


def test_checks_of_a_session_override_the_settings() -> None:
    one = client(profile="strict")
    everything = {"profile": "strict", "refusing": sorted(CHECK_NAMES), "warning": []}
    assert one.get("/_sandbox/checks", headers=AUTH).json() == everything
    body = {"profile": "documented", "checks": ["rights"]}
    own = {**BY_DEFAULT, "refusing": ["rights"]}
    assert one.request("PUT", "/_sandbox/checks", headers=AUTH, json=body).json() == own
    assert one.get("/_sandbox/checks", headers=AUTH).json() == own
    assert one.named("other").get("/_sandbox/checks", headers=AUTH).json() == everything


def test_the_clock_and_the_checks_are_independent() -> None:
    one = client()
    one.request("PUT", "/_sandbox/checks", headers=AUTH, json={"profile": "strict"})
    moved = one.post("/_sandbox/clock", headers=AUTH, json={"move": "1d"}).json()
    assert one.get("/_sandbox/checks", headers=AUTH).json()["profile"] == "strict"
    one.request("PUT", "/_sandbox/checks", headers=AUTH, json={})
    assert one.get("/_sandbox/clock", headers=AUTH).json()["shift"] == moved["shift"] == 86400


def test_a_reset_restores_the_default_checks() -> None:
    one = client()
    one.request("PUT", "/_sandbox/checks", headers=AUTH, json={"profile": "strict"})
    one.post("/_sandbox/reset", headers=AUTH)
    assert one.get("/_sandbox/checks", headers=AUTH).json() == BY_DEFAULT


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"profile": "lenient"}, "profile must be documented or strict"),
        ({"profile": None}, "profile must be"),
        ({"profile": ["strict"]}, "profile must be"),
        ({"checks": ["tokne"]}, "checks must be a list of checks: certificate, digest"),
        ({"checks": 7}, "checks must be"),
        ({"checks": [None]}, "checks must be"),
        ({"check": ["rights"]}, "member 'check'"),
        ({"profile": "strict", "checks": ["warn"]}, "strict already refuses everything"),
    ],
)
def test_invalid_checks_are_refused(body: object, text: str) -> None:
    one = client()
    answer = one.request("PUT", "/_sandbox/checks", headers=AUTH, json=body)
    assert (answer.status, answer.json()["error"]) == (400, "body-invalid")
    assert text in answer.json()["message"]
    assert one.get("/_sandbox/checks", headers=AUTH).json() == BY_DEFAULT
