"""A sandbox in mode compare, with real doors, whose bank is another sandbox behind a door."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from msgspec import structs

from tests.compare.test_comparison import Renamed, journey, step
from tests.support.doors import DEADLINE, Loop, trusting, wait_until
from tests.support.engine_client import an_engine
from tests.support.far_bank import FarBank, hang
from tests.support.redirect_journey import redirect_journey
from tests.support.roads import direct_door, proxy_doors
from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.config.real_bank import BankHost
from xs2a_sandbox.doors.direct import DirectDoor
from xs2a_sandbox.doors.proxy import ProxyDoors, ensure_ca
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.engine.destinations import live_comparison
from xs2a_sandbox.engine.destinations.live_comparison import UNDER_WAY
from xs2a_sandbox.features.compare.run_comparison import RunComparison
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.journal.search import count_values, fits, parse

Ask = Callable[[Request], Awaitable[Response]]
DOORS = ("direct", "proxy")
CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
CONSENTS = {
    "access": {"availableAccounts": "allAccounts"},
    "recurringIndicator": True,
    "validUntil": "9999-12-31",
    "frequencyPerDay": 4,
}


@pytest.fixture(scope="module")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure_ca(tmp_path_factory.mktemp("conf")).parent


@dataclass
class Sandbox:
    """Two doors of a sandbox, and the lines that it has printed."""

    engine: Engine
    direct: DirectDoor
    proxy: ProxyDoors
    loop: Loop
    confdir: Path
    lines: list[str]
    run: RunComparison

    def asker(self, client: httpx.AsyncClient) -> Ask:
        async def ask(request: Request) -> Response:
            headers = [pair for pair in request.headers if request.body or pair[0] != "Content-Type"]
            # An absolute link is followed unchanged.
            url = request.target if "://" in request.target else self.url(client) + request.target
            received = await client.request(request.method, url, headers=headers, content=request.body)
            return Response(received.status_code, tuple(received.headers.items()), received.content)

        return ask

    def url(self, client: httpx.AsyncClient) -> str:
        return "https://bank.example" if client.trust_env else f"http://127.0.0.1:{self.direct.port}"

    def does(self, work: Callable[[Ask], Awaitable[Any]], door: str = "direct") -> Any:
        """Run an app at this door."""

        async def main() -> Any:
            proxy = f"http://127.0.0.1:{self.proxy.proxy_port}" if door == "proxy" else None
            context = trusting(self.confdir / "mitmproxy-ca-cert.pem")
            # `trust_env` has no effect without environment variables, and distinguishes the two clients.
            options: Any = {"proxy": proxy, "verify": context, "timeout": DEADLINE, "trust_env": door == "proxy"}
            async with httpx.AsyncClient(**options) as client:
                return await work(self.asker(client))

        return asyncio.run(main())

    def gets(self, target: str, *headers: tuple[str, str], door: str = "direct") -> Response:
        return self.does(lambda ask: ask(step("GET", target, None, *headers).request), door)  # type: ignore[no-any-return]

    def sends(self, method: str, target: str, body: Any, door: str = "direct") -> Response:
        return self.does(lambda ask: ask(step(method, target, body).request), door)  # type: ignore[no-any-return]

    def ends(self) -> list[str]:
        """Return all lines when the last comparison has finished."""
        assert self.engine.parts.comparing
        self.loop.run(self.engine.parts.comparing.close())
        return [*self.lines, *self.run.end()]


@contextmanager
def comparing(url: str, confdir: Path, **options: Any) -> Iterator[Sandbox]:
    named = (RealBank(url, hosts=(BankHost("bank.example"),)),)
    options = {"state": "memory:", "bank": url, "mode": "compare", "banks": named, **options}
    settings = Settings(confdir=confdir, **options)
    with Loop() as loop:

        async def start() -> Sandbox:
            engine = build(settings)
            direct = direct_door(engine.answer)
            proxy = proxy_doors(engine.answer, confdir, tls_port=None)
            await direct.start()
            await proxy.start()
            engine.use(public_url=f"http://127.0.0.1:{direct.port}")
            lines: list[str] = []
            run = RunComparison(settings)
            run.begin(engine, lines.append)
            return Sandbox(engine, direct, proxy, loop, confdir, lines, run)

        sandbox = loop.run(start())
        try:
            yield sandbox
        finally:
            loop.run(sandbox.direct.drain(1))
            loop.run(sandbox.proxy.drain(1))
            loop.run(sandbox.engine.close())


@contextmanager
def a_bank(change: Callable[[Request, Response], Response] = lambda request, response: response) -> Iterator[Any]:
    """Yield another sandbox with other names and ids, at a URL. Its answers go through `change`."""
    bank = Renamed(an_engine(), "b")

    async def answer(request: Request) -> Response:
        return change(request, await bank.answer(request))

    with Loop() as loop:

        async def start() -> DirectDoor:
            door = direct_door(answer)
            await door.start()
            return door

        door = loop.run(start())
        bank.url = f"http://127.0.0.1:{door.port}"  # type: ignore[attr-defined]
        bank.engine.use(public_url=bank.url)  # type: ignore[attr-defined]
        try:
            yield bank
        finally:
            loop.run(door.drain(1))


def requests_at(bank: Any, method: str = "") -> list[str]:
    return [f"{one.method} {one.target}" for one in bank.asked if one.method.startswith(method)]


def in_dollars(request: Request, response: Response) -> Response:
    return structs.replace(response, body=response.body.replace(b'"currency":"EUR"', b'"currency":"USD"'))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("source", ["sandbox", "bank"])
def test_a_journey_with_different_identifiers_has_no_differences(source: str, door: str, confdir: Path) -> None:
    with a_bank() as bank, comparing(bank.url, confdir, answer_from=source, allow_writes=True) as sandbox:
        done = sandbox.does(journey, door)
        last = sandbox.ends()

    assert {response.status for _, response in done} >= {200, 201}
    (summary,) = [line for line in last if line.startswith("compared with")]
    assert summary.startswith(f"compared with {bank.url}: {len(done)} same, 0 differ; differences: 0 high")
    sources = {dict(response.headers)["x-sandbox-source"] for _, response in done}
    assert ("bank" in sources) == (source == "bank")
    assert len(requests_at(bank, "POST")) == sum(request.method == "POST" for request, _ in done)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("source", ["sandbox", "bank"])
def test_a_difference_is_reported_at_once_and_redacted(source: str, door: str, confdir: Path) -> None:
    with a_bank(in_dollars) as bank, comparing(bank.url, confdir, answer_from=source) as sandbox:
        answer = sandbox.gets("/v1/accounts", ("Consent-ID", CONSENT), door=door)
        wait_until(lambda: bool(sandbox.lines))
        (line,) = sandbox.lines
        last = sandbox.ends()[-1]

    assert (b"USD" in answer.body) == (source == "bank")
    assert line.startswith("differs: GET /v1/accounts [account-list]: medium value at /accounts/0/currency (bank")
    assert "0 same, 1 differ; differences: 0 high," in last


@pytest.mark.parametrize("source", ["sandbox", "bank"])
def test_the_journal_finds_differences(source: str, confdir: Path) -> None:
    with a_bank(in_dollars) as bank, comparing(bank.url, confdir, answer_from=source) as sandbox:
        sandbox.gets("/v1/accounts", ("Consent-ID", CONSENT))
        sandbox.gets(f"/v1/consents/{CONSENT}/status")
        journal = sandbox.engine.parts.journal
        wait_until(lambda: [entry.verdict for entry in journal] == ["differs", "same"])
        different = [kept for kept in journal.kept_after(0) if fits(parse("is:different"), kept)]

    assert [kept.target for kept in different] == ["/v1/accounts"]
    assert count_values(different)["is"] == {"different": 1}


@pytest.mark.parametrize("source", ["sandbox", "bank"])
def test_the_sandbox_follows_a_payment_user_who_decides_at_the_bank(source: str, confdir: Path) -> None:
    with a_bank() as bank, comparing(bank.url, confdir, answer_from=source, allow_writes=True) as sandbox:
        decides = "at the bank the payment user decides at "
        decided: list[str] = []

        async def decide(link: str) -> None:
            if source == "sandbox":  # the link of the sandbox opens its own page
                links = lambda: [line.removeprefix(decides) for line in sandbox.lines if line.startswith(decides)]  # noqa: E731
                await asyncio.to_thread(wait_until, lambda: len(links()) > len(decided))
                link = links()[-1]
            decided.append(link)
            parts = urlsplit(link)
            page = Request("GET", f"{parts.path}?{parts.query}&decide=approve", host="localhost")
            assert (await asyncio.to_thread(sandbox.loop.run, bank.answer(page))).status == 303

        done = sandbox.does(lambda ask: redirect_journey(ask, decide))
        last = sandbox.ends()

    assert len(decided) == 2
    (summary,) = [line for line in last if line.startswith("compared with")]
    assert summary.startswith(f"compared with {bank.url}: {len(done)} same, 0 differ")
    assert "moved: consent-status: consent received → valid, as at the bank" in last
    assert "moved: payment-status: payment RCVD → ACSP, as at the bank" in last
    assert any(line.startswith("  moved ") for line in last)


def test_writes_and_requests_that_depend_on_them_are_not_sent_to_the_bank(confdir: Path) -> None:
    with a_bank() as bank, comparing(bank.url, confdir) as sandbox:
        made = json.loads(sandbox.sends("POST", "/v1/consents", CONSENTS).body)
        own = sandbox.gets(f"/v1/consents/{made['consentId']}")
        covered = sandbox.gets("/v1/accounts", ("Consent-ID", made["consentId"]))
        sandbox.gets("/v1/accounts", ("Consent-ID", CONSENT))
        lines = sandbox.ends()

    assert (own.status, covered.status) == (200, 200)
    assert set(requests_at(bank)) == {"GET /v1/accounts"}
    assert lines[0].startswith("not compared: ")
    assert "1 same, 0 differ" in lines[1]
    assert lines[2:] == [
        "  skipped 2: about a resource that only one side has",
        "  skipped 1: a write, and --allow-writes was not given",
    ]


def test_the_sandbox_answers_writes_that_are_not_sent_to_the_bank(confdir: Path) -> None:
    with a_bank() as bank, comparing(bank.url, confdir, answer_from="bank") as sandbox:
        made = sandbox.sends("POST", "/v1/consents", CONSENTS)
        consent = json.loads(made.body)["consentId"]
        own = sandbox.gets(f"/v1/consents/{consent}")
        theirs = sandbox.gets("/v1/accounts", ("Consent-ID", CONSENT))
        lines = sandbox.ends()

    assert made.status == 200
    sources = [dict(one.headers)["x-sandbox-source"] for one in (made, own, theirs)]
    assert sources == ["handler", "handler", "bank"]
    assert set(requests_at(bank)) == {"GET /v1/accounts"}
    assert "1 same, 0 differ" in lines[-3]


@pytest.mark.parametrize("source", ["sandbox", "bank"])
def test_an_app_gets_answers_from_the_sandbox_while_the_bank_is_down(source: str, confdir: Path) -> None:
    with FarBank() as bank:
        url = bank.url
    with comparing(url, confdir, answer_from=source) as sandbox:
        for _ in range(3):
            answer = sandbox.gets("/v1/accounts", ("Consent-ID", CONSENT))
            assert (answer.status, dict(answer.headers)["x-sandbox-source"]) == (200, "handler")
        lines = sandbox.ends()

    assert lines[0].startswith("cannot compare: bank-unreachable: ")
    assert "0 differ" in lines[1]
    assert "3 not answered" in lines[1]


def test_a_comparison_that_fails_to_start_does_not_affect_the_app(
    confdir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(live_comparison.LiveComparison, "_begin", fail)
    with a_bank() as bank, comparing(bank.url, confdir, answer_from="sandbox") as sandbox:
        assert sandbox.gets("/v1/consents/nobody/status").status == 403
    assert "the exchange could not be compared" in caplog.text


def test_a_write_with_a_lost_answer_is_not_answered_by_the_sandbox(confdir: Path) -> None:
    with FarBank() as bank:
        url = bank.url
    with comparing(url, confdir, answer_from="bank", allow_writes=True) as sandbox:
        assert sandbox.sends("POST", "/v1/consents", CONSENTS).status == 502


def test_a_slow_bank_delays_no_answer_and_is_not_flooded(confdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_comparison, "GRACE", 0.01)
    with FarBank(hang()) as bank, comparing(bank.url, confdir) as sandbox:
        began = monotonic()

        async def many(ask: Ask) -> None:
            for _ in range(UNDER_WAY + 3):
                await ask(step("GET", "/v1/accounts", None, ("Consent-ID", CONSENT)).request)

        sandbox.does(many)
        assert monotonic() - began < DEADLINE
        lines = sandbox.ends()

    assert len(bank.seen) == 1
    assert (
        lines[0] == "not compared: account-list: 20 other comparisons were running (reported once, counted at the end)"
    )
    assert f"  skipped {UNDER_WAY}: not finished at the end" in lines
    assert "  skipped 3: 20 other comparisons were running" in lines


def test_writes_wait_for_a_slow_bank_but_reads_are_skipped(confdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_comparison, "GRACE", 0.01)
    with FarBank(hang()) as bank, comparing(bank.url, confdir, allow_writes=True) as sandbox:

        async def many(ask: Ask) -> None:
            for _ in range(UNDER_WAY):
                await ask(step("GET", "/v1/accounts", None, ("Consent-ID", CONSENT)).request)
            for _ in range(2):
                await ask(step("POST", "/v1/consents", CONSENTS).request)
                await ask(step("GET", "/v1/accounts", None, ("Consent-ID", CONSENT)).request)

        sandbox.does(many)
        lines = sandbox.ends()

    assert "  skipped 2: 20 other comparisons were running" in lines
    assert f"  skipped {UNDER_WAY + 2}: not finished at the end" in lines


def test_only_the_paths_in_mode_compare_are_compared(confdir: Path) -> None:
    with a_bank() as bank:
        real = RealBank(bank.url, mode="simulate", modes=(("/v1/accounts", "compare"),))
        with comparing(bank.url, confdir, mode="simulate", banks=(real,)) as sandbox:
            sandbox.gets(f"/v1/consents/{CONSENT}/status")
            sandbox.gets("/v1/accounts", ("Consent-ID", CONSENT))
            last = sandbox.ends()[-1]

    assert "1 same" in last
    assert set(requests_at(bank)) == {"GET /v1/accounts"}


def test_each_session_is_a_separate_journey(confdir: Path) -> None:
    with a_bank() as bank, comparing(bank.url, confdir, allow_writes=True) as sandbox:
        for session in ("a", "b"):
            made = sandbox.sends("POST", f"/s/{session}/v1/consents", CONSENTS)
            sandbox.gets(f"/s/{session}/v1/consents/{json.loads(made.body)['consentId']}")
        last = sandbox.ends()[-1]

    assert "4 same, 0 differ" in last
    assert "POST /v1/consents" in requests_at(bank)


def test_ignore_rules_noise_and_report_files_work_together(confdir: Path, tmp_path: Path) -> None:
    rules = tmp_path / "ignore.yaml"
    rules.write_text("ignore: 1\nrules: [{path: /accounts/*/currency, why: dollars}, {path: /x, why: nothing}]\n")
    files = tuple(tmp_path / f"report.{kind}" for kind in ("json", "html", "xml"))
    count = 0

    def changing(request: Request, response: Response) -> Response:
        nonlocal count
        count += 1
        named = response.body.replace(b'"accounts":', b'"count":%d,"accounts":' % count)
        return in_dollars(request, structs.replace(response, body=named))

    with (
        a_bank(changing) as bank,
        comparing(bank.url, confdir, ignore=(rules,), report=files) as sandbox,
    ):
        sandbox.gets("/v1/accounts", ("Consent-ID", CONSENT))
        sandbox.sends("POST", "/v1/consents", CONSENTS)
        lines = sandbox.ends()

    assert any(f"{rules}:2: ignored nothing (nothing)" in line for line in lines)
    made = json.loads(files[0].read_text())
    assert made["redacted"]
    assert made["skipped"] == ["create-consent"]
    (exchange,) = made["exchanges"]
    assert "dollars" in {one["why"] for one in exchange["masked"]}
    assert all(file.stat().st_size for file in files)


def test_a_comparison_does_not_delay_answers(confdir: Path) -> None:
    done = threading.Event()
    with a_bank(in_dollars) as bank, comparing(bank.url, confdir) as sandbox:
        assert sandbox.engine.parts.comparing
        report = sandbox.engine.parts.comparing.report
        begun = threading.Event()

        def show(compared: Any) -> None:
            begun.set()
            done.wait(2 * DEADLINE)

        report.show = show  # type: ignore[method-assign]
        sandbox.gets("/v1/accounts", ("Consent-ID", CONSENT))
        assert begun.wait(DEADLINE)
        # The request ends within the client's timeout while a comparison is running.
        assert sandbox.gets("/v1/accounts", ("Consent-ID", CONSENT)).status == 200
        done.set()
        assert "0 same, 2 differ" in sandbox.ends()[-1]
