"""Imported rules compared with WireMock serving the same mappings: the same request gets the same answer.

The mappings are those of real banks, outside the project; WireMock is an npm package (`make clients`).
"""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.bank_words import FOLDER
from tests.support.doors import DEADLINE
from tests.support.wiremock import BANKS, BankRequest, WireMock, fitting, mappings, missing, was_unmatched
from tests.support.wiremock import wiremock_serving as serving
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.build import build, read_all
from xs2a_sandbox.engine.redacting import redactor_of
from xs2a_sandbox.features.importing import wiremock
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.header_fields import counts
from xs2a_sandbox.redaction import pseudonyms

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireMock]:
    with serving(tmp_path_factory.mktemp("wiremock")) as process:
        yield process


@pytest.fixture(params=BANKS)
def bank(request: pytest.FixtureRequest, process: WireMock) -> str:
    """Return a bank that WireMock currently serves."""
    process.load(request.param)
    return str(request.param)


def imported(bank: str, home: Path, *, redact: bool = False) -> tuple[Engine, Sequence[str]]:
    """Return a sandbox that serves the bank's mappings in front of the bundled dialect, and the mappings left out."""
    settings = Settings(cassettes=(home / "tape",), state="memory:", confdir=home / "conf")
    before = replace(settings, cassettes=())
    redactor = redactor_of(before, read_all(before)[0]).entry if redact else None
    redacted = pseudonyms.fingerprint(pseudonyms.ensure_key(settings.confdir)) if redact else False
    rules = wiremock.rules(wiremock.read_directory(FOLDER / bank), redactor, Clock().now())
    wiremock.write(rules, FOLDER / bank, home / "tape", Clock().now(), redacted)
    assert len(rules.rules) + len(rules.left_out) == len(mappings(bank))
    return build(settings), rules.left_out


def test_at_least_nine_in_ten_mappings_are_imported(tmp_path: Path) -> None:
    listed = [one for name in BANKS for one in mappings(name)]
    left_out = [line for name in BANKS for line in imported(name, tmp_path / name)[1]]
    assert len(left_out) * 10 <= len(listed), left_out


@pytest.mark.parametrize("redact", [False, True], ids=["plain", "redacted"])
def test_the_sandbox_answers_like_wiremock(bank: str, process: WireMock, tmp_path: Path, redact: bool) -> None:
    engine, left_out = imported(bank, tmp_path, redact=redact)
    view = structure if redact else lambda value: value
    # A scenario advances with each request, in both programs alike.
    for place, mapping in mappings(bank):
        request = fitting(mapping["request"])
        theirs = ask_wiremock(process, request)
        assert not was_unmatched(theirs), request
        if any(line.startswith(f"{place}:") for line in left_out):
            continue
        ours = ask(engine, request)
        assert is_imported(ours, bank), (request, ours)
        assert (ours.status, view(content(ours.body))) == (theirs.status_code, view(content(theirs.content))), request
        for name in filter(counts, () if redact else mapping["response"].get("headers", ())):
            assert Headers(ours.headers).get(name) == theirs.headers[name], (name, request)


def test_requests_that_wiremock_does_not_match_do_not_match_the_rules(
    bank: str, process: WireMock, tmp_path: Path
) -> None:
    engine, _ = imported(bank, tmp_path)
    tried = 0
    for _, mapping in mappings(bank):
        for other in variations(fitting(mapping["request"])):
            tried += 1
            theirs = ask_wiremock(process, other)
            assert is_imported(ask(engine, other), bank) is not was_unmatched(theirs), other
    assert tried > len(BANKS)


def variations(request: BankRequest) -> Iterator[BankRequest]:
    """Yield slightly different requests."""
    path, mark, query = request.target.partition("?")
    yield replace(request, target=f"{path}/more{mark}{query}")
    yield replace(request, target=f"{path}?{query}&other=1" if mark else f"{path}?other=1")
    if query:
        yield replace(request, target=path)
    if request.body:
        yield replace(request, body='{"none": 1}')
    yield replace(request, method="PUT")


def ask_wiremock(process: WireMock, request: BankRequest) -> httpx.Response:
    return httpx.request(
        request.method,
        process.url + request.target,
        headers=list(request.headers),
        content=request.body.encode(),
        timeout=DEADLINE,
    )


def ask(engine: Engine, request: BankRequest) -> Response:
    headers = Headers([("Host", "127.0.0.1"), *request.headers])
    return asyncio.run(engine.answer(Request(request.method, request.target, headers, request.body.encode())))


def is_imported(answer: Response, bank: str) -> bool:
    return str(Headers(answer.headers).get("X-Sandbox-Rule")).startswith(f"{bank}-")


def content(body: bytes) -> Any:
    """Return the body without values that depend on its server."""
    text = re.sub(r"https?://(localhost|127\.0\.0\.1|bank\.invalid)(:\d+)?", "", body.decode())
    try:
        return json.loads(text)
    except ValueError:
        return text


def structure(value: Any) -> Any:
    """Return a structure that is the same for values that differ only in their strings."""
    if isinstance(value, dict):
        return {name: structure(inner) for name, inner in value.items()}
    return [structure(inner) for inner in value] if isinstance(value, list) else type(value)
