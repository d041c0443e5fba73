"""Requests that leave the sandbox, and their recording: real engines, real sockets, and a bank."""

import asyncio
import hashlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import brotli
import httpx
import pytest
import yaml
import zstandard

from tests.support.doors import DEADLINE, opened
from tests.support.far_bank import FarBank, ok, repeated
from tests.support.roads import direct_door
from xs2a_sandbox.config import settings
from xs2a_sandbox.engine import Engine, build
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.recording.har_log import raw_files, read_raw

RULES = """
cassette: 1
rules:
  - {id: theirs, match: {path: /v1/consents/theirs}, require: none, bank: true}
  - {id: ours, match: {path: /v1/ours}, respond: {text: ours}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/rules.yaml").write_text(RULES)
    return tmp_path


def configured(here: Path, far: FarBank, **more: Any) -> Engine:
    entry = {"url": far.url + "/psd2", "hosts": ["bank.example"], **more.pop("bank", {})}

    banks_only = more.pop("banks_only", False)
    written = {"bank": entry["url"], "banks": [entry], "cassettes": ["rules"], **more}
    if banks_only:
        del written["bank"]
    (here / "xs2a-sandbox.yaml").write_text(yaml.safe_dump(written))
    flags = {"state": "memory:", "confdir": str(here / "conf")}
    return build.build(settings.load(flags, {}, here))


def ask(engine: Engine, *requests: Request) -> list[Response]:
    async def work() -> list[Response]:
        try:
            return [await engine.answer(request) for request in requests]
        finally:
            await engine.close()

    return asyncio.run(work())


@pytest.mark.parametrize(("mode", "answer", "calls"), [("spy", (200, b"their page"), 1), ("simulate", (502, None), 0)])
def test_a_rule_can_leave_a_page_to_the_bank(
    here: Path, mode: str, answer: tuple[int, bytes | None], calls: int
) -> None:
    rule = "cassette: 1\nrules: [{id: page, match: {path: /sca/consents, query: {of: theirs}}, bank: true}]\n"
    (here / "rules" / "page.yaml").write_text(rule)
    with FarBank(ok(b"their page")) as bank:
        engine = configured(here, bank, bank={"mode": mode})
        theirs, ours = ask(engine, *(Request("GET", f"/sca/consents?of={one}") for one in ("theirs", "us")))
        assert len(bank.seen) == calls
    assert (theirs.status, theirs.body if calls else None) == answer
    assert b"a test system" in ours.body


def at_the_proxy(host: str, path: str = "/v1/x", method: str = "GET", *, port: int | None = None) -> Request:
    named = f"{host}:{port}" if port else host
    return Request(method, path, Headers([("Host", named)]), host=host, scheme="http", door="proxy")


def source(response: Response) -> str | None:
    return Headers(response.headers).get("X-Sandbox-Source")


def recorded(here: Path) -> list[str]:
    return [entry.target for file in raw_files(here / "rec") for entry in read_raw(file)]


def test_other_traffic_of_the_app_is_passed_on_but_never_recorded(here: Path) -> None:
    with FarBank(ok(b'{"from":"the bank"}')) as bank, FarBank(ok(b"elsewhere")) as other:
        engine = configured(here, bank, bank={"mode": "record"}, to="rec", forward_host=["localhost"])
        passed, asked = ask(
            engine, at_the_proxy("localhost", "/token", port=other.port), at_the_proxy("bank.example", "/v1/accounts")
        )
    assert (passed.body, source(passed)) == (b"elsewhere", "bank")
    assert (asked.status, len(bank.seen), len(other.seen)) == (200, 1, 1)
    assert recorded(here) == ["/v1/accounts"]


@pytest.mark.parametrize("name", ["br", "zstd"])
def test_every_encoding_sent_to_the_app_can_be_recorded(here: Path, name: str) -> None:
    encoded = {"br": brotli.compress, "zstd": zstandard.compress}[name](b'{"n":1}')
    lines = (b"Content-Type: application/json", b"Content-Encoding: " + name.encode())
    with FarBank(ok(encoded, *lines)) as bank:
        engine = configured(here, bank, bank={"mode": "record"}, to="rec")
        headers = Headers([("Accept-Encoding", "dcb, br, zstd")])
        (answer,) = ask(engine, Request("GET", "/v1/accounts", headers))
        assert bank.sent("Accept-Encoding") == [b"br, zstd"]
    assert answer.body == encoded
    (file,) = raw_files(here / "rec")
    (entry,) = read_raw(file)
    assert (entry.answer_body, entry.answer_headers.get("content-encoding")) == (b'{"n":1}', None)
    assert entry.headers.get("accept-encoding") == "dcb, br, zstd"


def test_a_forward_host_is_reached_only_through_the_proxy(here: Path) -> None:
    with FarBank() as bank, FarBank() as other:
        engine = configured(here, bank, forward_host=["localhost"])
        direct = Request("GET", "/token", Headers([("Host", f"localhost:{other.port}")]), host="localhost")
        lying = at_the_proxy("localhost", "/token")
        lying = Request("GET", "/token", Headers([("Host", "bank.example")]), host="localhost", door="proxy")
        ask(engine, direct, lying)
    assert other.seen == []


@pytest.mark.parametrize("mode", ["simulate", "spy", "record"])
def test_unknown_hosts_are_refused_with_the_setting_that_allows_them(here: Path, mode: str) -> None:
    with FarBank() as bank:
        engine = configured(here, bank, bank={"mode": mode})
        (refused,) = ask(engine, at_the_proxy("analytics.example", "/v1/accounts"))
    assert refused.status == 404
    assert b"--forward-host analytics.example" in refused.body
    assert bank.connections == 0


def test_in_mode_spy_a_rule_can_send_a_request_to_the_bank(here: Path) -> None:
    with FarBank(ok(b'{"from":"the bank"}')) as bank:
        engine = configured(here, bank, bank={"mode": "spy"})
        theirs, ours, unknown, known = ask(
            engine,
            Request("GET", "/v1/consents/theirs"),
            Request("GET", "/v1/ours"),
            Request("GET", "/v1/unheard-of"),
            Request("GET", "/v1/accounts"),
        )
    assert [source(one) for one in (theirs, ours, unknown)] == ["bank", "rule", "bank"]
    assert source(known) != "bank"
    assert [line.split()[1] for line in bank.seen] == [b"/psd2/v1/consents/theirs", b"/psd2/v1/unheard-of"]


def test_a_real_bank_can_be_combined_with_a_simulated_one(here: Path) -> None:
    with FarBank(ok(b"{}")) as bank:
        engine = configured(here, bank, bank={"mode": "spy"}, banks_only=True)
        named = Headers([("Host", "bank.example")])
        theirs, other = ask(
            engine,
            Request("GET", "/v1/consents/theirs", named, host="bank.example"),
            Request("GET", "/v1/consents/theirs"),
        )
    assert (theirs.status, source(theirs), other.status) == (200, "bank", 502)
    assert len(bank.seen) == 1


def test_the_mode_depends_on_the_path(here: Path) -> None:
    modes = {"/v1/accounts": "record", "/v1/accounts/one": "simulate", "/v1/consents": "spy"}
    with FarBank(ok(b'{"from":"the bank"}')) as bank:
        engine = configured(here, bank, bank={"modes": modes}, to="rec")
        paths = ("/v1/accounts", "/v1/accounts/one", "/v1/accountsx", "/v1/consents/theirs", "/x/v1/accounts?a=1")
        answers = ask(engine, *(Request("GET", path) for path in paths))
    assert [source(one) == "bank" for one in answers] == [True, False, False, True, True]
    assert [line.split()[1] for line in bank.seen] == [
        b"/psd2/v1/accounts",
        b"/psd2/v1/consents/theirs",
        b"/psd2/x/v1/accounts?a=1",
    ]


def test_a_path_is_sent_unchanged_if_the_request_names_the_bank(here: Path) -> None:
    paths = ("/psd2/v1/accounts?x=%2f", "/berlingroup/v1/accounts", "/oauth2/token", "/s/mine/v1/x")
    with FarBank(ok(b"{}")) as bank:
        engine = configured(here, bank, bank={"mode": "record"}, to="rec")
        answers = ask(engine, *(at_the_proxy("127.0.0.1", path, port=bank.port) for path in paths))
    assert [one.status for one in answers] == [200] * len(paths)
    assert [line.split()[1].decode() for line in bank.seen] == list(paths)
    (file,) = raw_files(here / "rec")
    below = bank.url + "/psd2"
    entries = [(entry.bank, entry.target) for entry in read_raw(file)]
    assert entries[0] == (below, "/v1/accounts?x=%2f")
    # Every word that is not part of the interface is a pseudonym there.
    assert [(url, target.count("/"), target[-12:]) for url, target in entries[1:2]] == [(bank.url, 3, "/v1/accounts")]
    assert [url for url, _ in entries[2:]] == [bank.url] * 2


def test_the_path_of_the_bank_url_is_prepended_unless_it_is_already_there(here: Path) -> None:
    paths = {
        "/v1/accounts": "/psd2/v1/accounts",
        "/s/mine/v1/accounts": "/psd2/v1/accounts",
        "/psd2/v1/accounts": "/psd2/v1/accounts",
        "/s/mine/psd2/oauth2/token": "/psd2/oauth2/token",
        "/psd2x/v1/accounts": "/psd2/psd2x/v1/accounts",
        "/10050000/v1/accounts/?a=%7E": "/psd2/10050000/v1/accounts/?a=%7E",
    }
    with FarBank(ok(b"{}")) as bank, FarBank() as other:
        engine = configured(here, bank, bank={"mode": "record"}, to="rec")
        direct = [Request("GET", path, Headers([("Host", "127.0.0.1:8081")]), host="127.0.0.1") for path in paths]
        ask(engine, *direct, at_the_proxy("bank.example", "/oauth2/token"))
        assert other.connections == 0
    assert [line.split()[1].decode() for line in bank.seen] == [*paths.values(), "/psd2/oauth2/token"]
    assert {entry.bank for file in raw_files(here / "rec") for entry in read_raw(file)} == {bank.url + "/psd2"}


def test_links_are_rewritten_to_the_base_url_of_the_request(here: Path) -> None:
    with FarBank() as bank:
        location = f"Location: {bank.url}/psd2/v1/next".encode()
        bank.answers = [ok(b"{}", location)]
        engine = configured(here, bank, bank={"mode": "record"}, to="rec")
        paths = ("/s/mine/x/v1/accounts", "/psd2/v1/accounts")
        direct = [Request("GET", path, Headers([("Host", "127.0.0.1:8081")]), host="127.0.0.1") for path in paths]
        exact = at_the_proxy("127.0.0.1", "/other/v1/accounts", port=bank.port)
        answers = ask(engine, *direct, exact)
    assert [Headers(one.headers).get("Location") for one in answers] == [
        "http://127.0.0.1:8081/s/mine/v1/next",
        "http://127.0.0.1:8081/psd2/v1/next",
        f"{bank.url}/psd2/v1/next",
    ]


def test_sandbox_headers_of_the_bank_are_removed(here: Path) -> None:
    answer = ok(b"{}", b"X-Sandbox-Source: handler", b"x-sandbox-rule: theirs", b"X-Own: 1")
    with FarBank(answer) as bank:
        (response,) = ask(configured(here, bank, bank={"mode": "record"}, to="rec"), Request("GET", "/v1/accounts"))
    headers = Headers(response.headers)
    assert (headers.all("X-Sandbox-Source"), headers.all("X-Sandbox-Rule")) == (["bank"], [])
    assert headers.get("X-Own") == "1"


def test_nothing_is_sent_to_the_bank_if_it_cannot_be_recorded(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, full = os.write, [False]

    def written(descriptor: int, data: Any) -> int:
        if full[0]:
            raise OSError(28, "No space left on device")
        return write(descriptor, data)

    with FarBank(ok(b'{"n":1}')) as bank:
        engine = configured(here, bank, bank={"mode": "record"}, to="rec")
        monkeypatch.setattr("xs2a_sandbox.recording.har_log.os.write", written)

        async def work() -> None:
            try:
                request = Request("GET", "/v1/accounts")
                assert (await engine.answer(request)).status == 200
                full[0] = True
                assert (await engine.answer(request)).status == 200  # the bank has answered
                refused = await engine.answer(request)
                assert refused.status == 503
                assert b"No space left on device" in refused.body
                assert len(bank.seen) == 2
                full[0] = False
                assert (await engine.answer(request)).status == 200
                assert len(bank.seen) == 3
            finally:
                await engine.close()

        # This process writes to its sockets with send, not with write.
        asyncio.run(work())
    assert len(recorded(here)) == 3


def test_a_failing_redaction_neither_affects_the_app_nor_records_anything(
    here: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(self: Any, entry: Any) -> Any:
        raise RuntimeError("this quotes a secret")

    monkeypatch.setattr("xs2a_sandbox.redaction.redactor.Redactor.entry", fails)
    with FarBank(ok(b'{"n":1}')) as bank:
        (response,) = ask(configured(here, bank, bank={"mode": "record"}, to="rec"), Request("GET", "/v1/accounts"))
    assert (response.status, response.body) == (200, b'{"n":1}')
    assert "converting it failed (RuntimeError)" in caplog.text
    assert "this quotes a secret" not in caplog.text


@contextmanager
def served(engine: Engine) -> Iterator[int]:
    with opened(lambda: direct_door(engine.answer)) as (door, loop):
        try:
            yield door.port
        finally:
            loop.run(engine.close())


def test_a_large_answer_reaches_a_slow_reader(here: Path) -> None:
    chunk, times = bytes(range(256)) * 256, 800
    first = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (len(chunk) * times)
    with FarBank(repeated(chunk, times, first)) as bank:
        engine = configured(here, bank, bank={"mode": "record"}, to="rec")
        with served(engine) as port, socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as app:
            app.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
            app.sendall(b"GET /v1/accounts HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            head = b""
            while b"\r\n\r\n" not in head:
                head += app.recv(16384)
            head, _, body = head.partition(b"\r\n\r\n")
            received, digest = len(body), hashlib.sha256(body)
            while body := app.recv(16384):
                received += len(body)
                digest.update(body)
    assert head.startswith(b"HTTP/1.1 200")
    assert received == len(chunk) * times
    assert received > 50_000_000
    assert digest.digest() == hashlib.sha256(chunk * times).digest()


def test_an_answer_too_large_to_store_is_recorded_as_cut(here: Path) -> None:
    chunk = b"x" * 65536
    first = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (len(chunk) * 400)
    with FarBank(repeated(chunk, 400, first)) as bank:
        engine = configured(here, bank, bank={"mode": "record"}, to="rec")
        with served(engine) as port:
            answer = httpx.get(f"http://127.0.0.1:{port}/v1/accounts", trust_env=False, timeout=DEADLINE)
    assert len(answer.content) == len(chunk) * 400
    (entry,) = [entry for file in raw_files(here / "rec") for entry in read_raw(file)]
    assert entry.cut
