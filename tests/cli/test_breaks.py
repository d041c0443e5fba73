"""`break` and `held` with a running sandbox."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from tests.support.admin import STATUS
from tests.support.doors import DEADLINE, opened, wait_until
from tests.support.engine_client import an_engine
from tests.support.roads import direct_door
from xs2a_sandbox.cli import main
from xs2a_sandbox.control.access import ensure_token

HEADERS = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address": "192.0.2.7"}


@pytest.fixture
def port(home: Path) -> Iterator[int]:
    engine = an_engine()
    engine.use(admin_token=ensure_token(home / ".xs2a-sandbox"))
    with opened(lambda: direct_door(engine.answer)) as (door, _):
        yield door.port


def run(*words: str, port: int | None = None) -> Result:
    where = [] if port is None else ["--port", str(port)]
    return CliRunner().invoke(main.cli, [*words, *where], prog_name="xs2a-sandbox")


def output(*words: str, port: int) -> str:
    result = run(*words, port=port)
    assert result.exit_code == 0, result.output
    return result.output


def test_breakpoints_are_set_listed_and_removed(port: int) -> None:
    assert output("break", "--list", port=port) == "no breakpoints\n"
    first = "break-1  request  every request  0 of 1  60s\n"
    assert output("break", port=port) == first
    words = ("--operation", "consent-*", "--method", "GET", "--on", "response", "--next", "2", "--timeout", "30s")
    second = "break-2  response  GET consent-*  0 of 2  30s\n"
    assert output("break", *words, port=port) == second
    assert output("break", "--list", port=port) == first + second
    assert output("break", "--delete", "break-1", port=port) == "deleted break-1\n"
    assert output("break", "--delete", "all", port=port) == "deleted 1\n"
    assert "no breakpoint break-1" in run("break", "--delete", "break-1", port=port).stderr


def test_a_held_exchange_is_shown_and_edited(port: int, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text('{"busy": true}')
    output("break", "--on", "response", port=port)
    with ThreadPoolExecutor(1) as pool:
        url = f"http://127.0.0.1:{port}{STATUS}"
        answer = pool.submit(httpx.get, url, headers=HEADERS, trust_env=False, timeout=DEADLINE)
        wait_until(lambda: output("held", port=port) != "nothing is held\n")
        line = output("held", port=port)
        assert line.startswith(f"held-1  response  default  GET  http://127.0.0.1:{port}{STATUS}  until ")
        whole = output("held", "held-1", port=port)
        assert "\n200\n" in whole
        assert '"consentStatus": "valid"' in whole
        edits = ("--status", "503", "--header", "Retry-After: 7", "--header", "X-Request-ID:")
        done = output("held", "held-1", *edits, "--body", str(tmp_path / "body.json"), port=port)
        assert done == "released held-1\n"
        response = answer.result(DEADLINE)
    assert (response.status_code, response.json(), response.headers["Retry-After"]) == (503, {"busy": True}, "7")
    assert "X-Request-ID" not in response.headers
    assert "held-1 is held" in run("held", "held-1", "--continue", port=port).stderr
    assert "held-1 is held; `xs2a-sandbox held` lists" in run("held", "held-1", port=port).stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("break", "--list", "--next", "2"), "use either --list"),
        (("break", "--on", "both"), "'both' is not one of"),
        (("held", "--drop"), "give the ID"),
        (("held", "held-1", "--drop", "--continue"), "use only one of"),
        (("held", "held-1", "--drop", "--status", "503"), "use only one of"),
        (("held", "held-1", "--header", "nothing"), "is not a header such as"),
        (("held", "held-1", "--body", "/nowhere/at/all"), "/nowhere/at/all cannot be read"),
    ],
)
def test_mistakes_are_reported(words: tuple[str, ...], told: str) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
