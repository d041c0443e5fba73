"""The endpoint `/_sandbox/mcp` of a run of `serve`, behind the admin token."""

from xs2a_sandbox.cli.serve.run_part import RunPart
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import Refused, UserMistake
from xs2a_sandbox.features.agents.context import Context
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.messages import json_answer
from xs2a_sandbox.http.origin import url
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.state.session import DEFAULT

_NAME = "mcp"


class RunEndpoint(RunPart):
    """Adds the endpoint when the ports are open."""

    def open(self, engine: Engine, base_url: str, run: str) -> None:
        settings, token = self.settings, engine.parts.admin_token
        address = base_url if settings.port == 0 else url("http", settings.host, settings.port)
        engine.add_pages(_NAME, Endpoint(engine, Context.of(settings, address, base_url, token)))


class Endpoint:
    """Answers requests of the protocol. The session is the one in the path or header of the request, if it has one."""

    def __init__(self, engine: Engine, context: Context) -> None:
        self._engine = engine
        self._context = context

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
