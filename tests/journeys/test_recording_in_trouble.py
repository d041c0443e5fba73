"""Whatever the bank does, and whenever the sandbox is killed: answered requests are recorded, and others are served.

And whatever fails in the sandbox, in every mode: it connects to no host other than the named bank.
"""

import hashlib
import random
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
from click.testing import CliRunner

from tests.support.doors import DEADLINE, START, opened, read_all, talk, wait_until
from tests.support.far_bank import FarBank, ok
from tests.support.recorded_bank.planted import PLANTED
from tests.support.recorded_bank.process import BankProcess, Listener, SandboxProcess, stopping
from tests.support.recorded_bank.server import ELSEWHERE, HUGE, TROUBLED, huge_piece
from tests.support.recorded_bank.traces import Haystack, below
from tests.support.roads import direct_door, proxy_doors
from xs2a_sandbox.bank import Bank
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.config import Settings
from xs2a_sandbox.doors.direct import DirectDoor
from xs2a_sandbox.doors.proxy import ProxyDoors, ensure_ca
from xs2a_sandbox.engine import Engine, build, egress
from xs2a_sandbox.recording import har_log

KILLS = 3
ROADS = ("base URL", "proxy")
MODES = ("simulate", "spy", "record")


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BankProcess]:
    bank = BankProcess(tmp_path_factory.mktemp("bank"))
    with stopping(bank):
        yield bank


def recorder(home: Path, bank: BankProcess) -> SandboxProcess:
    settings = bank.settings(read_timeout="3s", total_timeout="30s")
    return SandboxProcess(
        home, "record", "--to", "rec", "--log-format", "json", settings=settings, confdir=home / "conf"
    )


@dataclass
class Client:
    """A client of one of the doors. `base` is the URL in front of the bank's paths."""

    base: str
    session: requests.Session

    def get(self, path: str) -> requests.Response:
        return self.session.get(self.base + path, timeout=START, allow_redirects=False)


def a_client(road: str, bank: BankProcess, sandbox: SandboxProcess) -> Client:
    session = requests.Session()
    session.trust_env = False
    session.verify = sandbox.ca
    if road == "base URL":
        return Client(f"http://localhost:{sandbox.direct_port}", session)
    session.proxies = {"https": sandbox.proxy}
    return Client(bank.base, session)


@dataclass
class Troubled:
    sandbox: SandboxProcess
    home: Path
    clients: dict[str, Client]


@pytest.fixture(scope="module")
def troubled(bank: BankProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Troubled]:
    home = tmp_path_factory.mktemp("troubled")
    sandbox = recorder(home, bank)
    with stopping(sandbox):
        yield Troubled(sandbox, home, {road: a_client(road, bank, sandbox) for road in ROADS})


@pytest.fixture(params=ROADS)
def client(troubled: Troubled, request: pytest.FixtureRequest) -> Client:
    return troubled.clients[request.param]


def is_well(client: Client) -> bool:
    answer = client.get("/fast/1")
    return answer.status_code == 200 and answer.json()["balanceAmount"]["amount"] == "1.25"


def is_an_error(answer: requests.Response, status: int) -> bool:
    """Check that the answer is an error in the shape of section 7."""
    (message,) = answer.json()["tppMessages"]
    return answer.status_code == status and message["category"] == "ERROR" and "XS2A98" in message["text"]


REFUSED = {
    "hang": (504, "read timeout: nothing received for 3 s"),
    "hang-inside": (504, "read timeout: nothing received for 3 s"),
    "silent-close": (502, "it closed the connection without an answer"),
    "reset-first": (502, "it reset the connection"),
    "reset": (502, "it reset the connection"),
    "short": (502, "its answer is shorter than announced"),
    "garbage": (502, "its response is not HTTP"),
    "chunks": (502, "is not valid HTTP"),
}


@pytest.mark.by_turns("client")
@pytest.mark.parametrize("how", REFUSED)
def test_an_error_about_a_misbehaving_bank_contains_the_reason(
    troubled: Troubled, client: Client, bank: BankProcess, how: str
) -> None:
    status, reason = REFUSED[how]
    answer = client.get(f"/trouble/{how}/{TROUBLED}")
    assert is_an_error(answer, status)
    text = answer.json()["tppMessages"][0]["text"]
    assert f"localhost:{bank.port}" in text
    assert reason in text
    assert is_well(client)


def test_a_slow_answer_arrives(client: Client) -> None:
    assert client.get("/trouble/slow").json() == {"slowly": True}


def test_bytes_beyond_the_announced_length_are_not_passed_on(client: Client) -> None:
    answer = client.get("/trouble/long")
    assert answer.content == b"{}" if answer.status_code == 200 else is_an_error(answer, 502)
    assert is_well(client)


def test_an_answer_without_a_request_is_passed_on_to_nobody(client: Client) -> None:
    for _ in range(5):
        answer = client.get("/trouble/twice")
        assert answer.content == b"{}" if answer.status_code == 200 else is_an_error(answer, 502)
        assert is_well(client)


def test_a_redirect_is_passed_on(client: Client) -> None:
    answer = client.get("/trouble/redirect")
    assert (answer.status_code, answer.headers["Location"]) == (302, ELSEWHERE)


@pytest.mark.parametrize("how", ["huge-reset", "huge-lie"])
def test_a_large_incomplete_answer_is_not_passed_on_as_complete(client: Client, how: str) -> None:
    try:
        answer = client.get(f"/trouble/{how}")
    except requests.RequestException:
        pass  # Bytes that have been passed on cannot be withdrawn.
    else:
        assert is_an_error(answer, 502)
    assert is_well(client)


def grown(troubled: Troubled, work: Callable[[], None]) -> int:
    before = troubled.sandbox.peak()
    work()
    return troubled.sandbox.peak() - before


def arrives_whole(client: Client) -> None:
    whole, length = hashlib.sha256(), 0
    with client.session.get(f"{client.base}/trouble/huge", timeout=START, stream=True) as answer:
        assert answer.status_code == 200
        for chunk in answer.iter_content(65536):
            whole.update(chunk)
            length += len(chunk)
    assert length == HUGE
    expected = hashlib.sha256(b"".join(huge_piece(number) for number in range(HUGE // 65536)))
    assert whole.digest() == expected.digest()


def test_fifty_megabytes_arrive_completely_through_the_base_url_in_constant_memory(troubled: Troubled) -> None:
    assert grown(troubled, lambda: arrives_whole(troubled.clients["base URL"])) < 0.5 * HUGE


def test_fifty_megabytes_arrive_completely_through_the_proxy_which_buffers_them(troubled: Troubled) -> None:
    """It holds some copies at a time, plus what mitmproxy leaves to the garbage collector."""
    assert grown(troubled, lambda: arrives_whole(troubled.clients["proxy"])) < 5 * HUGE


def test_errors_reveal_no_secrets(troubled: Troubled) -> None:
    """This must be the last test with this sandbox, because it stops it."""
    assert troubled.sandbox.stop() == 0, troubled.sandbox.output
    written = [Haystack("log", [troubled.sandbox.output.encode()]), below("recording", troubled.home / "rec")]
    assert not [(s, h.name) for h in written for s in PLANTED if h.holds(s)]
    assert "Traceback" not in troubled.sandbox.output


class Ledger:
    """Stores which requests have been answered completely, as the app has seen them."""

    def __init__(self, first: int) -> None:
        self._next = first
        self._lock = threading.Lock()
        self.answered: set[int] = set()

    def number(self) -> int:
        with self._lock:
            self._next += 1
            return self._next


def ask_until_it_dies(client: Client, ledger: Ledger) -> None:
    with suppress(requests.RequestException):
        while True:
            number = ledger.number()
            assert client.get(f"/fast/{number}").json()["balanceAmount"]["amount"] == f"{number}.25"
            ledger.answered.add(number)


@pytest.mark.slow
def test_a_killed_recording_keeps_every_answered_exchange(bank: BankProcess, tmp_path: Path) -> None:
    chance = random.Random("kill")
    answered: set[int] = set()
    for kill in range(KILLS):
        sandbox = recorder(tmp_path, bank)
        with stopping(sandbox):
            ledger = Ledger(1000 * kill)
            clients = [a_client(ROADS[n % 2], bank, sandbox) for n in range(4)]
            threads = [threading.Thread(target=ask_until_it_dies, args=(client, ledger)) for client in clients]
            for thread in threads:
                thread.start()
            enough = chance.randint(10, 60)
            wait_until(lambda ledger=ledger, enough=enough: len(ledger.answered) >= enough, START)  # type: ignore[misc]
            sandbox.stop(signal.SIGKILL)
            for thread in threads:
                thread.join(DEADLINE)
        answered |= ledger.answered
    raw = [file.read_text() for file in sorted((tmp_path / "rec" / "raw").iterdir())]
    assert len(raw) == KILLS
    written = {int(number) for text in raw for number in re.findall(r'\\"amount\\": ?\\"(\d+)\.25\\"', text)}
    assert answered <= written
    done = CliRunner().invoke(
        cli, ["derive", str(tmp_path / "rec"), "--confdir", str(tmp_path / "conf")], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output


@dataclass
class World:
    """A sandbox in one mode, in this process, with a named bank and an unnamed host."""

    mode: str
    engine: Engine
    proxy: ProxyDoors
    direct: DirectDoor
    bank: FarBank
    stranger: Listener
    directory: Path

    @property
    def strange(self) -> str:
        """Return another host: the bank is named by its address."""
        return f"localhost:{self.stranger.port}"

    @property
    def known(self) -> str:
        return f"127.0.0.1:{self.bank.port}"

    def at(self, road: str, target: str, host: str, *headers: str) -> bytes:
        """Return the answer to a GET at a door. `target` is the target in its first line."""
        lines = [f"GET {target} HTTP/1.1", f"Host: {host}", *headers, "Connection: close", "", ""]
        sent = "\r\n".join(lines).encode()
        if road != "tunnel":
            return talk(self.direct.port if road == "direct" else self.proxy.proxy_port, sent)
        return self.tunnel(host, sent)

    def tunnel(self, host: str, sent: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.proxy.proxy_port), timeout=DEADLINE) as client:
            client.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert b" 200 " in client.recv(1000)
            client.sendall(sent)
            return read_all(client)

    def ask(self, road: str, path: str, host: str | None = None, *headers: str) -> bytes:
        host = host or self.known
        return self.at(road, f"http://{host}{path}" if road == "plain" else path, host, *headers)


@contextmanager
def in_mode(mode: str, directory: Path, *answers: bytes) -> Iterator[World]:
    confdir = ensure_ca(directory / "conf").parent
    with FarBank(*(answers or (ok(),))) as bank, Listener(0) as stranger:
        settings = Settings(
            mode=mode,  # type: ignore[arg-type]
            bank=bank.url,
            state="memory:",
            confdir=confdir,
            to=directory / "rec" if mode != "simulate" else None,
        )
        engine = build.build(settings)

        with (
            opened(lambda: proxy_doors(engine.answer, confdir, tls_port=None)) as (proxy, loop),
            opened_in(loop, lambda: direct_door(engine.answer)) as direct,
        ):
            yield World(mode, engine, proxy, direct, bank, stranger, directory)
            loop.run(engine.close())
        assert stranger.connections == 0
        if mode == "simulate":
            assert bank.connections == 0


@contextmanager
def opened_in(loop, make: Callable[[], DirectDoor]) -> Iterator[DirectDoor]:  # type: ignore[no-untyped-def]
    async def start() -> DirectDoor:
        door = make()
        await door.start()
        return door

    door = loop.run(start())
    try:
        yield door
    finally:
        loop.run(door.drain(1))


@pytest.fixture(scope="module", params=MODES)
def living(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with in_mode(request.param, tmp_path_factory.mktemp(request.param)) as world:
        yield world


@pytest.fixture
def world(living: World) -> Iterator[World]:
    before = living.stranger.connections
    living.bank.seen.clear()
    yield living
    assert living.stranger.connections == before


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


DOORS = ("plain", "tunnel", "direct")


def test_an_error_in_the_engine_sends_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bank, "find", _fail)
    for road in DOORS:
        assert status(world.ask(road, "/v1/accounts")) == 500
    assert not world.bank.seen


def test_an_error_before_the_request_to_the_bank_sends_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress.Egress, "ask", _fail)
    for road in DOORS:
        world.ask(road, "/nowhere")
    assert not world.bank.seen


def _fail(*_: object, **__: object) -> None:
    raise RuntimeError("this fails")


def test_an_unknown_host_is_refused_in_every_mode(world: World) -> None:
    for road in ("plain", "tunnel"):
        assert status(world.ask(road, "/anything", world.strange)) == 404
    assert not world.bank.seen


def test_a_known_path_is_not_sent_to_an_unknown_host(world: World) -> None:
    for road in DOORS:
        # Only the bank's answers are recorded, and at the proxy this request does not go to the bank.
        refused = world.mode == "record" and road != "direct"
        assert status(world.ask(road, "/v1/accounts", world.strange)) in ((404,) if refused else (200, 400, 401))


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("http://{strange}/nowhere", ()),
        ("http://{known}@{strange}/nowhere", ()),
        ("//{strange}/nowhere", ()),
        ("/{strange}/../../nowhere", ()),
        ("/nowhere?url=http://{strange}/", ()),
        ("/nowhere", ("X-Forwarded-Host: {strange}", "Forwarded: host={strange}", "X-Original-URL: http://{strange}/")),
        ("/nowhere", ("Host: {strange}",)),
    ],
)
@pytest.mark.parametrize("road", ["plain", "direct"])
def test_no_form_of_a_request_reaches_an_unknown_host(
    world: World, road: str, target: str, headers: tuple[str, ...]
) -> None:
    """The fixture checks that nothing connected to it."""
    names = {"strange": world.strange, "known": world.known}
    for host in (world.known, world.strange):
        with suppress(ConnectionError):
            world.at(road, target.format(**names), host, *(one.format(**names) for one in headers))


@pytest.mark.parametrize("mode", ["spy", "record"])
def test_a_redirect_to_an_unknown_host_is_not_followed(mode: str, tmp_path: Path) -> None:
    with Listener(0) as elsewhere:
        location = f"Location: http://localhost:{elsewhere.port}/there".encode()
        with in_mode(mode, tmp_path, ok(b"", location, status=b"302 Found")) as world:
            for road in DOORS:
                assert status(world.ask(road, "/nowhere")) == 302
            assert len(world.bank.seen) == len(DOORS)
        assert elsewhere.connections == 0


@pytest.mark.parametrize("mode", ["spy", "record"])
def test_if_the_bank_is_down_no_other_host_is_tried(mode: str, tmp_path: Path) -> None:
    with in_mode(mode, tmp_path) as world:
        world.bank.__exit__()
        for road in DOORS:
            assert status(world.ask(road, "/nowhere")) == 502


@pytest.mark.parametrize("mode", ["spy", "record"])
def test_an_exchange_that_cannot_be_redacted_is_not_recorded(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bank has already answered. The app gets that answer or an error, and the request is not repeated."""
    with in_mode(mode, tmp_path, ok(b'{"iban": "AT927129575393131686"}')) as world:
        recorded = world.engine.parts.egress.recording
        assert recorded is not None
        monkeypatch.setattr(recorded, "_redact", _fail)
        for road in DOORS:
            assert status(world.ask(road, "/nowhere?iban=AT927129575393131686")) in (200, 500)
        assert len(world.bank.seen) == len(DOORS)
        assert not below("written", tmp_path / "rec").plain.count("AT927129575393131686")


@pytest.mark.parametrize("mode", ["spy", "record"])
def test_a_request_that_cannot_be_recorded_is_not_sent(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_mode(mode, tmp_path) as world:
        monkeypatch.setattr(har_log.Recording, "room", _full)
        for road in DOORS:
            assert status(world.ask(road, "/nowhere")) in (500, 502, 503, 507)
        assert world.bank.connections == 0


def _full(self: har_log.Recording, size: int) -> None:
    raise egress.RecordingFailed("the disk is full")
