"""A bank for one test."""

import asyncio
import json
from uuid import uuid4

import httpx
import pytest
import requests

from tests.support.doors import DEADLINE
from tests.testing.sandboxes import a_sandbox
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.errors import Unreadable
from xs2a_sandbox.features.pytest.sandbox import Sandbox

UNAVAILABLE = {"match": {"operation": "account-list"}, "respond": {"status": 503, "body": {"try": "again"}}}


@pytest.fixture
def xs2a() -> Sandbox:
    return a_sandbox()


def status(sandbox: Sandbox) -> int:
    return sandbox.request("GET", "/v1/accounts", consent=sandbox.testdata.consent()).status


# Clients


def test_httpx_clients_are_answered(xs2a: Sandbox) -> None:
    path = f"/v1/consents/{xs2a.testdata.consent()}/status"
    headers = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}
    with xs2a.client(headers=headers) as client:
        assert client.get(path).json() == {"consentStatus": "valid"}
    with httpx.Client(transport=xs2a.transport, base_url="https://my.bank/xs2a") as client:
        assert client.get(path, headers=headers).json() == {"consentStatus": "valid"}

    async def received() -> httpx.Response:
        async with xs2a.async_client(headers=headers) as client:
            return await client.get(path)

    assert asyncio.run(received()).json() == {"consentStatus": "valid"}
    assert [call.origin for call in xs2a.journal.calls] == [
        "https://bank.example",
        "https://my.bank",
        "https://bank.example",
    ]


def test_mounting_on_requests_replaces_earlier_adapters(xs2a: Sandbox) -> None:
    session = requests.Session()
    session.mount("https://bank.example/v1", requests.adapters.HTTPAdapter())
    for mounted in (xs2a.mount(session), xs2a.session()):
        assert mounted.get("https://bank.example/v1/accounts").status_code == 400
        assert mounted.get("http://127.0.0.1:1/v1/accounts").status_code == 400
    assert len(xs2a.journal) == 4


def test_a_request_has_the_usual_headers(xs2a: Sandbox) -> None:
    answer = xs2a.request("get".upper(), "/v1/accounts?a=b", consent="c", query={"withBalance": True, "no": None})
    sent = xs2a.journal.last
    assert sent.target == "/v1/accounts?a=b&withBalance=true"
    assert sent.headers.get("consent-id") == "c"
    assert {"x-request-id", "psu-ip-address"} <= set(sent.headers.first)
    assert answer.headers.get("x-request-id") == sent.headers.get("x-request-id")
    assert (answer.status, answer.json(), json.loads(answer.text)) == (sent.status, sent.answer_json, answer.json())
    assert repr(answer).startswith(f"<SandboxResponse {answer.status} {{")


def test_the_usual_headers_can_be_changed_and_left_out(xs2a: Sandbox) -> None:
    xs2a.request("POST", "/v1/consents", json={"a": 1}, headers={"x-request-id": None, "PSU-IP-ADDRESS": "::1"})
    sent = xs2a.journal.last
    assert [(n.lower(), v) for n, v in sent.headers] == [
        ("content-type", "application/json"),
        ("psu-ip-address", "::1"),
    ]
    assert sent.json == {"a": 1}
    xs2a.request("POST", "/v1/consents", body=b"<xml/>", headers={"Content-Type": "text/xml"})
    assert xs2a.journal.last.body == b"<xml/>"


def test_links_for_the_payment_user_use_the_sandboxs_url(xs2a: Sandbox) -> None:
    body = {"access": {"balances": [{"iban": "AT459880000010204711"}]}, "recurringIndicator": False}
    body |= {"validUntil": xs2a.clock.today.isoformat(), "frequencyPerDay": 1}
    made = xs2a.request("POST", "/v1/consents", json=body).json()
    link = made["_links" if "_links" in made else "_Left"]["scaRedirect"]["href"]
    assert link.startswith("https://bank.example/sca/")
    with xs2a.client(follow_redirects=True) as browser:
        assert "html" in browser.get(link).headers["content-type"]


# Isolation


def test_sandboxes_are_isolated() -> None:
    one, other = a_sandbox(), a_sandbox()
    id = one.testdata.consent()
    one.request("DELETE", f"/v1/consents/{id}")
    one.add_rule(UNAVAILABLE)
    one.clock.freeze("2030-01-01")
    assert other.request("GET", f"/v1/consents/{id}/status").status == 200
    assert other.clock.today.year != 2030
    assert status(other) == 200
    assert len(other.journal) == 2


# Rules


def test_a_rule_overrides_all_earlier_ones(xs2a: Sandbox) -> None:
    assert status(xs2a) == 200
    assert xs2a.add_rule(UNAVAILABLE) == ["added-1"]
    assert status(xs2a) == 503
    assert xs2a.add_rule("{match: {operation: account-list}, respond: {status: 429}}", {**UNAVAILABLE, "id": "mine",
                         "match": {"operation": "consent-status"}}) == ["added-2", "mine"]  # fmt: skip
    assert status(xs2a) == 429
    xs2a.journal.assert_called("GET", "/v1/accounts", rule="added-2", times=1)


def test_adding_a_rule_keeps_the_state(xs2a: Sandbox) -> None:
    xs2a.state.put("notes", "n", {"a": 1})
    xs2a.clock.freeze("2030-01-01")
    xs2a.add_rule(UNAVAILABLE)
    assert xs2a.state["notes"] == {"n": {"a": 1}}
    assert xs2a.clock.today.year == 2030


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ([{"match": {"operation": "acount-list"}, "respond": {}}], "unknown-operation"),
        ([{**UNAVAILABLE, "id": "a"}, {**UNAVAILABLE, "id": "b"}], "ambiguous"),
        ([{**UNAVAILABLE, "id": "a"}, {**UNAVAILABLE, "id": "a"}], "duplicate-id"),
        ([{"match": {"operation": "account-list"}, "bank": True}], "no-bank"),
        ([UNAVAILABLE, "respond: 3"], "missing-key"),
    ],
)
def test_a_rule_with_problems_is_refused_and_not_added(xs2a: Sandbox, rules: list[object], code: str) -> None:
    with pytest.raises(Unreadable) as caught:
        xs2a.add_rule(*rules)  # type: ignore[arg-type]
    assert code in {problem.code for problem in caught.value.problems}
    assert "<rule " in str(caught.value)
    assert status(xs2a) == 200
    assert repr(xs2a) == "<Sandbox 1 exchanges, 0 rules added>"


def test_a_fault_is_reported(xs2a: Sandbox) -> None:
    xs2a.add_rule({"match": {"path": "/mine"}, "respond": {"fault": "reset"}})
    assert xs2a.request("GET", "/mine").fault == "reset"
    with pytest.raises(httpx.ReadError), xs2a.client() as client:
        client.get("/mine")


@pytest.mark.parametrize("size", [USUAL.body + 1, USUAL.swallowed + 1])
def test_a_body_beyond_the_limit_is_refused_by_every_transport(xs2a: Sandbox, size: int) -> None:
    headers = {"Content-Type": "application/json", "X-Request-ID": str(uuid4())}
    url, body = "https://bank.example/v1/consents", b"a" * size
    answers = [xs2a.client().post(url, content=body, headers=headers)]
    answers += [xs2a.mount(requests.Session()).post(url, data=body, headers=headers)]
    with xs2a.intercept():
        answers += [requests.post(url, data=body, headers=headers, timeout=DEADLINE)]
    for answer in answers:
        assert answer.status_code == 413
        assert "XS2A905E: the body must not be larger than 1048576 bytes" in answer.text
