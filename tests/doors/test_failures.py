"""Every failure has a reason at every door: in the log of a real `serve`, as text and as JSON, and in the journal."""

import json
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import choices
from string import ascii_lowercase
from threading import Thread
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.support.doors import DEADLINE, talk, trusting, wait_until
from tests.support.roads import ENGINES
from tests.support.serving import Serving, served

pytestmark = pytest.mark.by_turns("ask", "engine")

DOORS = ("proxy", "tunnel", "tls", "direct")
SECRET = "canary-7f3a-secret"
CASSETTE = """\
cassette: 1
rules:
  - id: writes-a-header
    match: {method: GET, path: "/v1/header/{rest*}"}
    respond: {headers: {X-Made: "{{ query.made }}"}, body: {}}
  - id: waits
    match: {method: GET, path: /v1/waits}
    respond: {status: 503, body: {tppMessages: [{category: ERROR, code: SERVICE_BLOCKED, text: "call the desk"}]}}
"""


@pytest.fixture(scope="module", params=["text", pytest.param("json", marks=pytest.mark.slow)])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def sandbox(form: str, engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    home = tmp_path_factory.mktemp(form)
    (home / "cassettes" / "cases").mkdir(parents=True)
    (home / "cassettes" / "cases" / "broken.yaml").write_text(CASSETTE)
    flags = ("--log-format", form, "--proxy-engine", engine)
    with served(home, *flags, entry="tests.support.failing") as serving:
        yield serving


@pytest.fixture(params=DOORS)
def ask(request: pytest.FixtureRequest, sandbox: Serving) -> Iterator[Callable[..., httpx.Response]]:
    """Send a request through one door."""
    options: dict[str, Any] = {"verify": trusting(sandbox.ca_file), "trust_env": False, "timeout": DEADLINE}
    base = {"proxy": "http://bank.example", "tunnel": "https://bank.example"}.get(request.param)
    base = base or getattr(sandbox, request.param)
    if request.param in ("proxy", "tunnel"):
        options["proxy"] = sandbox.proxy
    with httpx.Client(base_url=base, **options) as http:

        def send(path: str, **headers: str) -> httpx.Response:
            usual = {"X-Request-ID": str(uuid4()), "Authorization": f"Bearer {SECRET}"}
            return http.get(path, headers=usual | {name.replace("_", "-"): value for name, value in headers.items()})

        yield send


def is_json(sandbox: Serving) -> bool:
    return sandbox.out[0].startswith("{")


def reason(sandbox: Serving, part: str) -> str:
    """Return the reason in the only line with this text."""
    line = sandbox.line(part)
    if is_json(sandbox):
        return str(json.loads(line)["reason"])
    match = re.search(r' reason=("(?:[^"\\]|\\.)*")$', line)
    assert match, line
    return str(json.loads(match[1]))


def journal_reason(sandbox: Serving, path: str) -> str:
    headers = {"Authorization": f"Bearer {sandbox.token}"}
    with httpx.Client(base_url=sandbox.direct, headers=headers, trust_env=False) as http:
        body = http.get("/_sandbox/journal", params={"path": path, "plain": "true"}).json()
        (one,) = body["exchanges"]
        assert http.get(f"/_sandbox/journal/{one['number']}").json()["reason"] == one["reason"]
    return str(one["reason"])


def a_path(*words: str) -> str:
    """Return a path that no other test uses, so that its log line can be found."""
    return "/".join(("/v1", *words, a_word()))


def a_word() -> str:
    """Return an id without digits, so that it does not look like an account."""
    return "".join(choices(ascii_lowercase, k=16))


def test_reason_for_a_broken_engine(sandbox: Serving, ask: Callable[..., httpx.Response]) -> None:
    path = a_path("accounts")
    assert ask(path, X_Break="engine").status_code == 500
    assert reason(sandbox, path) == "INTERNAL_SERVER_ERROR: RuntimeError: the engine is broken, …"
    assert journal_reason(sandbox, path) == reason(sandbox, path)
    assert SECRET not in sandbox.output


def test_a_broken_engine_logs_its_traceback_once(sandbox: Serving, ask: Callable[..., httpx.Response]) -> None:
    raised = "RuntimeError: the engine is broken, "
    path, before = a_path("engine-fails"), sandbox.warnings.count(raised)
    ask(path, X_Break="engine")
    reason(sandbox, path)
    wait_until(lambda: sandbox.warnings.count(raised) == before + 1)
    assert SECRET not in sandbox.output


def test_reason_for_a_broken_door(sandbox: Serving, ask: Callable[..., httpx.Response]) -> None:
    path, before = a_path("door"), sandbox.warnings.count("LookupError: the door is broken")
    answer = ask(path, X_Break="door")
    assert answer.status_code == 500
    assert "see its log" in answer.json()["tppMessages"][0]["text"]
    assert reason(sandbox, path) == "INTERNAL_SERVER_ERROR: LookupError: the door is broken"
    assert journal_reason(sandbox, path) == reason(sandbox, path)
    wait_until(lambda: sandbox.warnings.count("LookupError: the door is broken") == before + 1)


def test_reason_for_a_broken_handler(sandbox: Serving, ask: Callable[..., httpx.Response]) -> None:
    id = a_word()
    state = f"{sandbox.direct}/_sandbox/state/consents/{id}"
    put = httpx.put(
        state, json={"consentStatus": "valid"}, headers={"Authorization": f"Bearer {sandbox.token}"}, trust_env=False
    )
    assert put.status_code == 201
    assert ask(f"/v1/consents/{id}").status_code == 500
    wait_until(lambda: sum(f"/v1/consents/{id}" in line for line in sandbox.out) == 1)
    assert reason(sandbox, f"/v1/consents/{id}") == "INTERNAL_SERVER_ERROR: KeyError: 'accounts', in consent-content"
    assert journal_reason(sandbox, f"/v1/consents/{id}") == reason(sandbox, f"/v1/consents/{id}")


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_traceback_follows_once_and_in_one_piece(tmp_path: Path, form: str) -> None:
    with served(tmp_path, "--log-format", form) as sandbox:
        headers = {"Authorization": f"Bearer {sandbox.token}", "X-Request-ID": str(uuid4())}
        with httpx.Client(base_url=sandbox.direct, headers=headers, trust_env=False) as http:
            http.put("/_sandbox/state/consents/abc", json={"consentStatus": "valid"})
            assert http.get("/v1/consents/abc").status_code == 500
        sandbox.line("/v1/consents/abc")
        sandbox.warning("KeyError: 'accounts'")
        assert sandbox.stop() == 0
    if form == "json":
        (line,) = sandbox.err
        entry = json.loads(line)
        assert (entry["level"], entry["message"]) == ("error", "the sandbox failed on GET /v1/consents/abc")
        trace = entry["traceback"].splitlines()
    else:
        assert sandbox.err[0].endswith(" error the sandbox failed on GET /v1/consents/abc\n")
        trace = "".join(sandbox.err[1:]).splitlines()
    assert trace[0] == "Traceback (most recent call last):"
    assert trace[-2:] == ["KeyError: 'accounts'", "in consent-content"]
    assert "handlers/consents.py" in trace[-5] + trace[-4]
    assert sum(line.startswith("Traceback") for line in trace) == 1


def test_reason_for_an_expression_that_cannot_be_sent(sandbox: Serving, ask: Callable[..., httpx.Response]) -> None:
    path = a_path("header")
    assert ask(f"{path}?made=a%0d%0ab").status_code == 500
    assert reason(sandbox, path) == (
        "INTERNAL_SERVER_ERROR: InvalidResponse: the header X-Made contains a line break, NUL or characters outside"
        " Latin-1, in writes-a-header"
    )
    assert journal_reason(sandbox, path) == reason(sandbox, path)


def test_reason_for_silence(sandbox: Serving, ask: Callable[..., httpx.Response]) -> None:
    path = a_path("silence")
    assert ask(path, X_Break="silence").status_code == 504
    assert reason(sandbox, path) == "INTERNAL_SERVER_ERROR: XS2A991E: the sandbox did not answer in time"
    assert journal_reason(sandbox, path) == reason(sandbox, path)


def test_reason_for_an_unmet_requirement(sandbox: Serving, ask: Callable[..., httpx.Response]) -> None:
    path = a_path("consents")
    assert ask(path, X_Request_ID="7").status_code == 400
    assert reason(sandbox, path) == "FORMAT_ERROR: XS2A901E: the header X-Request-ID must be a UUID"
    assert journal_reason(sandbox, path) == reason(sandbox, path)


def test_reason_for_an_error_in_a_rule(sandbox: Serving, ask: Callable[..., httpx.Response]) -> None:
    before = sum("/v1/waits" in line for line in sandbox.out)
    assert ask("/v1/waits").status_code == 503
    wait_until(lambda: sum("/v1/waits" in line for line in sandbox.out) > before)
    assert "SERVICE_BLOCKED: call the desk" in [line for line in sandbox.out if "/v1/waits" in line][-1]


def test_every_line_about_a_failure_ends_with_its_reason(sandbox: Serving) -> None:
    """This covers all requests of the tests above."""
    lines = sandbox.out[1:] if is_json(sandbox) else [line for line in sandbox.out if re.match(r"\d{4}-", line)]
    for line in lines:
        if is_json(sandbox):
            entry = json.loads(line)
            assert bool(entry["reason"]) == (entry["status"] >= 400), entry
        elif (status := re.search(r" (\d{3}) [\d.]+ms ", line)) and int(status[1]) >= 400:
            assert re.search(r' reason=".+"$', line), line


@pytest.mark.parametrize(
    ("door", "raw", "words"),
    [
        ("direct", b"GARBAGE\r\n\r\n", {"": "Invalid method encountered"}),
        (
            "proxy",
            b"GARBAGE\r\n\r\n",
            {"auto": "Invalid method encountered", "mitmproxy": "Bad HTTP request line"},
        ),
        (
            "proxy",
            b"GET http://b/ HTTP/1.1\r\nno colon\r\n\r\n",
            {"auto": "Invalid header token", "mitmproxy": "Invalid header line"},
        ),
    ],
)
def test_reason_for_invalid_http(
    sandbox: Serving, engine: str, door: str, raw: bytes, words: Mapping[str, str]
) -> None:
    expected = f"FORMAT_ERROR: XS2A989E: this is not HTTP: {words.get(engine) or words['']}"
    before = len(sandbox.out)
    answer = talk(int(getattr(sandbox, door).rpartition(":")[2]), raw)
    assert answer.startswith(b"HTTP/1.1 400 ")
    wait_until(lambda: any(expected in line for line in sandbox.out[before:]))
    (line,) = [line for line in sandbox.out[before:] if expected in line]
    if not is_json(sandbox):
        asked = "GET /" if raw.startswith(b"GET") and engine == "auto" else "- -"
        assert f' default {asked} 400 0.0ms sandbox - reason="{expected}"' in line


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (
            "Content-Length: 1\r\nTransfer-Encoding: chunked",
            {
                "auto": "Transfer-Encoding can't be present with Content-Length",
                "mitmproxy": "it has both Transfer-Encoding and Content-Length",
            },
        ),
        ("Ho st: b", {"auto": "Invalid header token", "mitmproxy": "its head is not valid HTTP/1.1"}),
    ],
)
def test_reason_for_requests_that_the_proxys_library_refuses(
    sandbox: Serving, engine: str, head: str, words: Mapping[str, str]
) -> None:
    path = a_path("refused")
    raw = f"GET http://bank.example{path} HTTP/1.1\r\nHost: bank.example\r\n{head}\r\n\r\n"
    answer = talk(int(sandbox.proxy.rpartition(":")[2]), raw.encode())
    assert answer.startswith(b"HTTP/1.1 400 ")
    # If mitmproxy does not get the head, nothing else is known.
    assert f"FORMAT_ERROR: XS2A989E: this is not HTTP: {words[engine]}" in sandbox.line(
        path if engine == "auto" else words[engine]
    )


def test_an_unreadable_body_is_reported_and_not_quoted(sandbox: Serving, engine: str) -> None:
    path = a_path("chunks")
    head = f"POST http://bank.example{path} HTTP/1.1\r\nHost: bank.example\r\nTransfer-Encoding: chunked\r\n\r\n"
    talk(int(sandbox.proxy.rpartition(":")[2]), head.encode(), f"{SECRET}\r\n".encode())
    words = {"auto": "Invalid character in chunk size", "mitmproxy": "illegal chunk header"}
    assert reason(sandbox, path) == f"FORMAT_ERROR: XS2A989E: this is not HTTP: {words[engine]}"
    assert SECRET not in sandbox.output


def test_reason_for_a_client_that_does_not_trust_the_ca(sandbox: Serving) -> None:
    tls, proxy = sandbox.tls, sandbox.proxy
    for arguments, name in ((["-x", proxy, "https://distrust.example/v1/x"], " for distrust.example"), ([tls], "")):
        before = len(sandbox.err)
        done = subprocess.run(["curl", "--silent", *arguments], timeout=60, check=False)
        assert done.returncode == 60
        wait_until(lambda: len(sandbox.err) > before)  # noqa: B023
        (line,) = sandbox.err[before:]
        expected = f"certificate{name}: make it trust {sandbox.ca_file} (see `xs2a-sandbox docs clients`"
        assert expected in line


def test_reason_for_a_client_that_disconnects_during_the_handshake(sandbox: Serving) -> None:
    with socket.create_connection(("127.0.0.1", int(sandbox.tls.rpartition(":")[2]))) as connection:
        context = trusting(sandbox.ca_file)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        handshake = context.wrap_bio(incoming, outgoing, server_hostname="leaver.example")
        with pytest.raises(ssl.SSLWantReadError):
            handshake.do_handshake()
        connection.sendall(outgoing.read())
        connection.recv(100)
    sandbox.warning("closed the connection during the TLS handshake for leaver.example; if it always does")


def test_reason_for_a_missing_proxy_password(tmp_path: Path) -> None:
    with served(tmp_path, "--proxy-auth", f"ci:{SECRET}") as sandbox:
        with httpx.Client(proxy=sandbox.proxy, trust_env=False) as http:
            assert http.get("http://bank.example/v1/unasked").status_code == 407
        stranger = httpx.Client(proxy=sandbox.proxy.replace("//", "//x:wrong-1@"), trust_env=False)
        with stranger, pytest.raises(httpx.ProxyError):
            stranger.get("https://bank.example/v1/x")
        reason = (
            "PROXY_AUTHENTICATION_REQUIRED: XS2A992E: this proxy requires the user name and password given with "
            "--proxy-auth"
        )
        assert sandbox.line("GET /v1/unasked 407 ").endswith(f' reason="{reason}"')
        assert sandbox.line("CONNECT bank.example:443 407 ").endswith(f' reason="{reason}"')
        assert SECRET not in sandbox.output
        assert "wrong-1" not in sandbox.output


def test_reason_for_a_failing_bank(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        bank = {"url": f"http://127.0.0.1:{port}", "hosts": ["127.0.0.1"], "mode": "spy", "read_timeout": "0.2s"}
        gone = {"url": "http://127.0.0.1:9", "hosts": ["gone.example"], "mode": "spy"}
        banks = {"banks": [bank, gone]}
        with served(tmp_path, settings=banks) as sandbox, httpx.Client(proxy=sandbox.proxy, trust_env=False) as http:
            assert http.get(f"http://127.0.0.1:{port}/v1/late").status_code == 504
            late = sandbox.line(" 504 ")
            assert f"SERVICE_UNAVAILABLE: XS2A982E: the bank 127.0.0.1:{port} is too slow: read timeout" in late
            assert http.get("http://gone.example/v1/gone").status_code == 502
            line = sandbox.line(" 502 ")
            assert "SERVICE_UNAVAILABLE: XS2A981E: the bank 127.0.0.1:9 cannot be reached: " in line


@contextmanager
def breaking_off() -> Iterator[int]:
    """Return the port of a bank that announces two megabytes and sends one and a half."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(2 * 1024 * 1024))
            self.end_headers()
            self.wfile.write(b"x" * (3 * 512 * 1024))

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join(DEADLINE)


def test_reason_for_a_bank_that_disconnects(tmp_path: Path) -> None:
    with breaking_off() as port:
        bank = {"url": f"http://127.0.0.1:{port}", "hosts": ["127.0.0.1"], "mode": "spy"}
        with served(tmp_path, settings={"banks": [bank]}) as sandbox:
            with httpx.Client(proxy=sandbox.proxy, trust_env=False) as http:
                assert http.get(f"http://127.0.0.1:{port}/v1/large").status_code == 502
            line = sandbox.line(" 502 ")
            assert "SERVICE_UNAVAILABLE: XS2A981E: the bank broke off in the middle of its answer" in line
            with pytest.raises(httpx.RemoteProtocolError):
                httpx.get(f"{sandbox.direct}/v1/large", trust_env=False)
            assert "its answer is shorter than announced" in sandbox.warning("warning an answer broke off: ")


def test_the_command_shows_the_same_reason(sandbox: Serving) -> None:
    httpx.get(f"{sandbox.direct}/v1/acounts", trust_env=False)
    expected = "RESOURCE_UNKNOWN: XS2A910E: resource /v1/acounts unknown; path: 'acounts' should be 'accounts'"
    assert reason(sandbox, "/v1/acounts") == expected
    port = sandbox.direct.rpartition(":")[2]
    command = ["-m", "xs2a_sandbox", "journal", "--port", port, "--confdir", str(sandbox.confdir)]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=60, check=True)
    assert f' reason="{expected}"\n' in done.stdout
