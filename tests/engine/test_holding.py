"""Breakpoints at every port: holding, editing, dropping and releasing messages, and the requests that reach a bank."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.engine.way_out import PROXIED, ROADS, WayOut, status, way_out
from tests.support import roads
from tests.support.admin import STATUS
from tests.support.doors import DEADLINE, wait_until
from tests.support.far_bank import ok
from tests.support.serving import served

USUAL = ("X-Request-ID: 99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address: 192.0.2.7")
TO_THE_BANK = tuple(road for road in ROADS if road != "tunnel-tls")
"""The bank does not speak TLS, so this road leads to another host."""
FIELDS = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", STATUS)]
FIELDS += [(name.lower(), value) for name, _, value in (line.partition(": ") for line in USUAL)]
ENGINES = ("auto", "mitmproxy")


@dataclass
class Control:
    """The control interface over HTTP, at a base URL."""

    url: str
    token: str = "the-admin-token"

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        content = None if body is None else json.dumps(body)
        url = f"{self.url}/_sandbox/{path}"
        return httpx.request(method, url, headers=headers, content=content, trust_env=False, timeout=DEADLINE)

    def add(self, **order: Any) -> str:
        answer = self.ask("POST", "breaks", {"timeout": "30s", **order})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def held(self) -> list[dict[str, Any]]:
        return list(self.ask("GET", "held").json()["held"])

    def wait_held(self) -> dict[str, Any]:
        wait_until(lambda: bool(self.held()))
        (one,) = self.held()
        return one

    def release(self, **order: Any) -> dict[str, Any]:
        one = self.wait_held()
        answer = self.ask("POST", f"held/{one['id']}", order)
        assert answer.status_code == 200, answer.text
        return one

    def last(self) -> dict[str, Any]:
        return dict(self.ask("GET", "journal?limit=1").json()["exchanges"][-1])


@pytest.fixture(scope="module", params=ENGINES)
def simulating(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WayOut]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roads, "engine", request.param)
        with way_out("simulate", tmp_path_factory.mktemp("simulate")) as way:
            yield way


@pytest.fixture(scope="module", params=ENGINES)
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WayOut]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roads, "engine", request.param)
        with way_out("record", tmp_path_factory.mktemp("record"), ok(b'{"from": "the bank"}')) as way:
            yield way


@pytest.fixture
def control(request: pytest.FixtureRequest) -> Iterator[Control]:
    name = next(name for name in ("recording", "simulating") if name in request.fixturenames)
    way: WayOut = request.getfixturevalue(name)
    way.bank.seen.clear()
    control = Control(f"http://127.0.0.1:{way.direct.port}")
    yield control
    control.ask("DELETE", "breaks")
    for one in control.held():
        control.ask("POST", f"held/{one['id']}", {"continue": True})


@contextmanager
def requested(way: WayOut, road: str, path: str = STATUS, *headers: str, **options: Any) -> Iterator["Future[bytes]"]:
    """Yield the future answer to a request that may be held."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(way.ask, road, path, "", *USUAL, *headers, **options)


@pytest.mark.by_turns("road")
@pytest.mark.parametrize("road", ROADS)
def test_a_response_is_held_and_edited_at_every_port(simulating: WayOut, control: Control, road: str) -> None:
    id = control.add(operation="consent-status", on="response")
    with requested(simulating, road) as answer:
        held = control.release(status=503, headers={"Retry-After": "7", "X-Request-ID": None}, body={"busy": True})
        head, _, body = answer.result(DEADLINE).partition(b"\r\n\r\n")
    assert (held["breakpoint"], held["on"], held["operation"]) == (id, "response", "consent-status")
    assert (held["method"], held["response"]["status"]) == ("GET", 200)
    assert held["response"]["body"]["consentStatus"] == "valid"
    assert status(head) == 503
    assert b"Retry-After: 7" in head
    assert b"x-request-id" not in head.lower()
    assert json.loads(body) == {"busy": True}
    (warning,) = control.last()["warnings"]
    edits = "status, header Retry-After, header X-Request-ID, body (was 200)"
    assert warning == f"edited at {id} ({held['id']}), in the response: {edits}"
    assert control.held() == []
    assert control.ask("GET", "breaks").json()["breaks"][0]["hits"] == 1


@pytest.mark.by_turns("road")
@pytest.mark.parametrize("road", ROADS)
def test_an_edited_request_is_answered_as_if_the_client_had_sent_it(
    simulating: WayOut, control: Control, road: str
) -> None:
    control.add(operation="consent-*", method="GET")
    with requested(simulating, road) as answer:
        held = control.release(headers={"X-Request-ID": "no id"})
        assert held["response"] is None
        assert status(answer.result(DEADLINE)) == 400
    assert "X-Request-ID" in control.last()["warnings"][0]


@pytest.mark.by_turns("road")
@pytest.mark.parametrize("road", ROADS)
def test_dropping_an_exchange_closes_its_connection(simulating: WayOut, control: Control, road: str) -> None:
    for place in ("request", "response"):
        control.add(on=place)
        with requested(simulating, road) as answer:
            control.release(drop=True)
            assert answer.result(DEADLINE) == b""
        assert "dropped" in control.last()["warnings"][0]


@pytest.mark.by_turns("road")
@pytest.mark.parametrize("road", TO_THE_BANK)
@pytest.mark.parametrize("place", ["request", "response"])
def test_a_client_that_disconnects_frees_its_hold(recording: WayOut, control: Control, road: str, place: str) -> None:
    id = control.add(on=place)
    with recording.sent(road, STATUS, "", *USUAL):
        control.wait_held()
    wait_until(lambda: control.held() == [])
    assert len(recording.bank.seen) == (place == "response")
    wait_until(lambda: "the client disconnected" in " ".join(control.last()["warnings"]))
    assert id in control.last()["warnings"][0]


@pytest.mark.parametrize("place", ["request", "response"])
def test_http_2_requests_are_held_too(simulating: WayOut, control: Control, place: str) -> None:
    control.add(on=place)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(simulating.ask_http2, FIELDS)
        control.release(**{"continue": True})
        assert answer.result(DEADLINE) == 200


@pytest.mark.parametrize("place", ["request", "response"])
def test_a_stream_of_http2_that_is_reset_frees_its_hold(simulating: WayOut, control: Control, place: str) -> None:
    id = control.add(on=place, next=2)
    with simulating.over_http2() as http2:
        for stream in (1, 3):
            http2.send(stream, FIELDS)
        wait_until(lambda: len(control.held()) == 2)
        first, second = control.held()
        http2.reset(1)
        wait_until(lambda: len(control.held()) == 1)
        (left,) = control.held()
        wait_until(lambda: "the client disconnected" in " ".join(control.last()["warnings"]))
        assert id in control.last()["warnings"][0]
        assert control.ask("POST", f"held/{left['id']}", {"continue": True}).status_code == 200
        assert http2.status(3) == 200
        http2.send(5, FIELDS)
        assert http2.status(5) == 200
    assert left["id"] in (first["id"], second["id"])


def test_other_requests_are_answered_while_one_is_held(simulating: WayOut, control: Control) -> None:
    control.add(operation="consent-status", on="response")
    with requested(simulating, "direct") as answer:
        control.wait_held()
        assert status(simulating.ask("direct", STATUS, "", *USUAL)) == 200  # the breakpoint is used up
        assert status(simulating.ask("direct", "/v1/accounts", "", *USUAL)) == 400
        assert not answer.done()
        control.release(**{"continue": True})
        assert status(answer.result(DEADLINE)) == 200
    assert control.last()["warnings"] == []


@pytest.mark.parametrize("place", ["request", "response"])
def test_a_held_message_continues_unchanged_after_its_timeout(
    simulating: WayOut, control: Control, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    before = simulating.ask("direct", STATUS, "", *USUAL)
    control.add(on=place, timeout="30ms")
    after = simulating.ask("direct", STATUS, "", *USUAL)
    assert f"holds a {place} of the session" in caplog.text
    assert without_date(after) == without_date(before)
    assert control.last()["warnings"] == []
    assert control.last()["milliseconds"] > 20  # timers of an event loop can fire slightly early
    assert control.ask("GET", "breaks").json()["breaks"][0]["hits"] == 1


def without_date(answer: bytes) -> list[bytes]:
    return [line for line in answer.split(b"\r\n") if not line.lower().startswith(b"date:")]


def test_a_reset_releases_all_held_messages(simulating: WayOut, control: Control) -> None:
    control.add()
    with requested(simulating, "direct") as answer:
        control.wait_held()
        control.ask("POST", "reset")
        assert status(answer.result(DEADLINE)) == 200
    assert control.ask("GET", "breaks").json() == {"breaks": []}


def test_an_invalid_edit_keeps_the_message_held(simulating: WayOut, control: Control) -> None:
    control.add(on="response")
    with requested(simulating, "direct") as answer:
        held = control.wait_held()
        for order in ({"status": 204}, {"status": 99}, {"headers": {"Content-Length": "1"}}, {}, {"continue": False}):
            refusal = control.ask("POST", f"held/{held['id']}", order)
            assert (refusal.status_code, refusal.json()["error"]) == (400, "body-invalid")
        assert not answer.done()
        control.release(status=204, body=None)
        assert status(answer.result(DEADLINE)) == 204
    assert control.ask("POST", f"held/{held['id']}", {"continue": True}).json()["error"] == "held-unknown"


def test_an_html_page_from_an_edit_is_isolated_from_the_console(simulating: WayOut, control: Control) -> None:
    control.add(on="response")
    with requested(simulating, "direct") as answer:
        control.release(headers={"Content-Type": "text/html"}, body="<script>alert(1)</script>")
        assert b"Content-Security-Policy: sandbox" in answer.result(DEADLINE)


@pytest.mark.by_turns("road")
@pytest.mark.parametrize("road", TO_THE_BANK)
def test_the_bank_gets_only_the_edited_request(recording: WayOut, control: Control, road: str) -> None:
    control.add()
    body = b'{"amount": 1}'
    headers = ("Content-Type: application/json", "X-Old: 1")
    with requested(recording, road, "/v1/consents", *headers, method="POST", body=body) as answer:
        held = control.wait_held()
        assert recording.bank.seen == []
        assert held["request"]["body"] == {"amount": 1}
        control.release(headers={"X-Old": None, "X-New": ["a", "b"]}, body={"amount": 250})
        assert b"from" in answer.result(DEADLINE)
    assert recording.bank.sent("Host") == [recording.bank_host.encode()]
    assert json.loads(recording.bank.body) == {"amount": 250}
    assert recording.bank.sent("Content-Length") == [str(len(recording.bank.body)).encode()]
    assert recording.bank.sent("X-New") == [b"a", b"b"]
    assert recording.bank.sent("X-Old") == []
    assert len(recording.bank.seen) == 1


def test_a_dropped_request_never_reaches_the_bank(recording: WayOut, control: Control) -> None:
    control.add()
    connections = recording.bank.connections
    with requested(recording, "direct") as answer:
        control.release(drop=True)
        assert answer.result(DEADLINE) == b""
    assert (recording.bank.seen, recording.bank.connections) == ([], connections)


@pytest.mark.parametrize("name", ["Host", "host", "Transfer-Encoding", "Connection", "X-Sandbox-Session", "a b"])
def test_an_edit_cannot_redirect_a_request_to_another_host(recording: WayOut, control: Control, name: str) -> None:
    control.add()
    with requested(recording, "direct") as answer:
        held = control.wait_held()
        refusal = control.ask("POST", f"held/{held['id']}", {"headers": {name: "elsewhere.example"}})
        assert (refusal.status_code, refusal.json()["error"]) == (400, "body-invalid")
        control.release(drop=True)
        assert answer.result(DEADLINE) == b""
    assert recording.bank.seen == []


@pytest.mark.by_turns("road")
@pytest.mark.parametrize("road", ["direct", *PROXIED])
def test_an_edit_cannot_allow_a_forbidden_request(recording: WayOut, control: Control, road: str) -> None:
    """A request that may not go to a bank in its original form may not go there with edits either."""
    refused = {
        "another site's": (STATUS, ("Origin: https://elsewhere.example",), {}, {"headers": {"Origin": None}}),
        "two requests": (STATUS, (), {"body": b"GET / HTTP/1.1"}, {"body": None}),
        "two slashes": (f"/{STATUS}", (), {}, {"headers": {"X-New": "1"}}),
    }
    for what, (path, headers, options, edits) in refused.items():
        control.add()
        connections = recording.bank.connections
        with requested(recording, road, path, *headers, **options) as answer:
            wait_until(lambda: bool(control.held()) or answer.done())
            if control.held():
                control.release(**edits)
            refusal = answer.result(DEADLINE)
        assert b"from" not in refusal, what
        assert status(refusal) >= 400, what
        assert (recording.bank.seen, recording.bank.connections) == ([], connections), what
        control.ask("DELETE", "breaks")


def test_pages_and_control_requests_are_never_held(simulating: WayOut, control: Control) -> None:
    control.add(next=100)
    assert control.ask("GET", "state/consents").status_code == 200
    assert status(simulating.ask("direct", "/_sandbox/health")) == 200
    assert control.held() == []


def test_a_session_without_breakpoints_is_idle(simulating: WayOut, control: Control) -> None:
    holds = simulating.engine.parts.holds
    simulating.ask("direct", "/s/plain" + STATUS, "", *USUAL)
    assert holds.is_idle("plain")
    control.ask("POST", "../s/plain/_sandbox/breaks", {"on": "response"})
    assert not holds.is_idle("plain")


def test_stopping_the_engine_releases_all_held_messages(tmp_path: Path) -> None:
    with way_out("simulate", tmp_path) as way:
        control = Control(f"http://127.0.0.1:{way.direct.port}")
        control.add(on="response", next=2)
        with requested(way, "direct") as answer:
            control.wait_held()
            way.loop.loop.call_soon_threadsafe(way.engine.let_go)
            assert status(answer.result(DEADLINE)) == 200
        assert status(way.ask("direct", STATUS, "", *USUAL)) == 200
        assert "the sandbox is stopping" in control.last()["warnings"][0]


def test_messages_held_by_any_worker_are_listed_and_released_by_all(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2", "--state", f"sqlite:{tmp_path / 'state.db'}") as serving:
        control = Control(serving.direct, serving.token)
        port = int(serving.direct.rpartition(":")[2])
        head = "\r\n".join([f"GET {STATUS} HTTP/1.1", "Host: localhost", *USUAL, "Connection: close", "", ""])
        # Each worker gets one of these connections.
        with (
            socket.create_connection(("127.0.0.1", port), DEADLINE) as one,
            socket.create_connection(("127.0.0.1", port), DEADLINE) as other,
        ):
            control.add(on="response", next=2)
            for client in (one, other):
                client.sendall(head.encode())
            wait_until(lambda: len(control.held()) == 2)
            assert len({held["id"] for held in control.held()}) == 2
            for held in control.held():
                assert control.ask("POST", f"held/{held['id']}", {"status": 503}).status_code == 200
            for client in (one, other):
                assert client.recv(65536).startswith(b"HTTP/1.1 503")
        assert control.held() == []
        assert control.ask("GET", "breaks").json()["breaks"][0]["hits"] == 2


def test_a_stopping_sandbox_answers_held_requests(tmp_path: Path) -> None:
    with served(tmp_path) as serving:
        control = Control(serving.direct, serving.token)
        control.add(on="response")
        with ThreadPoolExecutor(1) as pool:
            headers = dict(line.split(": ") for line in USUAL)
            answer = pool.submit(httpx.get, serving.direct + STATUS, headers=headers, trust_env=False, timeout=DEADLINE)
            control.wait_held()
            os.kill(serving.pid, signal.SIGTERM)
            assert answer.result(DEADLINE).status_code == 200
