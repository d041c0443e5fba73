"""The server as the official client uses it, over both transports."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.doors import START, wait_until
from tests.support.serving import Serving, served, without_proxies
from xs2a_sandbox.config.kinds import PREFIX
from xs2a_sandbox.features.agents.tools import TOOLS

pytest.importorskip("mcp", reason="needs the extra: pip install 'xs2a-sandbox[mcp]'")
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

pytestmark = pytest.mark.slow

STATUS = "/v1/consents/9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911/status"
HEADERS = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address": "192.0.2.1"}


@asynccontextmanager
async def over_stdio(directory: Path, *flags: str) -> AsyncIterator[ClientSession]:
    environ = {name: value for name, value in without_proxies().items() if not name.startswith(PREFIX)}
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "xs2a_sandbox", "mcp", *flags], env=environ, cwd=directory
    )
    with open(os.devnull, "w") as nowhere:  # noqa: ASYNC230
        async with stdio_client(server, nowhere) as streams, ClientSession(*streams) as session:
            await session.initialize()
            yield session


@asynccontextmanager
async def over_http(sandbox: Serving, path: str = "/_sandbox/mcp") -> AsyncIterator[ClientSession]:
    async with (
        httpx.AsyncClient(headers={"Authorization": f"Bearer {sandbox.token}"}, timeout=START, trust_env=False) as sent,
        streamable_http_client(f"{sandbox.direct}{path}", http_client=sent) as (reading, writing, _),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()
        yield session


async def call(session: ClientSession, tool: str, /, is_error: bool = False, **arguments: Any) -> Any:
    result = await session.call_tool(tool, arguments)
    (content,) = result.content
    assert bool(result.isError) is is_error, content.text
    return json.loads(content.text) if content.text.startswith("{") else content.text


def get(url: str) -> int:
    """Return the status of a request of the app. It lacks the header Consent-ID."""
    return httpx.get(url, headers=HEADERS, trust_env=False).status_code


def connect(transport: str, sandbox: Serving, directory: Path) -> Any:
    port = sandbox.direct.rpartition(":")[2]
    if transport == "stdio":
        return over_stdio(directory, "--port", port, "--confdir", str(sandbox.confdir))
    return over_http(sandbox)


def run(work: Callable[[], Any]) -> None:
    asyncio.run(work())


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_an_agent_works_with_a_running_sandbox(transport: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with connect(transport, sandbox, tmp_path) as session:
            tools = (await session.list_tools()).tools
            assert [tool.name for tool in tools] == list(TOOLS)
            assert len(json.dumps([tool.model_dump(exclude_none=True) for tool in tools])) < 24_000
            assert {tool.name for tool in tools if tool.annotations.readOnlyHint} >= {"lint", "why_did_it_fail"}

            started = await call(session, "start_session", name="mine")
            await asyncio.to_thread(get, f"{started['base_url']}/v1/accounts")
            why = await call(session, "why_did_it_fail", session="mine")
            assert "account-list" in why
            text = await call(session, "list_items", is_error=True, what="paymnts")
            assert "did you mean payments?" in text
            assert "there is no tool lnt" in await call(session, "lnt", is_error=True)

            assert "/v1/accounts 400" in await read(session, "xs2a://journal")
            assert "# Coding agents" in await read(session, "xs2a://docs/agents")
            uris = {str(one.uri) for one in (await session.list_resources()).resources}
            assert {"xs2a://journal", "xs2a://dialect", "xs2a://docs/journeys/consent"} <= uris
            assert len((await session.list_resource_templates()).resourceTemplates) == 2
            with pytest.raises(McpError, match="the journal has no exchange 99"):
                await read(session, "xs2a://journal/99")

    with served(tmp_path / "sandbox") as sandbox:
        run(work)


async def read(session: ClientSession, uri: str) -> str:
    (content,) = (await session.read_resource(uri)).contents  # type: ignore[arg-type]
    return str(content.text)  # type: ignore[union-attr]


def test_the_log_does_not_contain_what_agents_send(tmp_path: Path) -> None:
    with served(tmp_path / "sandbox") as sandbox:
        for method in ("nothing/of-this-name", "tools/call"):
            headers = {"Authorization": f"Bearer {sandbox.token}", "Accept": "application/json"}
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"note": "a-secret"}}
            answer = httpx.post(f"{sandbox.direct}/_sandbox/mcp", json=message, headers=headers, trust_env=False)
            assert answer.json()["error"]["message"] == "Invalid request parameters"
        httpx.get(f"{sandbox.direct}{STATUS}", headers=HEADERS, trust_env=False)
        sandbox.line("/status 200")
        assert "a-secret" not in sandbox.output + sandbox.warnings
        assert "/_sandbox/mcp" not in sandbox.output


def test_the_path_sets_the_session_over_http(tmp_path: Path) -> None:
    async def work() -> None:
        async with over_http(sandbox, "/_sandbox/s/mine/mcp") as session:
            await call(session, "plant_fault", fault={"status": 503})
            assert len((await call(session, "list_items", what="faults"))["faults"]) == 1
            assert not (await call(session, "list_items", what="faults", session="other"))["faults"]
            assert await asyncio.to_thread(get, f"{sandbox.direct}/s/mine/v1/accounts") == 503

    with served(tmp_path / "sandbox") as sandbox:
        run(work)


def test_without_a_running_sandbox_one_is_started_and_ends_with_the_agent(tmp_path: Path) -> None:
    async def work() -> str:
        async with over_stdio(tmp_path, "--port", "1", "--confdir", str(tmp_path / "conf")) as session:
            base_url = (await call(session, "start_session"))["base_url"]
            rule = "match: {operation: consent-status}\nrespond: {status: 418, body: {}}\n"
            await call(session, "make_case", rule=rule, name="teapot")
            await asyncio.to_thread(wait_until, lambda: get(f"{base_url}{STATUS}") == 418)
            return str(base_url)

    base_url = asyncio.run(asyncio.wait_for(work(), 2 * START))
    wait_until(lambda: is_closed(base_url))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_and_its_sandbox(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "xs2a_sandbox", "mcp", "--port", "1", "--confdir", str(tmp_path / "conf")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stderr
        url = process.stderr.readline().split()[-1]
        assert not is_closed(url)
        process.send_signal(number)
        # The signal can also arrive before or after the command's own handling of it. Then click or Python handles it.
        assert process.wait(START) in (130, -signal.SIGINT) or process.stderr.read().endswith("Aborted!\n")
        assert is_closed(url)


def is_closed(url: str) -> bool:
    try:
        httpx.get(url, trust_env=False)
    except httpx.ConnectError:
        return True
    return False


def test_an_agent_runs_the_campaign_of_the_settings(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(
        "import os, urllib.request\n"
        f"url = os.environ['XS2A_SANDBOX_URL'] + '{STATUS}'\n"
        f"urllib.request.urlopen(urllib.request.Request(url, headers={HEADERS}), timeout=20)\n"
    )
    (tmp_path / "xs2a-sandbox.yaml").write_text(f"app_command: {json.dumps(f'{sys.executable} {app}')}\n")

    async def work() -> None:
        async with over_stdio(tmp_path, "--port", "1", "--confdir", str(tmp_path / "conf")) as session:
            shown = await call(session, "run_campaign", choose="reset", wait=0)
            assert shown["running"]
            while shown["running"]:
                shown = await call(session, "run_campaign", run=shown["run"], wait=50)
            assert (shown["exit_status"], "consent-status 1" in shown["output"]) == (0, True), shown["output"]

    asyncio.run(asyncio.wait_for(work(), 6 * START))
