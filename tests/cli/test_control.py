"""`reset`, `state` and `clock` with a running sandbox."""

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.doors import opened
from tests.support.engine_client import an_engine, bundled_engine
from tests.support.roads import direct_door
from xs2a_sandbox.cli import main
from xs2a_sandbox.control.access import ensure_token
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.http import Headers, Request


@pytest.fixture
def confdir(home: Path) -> Path:
    return home / ".xs2a-sandbox"


@pytest.fixture
def engine(confdir: Path) -> Engine:
    engine = an_engine()
    engine.use(admin_token=ensure_token(confdir))
    return engine


@pytest.fixture
def port(engine: Engine) -> Iterator[int]:
    with opened(lambda: direct_door(engine.answer)) as (door, _):
        yield door.port


def run(*words: str, port: int | None = None) -> Result:
    where = [] if port is None else ["--port", str(port)]
    return CliRunner().invoke(main.cli, [*words, *where], prog_name="xs2a-sandbox")


def output(*words: str, port: int) -> str:
    result = run(*words, port=port)
    assert result.exit_code == 0, result.output
    return result.output


def mistaken(*words: str, port: int | None = None) -> str:
    result = run(*words, port=port)
    assert (result.exit_code, result.stdout) == (2, "")
    assert not isinstance(result.exception, Exception)
    assert "Traceback" not in result.stderr
    return result.stderr


CONSENTS = bundled_engine().parts.testdata.at(bundled_engine().parts.started)["consents"]
CONSENT = next(id for id, consent in CONSENTS.items() if consent["role"] == "authorised")


def status(engine: Engine, session: str = "default") -> int:
    headers = Headers([("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"), ("X-Sandbox-Session", session)])
    return asyncio.run(engine.answer(Request("GET", f"/v1/consents/{CONSENT}/status", headers))).status


def deleted(engine: Engine, *sessions: str) -> None:
    for session in sessions:
        headers = Headers([("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"), ("X-Sandbox-Session", session)])
        asyncio.run(engine.answer(Request("DELETE", f"/v1/consents/{CONSENT}", headers)))
        assert status(engine, session) >= 400


# -- reset


def test_reset(engine: Engine, port: int) -> None:
    deleted(engine, "default", "ci")

    assert output("reset", port=port) == "deleted the state of default\n"

    assert (status(engine), status(engine, "ci") >= 400) == (200, True)


def test_reset_of_a_session(engine: Engine, port: int) -> None:
    deleted(engine, "default", "ci")

    assert output("reset", "--session", "ci", port=port) == "deleted the state of ci\n"

    assert (status(engine) >= 400, status(engine, "ci")) == (True, 200)


def test_reset_of_all(engine: Engine, port: int) -> None:
    deleted(engine, "default", "ci")

    assert output("reset", "--all", port=port) == "deleted the state of ci, default\n"

    assert (status(engine), status(engine, "ci")) == (200, 200)


# -- state


def test_state(port: int) -> None:
    lines = dict(line.split() for line in output("state", port=port).splitlines())

    assert int(lines["consents"]) == len(CONSENTS)


def test_state_of_a_collection(port: int) -> None:
    lines = dict(line.split("  ", 1) for line in output("state", "consents", port=port).splitlines())

    assert {id: json.loads(text) for id, text in lines.items()} == CONSENTS
    assert output("state", "nothing", port=port) == "the collection nothing is empty\n"


def test_one_document(engine: Engine, port: int) -> None:
    assert json.loads(output("state", "consents", CONSENT, port=port)) == CONSENTS[CONSENT]
    deleted(engine, "ci")
    assert f"no document {CONSENT} in consents" in mistaken("state", "consents", CONSENT, "--session", "ci", port=port)


def test_state_as_json(port: int) -> None:
    everything = json.loads(output("state", "--json", port=port))

    assert everything["consents"] == CONSENTS
    assert json.loads(output("state", "consents", "--json", port=port)) == CONSENTS
    assert json.loads(output("state", "nothing", "--json", port=port)) == {}


# -- clock


def test_clock(port: int) -> None:
    assert output("clock", port=port).endswith("  real\n")
    assert output("clock", "--move", "90d", port=port).endswith("  ahead by 90 days\n")
    assert output("clock", "--move", "-91d", port=port).endswith("  behind by 1 day\n")
    assert output("clock", "--freeze", "2027-01-02T09:00", port=port) == "2027-01-02T09:00:00+01:00  frozen\n"
    assert output("clock", "--move", "PT1H", port=port) == "2027-01-02T10:00:00+01:00  frozen\n"
    assert output("clock", port=port) == "2027-01-02T10:00:00+01:00  frozen\n"
    assert output("clock", "--session", "ci", port=port).endswith("  real\n")
    assert output("clock", "--real", port=port).endswith("  real\n")


def test_the_clock_as_json(port: int) -> None:
    frozen = json.loads(output("clock", "--freeze", "2027-01-02T09:00", "--json", port=port))

    assert (frozen["now"], frozen["frozen"]) == ("2027-01-02T09:00:00+01:00", "2027-01-02T09:00:00+01:00")


def test_an_invalid_duration(port: int) -> None:
    assert "'soon' is not a duration such as 90d" in mistaken("clock", "--move", "soon", port=port)
    assert "ISO 8601" in mistaken("clock", "--freeze", "noon", port=port)


# -- mistakes


@pytest.mark.parametrize(
    "words",
    [
        ["clock", "--move", "1d", "--real"],
        ["clock", "--move", "1d", "--freeze", "2027-01-01"],
        ["reset", "--all", "--session", "ci"],
    ],
)
def test_flags_that_exclude_each_other(words: list[str]) -> None:
    assert "use " in mistaken(*words)


@pytest.mark.parametrize("name", ["", "a b", "ü", "x" * 65])
@pytest.mark.parametrize("command", ["reset", "state", "clock"])
def test_an_invalid_session_name(home: Path, command: str, name: str) -> None:
    assert "a session name must have 1 to 64" in mistaken(command, "--session", name)


@pytest.mark.parametrize("command", ["reset", "state", "clock"])
def test_no_sandbox_is_listening(home: Path, command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]

    assert f"no sandbox answers at http://127.0.0.1:{port}: Connection refused" in mistaken(command, port=port)


def test_another_confdir_is_named(home: Path, port: int) -> None:
    ensure_token(home / "other")

    assert "use the same --confdir as that sandbox" in mistaken("state", "--confdir", "other", port=port)


def test_settings_of_file_and_environment(home: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "xs2a-sandbox.yaml").write_text(f"port: {port}\n")
    assert run("clock").exit_code == 0
    (home / "xs2a-sandbox.yaml").write_text("port: 0\n")
    monkeypatch.setenv("XS2A_SANDBOX_PORT", str(port))
    monkeypatch.setenv("XS2A_SANDBOX_HOST", "0.0.0.0")
    assert run("clock").exit_code == 0


# -- docs


def test_docs_open_in_the_browser_if_a_sandbox_is_running(
    engine: Engine, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened_pages: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened_pages.append)
    assert output("docs", "journeys/consent", port=port) == f"{opened_pages[0]}\n"
    assert opened_pages == [f"http://127.0.0.1:{port}/_sandbox/docs/journeys/consent.md"]
    assert output("docs", port=port) == f"http://127.0.0.1:{port}/_sandbox/docs/index.md\n"


@pytest.mark.parametrize(("page", "begins"), [("docs/lint.md", "# Lint codes"), ("handlers", "# Handlers")])
def test_docs_are_printed_if_no_sandbox_is_running(page: str, begins: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert output("docs", page, port=free.getsockname()[1]).startswith(begins)


def test_similar_names_are_suggested_for_an_unknown_page() -> None:
    assert "there is no page 'clint' in the documentation; did you mean lint?" in mistaken("docs", "clint")
