"""The requests of http-desync-guardian, which proxies and servers interpret differently, at every port.

They come from aws/http-desync-guardian (https://github.com/aws/http-desync-guardian, Apache-2.0), and are stored
outside the project.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.doors import is_refusal
from tests.support.roads import ROADS, Roads, open_roads, status, target
from tests.support.shared import SHARED, needs_shared
from xs2a_sandbox.doors import door
from xs2a_sandbox.http import Request, Response

PROJECT = Path(__file__).parents[2]
CASES = SHARED / "data" / "http-desync"
SMUGGLED = "/smuggled"

pytestmark = needs_shared("data/http-desync")


@pytest.fixture(scope="module")
def seen() -> list[Request]:
    """The requests that the engine gets."""
    return []


@pytest.fixture(scope="module")
def roads(tmp_path_factory: pytest.TempPathFactory, proxy_engine: str, seen: list[Request]) -> Iterator[Roads]:
    async def answer(request: Request) -> Response:
        seen.append(request)
        return Response(200, (), b"answered")

    with (
        pytest.MonkeyPatch.context() as patch,
        open_roads(tmp_path_factory.mktemp("conf"), answer) as roads,
    ):
        patch.setattr(door, "LINGER", 0.02)
        yield roads


def cases() -> list[dict[str, Any]]:
    return [case for file in sorted(CASES.glob("*.yaml")) for case in yaml.load(file.read_bytes(), yaml.CSafeLoader)]


def as_sent(case: dict[str, Any], road: str) -> bytes:
    """Return the request with a `Host`, with the announced body, and with another request after it."""
    headers = [(header["name"], str(header["value"])) for header in case["headers"] or []]
    if not any(name.strip().lower() == "host" for name, _ in headers):
        headers.insert(0, ("Host", "localhost"))
    uri = case["uri"]
    if uri.startswith("/"):
        uri = target(road, "").decode() + uri
    lines = [f"{case['method']} {uri} {case['version']}", *(f"{name}:{value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode() + body_of(headers)


def body_of(headers: list[tuple[str, str]]) -> bytes:
    """Return a body as most parsers would read it for these headers."""
    if any(re.sub("[^a-z]", "", name.lower()) == "transferencoding" for name, _ in headers):
        return b"0\r\n\r\n"
    for name, value in headers:
        if name.strip().lower() == "content-length" and value.strip().isdigit() and int(value) <= 4_000_000:
            return b"x" * int(value)
    return b""


def documented() -> dict[str, dict[str, int]]:
    """Return the table of the documentation: the expected results for the requests of each tier."""
    rows = re.findall(r"(?m)^\| `(\w+)` \| (\d+) \| (\d+) \| (\d+) \|", (PROJECT / "docs/doors.md").read_text("utf-8"))
    assert all(int(all) == int(answered) + int(refused) for _, all, answered, refused in rows)
    return {tier: {"answered": int(answered), "refused": int(refused)} for tier, _, answered, refused in rows}


def outcome(roads: Roads, road: str, seen: list[Request], case: dict[str, Any]) -> str:
    """Return what happened to the request and to the following one."""
    seen.clear()
    follower = b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % target(road, SMUGGLED)
    answer = roads.sent(road, as_sent(case, road) + follower)
    if status(answer) == 200:
        # The following request is read as the next one, or as part of the announced body.
        assert [request.target for request in seen[1:]] in ([SMUGGLED], []), case
        assert seen[0].target != SMUGGLED, case
        return "answered"
    # The connection ends. No part of it was read as a request, and nothing after it is answered.
    assert status(answer) == 400, case
    assert not seen, case
    assert len(re.findall(rb"HTTP/1\.1 \d", answer)) == 1, case
    assert b"\r\nConnection: close\r\n" in answer, case
    assert is_refusal(answer.partition(b"\r\n\r\n")[2]), case
    return "refused"


@pytest.mark.by_turns("proxy_engine")
@pytest.mark.parametrize("road", ROADS)
def test_each_tier_has_the_documented_result(roads: Roads, seen: list[Request], road: str) -> None:
    found: dict[str, Counter[str]] = {}
    for case in cases():
        tier, what = case["expected"]["tier"], outcome(roads, road, seen, case)
        found.setdefault(tier, Counter(answered=0, refused=0))[what] += 1
        if tier in ("Ambiguous", "Severe") and what == "answered":
            assert case["expected"]["reason"].startswith("Undefined"), case
            assert case["method"] in ("GET", "HEAD"), case
            assert len(seen) == 2, case  # first the body, then the following request
    assert found == documented()
