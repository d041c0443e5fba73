"""The flow of a TPP app, from the consent to the cancellation, with `requests`."""

import ssl
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

import httpx
import pytest
import requests
from requests.adapters import HTTPAdapter

from tests.contract import bodies, facts
from tests.contract.conftest import Sandbox
from tests.contract.doors import BANK, MITMPROXY, WIRES
from xs2a_sandbox.features.pytest.in_process import LoopThread
from xs2a_sandbox.features.pytest.sandbox import requests_adapter

spec = pytest.mark.spec


class App:
    """A TPP app that knows a base URL and optionally a proxy."""

    def __init__(
        self, base: str, *, proxy: str | None = None, ca_file: str = "", adapter: HTTPAdapter | None = None
    ) -> None:
        self._base = base
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = ca_file
        if proxy:
            self._session.proxies = {"http": proxy, "https": proxy}
        if adapter:
            self._session.mount("http://", adapter)
        self._session.headers["X-Sandbox-Session"] = f"journey-{uuid.uuid4().hex}"
        self._session.headers["PSU-IP-Address"] = "192.0.2.7"
        self._session.headers["Authorization"] = "Bearer token"

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        headers = {"X-Request-ID": str(uuid.uuid4()), **options.pop("headers", {})}
        answer = self._session.request(method, self._base + path, headers=headers, timeout=20, **options)
        assert answer.headers["X-Request-ID"] == headers["X-Request-ID"]
        return answer

    def close(self) -> None:
        self._session.close()


@pytest.fixture(params=[*WIRES, "direct with a prefix", "process"])
def app(request: pytest.FixtureRequest, sandbox: Sandbox) -> Iterator[App]:
    door = request.param.removeprefix(MITMPROXY)
    addresses = sandbox.addresses if door == request.param else sandbox.through_mitmproxy
    if door == "process":
        loop = LoopThread()
        app = App(f"http://{BANK}", adapter=requests_adapter(sandbox.engine.answer, loop))
        yield app
        app.close()
        loop.close()
        return
    base, proxy = {
        "proxy": (f"http://{BANK}/xs2a/rest", addresses.proxy),
        "tls-proxy": (f"https://{BANK}/xs2a/rest", addresses.proxy),
        "direct": (addresses.direct, None),
        "direct with a prefix": (f"{addresses.direct}/xs2a/rest", None),
        "tls": (str(addresses.tls), None),
    }[door]
    app = App(base, proxy=proxy, ca_file=str(addresses.ca_file))
    yield app
    app.close()


@spec("1-consents")
@spec("1-accounts")
@spec("1-payments")
@spec("5-consent-id")
@spec("5-authorization")
def test_the_flow_from_consent_to_cancellation(app: App) -> None:
    made = app.call(
        "POST", "/v1/consents", json=bodies.consent(facts.covered()), headers={"TPP-Redirect-URI": bodies.REDIRECT}
    )
    assert made.status_code == 200
    consent = made.json()
    with_consent = {"Consent-ID": consent["consentId"]}

    status = app.call("GET", consent["_links"]["status"]["href"])
    assert (status.status_code, status.json()) == (200, {"consentStatus": "valid"})
    content = app.call("GET", consent["_links"]["self"]["href"])
    assert (content.status_code, content.json()["consentStatus"]) == (200, "valid")

    listed = app.call("GET", "/v1/accounts/", params={"withBalance": "true"}, headers=with_consent)
    assert listed.status_code == 200
    (account,) = listed.json()["accounts"]
    assert account["iban"] == facts.covered()

    single = app.call(
        "GET", f"/v1/accounts/{account['resourceId']}/", params={"withBalance": "true"}, headers=with_consent
    )
    assert (single.status_code, single.json()) == (200, account)

    balances = app.call("GET", account["_links"]["balances"]["href"], headers=with_consent)
    assert balances.status_code == 200
    assert balances.json()["balances"] == account["balances"]

    for booking_status, filled in (
        ("booked", "booked"),
        ("pending", "pending"),
        ("information", "information"),
        ("both", "booked"),
    ):
        answer = app.call(
            "GET",
            account["_links"]["transactions"]["href"],
            params={"bookingStatus": booking_status},
            headers=with_consent,
        )
        assert answer.status_code == 200
        records = answer.json()["transactions"].pop(filled)
        assert len(records) == len(facts.booked(facts.covered(), filled)) > 0

    paid = app.call(
        "POST",
        f"/v1/{bodies.SEPA}",
        json=bodies.payment(bodies.SEPA, debtor=facts.covered()),
        headers={"TPP-Redirect-URI": bodies.REDIRECT},
    )
    assert paid.status_code == 200
    links = paid.json()["_Left"]
    assert app.call("GET", links["status"]["href"]).json()["transactionStatus"] == "RCVD"
    record = app.call("GET", links["self"]["href"])
    assert (record.status_code, record.json()["transactionStatus"]) == (200, "RCVD")

    cancelled = app.call("DELETE", links["self"]["href"])
    assert (cancelled.status_code, cancelled.content) == (204, b"")
    assert app.call("GET", links["status"]["href"]).json()["transactionStatus"] == "CANC"

    assert app.call("DELETE", consent["_links"]["self"]["href"]).status_code == 204
    assert app.call("GET", "/v1/accounts/", headers=with_consent).status_code == 403


class OnlyHttp2(ssl.SSLContext):
    """httpx offers HTTP/1.1 first, and the doors choose the client's first protocol."""

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        super().set_alpn_protocols(["h2"])


@pytest.mark.parametrize("door", ["tls-proxy", "tls"])
def test_the_flow_over_http_2(sandbox: Sandbox, door: str) -> None:
    addresses = sandbox.addresses
    trust = OnlyHttp2(ssl.PROTOCOL_TLS_CLIENT)
    trust.load_verify_locations(addresses.ca_file)
    base, proxy = (f"https://{BANK}", addresses.proxy) if door == "tls-proxy" else (str(addresses.tls), None)
    with httpx.Client(http2=True, verify=trust, proxy=proxy, trust_env=False, base_url=base, timeout=20) as client:
        answers = [
            client.get(
                f"/v1/accounts/{facts.covered()}/transactions",
                params={"bookingStatus": "booked"},
                headers={"X-Request-ID": str(uuid.uuid4()), "Consent-ID": facts.consent()},
            )
            for _ in range(3)
        ]

    for answer in answers:
        assert (answer.http_version, answer.status_code) == ("HTTP/2", 200)
        assert len(answer.json()["transactions"]["booked"]) == len(facts.booked(facts.covered()))
