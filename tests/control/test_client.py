"""The client of a running sandbox in another process."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from tests.support.doors import opened
from tests.support.engine_client import an_engine
from tests.support.roads import direct_door
from xs2a_sandbox.bank.domain.lifecycle import PAYMENT
from xs2a_sandbox.config import Settings
from xs2a_sandbox.control.access import FILE, ensure_token
from xs2a_sandbox.control.api import ROUTES
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.http import Request, Response


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """Yield the settings of a running sandbox."""
    engine = an_engine()
    engine.use(admin_token=ensure_token(tmp_path))
    with opened(lambda: direct_door(engine.answer)) as (door, _):
        yield Settings(port=door.port, confdir=tmp_path)


def mistake(settings: Settings, *path: str, session: str | None = None) -> str:
    with pytest.raises(UserMistake) as caught:
        Client.of(settings, session).get(*(path or ("state",)))
    return str(caught.value)


def test_the_client_returns_json(settings: Settings) -> None:
    client = Client.of(settings)

    assert client.get("state", "nothing") == {}
    assert client.ask("PUT", ("state", "notes", "a/b ?#ü"), {"n": 1}) == {"n": 1}
    assert client.get("state", "notes") == {"a/b ?#ü": {"n": 1}}
    assert client.ask("DELETE", ("state", "notes", "a/b ?#ü")) is None


def test_a_session_can_be_named(settings: Settings) -> None:
    Client.of(settings, "ci").ask("PUT", ("state", "notes", "n"), {})

    assert Client.of(settings, "ci").get("state", "notes") == {"n": {}}
    assert Client.of(settings).get("state", "notes") == {}


def test_errors_are_raised_as_user_mistakes(settings: Settings) -> None:
    assert mistake(settings, "state", "a", "b") == "no document b in a of session default"
    assert mistake(settings, session="a b") == (
        "XS2A907E: the name of a session (/s/NAME/, X-Sandbox-Session or the proxy user) must be 1 to 64 of the "
        "characters A-Z a-z 0-9 . _ -, not a b"
    )


def unused() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
    return port


def test_a_closed_port_is_a_mistake(tmp_path: Path) -> None:
    port = unused()

    text = mistake(Settings(port=port, confdir=tmp_path))

    assert text.startswith(f"no sandbox answers at http://127.0.0.1:{port}: Connection refused. ")
    assert "Start it with `xs2a-sandbox serve`" in text


def test_an_unknown_host_is_a_mistake(tmp_path: Path) -> None:
    settings = Settings(host="no-such-host.invalid", confdir=tmp_path)
    assert "no sandbox answers at http://no-such-host.invalid:8081" in mistake(settings)


def test_port_0_is_a_mistake(tmp_path: Path) -> None:
    assert "use the one in its base URL" in mistake(Settings(port=0, confdir=tmp_path))


def test_a_missing_token_is_a_mistake(settings: Settings) -> None:
    file = settings.confdir / FILE
    file.unlink()

    text = mistake(settings)

    assert f"there is no admin token {file}" in text
    assert "--confdir" in text


def test_the_token_of_another_sandbox_is_a_mistake(settings: Settings, tmp_path: Path) -> None:
    ensure_token(tmp_path / "other")

    text = mistake(Settings(port=settings.port, confdir=tmp_path / "other"))

    assert f"does not accept the admin token {tmp_path / 'other' / FILE}" in text
    assert "--confdir" in text


def test_an_invalid_token_file_is_a_mistake(settings: Settings) -> None:
    (settings.confdir / FILE).write_text("")

    assert "contains no valid admin token. Remove it" in mistake(settings)


async def _hello(request: Request) -> Response:
    return Response(200, (("Content-Type", "text/html"),), b"<p>hello")


async def _not_found(request: Request) -> Response:
    return Response(404, (("Content-Type", "application/json"),), json.dumps({"detail": "Not Found"}).encode())


@pytest.mark.parametrize("answer", [_hello, _not_found])
def test_another_web_server_is_a_mistake(tmp_path: Path, answer: Any) -> None:
    with opened(lambda: direct_door(answer)) as (door, _):
        text = mistake(Settings(port=door.port, confdir=tmp_path))

    assert f"the server at http://127.0.0.1:{door.port} is not a sandbox; give the base URL" in text


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


def test_a_server_without_http_is_a_mistake(tmp_path: Path) -> None:
    with gibberish() as port:
        assert "is not a sandbox; give the base URL" in mistake(Settings(port=port, confdir=tmp_path))


def test_each_route_has_a_method_that_calls_it(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[tuple[str, tuple[str, ...]]] = []
    monkeypatch.setattr(Client, "ask", lambda self, method, path, *more, **query: requests.append((method, path)))
    client = Client.of(settings)

    for route in ROUTES:
        method = getattr(client, route.id)
        names = [name for name, one in signature(method).parameters.items() if one.default is one.empty]
        method(*({} if name == "document" else "x" for name in names if name != "filters"))

        verb, path = requests.pop()
        assert (verb, route.names(path)) == (route.method, ("x",) * route.path.count("{"))


def test_the_methods_do_what_their_names_say(settings: Settings) -> None:
    client = Client.of(settings, "ci")

    assert client.put_document("notes", "n", {"colour": "blue"}) == client.document("notes", "n")
    assert client.collection("notes") == client.collections()["notes"] == {"n": {"colour": "blue"}}
    assert client.set_clock(frozen="2027-01-02T09:00", seed=7)["seed"] == "7"
    assert client.move_clock("1d")["today"] == client.clock()["today"] == "2027-01-03"
    assert client.set_checks("rights") == client.checks() == {**client.checks(), "refusing": ["rights"]}
    assert client.set_checks(profile="strict")["profile"] == "strict"
    assert client.set_checks()["refusing"] == []
    assert client.due()["due"] == sorted(client.due()["due"], key=itemgetter("at"))
    payments = client.collection("payments").items()
    id, event = next((id, t.event) for t in PAYMENT.transitions for id, one in payments if one["status"] in t.states)
    assert client.happen("payments", id, event) == client.document("payments", id)
    assert client.session_documents("ci")["documents"]["notes"] == 1
    assert client.explain({"method": "GET", "url": "/v1/accounts"})["answer"]["status"] == 400  # type: ignore[index]
    assert client.journal(limit=1) == {"exchanges": [], "found": 0, "kept": 0}
    assert client.assert_journal({"path": "/v1/accounts"}, times=0) == {"found": 0, "numbers": []}
    assert client.clear_journal() == {"deleted": 0}
    assert client.reset() == {"reset": ["ci"]}
    assert client.status()["problems"] == []
    with pytest.raises(UserMistake, match="expected at least once"):
        client.assert_journal({"path": "/v1/accounts"})


def test_a_client_uses_the_token_that_it_is_given(settings: Settings, tmp_path: Path) -> None:
    token, elsewhere = ensure_token(tmp_path), tmp_path / "nothing-here"
    url = f"http://127.0.0.1:{settings.port}"

    assert Client(f"{url}/", token=token, confdir=elsewhere).collection("notes") == {}
    with pytest.raises(UserMistake, match="does not accept the admin token that the client was given"):
        Client(url, token="not-this-one-at-all", confdir=elsewhere).status()
    assert token not in repr(Client(url, token=token))


def test_a_url_can_name_a_session(settings: Settings) -> None:
    Client(f"http://127.0.0.1:{settings.port}/s/ci", confdir=settings.confdir).put_document("notes", "n", {})

    assert Client.of(settings, "ci").collection("notes") == {"n": {}}


@pytest.mark.parametrize("url", ["127.0.0.1:8081", "ftp://bank.example", "http://", "http://localhost:port"])
def test_an_invalid_url_is_a_mistake(url: str) -> None:
    with pytest.raises(UserMistake, match="is not the URL of a sandbox; use its base URL, such as"):
        Client(url).status()
