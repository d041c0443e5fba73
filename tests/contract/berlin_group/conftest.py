"""A bank with NextGenPSD2 1.3, and a TPP that uses it through each door, in a session for each test."""

import ssl
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.support import serving
from tests.support.berlin_group import HAS_OPENAPI, validate_answer
from tests.support.turns import share_out
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.features.pytest.in_process import LoopThread
from xs2a_sandbox.features.pytest.sandbox import httpx_transport

OSKAR, SAVINGS, PETRA = "DE47999888770000200002", "DE25999888770000200010", "DE15999888770000300003"
JOINT = "DE16999888770000600006"
PASSWORDS = {"oskar": "ostwind", "petra": "pusteblume", "ruth": "rotklee"}
CODES = {"oskar": "222222", "petra": "333333", "ruth": "555555"}


@dataclass(frozen=True, slots=True)
class Tpp:
    """Send requests with the required headers. `prefix` leads to the TPP's own session.

    Every answer is checked with the Berlin Group's OpenAPI file if it is available, except for `newer` paths, which the
    file of version 1.3.11 does not have.
    """

    http: httpx.Client
    prefix: str
    newer: tuple[str, ...] = ("/cheques", "/extended-status")

    def request(
        self, method: str, path: str, *, consent: str = "", headers: Mapping[str, str] | None = None, **more: Any
    ) -> httpx.Response:
        usual = {"X-Request-ID": str(uuid.uuid4()), "PSU-IP-Address": "192.0.2.7"}
        consent_header = {"Consent-ID": consent} if consent else {}
        answer = self.http.request(
            method, self.prefix + path, headers={**usual, **consent_header, **(headers or {})}, **more
        )
        if HAS_OPENAPI and not path.endswith(self.newer):
            target = answer.request.url.raw_path.decode()
            validate_answer(method, target, answer.status_code, answer.headers, answer.content, prefix=self.prefix)
        return answer

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.request("GET", path, **more)

    def consents(self, access: Mapping[str, Any], **more: Any) -> httpx.Response:
        """Return the answer to a new consent. Members of the body and `headers` can be overridden."""
        headers = more.pop("headers", None)
        body = {
            "access": access,
            "recurringIndicator": True,
            "validUntil": "9999-12-31",
            "frequencyPerDay": 4,
            "combinedServiceIndicator": False,
            **more,
        }
        return self.request("POST", "/v1/consents", json=body, headers=headers)

    def authorise(self, path: str, psu: str) -> str:
        """Return the scaStatus after the customer has completed all steps of an embedded authorisation."""
        headers = {"PSU-ID": psu}
        answer = self.request("PUT", path, json={"psuData": {"password": PASSWORDS[psu]}}, headers=headers).json()
        if answer["scaStatus"] == "psuAuthenticated":
            method = answer["scaMethods"][0]["authenticationMethodId"]
            answer = self.request("PUT", path, json={"authenticationMethodId": method}, headers=headers).json()
        if answer["scaStatus"] == "scaMethodSelected":
            answer = self.request("PUT", path, json={"scaAuthenticationData": CODES[psu]}, headers=headers).json()
        return str(answer["scaStatus"])

    def consent(self, access: Mapping[str, Any], psu: str = "oskar", **more: Any) -> str:
        """Return the id of a consent that the customer has authorised."""
        made = self.consents(access, headers={"PSU-ID": psu, "TPP-Redirect-Preferred": "false"}, **more)
        assert made.status_code == 201, made.text
        path = made.json()["_links"]["updatePsuAuthentication"]["href"]
        assert self.authorise(path, psu) == "finalised"
        return str(made.json()["consentId"])


DIALECT = "berlin-group-1.3"
THROUGH_MITMPROXY = ("mitmproxy-tls", "mitmproxy-proxy", "mitmproxy-tls-proxy")
WIRES = ("direct", "tls", "proxy", "tls-proxy", *THROUGH_MITMPROXY)
DOORS = (*WIRES, "process")


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    """Distribute the cases over the doors like those of the other dialect."""
    made = yield
    return share_out(made, "tpp", WIRES) if isinstance(made, list) else made


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[serving.Serving]:
    with serving.served(tmp_path_factory.mktemp("bank"), "--dialect", DIALECT) as one:
        yield one


@pytest.fixture(scope="session")
def served_by_mitmproxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[serving.Serving]:
    flags = ("--dialect", DIALECT, "--proxy-engine", "mitmproxy")
    with serving.served(tmp_path_factory.mktemp("bank"), *flags) as one:
        yield one


@pytest.fixture(scope="session")
def in_process() -> Iterator[httpx.BaseTransport]:
    engine, loop = build(Settings(state="memory:", dialect=DIALECT)), LoopThread()
    engine.use(public_url="http://bank.example")
    yield httpx_transport(engine.answer, loop)
    loop.close()


@pytest.fixture(params=DOORS)
def tpp(request: pytest.FixtureRequest) -> Iterator[Tpp]:
    with _client(request.param, request.getfixturevalue) as client:
        yield Tpp(client, f"/s/test-{uuid.uuid4().hex}")


def _client(door: str, fixture: Callable[[str], Any]) -> httpx.Client:
    if door == "process":
        return httpx.Client(base_url="http://bank.example", transport=fixture("in_process"))
    bank = fixture("served_by_mitmproxy" if door in THROUGH_MITMPROXY else "served")
    door = door.removeprefix("mitmproxy-")
    urls = {"direct": bank.direct, "tls": bank.tls, "proxy": "http://bank.example", "tls-proxy": "https://bank.example"}
    trust = ssl.create_default_context(cafile=bank.ca_file)
    proxy = bank.proxy if "proxy" in door else None
    return httpx.Client(base_url=urls[door], proxy=proxy, verify=trust, trust_env=False, timeout=20)


def error(answer: httpx.Response) -> tuple[int, str]:
    """Check that the body of an error has the Berlin Group's format. Return its status and code."""
    (message,) = answer.json()["tppMessages"]
    assert set(answer.json()) <= {"tppMessages"}
    assert message["category"] == "ERROR"
    assert message["text"]
    assert set(message) <= {"category", "code", "path", "text"}
    return answer.status_code, str(message["code"])
