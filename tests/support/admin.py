"""A client of the control interface, in process."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from tests.support.engine_client import NO_BODY, Answer, Client, an_engine, bundled_engine
from xs2a_sandbox.engine import Engine

TOKEN = "a-token-for-these-tests"
DATA = bundled_engine().parts.testdata.at(date(2026, 11, 21))
CONSENT = next(id for id, consent in DATA["consents"].items() if consent["role"] == "authorised")
STATUS = f"/v1/consents/{CONSENT}/status"


@dataclass(frozen=True, slots=True)
class Admin:
    """Send requests to the control interface and the bank in one session."""

    client: Client

    def ask(self, method: str, path: str, json: Any = NO_BODY, **options: Any) -> Answer:
        headers = {"Authorization": f"Bearer {TOKEN}", **options.pop("headers", {})}
        return self.client.request(method, f"/_sandbox/{path}", json=json, headers=headers, **options)

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status == 200, answer.body
        return answer.json()

    def named(self, session: str) -> "Admin":
        return Admin(self.client.named(session))

    def status(self) -> str:
        answer = self.client.get(STATUS)
        return answer.json()["consentStatus"] if answer.status == 200 else answer.error["code"]


def governed(**options: Any) -> Engine:
    """Return an engine that can be controlled with the token. `options` are passed to the engine."""
    engine = an_engine(**options)
    engine.use(admin_token=TOKEN)
    return engine


def refused(answer: Answer, status: int, error: str) -> str:
    value = answer.json()
    assert (answer.status, value["error"]) == (status, error)
    assert set(value) == {"error", "message"}
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.headers["cache-control"] == "no-store"
    assert not [name for name in answer.headers if name.startswith("access-control")]
    return value["message"]
