"""A flow with redirect SCA at a bank that differs in twelve ways.

Every kind of comparison finds these twelve, and the written amendments remove them all.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from tests.compare.test_comparison import compare, entry
from tests.engine import test_live_comparison as live
from tests.support.doors import wait_until
from tests.support.engine_client import an_engine
from tests.support.redirect_journey import PLANTED, TestBank, planted, recorded_journey, redirect_journey
from tests.support.taping import redacted_tape
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.compare.comparison import Result
from xs2a_sandbox.compare.payment_user import PaymentUser, links
from xs2a_sandbox.compare.reports.report import Report, report
from xs2a_sandbox.config import Settings
from xs2a_sandbox.doors.proxy import ensure_ca
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.features.compare import suggest_amendments
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.recording.har_log import Recording
from xs2a_sandbox.redaction import vault

pytestmark = pytest.mark.slow
Play = Callable[[Engine], Report]


def groups(made: Report) -> list[tuple[str, str, str]]:
    return sorted((one.operation, one.kind, one.place) for one in made.groups)


def report_of(result: Result) -> Report:
    return report(result, "https://bank.example", None)


async def offline(twin: Engine) -> Report:
    steps = await recorded_journey(TestBank("R", planted))
    return report_of(await compare(twin.answer, None, follow=twin.follow).play(steps))


async def batch(twin: Engine) -> Report:
    """Replay a recording from before the bank changed."""
    steps, bank = await recorded_journey(TestBank("R")), TestBank("b", planted)
    acts: list[Any] = []
    user = PaymentUser(lambda text: acts.append(asyncio.ensure_future(bank.decide(text.split()[-1]))), 60, pause=0.01)
    comparison = compare(twin.answer, bank.answer, follow=twin.follow, payment_user=user, allow_writes=True)
    made = report_of(await comparison.play(steps))
    await asyncio.gather(*acts)
    return made


@pytest.mark.parametrize("play", [offline, batch])
def test_twelve_differences_are_found_and_amended(play: Any, tmp_path: Path) -> None:
    twin = an_engine()
    before = asyncio.run(play(twin))
    assert groups(before) == sorted(PLANTED)

    suggestion = suggest_amendments.suggest(before, twin.interface)
    assert suggestion.left == ()
    suggest_amendments.write(suggestion.cassettes, tmp_path / "amend")
    settings = Settings(state="memory:", confdir=tmp_path, cassettes=(tmp_path / "amend",))
    assert groups(asyncio.run(play(build(settings)))) == []


@pytest.mark.parametrize("source", ["sandbox", "bank"])
def test_twelve_differences_are_found_while_the_sandbox_is_running(source: str, tmp_path: Path) -> None:
    confdir, file = ensure_ca(tmp_path).parent, tmp_path / "report.json"
    with (
        live.a_bank(planted) as bank,
        live.comparing(bank.url, confdir, answer_from=source, allow_writes=True, report=(file,)) as sandbox,
    ):
        decided: list[str] = []

        async def decide(link: str) -> None:
            if source == "sandbox":
                await asyncio.to_thread(wait_until, lambda: len(_links(sandbox.lines)) > len(decided))
                link = _links(sandbox.lines)[-1]
            decided.append(link)
            parts = urlsplit(link)
            page = Request("GET", f"{parts.path}?{parts.query}&decide=approve", host="localhost")
            assert (await asyncio.to_thread(sandbox.loop.run, bank.answer(page))).status == 303

        sandbox.does(lambda ask: redirect_journey(ask, decide))
        sandbox.ends()
    made = json.loads(file.read_text())

    differences = sorted((one["operation"], one["kind"], one["place"]) for one in made["differences"])
    assert differences == sorted(PLANTED)


def _links(lines: list[str]) -> list[str]:
    return [line.rpartition(" ")[2] for line in lines if "payment user decides at " in line]


def test_a_redacted_recording_shows_twelve_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(vault, "_COST", 2)
    waiting: list[str] = []
    asked: list[str] = []
    tasks: list[Any] = []

    def deciding(request: Request, response: Response) -> Response:
        """Let the payment user decide after the state has been read twice: once before, and once during the wait."""
        if request.method == "POST" and (made := list(links(entry(request, response)))):
            waiting.append(made[0])
            asked.clear()
        elif request.target.endswith("/status") and waiting:
            asked.append(request.target)
            if len(asked) == 2:
                parts = urlsplit(waiting.pop())
                page = Request("GET", f"{parts.path}?{parts.query}&decide=approve", host="localhost")
                tasks.append(asyncio.get_running_loop().create_task(bank.answer(page)))
        return planted(request, response)

    with live.a_bank(deciding) as bank:
        steps = asyncio.run(recorded_journey(TestBank("R")))
        redacted_tape(Path("conf"), *(replace(one.recorded, bank=bank.url) for one in steps if one.recorded))
        flags = ["--bank", bank.url, "--allow-writes", "--noise-reads", "off", "--confdir", "conf"]
        done = CliRunner().invoke(cli, ["compare", "conf/tape", *flags, "--report", "report.json", "--patch", "amend"])
    made = json.loads(Path("report.json").read_text())

    assert made["redacted"]
    differences = sorted((one["operation"], one["kind"], one["place"]) for one in made["differences"])
    assert differences == sorted(PLANTED), done.output
    assert "Anna G." not in done.output + Path("report.json").read_text()
    assert done.output.count("the payment user must decide about the") == 2


def test_written_amendments_remove_all_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def record() -> None:
        tape = Recording(tmp_path / "tape", None, {"banks": ["https://bank.example"], "redacted": False})
        for step in await recorded_journey(TestBank("R", planted)):
            assert step.recorded
            await tape.add(step.recorded)
        tape.close()

    asyncio.run(record())
    flags = ["compare", "--offline", "tape", "--no-redact", "--confdir", "conf", "--fail-on", "low"]
    first = CliRunner().invoke(cli, [*flags, "--patch", "amend"], prog_name="xs2a-sandbox")
    again = CliRunner().invoke(cli, [*flags, "--cassettes", "amend"], prog_name="xs2a-sandbox")

    assert first.exit_code == 1, first.output
    assert "amend/amend-account-list.yaml: 3 differ; with this file 0 do\n" in first.output
    assert "not amended" not in first.output
    assert again.exit_code == 0, again.output
