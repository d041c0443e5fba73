"""Clients in other languages send the same requests through every door.

They are started as described in docs/clients.md and print the answers. README.md describes the requests.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

from tests.clients.relay import Relay
from tests.contract import facts
from tests.contract.answers import is_uuid, validator
from tests.support.doors import Loop
from tests.support.far_bank import Authority
from tests.support.roads import ENGINES
from tests.support.serving import Serving, served

pytestmark = pytest.mark.by_turns("sandbox")

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "clients.md").read_text()
ACCOUNT = "AT459880000010204711"
WALK = 120
"""Seconds for one run, on a machine that is busy with other tests."""


def block(beginning: str) -> str:
    """Return the sh block of docs/clients.md that starts with this text."""
    (text,) = [
        text for text in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE) if text.startswith(beginning)
    ]
    return str(text)


@dataclass(frozen=True)
class Client:
    """A client program: how to start it and what it needs (both in sh), and how it uses HTTP.

    `takes` is the maximum number of connections, without those that must be new. With a proxy and an https URL, a
    `wasteful` client opens a connection for each request, and an `untunnelled` one sends requests to the proxy in
    plain text.
    """

    name: str
    start: str
    needs: str
    http_version: str = ""
    ca_variable: str = "CA_FILE"
    proxy_variables: tuple[str, ...] = ("PROXY", "HTTP_PROXY", "HTTPS_PROXY")
    http2: bool = False
    takes: int = 2
    wasteful: bool = False
    untunnelled: bool = False

    def encrypts(self, way: "Way") -> bool:
        return way.tls and not (self.untunnelled and way.door == "proxy")


@dataclass(frozen=True)
class Way:
    """The way to the sandbox: the door, and the base URL for the app with the door's port."""

    name: str
    door: str
    url: str

    @property
    def tls(self) -> bool:
        return self.url.startswith("https:")


HTTP = Way("http", "direct", "http://127.0.0.1:{port}")
HTTPS = Way("https", "tls", "https://127.0.0.1:{port}")
PROXY_HTTP = Way("proxy-http", "proxy", "http://bank.example")
PROXY_HTTPS = Way("proxy-https", "proxy", "https://bank.example")
WAYS = (HTTP, HTTPS, PROXY_HTTP, PROXY_HTTPS)


def curl(name: str, **options: Any) -> Client:
    # Each of the nine steps, and the last one, is a separate process.
    return Client(name, f"{HERE}/curl/walk.sh", "command -v curl", takes=10, **options)


def node(name: str, program: str, **options: Any) -> Client:
    start = block("NODE_EXTRA_CA_CERTS").replace("app.js", f"{HERE}/node/{program}")
    # On a busy machine, fetch opens a new connection if the last one has not been released yet.
    return Client(name, start, f"command -v node && test -d {HERE}/node/node_modules", takes=8, **options)


def java(name: str, **options: Any) -> Client:
    start = block("java -D").replace("-jar app.jar", '-cp "$BUILT" Walk')
    return Client(name, start, "command -v java && command -v javac && command -v keytool", **options)


def go(name: str, **options: Any) -> Client:
    return Client(name, '"$BUILT/walk"', "command -v go", **options)


def php(name: str, **options: Any) -> Client:
    needs = """php -r 'exit((int) !(extension_loaded("curl") && include "GuzzleHttp/autoload.php"));'"""
    return Client(name, f"php {HERE}/php/walk.php", needs, **options)


def python(name: str, module: str, **options: Any) -> Client:
    return Client(name, f"{sys.executable} {HERE}/python/with_{module}.py", "true", **options)


CLIENTS = (
    curl("curl", http2=True),
    node("fetch", "fetch.mjs"),
    node("undici", "proxyagent.mjs"),
    node("axios", "axios.mjs", wasteful=True),
    node("axios-1.16", "axios.mjs axios-1.16", untunnelled=True),
    java("java", http2=True),
    java("java-1.1", http_version="1.1"),
    go("go", http2=True),
    php("php"),
    Client("ruby", f"ruby {HERE}/ruby/walk.rb", "command -v ruby"),
    python("requests", "requests"),
    python("httpx", "httpx"),
    python("aiohttp", "aiohttp"),
)
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY")
# Clients with a fixed HTTP version, and clients that read the environment themselves.
OTHERWISE = (
    curl("curl-1.1", http_version="1.1"),
    curl("curl-2", http_version="2", http2=True),
    node("undici-2", "proxyagent.mjs", http_version="2", http2=True),
    go("go-1.1", http_version="1.1"),
    php("php-2", http_version="2", http2=True),
    python("httpx-2", "httpx", http_version="2", http2=True),
    go("go-environment", http2=True, ca_variable="SSL_CERT_FILE", proxy_variables=PROXIES),
    python("requests-environment", "requests", ca_variable="REQUESTS_CA_BUNDLE", proxy_variables=PROXIES),
    python("httpx-environment", "httpx", ca_variable="SSL_CERT_FILE", proxy_variables=PROXIES),
)


@dataclass(frozen=True)
class Walk:
    """The answers that a client got step by step, its connections, and the TLS handshakes that the sandbox recorded."""

    steps: Mapping[str, Any]
    connections: int
    handshakes: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Sandbox:
    """A sandbox in another process. Its folder contains the files that the clients need."""

    serving: Serving
    folder: Path
    built: Path
    loop: Loop

    def handshakes(self) -> list[Mapping[str, Any]]:
        file = self.folder / "handshakes"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def walk(self, client: Client, way: Way, *, new: int, kept: int, certified: bool = False) -> Walk:
        if not runs(client.needs):
            pytest.skip(f"{client.name} cannot run here ({client.needs}): `make clients` installs what it needs")
        before = len(self.handshakes())
        with Relay(self.loop, int(getattr(self.serving, way.door).rpartition(":")[2])) as relay:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", self.here(client.start, relay.port, certified=certified)],
                cwd=self.folder,
                env=plain()
                | self.settings(client, way, relay.port, certified=certified)
                | {"NEW": str(new), "KEPT": str(kept)},
                capture_output=True,
                text=True,
                timeout=WALK,
            )
        assert done.returncode == 0, f"{done.stdout[-1000:]}\n{done.stderr[:1000]}"
        return Walk(json.loads(done.stdout), relay.connections, self.handshakes()[before:])

    def here(self, start: str, port: int, *, certified: bool) -> str:
        """Return the block of the documentation with the proxy's port and the folder of this sandbox filled in."""
        if certified:
            start = start.replace("java -D", f"java {KEY_STORE} -D")
        return start.replace("8080", str(port)).replace("~/.xs2a-sandbox", str(self.serving.confdir))

    def settings(self, client: Client, way: Way, port: int, *, certified: bool) -> dict[str, str]:
        """Return the variables listed in README.md, and those that the documentation leaves to the app."""
        variables = {"BASE_URL": way.url.format(port=port), "BUILT": str(self.built), "CURL_HOME": str(self.folder)}
        if way.tls:
            variables[client.ca_variable] = str(self.serving.ca_file)
        if way.door == "proxy":
            proxy = f"http://127.0.0.1:{port}"
            variables |= dict.fromkeys(client.proxy_variables, proxy)
        if client.http_version:
            variables["HTTP_VERSION"] = client.http_version
        if certified:
            variables |= {"CLIENT_CERT": f"{self.folder}/{TPP}.crt", "CLIENT_KEY": f"{self.folder}/{TPP}.key"}
        # Starting two compilers at once would make a program of one second take three.
        return variables | {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}


TPP = "tpp"
"""The name in the certificates of the clients."""

KEY_STORE = "-Djavax.net.ssl.keyStore=client.p12 -Djavax.net.ssl.keyStorePassword=changeit"

ELSEWHERE = ("_proxy", "ssl_cert_file", "ssl_cert_dir", "_ca_bundle", "_extra_ca_certs", "node_options", "curl_home")
"""Suffixes of environment variables that change the behaviour of clients."""


def plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.lower().endswith(ELSEWHERE)}


@cache
def runs(command: str) -> bool:
    return subprocess.run(["sh", "-c", command], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the programs that need it, if possible. All pytest processes share the result."""
    folder = tmp_path_factory.getbasetemp() / "clients"
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent.parent / "clients"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if runs("command -v go") and not (folder / "walk").exists():
            environ = os.environ | {"GOCACHE": str(HERE / "go" / ".cache")}
            subprocess.run(["go", "build", "-o", folder / "walk"], cwd=HERE / "go", env=environ, check=True)
        if runs("command -v javac") and not (folder / "Walk.class").exists():
            subprocess.run(["javac", "-d", folder, HERE / "java" / "Walk.java"], check=True)
    return folder


@pytest.fixture(scope="module", params=ENGINES)
def sandbox(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, built: Path) -> Iterator[Sandbox]:
    folder, flags = tmp_path_factory.mktemp("sandbox"), ("--proxy-engine", request.param)
    with served(folder, *flags, entry="tests.clients.serve_watched") as serving, Loop() as loop:
        certificate, key = Authority(folder).issue(TPP)
        pair = x509.load_pem_x509_certificate(certificate.read_bytes()), load_pem_private_key(key.read_bytes(), None)
        store = pkcs12.serialize_key_and_certificates(
            b"tpp", pair[1], pair[0], None, BestAvailableEncryption(b"changeit")
        )
        (folder / "client.p12").write_bytes(store)
        sandbox = Sandbox(serving, folder, built, loop)
        if runs("command -v keytool"):
            trust = sandbox.here(block("keytool"), 0, certified=False)
            subprocess.run(["bash", "-euc", trust], cwd=folder, check=True, capture_output=True)
        yield sandbox


# Required by the specification


def is_answered(walk: Walk, client: Client, way: Way, *, new: int, kept: int) -> None:
    steps = walk.steps
    bodies = {}
    for name, (status, schema) in {
        "consent": (200, "consent-creation"),
        "consent-status": (200, "consent-status"),
        "accounts": (200, "account-list"),
        "transactions": (200, "transactions-both"),
        "payment": (200, "payment-initiation"),
        "payment-status": (200, "payment-status"),
        "error": (403, "error"),
        "largest": (200, "payment-initiation"),
        "too-large": (413, "error"),
    }.items():
        assert (name, steps[name]["status"]) == (name, status), steps[name]["body"]
        bodies[name] = steps[name]["body"]
        assert [error.message for error in validator(schema).iter_errors(bodies[name])] == []
        if (version := steps[name]["version"]) is not None:
            assert VERSIONS[version] == ("2" if client.http2 and way.tls else "1.1")

    consent = bodies["consent"]
    assert (consent["consentStatus"], consent["consentId"]) == ("received", facts.tied()[ACCOUNT])
    assert "redirectBackUrl=https%3A%2F%2Ftpp.example%2Fback" in consent["_links"]["scaRedirect"]["href"]
    assert bodies["consent-status"] == {"consentStatus": "valid"}
    (account,) = bodies["accounts"]["accounts"]
    assert (account["iban"], account["name"]) == (ACCOUNT, facts.accounts()[ACCOUNT]["name"])
    assert account["balances"]
    transactions = bodies["transactions"]["transactions"]
    assert len(transactions["booked"]) == len(facts.booked(ACCOUNT))
    assert transactions["pending"] is None
    for step in ("payment", "largest"):
        assert bodies[step]["transactionStatus"] == "RCVD"
        assert is_uuid(bodies[step]["paymentId"])
    assert bodies["payment-status"] == {"transactionStatus": "RCVD", "fundsAvailable": None, "psuMessage": None}
    assert bodies["error"]["tppMessages"] == [
        {
            "category": "ERROR",
            "code": "CONSENT_UNKNOWN",
            "path": None,
            "text": "{sensitive} XS2A017E: consent 00000000-0000-4000-8000-000000000000 unknown",
        }
    ]
    assert bodies["too-large"]["tppMessages"][0]["code"] == "FORMAT_ERROR"

    assert steps["new"] == [200] * new
    assert steps["kept"] == [200] * kept
    if client.wasteful and way is PROXY_HTTPS:
        assert walk.connections == len(bodies) + new + kept
    else:
        assert new < walk.connections <= new + client.takes
    protocols = {shake["protocol"] or "http/1.1" for shake in walk.handshakes}
    assert protocols == ({"h2" if client.http2 else "http/1.1"} if client.encrypts(way) else set())
    assert len(walk.handshakes) == (walk.connections if client.encrypts(way) else 0)


VERSIONS = {11: "1.1"} | {
    text: version
    for version, texts in {
        "1.1": ("1.1", "HTTP/1.1", "HTTP_1_1"),
        "2": ("2", "2.0", "HTTP/2", "HTTP/2.0", "HTTP_2"),
    }.items()
    for text in texts
}
"""Names of the HTTP version in different clients."""


def walks(*clients: Client) -> list[Any]:
    """Return each client with each way that it supports."""
    pairs = [(client, way) for client in clients for way in WAYS]
    # undici speaks HTTP/1.1 through a proxy.
    pairs = [(client, way) for client, way in pairs if client.name != "undici-2" or way.door != "proxy"]
    return [pytest.param(client, way, id=f"{client.name}-{way.name}") for client, way in pairs]


def one_each(*clients: Client) -> list[Any]:
    """Return each client with one way, in turns. The full tests use all ways."""
    return [walks(client)[number % len(WAYS)] for number, client in enumerate(clients)]


@pytest.mark.parametrize(("client", "way"), one_each(*CLIENTS))
def test_short_sequence_of_requests(sandbox: Sandbox, client: Client, way: Way) -> None:
    is_answered(sandbox.walk(client, way, new=3, kept=10), client, way, new=3, kept=10)


@pytest.mark.slow
@pytest.mark.parametrize(("client", "way"), walks(*CLIENTS, *OTHERWISE))
def test_full_sequence_of_requests(sandbox: Sandbox, client: Client, way: Way) -> None:
    is_answered(sandbox.walk(client, way, new=20, kept=200), client, way, new=20, kept=200)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("client", "way"), [walk for walk in walks(*CLIENTS, *OTHERWISE) if walk.values[0].encrypts(walk.values[1])]
)
def test_sequence_with_a_client_certificate(sandbox: Sandbox, client: Client, way: Way) -> None:
    walk = sandbox.walk(client, way, new=20, kept=10, certified=True)
    is_answered(walk, client, way, new=20, kept=10)
    assert [shake["certificates"] for shake in walk.handshakes] == [[TPP]] * walk.connections


def test_the_documentation_of_client_certificates_in_java_works() -> None:
    assert f"`{KEY_STORE}`" in PAGE


def test_the_sandbox_logged_no_errors(sandbox: Sandbox) -> None:
    assert sandbox.serving.warnings == ""
