"""`xs2a-sandbox` with failures on demand, for tests of its messages.

The header `X-Break` names the part that fails: the engine, or the code of the door. If the first word of the command
line is `say-all`, it gives every possible warning of the package after all its doors are open.
"""

import asyncio
import logging
import sys
from dataclasses import replace
from typing import Any

from tests.support.warned import calls
from xs2a_sandbox.cli import main
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.doors import direct, http1_proxy, mitmproxy_addon, serving
from xs2a_sandbox.doors.http1 import ParsedRequest
from xs2a_sandbox.engine import build, engine
from xs2a_sandbox.http import Request, Response

PATIENCE = 0.3
"""Seconds for an answer."""


async def _engine(self: engine.Engine, request: Request) -> Response:
    match request.headers.get("X-Break"):
        case "engine":
            raise RuntimeError(f"the engine is broken, {request.headers.get('Authorization')}")
        case "silence":
            await asyncio.Event().wait()
    return await _answer(self, request)


def _direct(client: Any, turn: ParsedRequest) -> Any:
    if ("X-Break", "door") in turn.headers.pairs:
        raise LookupError("the door is broken")
    return _request(client, turn)


def _proxy(self: mitmproxy_addon.SandboxAddon, flow: Any) -> Any:
    if flow.request.headers.get("X-Break") == "door":
        raise LookupError("the door is broken")
    return _from_mitmproxy(self, flow)


def _http1_proxy(turn: ParsedRequest, *more: Any, **surroundings: Any) -> Request:
    if ("X-Break", "door") in turn.headers.pairs:
        raise LookupError("the door is broken")
    return _proxy_request(turn, *more, **surroundings)


async def _loud(*arguments: Any, ready: Any, **options: Any) -> None:
    def warn(addresses: Any) -> None:
        for number, call in enumerate(calls()):
            logging.getLogger(call.logger).log(call.level, "probe %d of %s", number, call.place)
        ready(addresses)

    await _serve(*arguments, ready=warn, **options)


_answer, _request, _proxy_request = engine.Engine.answer_anew, direct._Client.request, http1_proxy._request
_from_mitmproxy, _serve = mitmproxy_addon.SandboxAddon._from_mitmproxy, serving.serve

if __name__ == "__main__":
    engine.Engine.answer_anew = _engine  # type: ignore[method-assign]
    direct._Client.request = _direct  # type: ignore[method-assign]
    http1_proxy._request = _http1_proxy
    mitmproxy_addon.SandboxAddon._from_mitmproxy = _proxy  # type: ignore[method-assign]
    build.USUAL = replace(USUAL, answer_time=PATIENCE)
    if "--say-all" in sys.argv:
        sys.argv.remove("--say-all")
        serving.serve = _loud  # type: ignore[assignment]
    main.main()
