import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import exceptions, http
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.proxy.server_hooks import ServerConnectionHookData
from mitmproxy.test import taddons, tflow, tutils

from tests.support.doors import basic, echo, limits
from tests.support.roads import tell_nobody
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.doors import door, mitmproxy_addon
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.door import Application
from xs2a_sandbox.doors.mitmproxy_addon import ConnectionGuard, SandboxAddon
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import Request, Response


def addon[A: SandboxAddon](answer: Application, kind: type[A] = SandboxAddon) -> A:
    return kind(answer, proxy_auth=None, tell=tell_nobody, connections=Connections(limits()))


def flow(*, mode: str = "regular", tls: bool = False, **request: Any) -> http.HTTPFlow:
    made = tflow.tflow(req=tutils.treq(**request))
    made.client_conn.proxy_mode = ProxyMode.parse(mode)
    made.client_conn.tls = tls
    return made


def seen(sandbox_flow: http.HTTPFlow, *before: http.HTTPFlow) -> Request:
    """Return the request that the engine gets for a flow, after the CONNECTs in `before` on the same connection."""
    asked: list[Request] = []

    async def answer(request: Request) -> Response:
        asked.append(request)
        return Response()

    sandbox = addon(answer)
    for connect in before:
        connect.client_conn = sandbox_flow.client_conn
        sandbox.http_connect(connect)
    asyncio.run(sandbox.request(sandbox_flow))
    return asked[0]


def test_conversion_of_a_request_to_the_proxy() -> None:
    request = seen(
        flow(
            method=b"PUT",
            scheme=b"https",
            host="bank.example",
            path=b"/a%2Fb?x=\xe4",
            headers=http.Headers([(b"Host", b"other"), (b"X-A", b"\xe4"), (b"x-a", b"2")]),
            content=b"{}",
        )
    )
    assert request.method == "PUT"
    assert request.target == "/a%2Fb?x=\xe4"
    assert request.headers.pairs == (("Host", "other"), ("X-A", "\xe4"), ("x-a", "2"))
    assert request.body == b"{}"
    assert (request.host, request.scheme, request.door, request.user) == ("bank.example", "https", "proxy", None)


@pytest.mark.parametrize(
    ("authority", "headers", "host"),
    [
        (b"bank.example:443", [], "bank.example"),
        (b"", [(b"host", b"Bank.example:443")], "bank.example"),
        (b"", [(b"host", b"[::1]:443")], "::1"),
        (b"", [], ""),
    ],
)
@pytest.mark.parametrize("tls", [True, False])
def test_conversion_of_a_request_to_the_tls_door(
    authority: bytes, headers: list[tuple[bytes, bytes]], host: str, tls: bool
) -> None:
    request = seen(
        flow(
            mode="reverse:http://127.0.0.1:9",
            tls=tls,
            host="127.0.0.1",
            authority=authority,
            headers=http.Headers(headers),
        )
    )
    assert (request.host, request.scheme, request.door) == (host, "https" if tls else "http", "tls")


def test_a_large_body_is_truncated() -> None:
    assert len(seen(flow(content=b"a" * (USUAL.body + 10))).body) == USUAL.body + 1


def test_the_proxy_user_is_read() -> None:
    headers = http.Headers([(b"Proxy-Authorization", basic("ci-42", "x").encode()), (b"A", b"1")])
    request = seen(flow(headers=headers))
    assert request.user == "ci-42"
    assert request.headers.pairs == (("A", "1"),)


def test_the_user_of_a_connect_applies_to_its_connection() -> None:
    login = http.Headers([(b"Proxy-Authorization", basic("ci-42", "x").encode())])
    other = http.Headers([(b"Proxy-Authorization", basic("someone-else", "x").encode()), (b"Host", b"bank.example")])
    request = seen(flow(headers=other, tls=True), flow(method=b"CONNECT", headers=login))
    assert (request.user, request.host, request.scheme, request.door) == ("ci-42", "bank.example", "https", "proxy")
    assert request.headers.pairs == (("Host", "bank.example"),)


def test_an_existing_answer_is_kept() -> None:
    answered = flow()
    answered.response = http.Response.make(407)
    asyncio.run(addon(echo).request(answered))
    assert answered.response.status_code == 407


def test_a_flow_with_an_error_gets_no_answer() -> None:
    flow_in_error = flow()
    flow_in_error.error = tflow.terr()
    asyncio.run(addon(echo).request(flow_in_error))
    assert flow_in_error.response is None


def test_a_failed_conversion_causes_status_500(caplog: pytest.LogCaptureFixture) -> None:
    broken = flow()
    broken.request.data.path = None  # type: ignore[assignment]
    asyncio.run(addon(echo).request(broken))
    assert broken.response
    assert broken.response.status_code == 500
    assert "failed on GET" in caplog.text


def test_a_request_cancelled_by_mitmproxy_remains_cancelled() -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def answer(_: Request) -> Response:
            begun.set()
            await asyncio.Event().wait()
            return Response()

        request = flow()
        task = asyncio.create_task(addon(answer).request(request))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert request.response is None

    asyncio.run(main())


@pytest.mark.parametrize("guard", [ConnectionGuard(), addon(echo)])
def test_every_connection_to_a_server_is_denied(guard: ConnectionGuard) -> None:
    made = tflow.tflow()
    data = ServerConnectionHookData(server=made.server_conn, client=made.client_conn)
    guard.server_connect(data)
    assert data.server.error


def test_the_guard_works_without_the_addon() -> None:
    with taddons.context() as context:
        context.master.addons.add(sandbox := addon(echo))
        context.master.addons.remove(sandbox)
        assert isinstance(context.master.addons.get(ConnectionGuard.name), ConnectionGuard)
        context.master.addons.add(addon(echo))


@pytest.mark.parametrize(("name", "value"), addon(echo).forced.items())
def test_safe_options_are_set(name: str, value: Any) -> None:
    with taddons.context(loadcore=True) as context:
        if name not in context.options:
            context.options.add_option(name, type(value), not value if isinstance(value, bool) else "else", "")
        context.master.addons.add(addon(echo))
        assert getattr(context.options, name) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [*((name, [".*"]) for name in ("allow_hosts", "ignore_hosts", "tcp_hosts", "udp_hosts")), ("rawtcp", True)],
)
def test_dangerous_options_are_refused(name: str, value: Any) -> None:
    with taddons.context(addon(echo)) as context:
        before = getattr(context.options, name)
        with pytest.raises(exceptions.OptionsError, match=name):
            context.options.update(**{name: value})
        assert getattr(context.options, name) == before


def test_a_script_refuses_changes_of_dangerous_options_while_running() -> None:
    with taddons.context(script := addon(echo, mitmproxy_addon.Script)) as context:
        script.running()
        with pytest.raises(exceptions.OptionsError, match="ignore_hosts"):
            context.options.update(ignore_hosts=[".*"])
        assert context.options.ignore_hosts == []


def test_a_mistake_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: Any) -> None:
        raise ConfigError("port: 99999 is not a port")

    monkeypatch.setattr("xs2a_sandbox.config.settings.load", load)
    with pytest.raises(SystemExit, match="xs2a-sandbox: port: 99999 is not a port"):
        mitmproxy_addon.from_environment()


def test_a_script_reports_its_refusals_to_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XS2A_SANDBOX_CONFDIR", str(tmp_path))
    monkeypatch.setenv("XS2A_SANDBOX_STATE", "memory:")
    script = mitmproxy_addon.from_environment()
    script.tell(Request("GET", "/v1/accounts", door="proxy"), door.PROXY_AUTH_REQUIRED, 0.0, None)
    engine: Engine = script.answer.__self__  # type: ignore[attr-defined]
    assert [exchange.status for exchange in engine.journal.entries()] == [407]


def test_a_bug_at_the_start_ends_the_process(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def load(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("xs2a_sandbox.config.settings.load", load)
    with pytest.raises(SystemExit), caplog.at_level(logging.ERROR):
        mitmproxy_addon.from_environment()
    assert "ZeroDivisionError" in caplog.text
