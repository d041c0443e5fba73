"""WireMock with mappings, and requests that match them.

The jar comes from an npm package (`make clients`). The mappings of real banks are next to the project.
"""

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509 import load_pem_x509_certificate
from hypothesis import find
from hypothesis import settings as searching
from hypothesis.strategies import characters, from_regex

from tests.support.bank_words import FOLDER
from tests.support.doors import DEADLINE, START, wait_until
from tests.support.far_bank import Authority
from tests.support.recorded_bank.process import ROOT, Process, stopping
from xs2a_sandbox.features.importing import wiremock

JARS = sorted((ROOT / "tests/clients/node/node_modules/wiremock/build").glob("*standalone*.jar"))
BANKS = sorted(folder.name for folder in FOLDER.glob("*") if folder.is_dir())
FORM = "application/x-www-form-urlencoded"

_PASSWORD = "changeit"
_URLS = ("http://127.0.0.1:{}", "https://localhost:{}")

_USUAL = (
    "application/json", f"{FORM};charset=UTF-8", FORM, "2026-08-01", "6b3f7c1e-52d4-4b8a-9c0e-1f2a3b4c5d6e",
    "Sat, 21 Nov 2026 10:11:12 GMT", "10050000", "25", "some-text",
)  # fmt: skip
_BY_NAME: Mapping[str, Any] = {
    "access": {"allPsd2": "allAccounts"}, "recurringIndicator": True, "validUntil": "2026-12-31", "frequencyPerDay": 4,
    "combinedServiceIndicator": False, "dateFrom": "2026-08-01", "country_code": "NL",
    "redirect_uri": "https://tpp.example/callback",
}  # fmt: skip


def missing() -> str | None:
    """Return the reason why WireMock cannot serve the banks here, if there is one."""
    if not BANKS:
        return f"{FOLDER} is not there"
    if shutil.which("java") is None:
        return "there is no Java: `make clients` installs it"
    return None if JARS else "there is no WireMock: `make clients` installs it with npm"


@dataclass(frozen=True)
class BankRequest:
    """A request that matches a mapping."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: str


class WireMock(Process):
    """A WireMock process on free ports: `url`, and `tls_url` with a certificate of the authority `ca`."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        authority = Authority(directory)
        self.ca = authority.file
        store = _key_store(*authority.issue("wiremock", "localhost"))
        flags = ["--port", "0", "--https-port", "0", "--global-response-templating", "--disable-banner"]
        flags += ["--https-keystore", str(store), "--keystore-type", "PKCS12"]
        flags += ["--keystore-password", _PASSWORD, "--key-manager-password", _PASSWORD]
        super().__init__(directory, str(JARS[-1]), *flags, program=("java", "-jar"))

    def begun(self) -> "WireMock":
        """Wait until it is listening, and return it."""
        wait_until(lambda: len(self._ports()) == 2 or self._process.poll() is not None, START)
        assert len(self._ports()) == 2, self.output
        self.url, self.tls_url = (url.format(port) for url, port in zip(_URLS, self._ports(), strict=True))
        return self

    def load(self, bank: str) -> None:
        """Serve only the mappings of this bank, with an empty request log."""
        httpx.delete(f"{self.url}/__admin/mappings", timeout=DEADLINE).raise_for_status()
        for _, mapping in mappings(bank):
            content = json.dumps(mapping, default=float)
            httpx.post(f"{self.url}/__admin/mappings", content=content, timeout=DEADLINE).raise_for_status()
        httpx.post(f"{self.url}/__admin/scenarios/reset", timeout=DEADLINE).raise_for_status()

    def _ports(self) -> list[str]:
        return re.findall(r"(?m)^(?:https-)?port:\s+(\d+)", "".join(self.out))


def _key_store(certificate: Path, key: Path) -> Path:
    loaded = load_pem_x509_certificate(certificate.read_bytes())
    secret = serialization.load_pem_private_key(key.read_bytes(), None)
    assert isinstance(secret, ec.EllipticCurvePrivateKey)
    hidden = serialization.BestAvailableEncryption(_PASSWORD.encode())
    store = certificate.with_suffix(".p12")
    store.write_bytes(pkcs12.serialize_key_and_certificates(b"wiremock", secret, loaded, None, hidden))
    return store


@contextmanager
def wiremock_serving(directory: Path) -> Iterator[WireMock]:
    process = WireMock(directory)
    with stopping(process):
        yield process.begun()


def mappings(bank: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Return the mappings of a bank, each with its place."""
    return wiremock.read_directory(FOLDER / bank).listed


def was_unmatched(answer: httpx.Response) -> bool:
    return answer.status_code == 404 and "Request was not matched" in answer.text


def fitting(request: Mapping[str, Any]) -> BankRequest:
    """Return a simple request that a mapping matches."""
    headers = [(name, _value(matcher)) for name, matcher in request.get("headers", {}).items()]
    body = _body(request.get("bodyPatterns", []))
    if body and "content-type" not in {name.lower() for name, _ in headers}:
        headers.append(("Content-Type", "application/json" if body.startswith("{") else FORM))
    return BankRequest(request["method"], _target(request), tuple(headers), body)


def _target(request: Mapping[str, Any]) -> str:
    pattern = request.get("urlPathPattern") or request.get("urlPattern")
    if pattern:
        path, question_mark, query = pattern.partition("\\?")
        parts = [_field(*part.partition("=")) for part in query.split("&")] if question_mark else []
        path = "/".join(map(text_of, path.split("/"))) if "(" not in path else text_of(path)
    else:
        path, _, query = str(request.get("url") or request["urlPath"]).partition("?")
        parts = [query] if query else []
    matchers = request.get("queryParameters", {})
    parts += [urlencode([(name, _value(matcher, name))], safe=":/") for name, matcher in matchers.items()]
    return "?".join([path, *(["&".join(parts)] if parts else [])])


def _field(name: str, equals: str, pattern: str) -> str:
    return name + equals + text_of(pattern, name)


def _value(matcher: Mapping[str, Any], name: str = "") -> str:
    return str(matcher["equalTo"]) if "equalTo" in matcher else text_of(matcher["matches"], name)


@cache
def text_of(pattern: str, name: str = "") -> str:
    """Return a text that matches a whole regular expression, and that is valid in a header."""
    if re.escape(pattern) == pattern or not pattern:
        return pattern
    for text in (str(_BY_NAME.get(name, "")), *_USUAL):
        if text and re.fullmatch(pattern, text):
            return text
    alphabet = characters(min_codepoint=33, max_codepoint=126) | characters(categories=(), include_characters=" ")
    return find(
        from_regex(pattern, fullmatch=True, alphabet=alphabet),
        lambda text: bool(text) and text == text.strip() and "?" not in text,
        settings=searching(database=None, max_examples=5000),
    )


def _body(patterns: Sequence[Mapping[str, Any]]) -> str:
    for pattern in patterns:
        if "equalTo" in pattern:
            return str(pattern["equalTo"])
        if "equalToJson" in pattern:
            value = pattern["equalToJson"]
            return value if isinstance(value, str) else json.dumps(value, default=float)
        if "matches" in pattern:
            # A form field that may have any value gets one.
            return re.sub(r"=(?=&|$)", "=some-text", text_of(pattern["matches"]))
    members: dict[str, Any] = {}
    for path in (pattern["matchesJsonPath"] for pattern in patterns if "matchesJsonPath" in pattern):
        if isinstance(path, Mapping):
            members[path["expression"].removeprefix("$.")] = json.loads(path["equalToJson"])
            continue
        place = re.fullmatch(r"\$\.?(\w*)\[\?\(@\.(\w+) == (.+)\)\]", path)
        assert place
        (members.setdefault(place[1], {}) if place[1] else members)[place[2]] = json.loads(place[3].replace("'", '"'))
    contained = [pattern["contains"] for pattern in patterns if "contains" in pattern]
    if any("=" in text for text in contained):
        return "&".join(_filled(contained))
    members |= {name: _BY_NAME.get(name, "some-text") for name in contained if name not in members}
    return json.dumps(members) if members else ""


def _filled(fields: Iterable[str]) -> Iterator[str]:
    for field in fields:
        name, _, value = field.partition("=")
        yield f"{name}={value or 'some-text'}"
