"""A running sandbox, asked from another process."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.doors import opened
from tests.support.engine_client import an_engine
from tests.support.roads import direct_door
from xs2a_sandbox.config import Settings
from xs2a_sandbox.control.access import FILE, ensure_token
from xs2a_sandbox.control.client import Remote
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.http import Request, Response


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """Of a sandbox that runs."""
    engine = an_engine()
    engine.admin_token = ensure_token(tmp_path)
    with opened(lambda: direct_door(engine.answer)) as (door, _):
        yield Settings(port=door.port, confdir=tmp_path)


def mistake(settings: Settings, *path: str, session: str | None = None) -> str:
    with pytest.raises(UserMistake) as caught:
        Remote(settings, session).get(*(path or ("state",)))
    return str(caught.value)


def test_it_answers_in_json(settings: Settings) -> None:
    remote = Remote(settings)

    assert remote.get("state", "nothing") == {}
    assert remote.ask("PUT", ("state", "notes", "a/b ?#ü"), {"n": 1}) == {"n": 1}
    assert remote.get("state", "notes") == {"a/b ?#ü": {"n": 1}}
    assert remote.ask("DELETE", ("state", "notes", "a/b ?#ü")) is None


def test_a_session_is_named(settings: Settings) -> None:
    Remote(settings, "ci").ask("PUT", ("state", "notes", "n"), {})

    assert Remote(settings, "ci").get("state", "notes") == {"n": {}}
    assert Remote(settings).get("state", "notes") == {}


def test_its_errors_are_the_users_mistakes(settings: Settings) -> None:
    assert mistake(settings, "state", "a", "b") == "the session default has no b in a"
    assert mistake(settings, session="a b") == (
        "XS2A907E: the session a b must be 1 to 64 of the characters A-Z a-z 0-9 . _ -"
    )


def unused() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
    return port


def test_nothing_listens(tmp_path: Path) -> None:
    port = unused()

    text = mistake(Settings(port=port, confdir=tmp_path))

    assert text.startswith(f"no sandbox answers at http://127.0.0.1:{port}: Connection refused. ")
    assert "Start it with `xs2a-sandbox serve`" in text


def test_a_host_that_is_not_known(tmp_path: Path) -> None:
    settings = Settings(host="no-such-host.invalid", confdir=tmp_path)
    assert "no sandbox answers at http://no-such-host.invalid:8081" in mistake(settings)


def test_port_0(tmp_path: Path) -> None:
    assert "name the port that it printed as base URL" in mistake(Settings(port=0, confdir=tmp_path))


def test_without_a_token(settings: Settings) -> None:
    file = settings.confdir / FILE
    file.unlink()

    text = mistake(settings)

    assert f"there is no admin token {file}" in text
    assert "--confdir" in text


def test_with_the_token_of_another(settings: Settings, tmp_path: Path) -> None:
    ensure_token(tmp_path / "other")

    text = mistake(Settings(port=settings.port, confdir=tmp_path / "other"))

    assert f"does not accept the admin token {tmp_path / 'other' / FILE}" in text
    assert "--confdir" in text


def test_a_token_file_that_holds_something_else(settings: Settings) -> None:
    (settings.confdir / FILE).write_text("")

    assert "holds no admin token. Remove it" in mistake(settings)


async def _hello(request: Request) -> Response:
    return Response(200, (("Content-Type", "text/html"),), b"<p>hello")


async def _not_found(request: Request) -> Response:
    return Response(404, (("Content-Type", "application/json"),), json.dumps({"detail": "Not Found"}).encode())


@pytest.mark.parametrize("answer", [_hello, _not_found])
def test_another_web_server(tmp_path: Path, answer: Any) -> None:
    with opened(lambda: direct_door(answer)) as (door, _):
        text = mistake(Settings(port=door.port, confdir=tmp_path))

    assert f"what answers at http://127.0.0.1:{door.port} is not the sandbox's base URL" in text


@contextmanager
def gibberish() -> Iterator[int]:
    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"SSH-2.0-no HTTP\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def test_no_web_server(tmp_path: Path) -> None:
    with gibberish() as port:
        assert "is not the sandbox's base URL" in mistake(Settings(port=port, confdir=tmp_path))
