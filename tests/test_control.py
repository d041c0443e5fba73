"""The control interface in process: what it shows, what it changes, and what it refuses."""

import asyncio
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from admin import CONSENT, DATA, TOKEN, Admin, governed, refused
from client import Client, an_engine
from xs2a_sandbox import control
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.messages import Door
from xs2a_sandbox.store import Key, MemoryStore


@pytest.fixture
def engine() -> Engine:
    return governed()


@pytest.fixture
def admin(engine: Engine) -> Admin:
    return Admin(Client(engine))


# -- state


def test_all_collections(admin: Admin) -> None:
    shown = admin.get("state")

    assert set(shown) == set(DATA)
    assert shown["accounts"].keys() == DATA["accounts"].keys()
    assert shown["consents"][CONSENT]["role"] == "valid"


def test_one_collection(admin: Admin) -> None:
    assert admin.get("state/psus") == json.loads(json.dumps(DATA["psus"]))
    assert admin.get("state/nothing-of-that-name") == {}


def test_one_document(admin: Admin) -> None:
    assert admin.get(f"state/consents/{CONSENT}")["role"] == "valid"
    message = refused(admin.ask("GET", "state/consents/other"), 404, "document-unknown")
    assert message == "the session default has no other in consents"


def test_a_document_is_put_and_the_bank_sees_it(admin: Admin) -> None:
    consent = admin.get(f"state/consents/{CONSENT}")

    answer = admin.ask("PUT", f"state/consents/{CONSENT}", {**consent, "consentStatus": "rejected"})

    assert answer.status == 200
    assert answer.json() == {**consent, "consentStatus": "rejected"}
    assert admin.status() == "rejected"


def test_collections_of_ones_own(admin: Admin) -> None:
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
    ("body", "said"),
    [
        (b"", "a JSON body is required"),
        (b"{", "the body must be JSON"),
        (b"[]", "must be a JSON object, not a list"),
        (b"null", "must be a JSON object, not null"),
        (b"3.5", "must be a JSON object, not a number"),
        (b'"a"', "must be a JSON object, not a text"),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b'{"a": 1, "a": 2}', "'a' is sent twice"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b"\xff", "must be UTF-8"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "nested deeper"),
    ],
)
def test_a_document_is_a_json_object(admin: Admin, body: bytes, said: str) -> None:
    assert said in refused(admin.ask("PUT", "state/notes/n", body=body), 400, "body-invalid")
    refused(admin.ask("GET", "state/notes/n"), 404, "document-unknown")


def test_a_body_that_is_too_large(admin: Admin) -> None:
    """The engine's to refuse, in the bank's words, before it is anybody's."""
    answer = admin.ask("PUT", "state/notes/n", body=b'{"a": "' + b"x" * 1024 * 1024 + b'"}')

    assert (answer.status, bool(answer.error["text"])) == (413, True)
    assert admin.get("state/notes") == {}


@pytest.mark.parametrize("path", ["state//x", "state/x//"])
def test_names_are_not_empty(admin: Admin, path: str) -> None:
    refused(admin.ask("PUT", path, {}), 400, "id-empty")


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_the_sandboxs_own_collections_are_not_written(admin: Admin, method: str) -> None:
    admin.ask("PUT", "clock", {"shift": "1d"})

    refused(admin.ask(method, "state/_session/time", {"frozen": "nonsense"}), 403, "collection-own")

    assert admin.get("state/_session/time")["shift"] == 86400
    assert "_session" not in admin.get("state")


# -- sessions


def test_sessions(admin: Admin) -> None:
    ci = admin.named("ci")
    ci.ask("PUT", "state/notes/n", {})
    ci.ask("DELETE", f"state/consents/{CONSENT}")
    admin.named("only-read").get("state")

    assert admin.get("sessions") == {
        "sessions": [{"id": "ci", "documents": {"consents": 1, "notes": 1}}, {"id": "default", "documents": {}}]
    }
    assert admin.get("sessions/ci") == {"id": "ci", "documents": {"consents": 1, "notes": 1}}
    assert admin.get("sessions/default") == {"id": "default", "documents": {}}


def test_sessions_are_apart(admin: Admin) -> None:
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
def test_a_reset_brings_a_deleted_consent_back(admin: Admin, body: bytes) -> None:
    ci = admin.named("ci")
    for one in (admin, ci):
        one.ask("DELETE", f"state/consents/{CONSENT}")
        one.ask("POST", "clock", {"move": "1d"})
    assert ci.status() == "CONSENT_UNKNOWN"

    answer = ci.ask("POST", "reset", body=body)

    assert (answer.status, answer.json()) == (200, {"reset": ["ci"]})
    assert (ci.status(), ci.get("clock")["shift"]) == ("valid", 0)
    assert (admin.status(), admin.get("clock")["shift"]) == ("CONSENT_UNKNOWN", 86400)


def test_all_sessions_are_reset(admin: Admin) -> None:
    for one in (admin, admin.named("ci")):
        one.ask("DELETE", f"state/consents/{CONSENT}")

    answer = admin.named("third").ask("POST", "reset", {"all": True})

    assert answer.json() == {"reset": ["ci", "default"]}
    assert (admin.status(), admin.named("ci").status()) == ("valid", "valid")
    assert admin.get("sessions")["sessions"] == [
        {"id": "ci", "documents": {}},
        {"id": "default", "documents": {}},
    ]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", "reset", {}), ("POST", "reset", {"all": True}), ("DELETE", "sessions/default", {})],
)
def test_the_default_session_then_counts_from_today(
    engine: Engine, admin: Admin, method: str, path: str, body: Any
) -> None:
    today = admin.get(f"state/consents/{CONSENT}")
    engine._started -= timedelta(days=300)
    assert admin.get(f"state/consents/{CONSENT}") != today
    admin.named("ci").ask("POST", "reset")
    assert admin.get(f"state/consents/{CONSENT}") != today

    assert admin.ask(method, path, body).status < 300

    assert admin.get(f"state/consents/{CONSENT}") == today


@pytest.mark.parametrize("body", [{"all": "yes"}, {"all": None}, {"session": "ci"}])
def test_wrong_resets(admin: Admin, body: Any) -> None:
    admin.ask("DELETE", f"state/consents/{CONSENT}")

    refused(admin.ask("POST", "reset", body), 400, "body-invalid")

    assert admin.status() == "CONSENT_UNKNOWN"


# -- strong customer authentication


def received(admin: Admin, approach: str = "redirect", psu: str | None = None, **more: Any) -> tuple[str, str]:
    """A consent that waits, and its authorisation."""
    iban, account = next(item for item in DATA["accounts"].items() if not item[1].get("signatories"))
    resource, id = "5d3a4c1e-0000-4000-8000-000000000001", "5d3a4c1e-0000-4000-8000-000000000002"
    consent = {
        "consentStatus": "received",
        "accounts": [iban],
        "access": {"balances": [], "transactions": []},
        "recurringIndicator": True,
        "validUntil": "2099-01-01",
        "frequencyPerDay": 4,
        "lastActionDate": "2026-11-21",
        "authorisations": [id],
    }
    authorisation = {
        "family": "consent",
        "resource": resource,
        "approach": approach,
        "scaStatus": "received",
        "psuId": psu and account["psuId"],
        "attempts": 0,
        "implicit": True,
        "expires": (datetime.now().astimezone() + timedelta(days=1)).isoformat(),
        "ok": None,
        "nok": None,
        "code": None,
        "nonce": "n",
        **more,
    }
    assert admin.ask("PUT", f"state/consents/{resource}", consent).status == 201
    assert admin.ask("PUT", f"state/authorisations/{id}", authorisation).status == 201
    return id, resource


@pytest.mark.parametrize("approach", ["redirect", "decoupled"])
@pytest.mark.parametrize("psu", [None, "identified"])
@pytest.mark.parametrize(
    ("decision", "sca", "consent"),
    [("approve", "finalised", "valid")] + [(d, "failed", "rejected") for d in ("decline", "timeout", "error")],
)
def test_decisions(admin: Admin, approach: str, psu: str | None, decision: str, sca: str, consent: str) -> None:
    id, resource = received(admin, approach, psu)

    answer = admin.ask("POST", f"sca/{id.upper()}", {"decide": decision})

    value = answer.json()
    assert (answer.status, value["scaStatus"], value["resourceStatus"]) == (200, sca, consent)
    assert admin.get(f"sca/{id}") == value
    assert admin.client.get(f"/v1/consents/{resource}/status").json()["consentStatus"] == consent
    if decision == "approve":
        assert value["psuId"] in DATA["psus"]
        assert admin.get(f"state/consents/{resource}")["authorisationsSignedBy"] == [value["psuId"]]


def test_all_signatories_of_an_account_decide(admin: Admin) -> None:
    """Over the bank's own interface, where nobody has identified themselves: each approval is the next customer's."""
    (iban, account), *_ = DATA["accounts"].items()
    first, second, *_ = DATA["psus"]
    other = next(i for i, a in DATA["accounts"].items() if a["psuId"] == account["psuId"] and i != iban)
    admin.ask("PUT", f"state/accounts/{iban}", {**admin.get(f"state/accounts/{iban}"), "signatories": [first, second]})
    body = {
        "access": {"balances": [{"iban": iban}, {"iban": other}]},
        "recurringIndicator": True,
        "validUntil": "2099-01-01",
        "frequencyPerDay": 4,
        "combinedServiceIndicator": False,
    }
    consent = admin.client.post("/v1/consents", json=body, headers={"TPP-Redirect-URI": "https://tpp.example/ok"})
    consents = f"/v1/consents/{consent.json()['consentId']}"
    seen = []
    for _ in range(2):
        started = admin.client.post(f"{consents}/authorisations")
        decided = admin.ask("POST", f"sca/{started.json()['authorisationId']}", {"decide": "approve"}).json()
        seen.append((decided["psuId"], admin.client.get(f"{consents}/status").json()["consentStatus"]))

    assert seen == [(first, "partiallyAuthorised"), (second, "valid")]


def test_an_authorisation_is_shown(admin: Admin) -> None:
    id, resource = received(admin)

    shown = admin.get(f"sca/{id}")

    assert shown["authorisationId"] == id
    assert (shown["approach"], shown["family"], shown["resource"]) == ("redirect", "consent", resource)
    assert (shown["scaStatus"], shown["resourceStatus"]) == ("received", "received")


def test_one_that_has_run_out_is_decided(admin: Admin) -> None:
    id, _ = received(admin)
    admin.ask("POST", "clock", {"move": "2d"})

    assert admin.get(f"sca/{id}")["scaStatus"] == "failed"
    refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "decided")


@pytest.mark.parametrize("decision", ["approve", "decline"])
def test_decided_is_decided(admin: Admin, decision: str) -> None:
    id, _ = received(admin)
    first = admin.ask("POST", f"sca/{id}", {"decide": decision}).json()["scaStatus"]

    for again in ("approve", "decline"):
        assert first in refused(admin.ask("POST", f"sca/{id}", {"decide": again}), 409, "decided")

    assert admin.get(f"sca/{id}")["scaStatus"] == first


@pytest.mark.parametrize("decision", ["approve", "decline"])
@pytest.mark.parametrize("status", ["valid", "rejected", "expired"])
def test_what_is_settled_already_is_not_decided_again(admin: Admin, status: str, decision: str) -> None:
    id, resource = received(admin)
    consent = {**admin.get(f"state/consents/{resource}"), "consentStatus": status, "authorisationsSignedBy": ["anna"]}
    admin.ask("PUT", f"state/consents/{resource}", consent)

    message = refused(admin.ask("POST", f"sca/{id}", {"decide": decision}), 409, "status-invalid")

    assert message == f"the consent {resource} is {status}: nothing is left to decide about it"
    assert admin.get(f"sca/{id}")["scaStatus"] == "received"
    assert admin.get(f"state/consents/{resource}") == consent


def test_what_is_not_there_any_more_is_not_decided(admin: Admin) -> None:
    id, resource = received(admin)
    admin.ask("DELETE", f"state/consents/{resource}")

    message = refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "resource-gone")

    assert message == f"the consent {resource} is not there any more"
    assert admin.get(f"sca/{id}")["scaStatus"] == "received"


def test_a_payment_that_is_cancelled_is_not_cancelled_again(admin: Admin) -> None:
    payment = next(iter(DATA["payments"]))
    id, _ = received(admin, family="cancellation", resource=payment)
    known = {**DATA["payments"][payment], "transactionStatus": "CANC", "cancellationAuthorisations": [id]}
    admin.ask("PUT", f"state/payments/{payment}", known)

    message = refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "status-invalid")

    assert message == f"the payment {payment} is CANC: nothing is left to decide about it"


def test_a_member_of_a_basket_is_decided_with_it(admin: Admin) -> None:
    id, resource = received(admin)
    basket = "5d3a4c1e-0000-4000-8000-000000000003"
    admin.ask("PUT", f"state/baskets/{basket}", {"transactionStatus": "RCVD", "consents": [resource]})
    admin.ask("PUT", f"state/consents/{resource}", {**admin.get(f"state/consents/{resource}"), "basket": basket})

    message = refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "resource-blocked")

    assert message == f"the consent {resource} is in a signing basket and is decided with it"


def test_a_consent_that_is_valid_without_a_signature_is_decided_to_no_effect(admin: Admin) -> None:
    """As on its page: a preconfigured one lets its customer through the whole way."""
    id, _ = received(admin, resource=CONSENT)
    admin.ask("PUT", f"state/consents/{CONSENT}", {**DATA["consents"][CONSENT], "authorisations": [id]})

    answer = admin.ask("POST", f"sca/{id}", {"decide": "approve"})

    assert (answer.status, answer.json()["scaStatus"], admin.status()) == (200, "finalised", "valid")


def test_embedded_ones_are_the_apps(admin: Admin) -> None:
    id, _ = received(admin, "embedded")

    refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "embedded")

    assert admin.get(f"sca/{id}")["scaStatus"] == "received"


def test_one_that_is_to_be_confirmed_by_a_code(admin: Admin) -> None:
    id, _ = received(admin, code="abc")

    assert admin.ask("POST", f"sca/{id}", {"decide": "approve"}).json()["scaStatus"] == "unconfirmed"
    refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "unconfirmed")
    assert admin.ask("POST", f"sca/{id}", {"decide": "decline"}).json()["scaStatus"] == "failed"


@pytest.mark.parametrize("body", [{}, {"decide": "yes"}, {"decide": None}, {"decide": ["approve"]}, {"approve": True}])
def test_wrong_decisions(admin: Admin, body: Any) -> None:
    id, _ = received(admin)

    refused(admin.ask("POST", f"sca/{id}", body), 400, "body-invalid")

    assert admin.get(f"sca/{id}")["scaStatus"] == "received"


def test_an_unknown_authorisation(admin: Admin) -> None:
    id, _ = received(admin)

    refused(admin.ask("GET", "sca/other"), 404, "authorisation-unknown")
    message = refused(admin.named("ci").ask("POST", f"sca/{id}", {"decide": "approve"}), 404, "authorisation-unknown")
    assert "session ci" in message


def test_one_that_somebody_wrote_wrongly(admin: Admin) -> None:
    id, _ = received(admin, scaStatus="half")

    refused(admin.ask("POST", f"sca/{id}", {"decide": "approve"}), 409, "status-invalid")


# -- paths and methods


@pytest.mark.parametrize("path", ["state/a/b/c", "clock/x", "sessions/a/b", "reset/x", "sca", "sca/a/b"])
def test_unknown_paths(admin: Admin, path: str) -> None:
    assert f"no /_sandbox/{path}" in refused(admin.ask("GET", path), 404, "path-unknown")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("OPTIONS", "state", "GET, HEAD"),
        ("DELETE", "state/consents", "GET, HEAD"),
        ("POST", "state/consents/x", "GET, HEAD, PUT, DELETE"),
        ("OPTIONS", "clock", "GET, HEAD, PUT, POST"),
        ("GET", "reset", "POST"),
        ("HEAD", "reset", "POST"),
        ("PATCH", "sca/x", "GET, HEAD, POST"),
        ("PUT", "sessions/x", "GET, HEAD, DELETE"),
    ],
)
def test_methods(admin: Admin, method: str, path: str, allow: str) -> None:
    answer = admin.ask(method, path)

    assert (answer.status, answer.headers["allow"]) == (405, allow)
    if method != "HEAD":
        refused(answer, 405, "method-not-offered")


def test_head(admin: Admin) -> None:
    answer = admin.ask("HEAD", "clock")

    assert (answer.status, answer.body) == (200, b"")


def test_answers_are_the_sandboxs_and_not_kept(admin: Admin) -> None:
    answer = admin.ask("GET", "clock")

    assert answer.headers["cache-control"] == "no-store"
    assert answer.source == "sandbox"


@pytest.mark.parametrize("door", ["proxy", "tls"])
def test_no_other_door(admin: Admin, door: Door) -> None:
    answer = admin.ask("GET", "clock", door=door, host="127.0.0.1")

    assert answer.status == 404
    assert answer.error["code"]


@pytest.mark.parametrize("path", ["health", "ready"])
def test_the_open_pages_stay_open(admin: Admin, path: str) -> None:
    answer = admin.client.get(
        f"/_sandbox/{path}", headers={"Origin": "https://evil.example"}, door="direct", host="evil.example"
    )

    assert answer.status == 200


# -- stores that are busy


class Busy(MemoryStore):
    """Somebody else is faster, or the file away, `times` times."""

    def __init__(self, times: int, *, away: bool) -> None:
        super().__init__()
        self.times, self.away = times, away

    def commit(
        self, session: str, reads: Mapping[Key, int], lists: Mapping[str, int], writes: Mapping[Key, Any]
    ) -> bool:
        self.times -= 1
        if self.times < 0:
            return super().commit(session, reads, lists, writes)
        if self.away:
            raise StoreUnavailable("the disk is away")
        return False


@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize(("times", "status"), [(7, 201), (8, 503)])
def test_it_is_tried_again(monkeypatch: pytest.MonkeyPatch, away: bool, times: int, status: int) -> None:
    monkeypatch.setattr(control, "_RETRY_SECONDS", 0)
    engine = an_engine(Busy(times, away=away))
    engine.admin_token = TOKEN
    admin = Admin(Client(engine))

    answer = admin.ask("PUT", "state/notes/n", {"a": 1})

    assert answer.status == status
    assert admin.get("state/notes") == ({"n": {"a": 1}} if status == 201 else {})
    if status == 503:
        refused(answer, 503, "busy")


def test_moves_at_once_all_count(engine: Engine) -> None:
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
