"""The server of the Model Context Protocol, on the official library. The only module that imports it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from threading import Thread
from typing import Any

import mcp
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from xs2a_sandbox import __version__
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import Refused, StoreUnavailable, UserMistake
from xs2a_sandbox.features.agents import resources
from xs2a_sandbox.features.agents.context import Context
from xs2a_sandbox.features.agents.library_log import silence_library
from xs2a_sandbox.features.agents.tools import TOOLS
from xs2a_sandbox.http import Request, Response

logger = logging.getLogger(__name__)
silence_library(mcp)

_INSTRUCTIONS = (
    "xs2a-sandbox answers like a bank's PSD2 interface. Begin with start_session and point the app at its base URL. "
    "why_did_it_fail explains a failed request or payment. The documentation is at xs2a://docs/index."
)


async def serve_stdio(context: Context) -> None:
    """Serve on standard input and output until the input ends."""
    server = make_server(context)
    async with stdio_server(_read_lines()) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def _read_lines() -> AsyncIterator[str]:
    """Yield the lines of standard input. A signal ends the wait, which the reader of the library would not allow."""
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read() -> None:
        with open(0, "rb", closefd=False) as stdin, suppress(RuntimeError):  # the loop may have ended
            for line in stdin:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, b"")

    Thread(target=read, daemon=True).start()
    while line := await lines.get():
        yield line.decode(errors="replace")


async def answer(context: Context, request: Request) -> Response:
    """Answer one request of the transport over HTTP. No session of the protocol is kept, so any worker can answer."""
    manager = StreamableHTTPSessionManager(make_server(context), json_response=True, stateless=True)
    sent: list[dict[str, Any]] = []
    body = iter([{"type": "http.request", "body": request.body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        if message := next(body, None):
            return message
        await asyncio.Event().wait()  # the client stays
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async with manager.run():
        await manager.handle_request(_scope(request), receive, send)
    start, *parts = sent
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"])
    return Response(start["status"], headers, b"".join(part.get("body", b"") for part in parts))


def _scope(request: Request) -> dict[str, Any]:
    path, _, query = request.target.partition("?")
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": path,
        "query_string": query.encode("latin-1"),
        "headers": headers,
    }


def make_server(context: Context) -> Any:
    """Return a server with all tools and resources."""
    server: Any = Server("xs2a-sandbox", __version__, _INSTRUCTIONS)

    async def list_tools() -> Any:
        return [
            types.Tool(
                name=tool.name,
                description=tool.description,
                inputSchema=tool.parameters,
                annotations=types.ToolAnnotations(readOnlyHint=tool.reads),
            )
            for tool in TOOLS.values()
        ]

    async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
        try:
            if name not in TOOLS:
                raise UserMistake(f"there is no tool {name}{did_you_mean(name, TOOLS)}")
            text, is_error = await TOOLS[name].call(context, arguments), False
        except (UserMistake, Refused, StoreUnavailable) as mistake:
            text, is_error = str(mistake), True
        except Exception:
            logger.exception("the tool %s failed", name)
            text, is_error = f"{name} failed; the log of the server has the reason", True
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], isError=is_error)

    async def list_resources() -> Any:
        return [
            types.Resource(uri=one.uri, name=one.name, description=one.description, mimeType=one.media_type)
            for one in resources.list_resources()
        ]

    async def list_templates() -> Any:
        return [
            types.ResourceTemplate(
                uriTemplate=one.uri, name=one.name, description=one.description, mimeType=one.media_type
            )
            for one in resources.TEMPLATES
        ]

    async def read_resource(uri: Any) -> Any:
        text, media_type = await asyncio.to_thread(resources.read, context, str(uri))
        return [ReadResourceContents(text, media_type)]

    # Arguments are checked by the tool, whose messages say more.
    server.list_tools()(list_tools)
    server.call_tool(validate_input=False)(call_tool)
    server.list_resources()(list_resources)
    server.list_resource_templates()(list_templates)
    server.read_resource()(read_resource)
    return server
