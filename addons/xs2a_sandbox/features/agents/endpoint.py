"""The endpoint `/_sandbox/mcp` of a run of `serve`, behind the admin token."""

from functools import cached_property
from typing import TYPE_CHECKING

from xs2a_sandbox.cli.serve.run_part import RunPart
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import Refused, UserMistake
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.messages import json_answer
from xs2a_sandbox.http.origin import url
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.state.session import DEFAULT

if TYPE_CHECKING:
    from xs2a_sandbox.features.agents.context import Context

_NAME = "mcp"


class RunEndpoint(RunPart):
    """Adds the endpoint when the ports are open."""

    def open(self, engine: Engine, base_url: str, run: str) -> None:
        engine.add_pages(_NAME, McpEndpoint(engine, self.settings, base_url))


class McpEndpoint:
    """Answers requests of the protocol. The session is the one in the path or header of the request, if it has one."""

    def __init__(self, engine: Engine, settings: Settings, base_url: str) -> None:
        self._engine = engine
        self._settings = settings
        self._base_url = base_url

    @cached_property
    def _context(self) -> "Context":
        # Imported for the first request: most runs of `serve` get none.
        from xs2a_sandbox.features.agents.context import Context

        settings, base_url = self._settings, self._base_url
        address = base_url if settings.port == 0 else url("http", settings.host, settings.port)
        return Context.of(settings, address, base_url, self._engine.parts.admin_token)

    def takes(self, request: Request, segments: tuple[str, ...]) -> bool:
        return request.door == "direct" and segments == (ROOT, _NAME)

    async def answer(self, request: Request, segments: tuple[str, ...], session: str) -> Response:
        try:
            self._engine.guard.check(request)
            if request.method != "POST":
                text = "messages of the Model Context Protocol are sent with POST; there is no stream to listen to"
                raise Refused(405, "method-not-offered", text, ("Allow", "POST"))
            from xs2a_sandbox.features.agents.extra import load_server

            server = load_server()
        except UserMistake as mistake:
            return json_answer({"error": "extra-missing", "message": str(mistake)}, 501)
        except Refused as refused:
            return json_answer({"error": refused.error, "message": str(refused)}, refused.status, *refused.headers)
        named = None if session == DEFAULT else session
        response: Response = await server.answer(self._context.in_session(named), request)
        return response
