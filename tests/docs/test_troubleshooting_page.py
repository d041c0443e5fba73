"""The error texts in docs/troubleshooting.md match the code."""

import errno
import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from xs2a_sandbox import Client, UserMistake
from xs2a_sandbox.config.real_bank import RealBank, unknown_host
from xs2a_sandbox.doors.door import no_port
from xs2a_sandbox.doors.proxy_log import warn_of_handshake, warn_of_leaving
from xs2a_sandbox.errors import check_system
from xs2a_sandbox.http.messages import Request
from xs2a_sandbox.http.own_path import hint
from xs2a_sandbox.state.sqlite import SqliteStore

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
CA_FILE = Path("/home/you/.xs2a-sandbox/mitmproxy-ca-cert.pem")


def test_the_page_shows_the_error_for_a_port_in_use() -> None:
    text = str(no_port("127.0.0.1", 8081, "--port", OSError(errno.EADDRINUSE, "")))
    assert f"\nError: {text}\n" in PAGE


def test_the_page_shows_the_error_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    with pytest.raises(UserMistake) as caught:
        check_system()
    assert f"\nError: {caught.value}\n" in PAGE


def test_the_page_shows_the_error_for_a_state_file_of_another_format(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    SqliteStore(file).close()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("pragma user_version = 3")
    with pytest.raises(UserMistake) as caught:
        SqliteStore(file)
    assert f"\nError: {str(caught.value).replace(str(tmp_path), '/home/you/.xs2a-sandbox')}\n" in PAGE


def test_the_page_shows_the_error_if_no_sandbox_is_running() -> None:
    url = "http://127.0.0.1:1"
    with pytest.raises(UserMistake) as caught:
        Client(url, token="x").clock()
    assert f"\nError: {str(caught.value).replace(url, 'http://127.0.0.1:8081')}\n" in PAGE


@pytest.mark.parametrize(
    ("warn", "shown"),
    [
        (lambda: warn_of_handshake("the client at 127.0.0.1:47520", "bank.example", "alert unknown ca", CA_FILE), None),
        (lambda: warn_of_leaving("the client", None, CA_FILE), "closed the connection during the TLS handshake"),
    ],
)
def test_the_page_shows_the_warning_about_a_client_that_does_not_trust_the_ca(
    warn: Callable[[], None], shown: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        warn()
    (message,) = caplog.messages
    assert (shown or f"\nwarning {message}\n") in PAGE
    assert not shown or shown in message


def test_the_page_shows_the_error_for_sandbox_pages_through_the_proxy() -> None:
    assert f"\n{hint(Request('GET', '/_sandbox/state', door='proxy'))}\n" in PAGE


def test_the_page_shows_the_error_for_another_host() -> None:
    request = Request("GET", "/v1/accounts", scheme="http", host="api.other.example", door="proxy")
    error = unknown_host(request, RealBank(url="https://api.bank.example/psd2"))
    assert f"\n{error.values['hint']}\n" in PAGE


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("features/console/console.py", "This link has expired or was used before. This command prints a new one:"),
        ("features/console/console.py", "Sign in with a link. This command prints one:"),
        ("cli/serve/announcement.py", "in memory, lost when the sandbox stops"),
        ("doors/door.py", "this proxy requires the user name and password given with --proxy-auth"),
        (
            "control/access.py",
            "is not a name of this sandbox: use localhost, or the host given with ",
        ),
        ("control/client.py", "does not accept the admin token"),
        ("state/sqlite.py", "is the database of another program"),
        ("recording/replay.py", "was redacted with another key"),
        ("upstream/failures.py", "it requires a client certificate; set `client_cert`"),
        ("upstream/failures.py", "; set `ca` to the CA that issued it"),
        ("upstream/failures.py", "its host name is unknown"),
        ("upstream/failures.py", "connect timeout: no connection within"),
    ],
)
def test_the_page_shows_other_texts(file: str, text: str) -> None:
    assert text in (ROOT / "addons" / "xs2a_sandbox" / file).read_text()
    assert text in PAGE
