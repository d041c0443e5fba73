"""The control interface, in process."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from tests.contract import bodies
from tests.support.admin import CONSENT, DATA, TOKEN, Admin, governed, refused
from tests.support.engine_client import Client, an_engine, bundled_engine
from xs2a_sandbox.bank.domain.lifecycle import PAYMENT
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.http.messages import Door
from xs2a_sandbox.state import MemoryStore, attempts


@pytest.fixture
def engine() -> Engine:
    return governed()


@pytest.fixture
def admin(engine: Engine) -> Admin:
    return Admin(Client(engine))


# -- state


def test_the_state_has_all_collections(admin: Admin) -> None:
    answer = admin.get("state")

    assert set(answer) == set(DATA)
    assert answer["accounts"].keys() == DATA["accounts"].keys()
    assert answer["consents"][CONSENT]["role"] == "authorised"


def test_the_state_shows_one_collection(admin: Admin) -> None:
    assert admin.get("state/psus") == json.loads(json.dumps(DATA["psus"]))
    assert admin.get("state/nothing-of-that-name") == {}


def test_the_state_can_be_shown_like_the_journal() -> None:
    admin = Admin(Client(governed(display=bundled_engine().parts.display)))
    iban, known = "DE75512108001245126199", next(iter(DATA["accounts"]))
    admin.ask("PUT", "state/notes/n1", {"iban": iban, "text": f"from {iban}", "list": [known, 5]})
    shown = admin.get("state/notes?redacted=true")["n1"]
    assert admin.get("state?redacted=true")["notes"] == {"n1": shown}
    assert shown["iban"].startswith("DE")
    assert shown["iban"] != iban
    assert shown["text"] == f"from {shown['iban']}"
    assert shown["list"] == [known, 5]
    assert admin.get("state/notes")["n1"]["iban"] == iban
    assert "the only one is redacted" in refused(admin.ask("GET", "state?redcated=true"), 400, "query-invalid")


def test_the_dialect_lists_operations_and_errors(admin: Admin) -> None:
    answer = admin.get("dialect")
    assert (answer["dialect"], answer["quirks"]) == ("xs2a-1.84", [])
    by_id = {one["id"]: one for one in answer["operations"]}
    assert by_id["account-list"] == {
        "id": "account-list",
        "method": "GET",
        "path": "/v1/accounts",
        "does": "list account",
    }
    assert {"name": "consent-expired", "status": 401, "code": "CONSENT_EXPIRED"} in answer["errors"]


def test_the_state_shows_one_document(admin: Admin) -> None:
    assert admin.get(f"state/consents/{CONSENT}")["role"] == "authorised"
    message = refused(admin.ask("GET", "state/consents/other"), 404, "document-unknown")
    assert message == "no document other in consents of session default"


def test_the_bank_uses_a_document_that_was_put(admin: Admin) -> None:
    consent = admin.get(f"state/consents/{CONSENT}")

    answer = admin.ask("PUT", f"state/consents/{CONSENT}", {**consent, "status": "rejected"})

    assert answer.status == 200
    assert answer.json() == {**consent, "status": "rejected"}
    assert admin.status() == "rejected"


def test_a_user_can_add_collections(admin: Admin) -> None:
    answer = admin.ask(
        "PUT", "state/my%20notes/a%2Fb%C3%A9", body=b'{"rate": 1.10, "n": [null, true], "big": 123456789012345678901}'
    )

    assert answer.status == 201
    assert answer.body == b'{"rate":1.10,"n":[null,true],"big":123456789012345678901}'
    assert list(admin.get("state/my%20notes")) == ["a/bé"]
    assert "my notes" in admin.get("state")
    assert admin.ask("GET", "state/my%20notes/a%2Fb%C3%A9").body == answer.body


def test_a_document_is_deleted(admin: Admin) -> None:
    answer = admin.ask("DELETE", f"state/consents/{CONSENT}")

    assert (answer.status, answer.body) == (204, b"")
    assert admin.status() == "CONSENT_UNKNOWN"
    assert CONSENT not in admin.get("state/consents")
    refused(admin.ask("DELETE", f"state/consents/{CONSENT}"), 404, "document-unknown")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "a JSON body is required"),
        (b"{", "the body must be JSON"),
        (b"[]", "must be a JSON object, not a list"),
        (b"null", "must be a JSON object, not null"),
        (b"3.5", "must be a JSON object, not a number"),
        (b"true", "must be a JSON object, not true or false"),
        (b'"a"', "must be a JSON object, not a string"),
        (b'{"a": NaN}', "NaN is not a JSON value at line 1"),
        (b'{"a": 1, "a": 2}', "'a' is sent twice"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b"\xff", "must be UTF-8"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "nested deeper"),
    ],
)
def test_a_document_must_be_a_json_object(admin: Admin, body: bytes, reason: str) -> None:
    assert reason in refused(admin.ask("PUT", "state/notes/n", body=body), 400, "body-invalid")
    refused(admin.ask("GET", "state/notes/n"), 404, "document-unknown")


def test_a_body_that_is_too_large_is_refused(admin: Admin) -> None:
    """The engine refuses it with an error of the bank, before it knows who would answer."""
    answer = admin.ask("PUT", "state/notes/n", body=b'{"a": "' + b"x" * 1024 * 1024 + b'"}')

    assert (answer.status, bool(answer.error["text"])) == (413, True)
    assert admin.get("state/notes") == {}


@pytest.mark.parametrize("path", ["state//x", "state/x//"])
def test_empty_names_are_refused(admin: Admin, path: str) -> None:
    refused(admin.ask("PUT", path, {}), 400, "id-empty")


def test_a_document_that_breaks_its_schema_gets_a_warning(admin: Admin) -> None:
    payment = {"kind": "single", "service": "payments", "product": "sepa", "debtor": {"account": "AT1"}, "ours": "ä"}
    answer = admin.ask("PUT", "state/payments/odd", {**payment, "status": "RCVDD"})
    assert answer.status == 201
    assert answer.headers["x-sandbox-warning"].startswith('/status: must be "RCVD", ')
    assert "(schema state/2/payments)" in answer.headers["x-sandbox-warning"]
    right = admin.ask("PUT", "state/payments/odd", {**payment, "status": "RCVD"})
    assert (right.status, right.headers.get("x-sandbox-warning")) == (200, None)
    assert admin.ask("PUT", "state/notes/odd", {"any": 1}).headers.get("x-sandbox-warning") is None


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_collections_of_the_sandbox_itself_cannot_be_written(admin: Admin, method: str) -> None:
    admin.ask("PUT", "clock", {"shift": "1d"})

    refused(admin.ask(method, "state/_session/time", {"frozen": "nonsense"}), 403, "collection-own")

    assert admin.get("state/_session/time")["shift"] == 86400
    assert "_session" not in admin.get("state")


# -- explain


def test_explain_shows_why(admin: Admin) -> None:
    answer = admin.ask("POST", "explain", {"method": "GET", "url": "/v1/acounts", "session": "ci"})

    assert answer.status == 200
    assert answer.json()["request"] == {"method": "GET", "path": "/v1/acounts", "session": "ci"}
    assert answer.json()["nearest"][0]["operation"] == "account-list"


def test_explain_in_the_session_of_the_request(admin: Admin) -> None:
    described = {"method": "DELETE", "url": f"/v1/consents/{CONSENT}", "headers": {"X-Request-ID": CONSENT}}
    answer = admin.named("ci").ask("POST", "explain", described)

    assert (answer.json()["request"]["session"], answer.json()["answer"]["status"]) == ("ci", 204)
    assert admin.get("sessions") == {"sessions": [{"id": "default", "documents": {}}]}


@pytest.mark.parametrize("body", [{}, [], {"method": "GET", "url": "x"}, {"method": "GET", "url": "/", "more": 1}])
def test_an_invalid_body_for_explain_is_refused(admin: Admin, body: Any) -> None:
    refused(admin.ask("POST", "explain", body), 400, "body-invalid")


def test_explain_needs_the_token(admin: Admin) -> None:
    answer = admin.client.post("/_sandbox/explain", json={"method": "GET", "url": "/"})

    refused(answer, 401, "token-missing")


# -- sessions


def test_sessions_are_listed(admin: Admin) -> None:
    ci = admin.named("ci")
    ci.ask("PUT", "state/notes/n", {})
    ci.ask("DELETE", f"state/consents/{CONSENT}")
    admin.named("only-read").get("state")

    assert admin.get("sessions") == {
        "sessions": [{"id": "ci", "documents": {"consents": 1, "notes": 1}}, {"id": "default", "documents": {}}]
    }
    assert admin.get("sessions/ci") == {"id": "ci", "documents": {"consents": 1, "notes": 1}}
    assert admin.get("sessions/default") == {"id": "default", "documents": {}}


def test_sessions_are_separate(admin: Admin) -> None:
    ci = admin.named("ci")
    ci.ask("DELETE", f"state/consents/{CONSENT}")
    ci.ask("PUT", "clock", {"shift": "400d"})

    assert admin.status() == "valid"
    assert admin.get("clock")["shift"] == 0
    by_prefix = admin.client.get("/s/ci/_sandbox/clock", headers={"Authorization": f"Bearer {TOKEN}"})
    assert by_prefix.json()["shift"] == 400 * 86400


def test_a_session_is_deleted(admin: Admin) -> None:
    ci, other = admin.named("ci"), admin.named("other")
    for one in (ci, other):
        one.ask("DELETE", f"state/consents/{CONSENT}")

    assert admin.ask("DELETE", "sessions/ci").status == 204

    assert (ci.status(), other.status()) == ("valid", "CONSENT_UNKNOWN")
    assert admin.ask("DELETE", "sessions/other").status == 204
    refused(admin.ask("DELETE", "sessions/other"), 404, "session-unknown")
    refused(admin.ask("GET", "sessions/other"), 404, "session-unknown")
    refused(admin.ask("GET", "sessions/a%20b"), 400, "session-invalid")


# -- reset


@pytest.mark.parametrize("body", [b"", b"{}", b'{"all": false}'])
def test_a_reset_restores_a_deleted_consent(admin: Admin, body: bytes) -> None:
    ci = admin.named("ci")
    for one in (admin, ci):
        one.ask("DELETE", f"state/consents/{CONSENT}")
        one.ask("POST", "clock", {"move": "1d"})
    assert ci.status() == "CONSENT_UNKNOWN"

    answer = ci.ask("POST", "reset", body=body)

    assert (answer.status, answer.json()) == (200, {"reset": ["ci"]})
    assert (ci.status(), ci.get("clock")["shift"]) == ("valid", 0)
    assert (admin.status(), admin.get("clock")["shift"]) == ("CONSENT_UNKNOWN", 86400)


def test_a_reset_of_all_resets_every_session(admin: Admin) -> None:
    for one in (admin, admin.named("ci")):
        one.ask("DELETE", f"state/consents/{CONSENT}")

    answer = admin.named("third").ask("POST", "reset", {"all": True})

    assert answer.json() == {"reset": ["ci", "default"]}
    assert (admin.status(), admin.named("ci").status()) == ("valid", "valid")
    assert admin.get("sessions")["sessions"] == [
        {"id": "default", "documents": {}},
    ]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", "reset", {}), ("POST", "reset", {"all": True}), ("DELETE", "sessions/default", {})],
)
def test_after_a_reset_the_default_session_counts_from_today(
    engine: Engine, admin: Admin, method: str, path: str, body: Any
) -> None:
    today = admin.get(f"state/consents/{CONSENT}")
    engine.use(started=engine.parts.started - timedelta(days=300))
    assert admin.get(f"state/consents/{CONSENT}") != today
    admin.named("ci").ask("POST", "reset")
    assert admin.get(f"state/consents/{CONSENT}") != today

    assert admin.ask(method, path, body).status < 300

    assert admin.get(f"state/consents/{CONSENT}") == today


@pytest.mark.parametrize("body", [{"all": "yes"}, {"all": None}, {"session": "ci"}])
def test_wrong_resets_are_refused(admin: Admin, body: Any) -> None:
    admin.ask("DELETE", f"state/consents/{CONSENT}")

    refused(admin.ask("POST", "reset", body), 400, "body-invalid")

    assert admin.status() == "CONSENT_UNKNOWN"


# -- paths and methods


@pytest.mark.parametrize("path", ["state/a/b/c", "clock/x", "sessions/a/b", "reset/x", "sca", "sca/a/b"])
def test_unknown_paths_are_not_found(admin: Admin, path: str) -> None:
    assert f"unknown path /_sandbox/{path}" in refused(admin.ask("GET", path), 404, "path-unknown")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("OPTIONS", "state", "GET, HEAD"),
        ("DELETE", "state/consents", "GET, HEAD"),
        ("PATCH", "state/consents/x", "GET, HEAD, PUT, POST, DELETE"),
        ("OPTIONS", "clock", "GET, HEAD, PUT, POST"),
        ("GET", "reset", "POST"),
        ("HEAD", "reset", "POST"),
        ("PATCH", "sca/x", "GET, HEAD, POST"),
        ("PUT", "sessions/x", "GET, HEAD, DELETE"),
    ],
)
def test_other_methods_are_refused(admin: Admin, method: str, path: str, allow: str) -> None:
    answer = admin.ask(method, path)

    assert (answer.status, answer.headers["allow"]) == (405, allow)
    if method != "HEAD":
        refused(answer, 405, "method-not-offered")


def test_head_is_answered(admin: Admin) -> None:
    answer = admin.ask("HEAD", "clock")

    assert (answer.status, answer.body) == (200, b"")


def test_answers_come_from_the_sandbox_and_must_not_be_stored(admin: Admin) -> None:
    answer = admin.ask("GET", "clock")

    assert answer.headers["cache-control"] == "no-store"
    assert answer.source == "sandbox"


@pytest.mark.parametrize("door", ["proxy", "tls"])
def test_the_control_interface_is_available_only_through_the_direct_door(admin: Admin, door: Door) -> None:
    answer = admin.ask("GET", "clock", door=door, host="127.0.0.1")

    assert answer.status == 404
    assert answer.error["code"]


@pytest.mark.parametrize("path", ["health", "ready"])
def test_the_open_pages_need_no_token(admin: Admin, path: str) -> None:
    answer = admin.client.get(
        f"/_sandbox/{path}", headers={"Origin": "https://evil.example"}, door="direct", host="evil.example"
    )

    assert answer.status == 200


# -- busy stores


class Busy(MemoryStore):
    """A store that `times` times is busy with another write, or has no file."""

    def __init__(self, times: int, *, away: bool) -> None:
        super().__init__()
        self.times, self.away = times, away

    def commit(self, *arguments: Any) -> bool:
        self.times -= 1
        if self.times < 0:
            return super().commit(*arguments)
        if self.away:
            raise StoreUnavailable("the disk is away")
        return False


@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize(("times", "status"), [(7, 201), (8, 503)])
def test_a_write_to_a_busy_store_is_retried(
    monkeypatch: pytest.MonkeyPatch, away: bool, times: int, status: int
) -> None:
    monkeypatch.setattr(attempts, "_SECONDS", 0.0)
    engine = an_engine(Busy(times, away=away))
    engine.use(admin_token=TOKEN)
    admin = Admin(Client(engine))

    answer = admin.ask("PUT", "state/notes/n", {"a": 1})

    assert answer.status == status
    assert admin.get("state/notes") == ({"n": {"a": 1}} if status == 201 else {})
    if status == 503:
        refused(answer, 503, "busy")


def test_all_concurrent_clock_moves_count(engine: Engine) -> None:
    client = Client(engine)

    async def move() -> int:
        answer = await client.send(
            "POST", "/_sandbox/clock", json={"move": 1}, headers={"Authorization": f"Bearer {TOKEN}"}
        )
        return answer.status

    async def moves() -> list[int]:
        return await asyncio.gather(*(move() for _ in range(5)))

    assert asyncio.run(moves()) == [200] * 5
    assert Admin(client).get("clock")["shift"] == 5


def test_an_event_of_the_state_machine_changes_the_document(admin: Admin) -> None:
    payments = DATA["payments"].items()
    id, event, to = next(
        (id, t.event, t.to) for t in PAYMENT.transitions for id, one in payments if one["status"] in t.states
    )
    answer = admin.ask("POST", f"state/payments/{id}", {"event": event})
    assert (answer.status, answer.json()["status"]) == (200, to)
    assert admin.get(f"state/payments/{id}")["status"] == to


@pytest.mark.parametrize(
    ("event", "sca_status", "status"), [("authorised by all", "finalised", "ACSP"), ("refused", "failed", "RJCT")]
)
def test_an_approval_or_a_refusal_ends_the_authorisation(
    admin: Admin, event: str, sca_status: str, status: str
) -> None:
    client, place = admin.client, "/v1/payments/sepa-credit-transfers"
    id = client.post(place, json=bodies.payment("sepa-credit-transfers")).json()["paymentId"]
    (authorisation,) = client.get(f"{place}/{id}/authorisations").json()["authorisationIds"]
    assert admin.ask("POST", f"state/payments/{id}", {"event": event}).status == 200
    assert client.get(f"{place}/{id}/authorisations/{authorisation}").json()["scaStatus"] == sca_status
    admin.ask("POST", "clock", {"move": 2 * 86_400})
    assert client.get(f"{place}/{id}/authorisations/{authorisation}").json()["scaStatus"] == sca_status
    assert client.get(f"{place}/{id}/status").json()["transactionStatus"] == status


def test_an_event_that_is_not_possible_is_refused(admin: Admin) -> None:
    refused(admin.ask("POST", f"state/consents/{CONSENT}", {"event": "flies away"}), 409, "event-impossible")
    refused(admin.ask("POST", "state/accounts/x", {"event": "refused"}), 404, "events-unknown")
    refused(admin.ask("POST", "state/payments/x", {"event": "refused"}), 404, "document-unknown")
    refused(admin.ask("POST", f"state/consents/{CONSENT}", {"happens": 1}), 400, "body-invalid")
