"""Editing files while a sandbox runs, as an app sees it: real sockets and real files."""

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


def save_rule(file: Path, word: str, more: str = "") -> None:
    """Save a file as editors do: write a new file next to it, then rename it."""
    beside = file.with_name(f".{file.name}.swp")
    beside.write_text(rule(word, more))
    os.replace(beside, file)


def rule(word: str, more: str = "") -> str:
    return f"cassette: 1\nrules:\n  - {{id: greeting, match: {{path: /greeting}}, respond: {{text: {word}{more}}}}}\n"


class Running:
    """`serve` in a thread; `lines` is its output."""

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

    def wait_for_text(self, word: str) -> None:
        wait_until(lambda: self.get().text == word)

    def wait_for(self, happened: Callable[[], bool]) -> None:
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


@pytest.mark.parametrize(
    "save", [save_rule, lambda file, word: file.write_text(rule(word))], ids=["renamed", "written"]
)
def test_a_cassette_takes_effect_when_it_is_saved(confdir: Path, here: Path, save: Callable[[Path, str], None]) -> None:
    save(here / "mine/greeting.yaml", "servus")
    with running(confdir, cassettes=["mine"]) as sandbox:
        assert sandbox.get().text == "servus"
        before = sandbox.status()

        save(here / "mine/greeting.yaml", "baba")
        sandbox.wait_for_text("baba")

        assert sandbox.lines[-1].startswith("loaded again: ")
        assert sandbox.status()["loaded"] > before["loaded"]
        assert sandbox.status()["problems"] == []


def test_added_and_removed_files_take_effect(confdir: Path, here: Path) -> None:
    with running(confdir, cassettes=["mine"]) as sandbox:
        assert sandbox.get().status_code == 404
        (here / "mine/deep").mkdir()
        save_rule(here / "mine/deep/greeting.yaml", "servus")
        sandbox.wait_for_text("servus")
        (here / "mine/deep/greeting.yaml").unlink()
        sandbox.wait_for(lambda: sandbox.get().status_code == 404)


def test_a_file_saved_during_the_start_is_loaded(confdir: Path, here: Path) -> None:
    save_rule(here / "mine/greeting.yaml", "servus")
    with running(confdir, cassettes=["mine"], ready=lambda: save_rule(here / "mine/greeting.yaml", "baba")) as sandbox:
        sandbox.wait_for_text("baba")


def test_the_first_own_case_is_loaded(confdir: Path, here: Path) -> None:
    with running(confdir) as sandbox:
        assert sandbox.get().status_code == 404
        (here / "cassettes/cases").mkdir(parents=True)
        save_rule(here / "cassettes/cases/greeting.yaml", "servus")
        sandbox.wait_for_text("servus")


def test_a_mistake_keeps_the_last_good_cassettes_until_it_is_fixed(confdir: Path, here: Path) -> None:
    file = here / "mine/greeting.yaml"
    save_rule(file, "servus")
    with running(confdir, cassettes=["mine"]) as sandbox:
        save_rule(file, "baba", ", statsu: 200")
        sandbox.wait_for(lambda: bool(sandbox.status()["problems"]))

        problem, *shown = sandbox.status()["problems"]
        assert "statsu: 200" in shown[0]
        assert "greeting.yaml:3:" in problem
        assert "statsu" in problem
        assert problem in sandbox.lines[-1]
        assert sandbox.lines[-1].endswith("the files that were loaded before stay in use; fix this and save")
        assert sandbox.get().text == "servus"

        save_rule(file, "baba")
        sandbox.wait_for_text("baba")
        assert sandbox.status()["problems"] == []
        assert len(sandbox.lines) == 2


def test_a_temporarily_invalid_yaml_file_keeps_the_last_good_cassettes(confdir: Path, here: Path) -> None:
    file = here / "mine/greeting.yaml"
    save_rule(file, "servus")
    with running(confdir, cassettes=["mine"]) as sandbox:
        file.write_bytes(b"\xff\xfe cassette: [")
        sandbox.wait_for(lambda: bool(sandbox.status()["problems"]))
        assert sandbox.get().text == "servus"
        save_rule(file, "baba")
        sandbox.wait_for_text("baba")


def test_edited_test_data_are_loaded(confdir: Path, here: Path) -> None:
    data = here / "data.yaml"
    psu = "testdata: 2\npsus:\n  greta: {name: NAME, password: zugspitze, otp: '111111', methods: []}\n"
    data.write_text(psu.replace("NAME", "Greta Moser"))
    with running(confdir, testdata="data.yaml") as sandbox:

        def name() -> str:
            return str(sandbox.client.get("state", "psus", "greta")["name"])

        assert name() == "Greta Moser"
        data.write_text(psu.replace("NAME", "Greta Huber"))
        sandbox.wait_for(lambda: name() == "Greta Huber")
        data.write_text(psu.replace("NAME", "[NAME]"))
        sandbox.wait_for(lambda: bool(sandbox.status()["problems"]))
        assert "data.yaml:3:" in sandbox.status()["problems"][0]
        assert name() == "Greta Huber"


def test_a_reload_keeps_the_state(confdir: Path, here: Path) -> None:
    save_rule(here / "mine/greeting.yaml", "servus")
    with running(confdir, cassettes=["mine"]) as sandbox:
        sandbox.client.ask("PUT", ("state", "notes", "n1"), {"kept": True})
        save_rule(here / "mine/greeting.yaml", "baba")
        sandbox.wait_for_text("baba")
        assert sandbox.client.get("state", "notes", "n1") == {"kept": True}


def test_edited_settings_take_effect(confdir: Path, here: Path) -> None:
    file = here / "xs2a-sandbox.yaml"
    with running(confdir) as sandbox:
        save_rule(here / "mine/greeting.yaml", "servus")
        assert sandbox.get().status_code == 404
        file.write_text("cassettes: [mine]\n")
        sandbox.wait_for_text("servus")
        save_rule(here / "mine/greeting.yaml", "baba")
        sandbox.wait_for_text("baba")
        file.write_text("cassettes: []\n")
        sandbox.wait_for(lambda: sandbox.get().status_code == 404)


def test_wrong_settings_change_nothing(confdir: Path, here: Path) -> None:
    save_rule(here / "mine/greeting.yaml", "servus")
    file = here / "xs2a-sandbox.yaml"
    file.write_text("cassettes: [mine]\n")
    with running(confdir) as sandbox:
        file.write_text("casettes: [mine]\n")
        sandbox.wait_for(lambda: bool(sandbox.status()["problems"]))
        assert "casettes" in sandbox.status()["problems"][0]
        assert sandbox.get().text == "servus"
        file.write_text("cassettes: [mine]\nshift_dates: true\n")
        sandbox.wait_for(lambda: not sandbox.status()["problems"])


def test_a_mistake_in_files_of_new_settings_can_be_fixed(confdir: Path, here: Path) -> None:
    save_rule(here / "mine/greeting.yaml", "servus", ", statsu: 200")
    with running(confdir) as sandbox:
        (here / "xs2a-sandbox.yaml").write_text("cassettes: [mine]\n")
        sandbox.wait_for(lambda: bool(sandbox.status()["problems"]))
        save_rule(here / "mine/greeting.yaml", "servus")
        sandbox.wait_for_text("servus")
        assert sandbox.status()["problems"] == []
        assert len(sandbox.lines) == 2


def test_a_setting_that_needs_a_restart_is_reported_once(confdir: Path, here: Path) -> None:
    save_rule(here / "mine/greeting.yaml", "servus")
    with running(confdir, cassettes=["mine"]) as sandbox:
        (here / "xs2a-sandbox.yaml").write_text("static_data: true\n")
        sandbox.wait_for(lambda: len(sandbox.lines) == 2)
        assert sandbox.lines[0] == "xs2a-sandbox.yaml: static_data will take effect at the next restart"
        save_rule(here / "mine/greeting.yaml", "baba")
        sandbox.wait_for_text("baba")
        assert len([text for text in sandbox.lines if "next restart" in text]) == 1


def test_a_running_request_ends_with_the_rules_that_it_started_with(
    confdir: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = threading.Event(), threading.Event()

    async def sleep(seconds: float) -> None:
        assert seconds == 3
        begun.set()
        await asyncio.to_thread(ended.wait, DEADLINE)

    monkeypatch.setattr(journaling, "asyncio", SimpleNamespace(sleep=sleep))
    save_rule(here / "mine/greeting.yaml", "servus", ", delay: 3s")
    with running(confdir, cassettes=["mine"]) as sandbox, ThreadPoolExecutor() as threads:
        first = threads.submit(sandbox.get)
        begun.wait(DEADLINE)
        save_rule(here / "mine/greeting.yaml", "baba")
        sandbox.wait_for(lambda: bool(sandbox.lines))
        assert sandbox.get().text == "baba"
        assert not first.done()
        ended.set()
        assert first.result(DEADLINE).text == "servus"


@pytest.fixture
def watcher(confdir: Path, here: Path) -> tuple[reload.Reload, list[str]]:
    """Return a watcher whose checks are triggered by the test, and its output."""
    flags = {"cassettes": ["mine"], "state": "memory:", "confdir": str(confdir)}
    loaded = settings.load(flags, {}, here)
    lines: list[str] = []
    return reload.Reload(
        build.build(loaded), loaded, lambda: loaded, lambda text, level="info": lines.append(text)
    ), lines


def test_a_half_written_file_is_not_loaded(
    watcher: tuple[reload.Reload, list[str]], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, lines = watcher
    file = here / "mine/greeting.yaml"

    mine, sleep = threading.get_ident(), asyncio.sleep

    async def written(seconds: float) -> None:
        if threading.get_ident() != mine:  # a sandbox shared with other tests checks its files too
            await sleep(seconds)
        else:
            save_rule(file, "servus")

    monkeypatch.setattr(reload, "asyncio", SimpleNamespace(sleep=written, to_thread=asyncio.to_thread))
    file.write_text(rule("servus")[:20])
    asyncio.run(looks._look())
    (text,) = lines
    assert text.startswith("loaded again: ")


@pytest.mark.parametrize(("seconds", "pause"), [(0.001, 0.25), (3.0, 30.0)])
def test_checking_many_files_does_not_block_other_work(
    watcher: tuple[reload.Reload, list[str]], monkeypatch: pytest.MonkeyPatch, seconds: float, pause: float
) -> None:
    clock, mine = iter([100.0, 100.0 + seconds]), threading.get_ident()
    # A sandbox shared with other tests checks its files too.
    monkeypatch.setattr(reload, "monotonic", lambda: next(clock) if threading.get_ident() == mine else time.monotonic())
    assert asyncio.run(watcher[0]._look()) == pytest.approx(pause)


def test_the_log_redacts_values_of_a_recording_added_later(confdir: Path, here: Path) -> None:
    key = ensure_key(confdir)
    entry = Redactor(key).entry(taped(f"/v1/konten/{IBAN}", {"iban": IBAN}))
    assert IBAN not in entry.target
    tape(here / "tape", entry, redacted=fingerprint(key))
    derive(here / "tape", None)
    with running(confdir, cassettes=["mine"]) as sandbox:
        assert sandbox.get(f"/v1/konten/{IBAN}").status_code == 404
        for file in (here / "tape/cassettes").iterdir():
            os.replace(file, here / "mine" / file.name)
        sandbox.wait_for(lambda: sandbox.get(f"/v1/konten/{IBAN}").status_code == 200)
        assert sandbox.exchanges[-1].path == entry.target
