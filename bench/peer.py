"""The sandbox and its peers, each with its fastest settings on one core."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import monotonic, sleep
from typing import cast
from urllib.error import URLError
from urllib.request import urlopen

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509 import load_pem_x509_certificate
from served import CORE, HERE, on_core, server
from workloads import CONSENT, Work

import xs2a_sandbox

PEERS = HERE / "peers"
PATIENCE = 60.0
"""Seconds within which a peer must answer."""

DIRECT = ("W1", "W2", "W3", "W4", "W5")
PROXY = ("P1", "P2", "P3")
OWN = ("H1", "H2")

_SECRET = "secret"
_JAVA = ("java", "-Xms1g", "-Xmx1g", "-XX:+UseSerialGC")


@dataclass(frozen=True, slots=True)
class Place:
    """The files that a peer needs, and the port on which it listens."""

    directory: Path
    confdir: Path
    work: Work
    port: int

    @property
    def ca(self) -> Path:
        return self.confdir / "mitmproxy-ca-cert.pem"

    def ca_key(self) -> Path:
        """Return only the key of the CA, in PKCS 8."""
        file = self.directory / "ca-key.pem"
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        file.write_bytes(self._key().private_bytes(encoding, form, serialization.NoEncryption()))
        return file

    def ca_store(self) -> Path:
        """Return the CA in PKCS 12, for Java."""
        file = self.directory / "ca.p12"
        hidden = serialization.BestAvailableEncryption(_SECRET.encode())
        certificate = load_pem_x509_certificate(self.ca.read_bytes())
        file.write_bytes(pkcs12.serialize_key_and_certificates(b"ca", self._key(), certificate, None, hidden))
        return file

    def _key(self) -> RSAPrivateKey:
        key = serialization.load_pem_private_key((self.confdir / "mitmproxy-ca.pem").read_bytes(), None)
        return cast("RSAPrivateKey", key)


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    version: str
    configuration: str
    workloads: Sequence[str]
    command: Callable[[Place], Sequence[str]]
    """The argument for `servers.py`, if it starts the server."""
    is_served: bool = False
    warm: float = 0.5
    """Seconds of load on each workload before the first figure."""
    missing: str = ""
    """The reason why this peer has no figures here."""


@dataclass(frozen=True, slots=True)
class Running:
    peer: Peer
    process: int
    ports: dict[str, int]

    def port(self, workload: str) -> int:
        return self.ports["proxy" if workload in PROXY else "direct"]

    def rest(self) -> None:
        """Let a server that is not measured do nothing meanwhile."""
        os.killpg(self.process, signal.SIGSTOP)

    def wake(self) -> None:
        os.killpg(self.process, signal.SIGCONT)


def peers(work: Work, directory: Path) -> list[Peer]:
    return [*_ours(work, directory), *_others()]


@contextmanager
def started(peer: Peer, work: Work, confdir: Path, directory: Path) -> Iterator[Running]:
    """Start the server, wait until it listens, and pause it."""
    with (
        _served(peer, work, confdir, directory)
        if peer.is_served
        else _process(peer, work, confdir, directory) as running
    ):
        running.rest()
        try:
            yield running
        finally:
            running.wake()


@contextmanager
def _served(peer: Peer, work: Work, confdir: Path, directory: Path) -> Iterator[Running]:
    kind, *arguments = peer.command(Place(directory, confdir, work, 0))
    constant = json.dumps({"headers": [("Content-Type", "application/json")], "body": work.told["consent"]["body"]})
    with server(kind, *arguments, constant=constant, directory=directory, core=CORE) as process:
        yield Running(peer, process.number, process.ports)


@contextmanager
def _process(peer: Peer, work: Work, confdir: Path, directory: Path) -> Iterator[Running]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    own = directory / peer.name
    own.mkdir()
    told = own / "workload.json"
    told.write_text(json.dumps(work.told))
    place = Place(own, confdir, work, port)
    with (
        (own / "log").open("w") as log,
        subprocess.Popen(
            peer.command(place),
            cwd=own,
            env=os.environ | {"WORKLOAD": str(told), "HOME": str(own)},
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=on_core(CORE),
        ) as process,
    ):
        try:
            _await(peer, place, process)
            yield Running(peer, process.pid, {"direct": port, "proxy": port})
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _await(peer: Peer, place: Place, process: "subprocess.Popen[bytes]") -> None:
    """Wait until it answers W1, or only until it listens if it is just a proxy."""
    end = monotonic() + PATIENCE
    consent = place.work.told["consent"]
    while True:
        try:
            if "W1" not in peer.workloads:
                socket.create_connection(("127.0.0.1", place.port)).close()
                return
            with urlopen(f"http://127.0.0.1:{place.port}{consent['path']}", timeout=5) as answer:
                if json.load(answer) == json.loads(consent["body"]):
                    return
        except (OSError, URLError, ValueError):
            pass
        if process.poll() is not None or monotonic() > end:
            raise ChildProcessError(f"{peer.name} does not serve: {(place.directory / 'log').read_text()[-2000:]}")
        sleep(0.1)


def _ours(work: Work, directory: Path) -> list[Peer]:
    few, many = (str(work.cassette(directory / f"rules-{count}", count)) for count in (200, 2000))
    usual = "the documented dialect and 200 rules, `--state memory:`, the journal on"
    file = f"sqlite:{directory}/bench.db"
    with_proxy = (*DIRECT, *PROXY)

    def serve(place: Place) -> list[str]:
        ports = ["--port", "0", "--proxy-port", "0", "--tls-port", "0"]
        return ["command", "serve", *ports, "--state", "memory:", "--confdir", str(place.confdir), "--cassettes", few]

    def sandbox(state: str, rules: str) -> Callable[[Place], list[str]]:
        return lambda place: ["sandbox", str(place.confdir), state, rules]

    def own(name: str, configuration: str, workloads: Sequence[str], command: Callable[[Place], list[str]]) -> Peer:
        return Peer(name, xs2a_sandbox.__version__, configuration, workloads, command, is_served=True)

    return [
        own("xs2a-sandbox", f"{usual}; no log", (*with_proxy, *OWN), sandbox("memory:", few)),
        own("xs2a-sandbox, its log on", f"{usual}; `serve` as users start it, its log a file", with_proxy, serve),
        own("xs2a-sandbox, SQLite", usual.replace("memory:", "sqlite:FILE") + "; no log", DIRECT, sandbox(file, few)),
        own(
            "xs2a-sandbox, 2,000 rules",
            usual.replace("200", "2,000") + "; no log",
            ("W1", "W2"),
            sandbox("memory:", many),
        ),
    ]


def _others() -> list[Peer]:
    node, java = (f"there is no {name} here" if not shutil.which(name) else "" for name in ("node", "java"))
    mitmproxy = version("mitmproxy")
    granian = PEERS / ".venv/bin/granian"
    mockttp, wiremock = PEERS / "node_modules/mockttp", PEERS / "node_modules/wiremock"
    wiremock_jar = next(iter(sorted(wiremock.glob("build/wiremock-standalone-*.jar"))), None)
    mockserver = PEERS / "node_modules/mockserver-node"
    mockserver_jar = next(iter(sorted(mockserver.glob("*-jar-with-dependencies.jar"))), None)
    not_installed = "it could not be installed by npm"
    return [
        Peer(
            "mockttp",
            _npm(mockttp),
            "Node, `recordTraffic: false`; only the rules of the workloads, some of them callbacks",
            (*DIRECT, *PROXY),
            lambda place: [
                "node", str(PEERS / "mockttp.js"), str(place.port), str(place.directory / "workload.json"),
                str(place.ca_key()), str(place.ca),
            ],
            warm=2.0,
            missing=node or ("" if mockttp.exists() else not_installed),
        ),
        Peer(
            "WireMock",
            _npm(wiremock),
            "standalone, 1 GB of heap, serial collector, no journal, no request log, no gzip, never chunked; only "
            "the stubs of the workloads; W3 is a template with a fresh id, nothing is checked or kept, and W4 and W5 "
            "read any id",
            (*DIRECT, *PROXY),
            lambda place: _wiremock(place, wiremock_jar),
            warm=8.0,
            missing=java or ("" if wiremock_jar else not_installed),
        ),
        Peer(
            "MockServer",
            _npm(mockserver),
            "1 GB of heap, serial collector, log off; only the expectations of the workloads; W3 is a template "
            "with a fresh id, nothing is checked or kept, and W4 and W5 read any id",
            (*DIRECT, *PROXY),
            lambda place: _mockserver(place, mockserver_jar),
            warm=8.0,
            missing=java or ("" if mockserver_jar else not_installed),
        ),
        Peer(
            "mitmdump and a script",
            mitmproxy,
            "`mitmdump -q`, lazy connections, a script that answers W1",
            PROXY,
            lambda place: [
                str(Path(sys.executable).with_name("mitmdump")), "-q", "--listen-host", "127.0.0.1", "--listen-port",
                str(place.port), "--set", f"confdir={place.confdir}", "--set", "connection_strategy=lazy",
                "--set", "flow_detail=0", "-s", str(PEERS / "mitmdump_script.py"),
            ],
        ),
        Peer(
            "smallest mitmproxy master",
            mitmproxy,
            "only what a proxy needs of mitmproxy, a constant answer",
            PROXY,
            lambda place: ["bare", str(place.confdir)],
            is_served=True,
        ),
        Peer(
            "limit: granian",
            next((line.partition("==")[2] for line in _lines(PEERS / "requirements.txt") if "granian" in line), ""),
            "RSGI, one worker, one thread, uvloop, no access log; the same as Python code without any rules",
            DIRECT,
            lambda place: [
                str(granian), "--interface", "rsgi", "--workers", "1", "--runtime-threads", "1", "--loop", "uvloop",
                "--http", "1", "--no-ws", "--no-access-log", "--log-level", "error", "--port", str(place.port),
                "--working-dir", str(PEERS), "granian_app:app",
            ],
            missing="" if granian.exists() else "it could not be installed by pip",
        ),
    ]  # fmt: skip


def _wiremock(place: Place, jar: Path | None) -> list[str]:
    told = place.work.told
    headers = {"Content-Type": "application/json"}
    consent, listed, payment, walk = told["consent"], told["list"], told["payment"], told["journey"]
    some_consent = {"Consent-ID": {"matches": ".+"}}
    templated = {"status": 200, "headers": headers, "transformers": ["response-template"]}
    mappings = [
        {
            "request": {"method": "GET", "urlPath": consent["path"]},
            "response": {"status": 200, "headers": headers, "body": consent["body"]},
        },
        {
            "request": {
                "method": "GET",
                "urlPath": listed["path"],
                "queryParameters": {name: {"equalTo": value} for name, value in listed["query"].items()},
                "headers": {"Consent-ID": {"equalTo": listed["consent"]}},
            },
            "response": {"status": 200, "headers": headers, "body": listed["body"]},
        },
        {
            "request": {"method": "POST", "urlPath": payment["path"]},
            "response": {**templated, "body": _with_id(payment["body"], "{{randomValue type='UUID'}}")},
        },
        {
            "request": {"method": "GET", "urlPathPattern": f"{payment['path']}/[^/]+"},
            "response": {"status": 200, "headers": headers, "body": told["read"]["body"]},
        },
        {
            "request": {"method": "POST", "urlPath": "/v1/consents"},
            "response": {**templated, "body": _with_id(walk["consent"], "{{randomValue type='UUID'}}")},
        },
        {
            "request": {"method": "GET", "urlPathPattern": "/v1/consents/[^/]+/status"},
            "response": {"status": 200, "headers": headers, "body": walk["consentStatus"]},
            "priority": 10,
        },
        {
            "request": {"method": "GET", "urlPath": "/v1/accounts", "headers": some_consent},
            "response": {"status": 200, "headers": headers, "body": walk["accounts"]},
        },
        {
            "request": {"method": "GET", "urlPath": listed["path"], "headers": some_consent},
            "response": {"status": 200, "headers": headers, "body": listed["body"]},
            "priority": 10,
        },
        {
            "request": {"method": "GET", "urlPathPattern": f"{payment['path']}/[^/]+/status"},
            "response": {"status": 200, "headers": headers, "body": walk["paymentStatus"]},
        },
        {
            "request": {"method": "DELETE", "urlPathPattern": f"{payment['path']}/[^/]+"},
            "response": {"status": 204},
        },
    ]
    folder = place.directory / "mappings"
    folder.mkdir()
    (folder / "all.json").write_text(json.dumps({"mappings": mappings}))
    return [
        *_JAVA, "-jar", str(jar), "--port", str(place.port), "--bind-address", "127.0.0.1",
        "--root-dir", str(place.directory), "--no-request-journal", "--disable-request-logging", "--disable-banner",
        "--disable-gzip", "--use-chunked-encoding", "never",
        "--enable-browser-proxying", "--ca-keystore", str(place.ca_store()), "--ca-keystore-password", _SECRET,
        "--ca-keystore-type", "pkcs12",
    ]  # fmt: skip


def _mockserver(place: Place, jar: Path | None) -> list[str]:
    told = place.work.told
    headers = {"Content-Type": ["application/json"]}
    consent, listed, payment, walk = told["consent"], told["list"], told["payment"], told["journey"]
    some_consent = {"Consent-ID": [".+"]}

    def with_fresh_id(body: str) -> str:
        return json.dumps({"statusCode": 200, "headers": headers, "body": _with_id(body, "{{ uuid }}")})

    always = {"unlimited": True}
    expectations = [
        {
            "httpRequest": {"method": "GET", "path": consent["path"]},
            "httpResponse": {"statusCode": 200, "headers": headers, "body": consent["body"]},
            "times": always,
        },
        {
            "httpRequest": {
                "method": "GET",
                "path": listed["path"],
                "queryStringParameters": {name: [value] for name, value in listed["query"].items()},
                "headers": {"Consent-ID": [listed["consent"]]},
            },
            "httpResponse": {"statusCode": 200, "headers": headers, "body": listed["body"]},
            "times": always,
        },
        {
            "httpRequest": {"method": "POST", "path": payment["path"]},
            "httpResponseTemplate": {"templateType": "MUSTACHE", "template": with_fresh_id(payment["body"])},
            "times": always,
        },
        {
            "httpRequest": {"method": "GET", "path": f"{payment['path']}/[^/]+"},
            "httpResponse": {"statusCode": 200, "headers": headers, "body": told["read"]["body"]},
            "times": always,
        },
        {
            "httpRequest": {"method": "POST", "path": "/v1/consents"},
            "httpResponseTemplate": {"templateType": "MUSTACHE", "template": with_fresh_id(walk["consent"])},
            "times": always,
        },
        {
            "httpRequest": {"method": "GET", "path": "/v1/consents/[^/]+/status"},
            "httpResponse": {"statusCode": 200, "headers": headers, "body": walk["consentStatus"]},
            "times": always,
        },
        {
            "httpRequest": {"method": "GET", "path": "/v1/accounts", "headers": some_consent},
            "httpResponse": {"statusCode": 200, "headers": headers, "body": walk["accounts"]},
            "times": always,
        },
        {
            "httpRequest": {"method": "GET", "path": listed["path"], "headers": some_consent},
            "httpResponse": {"statusCode": 200, "headers": headers, "body": listed["body"]},
            "times": always,
        },
        {
            "httpRequest": {"method": "GET", "path": f"{payment['path']}/[^/]+/status"},
            "httpResponse": {"statusCode": 200, "headers": headers, "body": walk["paymentStatus"]},
            "times": always,
        },
        {
            "httpRequest": {"method": "DELETE", "path": f"{payment['path']}/[^/]+"},
            "httpResponse": {"statusCode": 204},
            "times": always,
        },
    ]
    file = place.directory / "expectations.json"
    file.write_text(json.dumps(expectations))
    settings = {
        "logLevel": "OFF",
        "disableLogging": "true",
        "disableSystemOut": "true",
        "maxLogEntries": "1",
        "initializationJsonPath": str(file),
        "certificateAuthorityPrivateKey": str(place.ca_key()),
        "certificateAuthorityCertificate": str(place.ca),
    }
    options = [f"-Dmockserver.{name}={value}" for name, value in settings.items()]
    return [*_JAVA, *options, "-jar", str(jar), "-serverPort", str(place.port)]


def _with_id(body: str, template: str) -> str:
    """Return an answer with a new id where it matters, and the same id in links, which is faster."""
    return body.replace("{id}", template, 1).replace("{id}", CONSENT)


def _npm(folder: Path) -> str:
    file = folder / "package.json"
    return json.loads(file.read_text())["version"] if file.exists() else ""


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines()
