"""Callbacks go only to addresses that the user allows. A listener counts the connections."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.callbacks.asking import ServedSession
from tests.callbacks.test_delivery import serving
from tests.support.listener import Listener
from tests.support.serving import Serving


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("sandbox")) as started:
        yield started


@pytest.fixture
def app() -> Iterator[Listener]:
    with Listener() as listening:
        yield listening


def refusal(bank: ServedSession, url: str) -> str:
    """Return why a callback to this address is not sent."""
    bank.happen(bank.consent(url), "refused")
    (callback,) = bank.wait_for_state("refused")
    assert callback["tries"] == 0
    return str(callback["answer"])


@pytest.mark.parametrize(
    "host",
    [
        "tpp.example",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "0.0.0.0",
        "[::ffff:192.0.2.1]",
        "192.0.2.1",
        "localhost.",
        "x.localhost",
    ],
)
def test_hosts_that_are_not_allowed_get_no_connection(host: str, sandbox: Serving, app: Listener) -> None:
    text = refusal(ServedSession(sandbox), f"http://{host}:{app.port}/notify")
    assert "are not allowed: set callback_host (--callback-host" in text
    assert app.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "//127.0.0.1/",
        "notify",
        "http://tpp@127.0.0.1/",
        "http://127.0.0.1\\@tpp.example/",
        "http://127.0.0.1/a b",
    ],
)
def test_what_is_not_an_address_gets_no_connection(url: str, sandbox: Serving) -> None:
    assert "is not an address for callbacks" in refusal(ServedSession(sandbox), url)


def test_the_sandbox_does_not_call_itself(sandbox: Serving) -> None:
    for url in (sandbox.direct, sandbox.proxy, sandbox.tls, sandbox.direct.replace("127.0.0.1", "localhost")):
        assert "is a port of the sandbox" in refusal(ServedSession(sandbox), f"{url}/v1/consents")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.9", "[::ffff:127.0.0.1]"])
def test_this_machine_is_allowed(host: str, sandbox: Serving, app: Listener) -> None:
    bank = ServedSession(sandbox)
    bank.happen(bank.consent(f"http://{host}:{app.port}/notify?for=me"), "refused")
    if host == "127.0.0.9":  # nobody listens there, but it is asked
        bank.wait_for_state("waiting")
    else:
        assert app.wait_for(1)[0].path == "/notify?for=me"


def test_redirects_are_not_followed(sandbox: Serving, app: Listener) -> None:
    bank = ServedSession(sandbox)
    with Listener() as elsewhere:
        app.answers += [307]
        app.headers = {"Location": elsewhere.url}
        bank.happen(bank.consent(app.url), "refused")
        app.wait_for(1)
        bank.wait_for_state("waiting")
        assert (elsewhere.connections, app.connections) == (0, 1)


def test_a_setting_replaces_the_allowed_hosts(tmp_path: Path, app: Listener) -> None:
    with serving(tmp_path, "--callback-host", "tpp.example", "--callback-host", "10.0.0.0/8") as sandbox:
        assert "are not allowed" in refusal(ServedSession(sandbox), app.url)
        assert app.connections == 0


def test_a_wrong_setting_is_refused(tmp_path: Path) -> None:

    command = [sys.executable, "-m", "xs2a_sandbox", "serve", "--callback-host", "http://tpp.example"]
    done = subprocess.run([*command, "--confdir", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "callback-host" in done.stderr
    assert "host names, addresses or networks" in done.stderr
