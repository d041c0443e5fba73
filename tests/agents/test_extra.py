"""What users without the extra `mcp` get."""

import asyncio
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.engine_client import an_engine
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.agents.endpoint import RunEndpoint
from xs2a_sandbox.http import Headers, Request

TOKEN = "the-token-of-this-sandbox"
HOW = "the server of the Model Context Protocol needs one more package: pip install 'xs2a-sandbox[mcp]'"


@pytest.fixture(autouse=True)
def _without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "xs2a_sandbox.features.agents.server", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "mcp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)


def test_the_command_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["mcp", "--confdir", str(tmp_path / "conf")], prog_name="xs2a-sandbox")
    assert (done.exit_code, done.stderr) == (2, f"Error: {HOW}\n")
    assert not list(tmp_path.iterdir())


async def ask(method: str, *headers: tuple[str, str], target: str = "/_sandbox/mcp") -> tuple[int, bytes]:
    engine = an_engine(admin_token=TOKEN)
    RunEndpoint(Settings(confdir=Path("nowhere"))).open(engine, "http://127.0.0.1:8081", "")
    request = Request(method, target, Headers(headers), b"{}", host="127.0.0.1", door="direct")
    response = await engine.answer(request)
    return response.status, response.body


@pytest.mark.parametrize(
    ("method", "headers", "status", "text"),
    [
        ("POST", [("Authorization", f"Bearer {TOKEN}")], 501, HOW),
        ("GET", [("Authorization", f"Bearer {TOKEN}")], 405, "are sent with POST"),
        ("POST", [], 401, "token-missing"),
        ("POST", [("Authorization", "Bearer other")], 401, "token-wrong"),
        ("POST", [("Authorization", f"Bearer {TOKEN}"), ("Origin", "http://evil.example")], 403, "origin-refused"),
        ("POST", [("Authorization", f"Bearer {TOKEN}"), ("Host", "evil.example")], 403, "host-refused"),
    ],
)
def test_the_endpoint_is_guarded_and_says_how_to_install_it(
    method: str, headers: list[tuple[str, str]], status: int, text: str
) -> None:
    answered, body = asyncio.run(ask(method, *headers))
    assert answered == status
    assert text in body.decode()
