"""Files read once, engines made in an instant."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.support.sandboxes import blueprint
from xs2a_sandbox.cassette.rule_text import read_rules
from xs2a_sandbox.config import Settings
from xs2a_sandbox.errors import Unreadable
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.journal.journal import Journal
from xs2a_sandbox.state import MemoryStore
from xs2a_sandbox.testing.sandbox import Blueprint

CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
ASKED = Request("GET", f"/v1/consents/{CONSENT}", Headers([("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721")]))


def test_an_engine_of_a_blueprint_is_the_bank_of_the_files() -> None:
    plan = blueprint()
    engine = plan.engine(plan.interface, MemoryStore(), Journal())
    assert asyncio.run(engine.answer(ASKED)).status == 200


def test_settings_reach_the_engine(tmp_path: Path) -> None:
    plan = Blueprint.read(Settings(state="memory:", confdir=tmp_path, base_path="/xs2a", public_url="https://b"))
    engine = plan.engine(plan.interface, MemoryStore(), Journal())
    assert engine.public_url == "https://b"
    assert asyncio.run(engine.answer(ASKED)).status == 404


def test_reading_leaves_nothing_behind(tmp_path: Path) -> None:
    Blueprint.read(Settings(state="memory:", confdir=tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_every_mistake_of_the_files_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("cassette: 1\nrules: [{id: a, match: {operation: nope}, respond: {}}]")
    (tmp_path / "testdata.yaml").write_text("testdata: 1\naccounts: {X: 1}")
    with pytest.raises(Unreadable) as caught:
        Blueprint.read(Settings(state="memory:", confdir=tmp_path, cassettes=(tmp_path / "a.yaml",),
                                testdata=tmp_path / "testdata.yaml"))  # fmt: skip
    assert {problem.code for problem in caught.value.problems} >= {"unknown-operation", "wrong-type"}


def test_a_layer_more_is_there_in_less_than_50_milliseconds() -> None:
    plan = blueprint()

    def added(number: int) -> float:
        began = time.process_time()
        text = f"match: {{operation: account-list, query: {{n: {number}}}}}\nrespond: {{status: 503}}"
        layer = [read_rules(text, Path("x"), plan.schemas, f"added-{number}")]
        plan.engine(plan.extended([layer]), MemoryStore(), Journal())
        return time.process_time() - began

    added(0)
    assert min(added(number) for number in range(1, 6)) < 0.05
