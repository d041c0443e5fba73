"""Files that are edited while a sandbox runs, as an app sees it: over real sockets, from real files."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tests.support.doors import DEADLINE, START, Loop, wait_until
from tests.support.taping import tape, taped
from xs2a_sandbox.config import settings
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.doors.proxy import ensure_ca
from xs2a_sandbox.doors.serving import Addresses, serve
from xs2a_sandbox.engine import build, reload
from xs2a_sandbox.engine.steps import journaling
from xs2a_sandbox.features.derive.derive import derive
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.redaction.pseudonyms import ensure_key, fingerprint
from xs2a_sandbox.redaction.redactor import Redactor

IBAN = "AT611904300234573201"


@pytest.fixture(scope="module")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure_ca(tmp_path_factory.mktemp("conf")).parent


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / "mine").mkdir(parents=True)
    monkeypatch.chdir(home)
    return home


def says(file: Path, word: str, more: str = "") -> None:
    """As editors save: written beside, then renamed."""
    beside = file.with_name(f".{file.name}.swp")
    beside.write_text(rule(word, more))
    os.replace(beside, file)


def rule(word: str, more: str = "") -> str:
    return f"cassette: 1\nrules:\n  - {{id: greeting, match: {{path: /greeting}}, respond: {{text: {word}{more}}}}}\n"


class Running:
    """`serve` in a thread; `lines` are what it tells its user."""

    def __init__(self, confdir: Path) -> None:
        self.confdir = confdir
        self.lines: list[str] = []
        self.exchanges: list[LogEntry] = []
        self.addresses: list[Addresses] = []

    def get(self, path: str = "/greeting") -> httpx.Response:
        with httpx.Client(trust_env=False, timeout=DEADLINE) as http:
            return http.get(self.addresses[0].direct + path)

    def status(self) -> Any:
        return self.client.get("status")

    @property
    def client(self) -> Client:
        port = httpx.URL(self.addresses[0].direct).port
        return Client.of(settings.Settings(port=port or 0, confdir=self.confdir))

    def comes_to_say(self, word: str) -> None:
        wait_until(lambda: self.get().text == word)

    def comes_to(self, happened: Callable[[], bool]) -> None:
        wait_until(happened)


@contextmanager
def running(confdir: Path, *, ready: Callable[[], None] = lambda: None, **flags: Any) -> Iterator[Running]:
    free = {"port": "0", "proxy_port": "0", "tls_port": "0", "state": "memory:", "confdir": str(confdir)}

    def load() -> settings.Settings:
        return settings.load({**free, **flags}, {}, Path.cwd())

    found = Running(confdir)
    stop: list[asyncio.Event] = []

    def listening(addresses: Addresses) -> None:
        ready()
        found.addresses.append(addresses)

    async def main() -> None:
        stop.append(asyncio.Event())
        await serve(
            load(),
            again=load,
            say=lambda text, level="info": found.lines.append(text),
            ready=listening,
            on_exchange=found.exchanges.append,
            stop=stop[0],
        )

    with Loop() as loop:
        serving = loop.start(main())
        wait_until(lambda: bool(found.addresses) or serving.done(), START)
        if serving.done():
            serving.result()
        try:
            yield found
        finally:
            loop.loop.call_soon_threadsafe(stop[0].set)
            serving.result(START)


@pytest.mark.parametrize("save", [says, lambda file, word: file.write_text(rule(word))], ids=["renamed", "written"])
def test_a_cassette_takes_effect_when_it_is_saved(confdir: Path, here: Path, save: Callable[[Path, str], None]) -> None:
    save(here / "mine/greeting.yaml", "servus")
    with running(confdir, cassettes=["mine"]) as sandbox:
        assert sandbox.get().text == "servus"
        before = sandbox.status()

        save(here / "mine/greeting.yaml", "baba")
        sandbox.comes_to_say("baba")

        assert sandbox.lines[-1].startswith("loaded again: ")
        assert sandbox.status()["loaded"] > before["loaded"]
        assert sandbox.status()["problems"] == []


def test_files_come_and_go(confdir: Path, here: Path) -> None:
    with running(confdir, cassettes=["mine"]) as sandbox:
        assert sandbox.get().status_code == 404
        (here / "mine/deep").mkdir()
        says(here / "mine/deep/greeting.yaml", "servus")
        sandbox.comes_to_say("servus")
        (here / "mine/deep/greeting.yaml").unlink()
        sandbox.comes_to(lambda: sandbox.get().status_code == 404)


def test_what_is_saved_while_it_starts_is_not_missed(confdir: Path, here: Path) -> None:
    says(here / "mine/greeting.yaml", "servus")
    with running(confdir, cassettes=["mine"], ready=lambda: says(here / "mine/greeting.yaml", "baba")) as sandbox:
        sandbox.comes_to_say("baba")


def test_ones_first_own_case(confdir: Path, here: Path) -> None:
    with running(confdir) as sandbox:
        assert sandbox.get().status_code == 404
        (here / "cassettes/cases").mkdir(parents=True)
        says(here / "cassettes/cases/greeting.yaml", "servus")
        sandbox.comes_to_say("servus")


def test_a_mistake_keeps_the_last_good_set_until_it_is_mended(confdir: Path, here: Path) -> None:
    file = here / "mine/greeting.yaml"
    says(file, "servus")
    with running(confdir, cassettes=["mine"]) as sandbox:
        says(file, "baba", ", statsu: 200")
        sandbox.comes_to(lambda: bool(sandbox.status()["problems"]))

        problem, *shown = sandbox.status()["problems"]
        assert "statsu: 200" in shown[0]
        assert "greeting.yaml:3:" in problem
        assert "statsu" in problem
        assert problem in sandbox.lines[-1]
        assert sandbox.lines[-1].endswith("kept what was loaded before; fix this and save")
        assert sandbox.get().text == "servus"

        says(file, "baba")
        sandbox.comes_to_say("baba")
        assert sandbox.status()["problems"] == []
        assert len(sandbox.lines) == 2


def test_a_file_that_is_no_yaml_for_a_moment(confdir: Path, here: Path) -> None:
    file = here / "mine/greeting.yaml"
    says(file, "servus")
    with running(confdir, cassettes=["mine"]) as sandbox:
        file.write_bytes(b"\xff\xfe cassette: [")
        sandbox.comes_to(lambda: bool(sandbox.status()["problems"]))
        assert sandbox.get().text == "servus"
        says(file, "baba")
        sandbox.comes_to_say("baba")


def test_test_data(confdir: Path, here: Path) -> None:
    data = here / "data.yaml"
    psu = "testdata: 2\npsus:\n  greta: {name: NAME, password: zugspitze, otp: '111111', methods: []}\n"
    data.write_text(psu.replace("NAME", "Greta Moser"))
    with running(confdir, testdata="data.yaml") as sandbox:

        def name() -> str:
            return str(sandbox.client.get("state", "psus", "greta")["name"])

        assert name() == "Greta Moser"
        data.write_text(psu.replace("NAME", "Greta Huber"))
        sandbox.comes_to(lambda: name() == "Greta Huber")
        data.write_text(psu.replace("NAME", "[NAME]"))
        sandbox.comes_to(lambda: bool(sandbox.status()["problems"]))
        assert "data.yaml:3:" in sandbox.status()["problems"][0]
        assert name() == "Greta Huber"


def test_what_the_sandbox_has_been_told_stays(confdir: Path, here: Path) -> None:
    says(here / "mine/greeting.yaml", "servus")
    with running(confdir, cassettes=["mine"]) as sandbox:
        sandbox.client.ask("PUT", ("state", "notes", "n1"), {"kept": True})
        says(here / "mine/greeting.yaml", "baba")
        sandbox.comes_to_say("baba")
        assert sandbox.client.get("state", "notes", "n1") == {"kept": True}


def test_settings(confdir: Path, here: Path) -> None:
    file = here / "xs2a-sandbox.yaml"
    with running(confdir) as sandbox:
        says(here / "mine/greeting.yaml", "servus")
        assert sandbox.get().status_code == 404
        file.write_text("cassettes: [mine]\n")
        sandbox.comes_to_say("servus")
        says(here / "mine/greeting.yaml", "baba")
        sandbox.comes_to_say("baba")
        file.write_text("cassettes: []\n")
        sandbox.comes_to(lambda: sandbox.get().status_code == 404)


def test_settings_that_are_wrong_change_nothing(confdir: Path, here: Path) -> None:
    says(here / "mine/greeting.yaml", "servus")
    file = here / "xs2a-sandbox.yaml"
    file.write_text("cassettes: [mine]\n")
    with running(confdir) as sandbox:
        file.write_text("casettes: [mine]\n")
        sandbox.comes_to(lambda: bool(sandbox.status()["problems"]))
        assert "casettes" in sandbox.status()["problems"][0]
        assert sandbox.get().text == "servus"
        file.write_text("cassettes: [mine]\nshift_dates: true\n")
        sandbox.comes_to(lambda: not sandbox.status()["problems"])


def test_a_mistake_where_new_settings_lead_to_can_be_mended(confdir: Path, here: Path) -> None:
    says(here / "mine/greeting.yaml", "servus", ", statsu: 200")
    with running(confdir) as sandbox:
        (here / "xs2a-sandbox.yaml").write_text("cassettes: [mine]\n")
        sandbox.comes_to(lambda: bool(sandbox.status()["problems"]))
        says(here / "mine/greeting.yaml", "servus")
        sandbox.comes_to_say("servus")
        assert sandbox.status()["problems"] == []
        assert len(sandbox.lines) == 2


def test_a_setting_that_has_to_wait_says_so_once(confdir: Path, here: Path) -> None:
    says(here / "mine/greeting.yaml", "servus")
    with running(confdir, cassettes=["mine"]) as sandbox:
        (here / "xs2a-sandbox.yaml").write_text("static_data: true\n")
        sandbox.comes_to(lambda: len(sandbox.lines) == 2)
        assert sandbox.lines[0] == "xs2a-sandbox.yaml: static_data will take effect at the next start"
        says(here / "mine/greeting.yaml", "baba")
        sandbox.comes_to_say("baba")
        assert len([text for text in sandbox.lines if "next start" in text]) == 1


def test_a_request_under_way_ends_with_what_it_began_with(
    confdir: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = threading.Event(), threading.Event()

    async def sleep(seconds: float) -> None:
        assert seconds == 3
        begun.set()
        await asyncio.to_thread(ended.wait, DEADLINE)

    monkeypatch.setattr(journaling, "asyncio", SimpleNamespace(sleep=sleep))
    says(here / "mine/greeting.yaml", "servus", ", delay: 3s")
    with running(confdir, cassettes=["mine"]) as sandbox, ThreadPoolExecutor() as threads:
        first = threads.submit(sandbox.get)
        begun.wait(DEADLINE)
        says(here / "mine/greeting.yaml", "baba")
        sandbox.comes_to(lambda: bool(sandbox.lines))
        assert sandbox.get().text == "baba"
        assert not first.done()
        ended.set()
        assert first.result(DEADLINE).text == "servus"


@pytest.fixture
def watcher(confdir: Path, here: Path) -> tuple[reload.Reload, list[str]]:
    """One whose looks are taken by hand, and what it tells its user."""
    flags = {"cassettes": ["mine"], "state": "memory:", "confdir": str(confdir)}
    loaded = settings.load(flags, {}, here)
    lines: list[str] = []
    return reload.Reload(
        build.build(loaded), loaded, lambda: loaded, lambda text, level="info": lines.append(text)
    ), lines


def test_what_is_half_written_is_waited_for(
    watcher: tuple[reload.Reload, list[str]], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, lines = watcher
    file = here / "mine/greeting.yaml"

    mine, sleep = threading.get_ident(), asyncio.sleep

    async def written(seconds: float) -> None:
        if threading.get_ident() != mine:  # a sandbox that other tests share looks at its files, too
            await sleep(seconds)
        else:
            says(file, "servus")

    monkeypatch.setattr(reload, "asyncio", SimpleNamespace(sleep=written, to_thread=asyncio.to_thread))
    file.write_text(rule("servus")[:20])
    asyncio.run(looks._look())
    (text,) = lines
    assert text.startswith("loaded again: ")


@pytest.mark.parametrize(("seconds", "pause"), [(0.001, 0.25), (3.0, 30.0)])
def test_looks_at_any_number_of_files_leave_the_machine_to_others(
    watcher: tuple[reload.Reload, list[str]], monkeypatch: pytest.MonkeyPatch, seconds: float, pause: float
) -> None:
    clock, mine = iter([100.0, 100.0 + seconds]), threading.get_ident()
    # A sandbox that other tests share looks at its files, too.
    monkeypatch.setattr(reload, "monotonic", lambda: next(clock) if threading.get_ident() == mine else time.monotonic())
    assert asyncio.run(watcher[0]._look()) == pytest.approx(pause)


def test_the_log_hides_what_a_recording_hides_that_came_later(confdir: Path, here: Path) -> None:
    key = ensure_key(confdir)
    entry = Redactor(key).entry(taped(f"/v1/konten/{IBAN}", {"iban": IBAN}))
    assert IBAN not in entry.target
    tape(here / "tape", entry, redacted=fingerprint(key))
    derive(here / "tape", None)
    with running(confdir, cassettes=["mine"]) as sandbox:
        assert sandbox.get(f"/v1/konten/{IBAN}").status_code == 404
        for file in (here / "tape/cassettes").iterdir():
            os.replace(file, here / "mine" / file.name)
        sandbox.comes_to(lambda: sandbox.get(f"/v1/konten/{IBAN}").status_code == 200)
        assert sandbox.exchanges[-1].path == entry.target
