"""The runs without a fault, and what they say about the runs to come."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.campaign.seeing import INDEX
from tests.support.admin import STATUS
from tests.support.doors import opened
from tests.support.roads import direct_door
from xs2a_sandbox.config import Settings
from xs2a_sandbox.control.access import ensure_token
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.features.campaign.bank import SandboxAddresses, Sandboxes
from xs2a_sandbox.features.campaign.command import Command, Ended
from xs2a_sandbox.features.campaign.learning import Lesson, count_jobs, learning
from xs2a_sandbox.features.campaign.run import RunSession

ASKS = f"""
import os, pathlib, sys, time, urllib.error, urllib.request
headers = {{"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}}
try:
    urllib.request.urlopen(urllib.request.Request(os.environ["XS2A_SANDBOX_URL"] + "{STATUS}", headers=headers))
except urllib.error.HTTPError:
    pass
"""
KEEPS_ELSEWHERE = """
kept = pathlib.Path("session")
if kept.exists() and kept.read_text() != os.environ["XS2A_SANDBOX_SESSION"]:
    sys.exit("the data belong to another customer")
kept.write_text(os.environ["XS2A_SANDBOX_SESSION"])
"""
FAILS_WHEN_WARM = """
if "sched" in sys.modules:
    sys.exit("it was imported before")
import sched
"""
FAILS_TWICE = """
kept = pathlib.Path(os.environ["XS2A_SANDBOX_RUN_DIR"]) / "done"
if kept.exists():
    sys.exit("done before")
kept.touch()
"""
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

type Learn = Callable[..., Lesson]


@pytest.fixture
def learn(tmp_path: Path) -> Iterator[Learn]:
    """Return a function that learns from a program."""
    engine = build(Settings(state="memory:", confdir=tmp_path / "conf"))
    engine.use(admin_token=ensure_token(tmp_path / "conf"))
    app = tmp_path / "app.py"

    def begin(sandbox: SandboxAddresses, name: str, command: Command) -> RunSession:
        return RunSession(sandbox, name, command, 60.0, tmp_path / f"run-{name}", INDEX)

    with opened(lambda: direct_door(engine.answer)) as (door, _):

        def learn(code: str, jobs: int | None = None, words: tuple[str, ...] = ("app.py",)) -> Lesson:
            app.write_text(ASKS + code)
            url = f"http://127.0.0.1:{door.port}"
            command = Command((sys.executable, *words), {}, tmp_path)
            with (
                Sandboxes(tmp_path, (), url, tmp_path / "conf") as sandboxes,
                learning(sandboxes, begin, command, jobs) as lesson,
            ):
                return lesson

        yield learn


def test_a_command_that_waits_gets_more_jobs_than_cores(learn: Learn) -> None:
    lesson = learn("time.sleep(1)")

    assert CORES < lesson.jobs <= 4 * CORES
    assert (lesson.warnings, lesson.command.warm is not None) == ((), True)
    assert learn("time.sleep(1)", jobs=3).jobs == 3


@pytest.mark.parametrize(("used", "per_core"), [(3.0, 1), (1.5, 2), (0.1, 4), (0.0, 4)])
def test_the_jobs_keep_the_cores_busy(used: float, per_core: int) -> None:
    assert count_jobs(Ended(0, 3.0, False, "", used)) == per_core * CORES


@pytest.mark.slow
def test_a_shared_sandbox_gets_no_more_jobs_than_its_journal_can_show(learn: Learn) -> None:
    assert learn(f"for _ in range(499):\n    exec({ASKS!r})\ntime.sleep(2)").jobs == 1


def test_a_command_whose_runs_affect_each_other_gets_one_job(learn: Learn) -> None:
    lesson = learn(KEEPS_ELSEWHERE)

    assert lesson.jobs == 1
    assert lesson.warnings == (
        "run twice at the same time, in separate sessions, the command ends with status 1, so the campaign does one "
        "run at a time: let the app keep its data in XS2A_SANDBOX_RUN_DIR, and use no fixed port",
    )


def test_a_command_that_fails_in_a_fork_is_started_anew_for_each_run(learn: Learn) -> None:
    lesson = learn(FAILS_WHEN_WARM)

    assert (lesson.command.warm, lesson.warnings) == (None, ())


def test_a_command_that_is_no_program_of_python_is_learned(learn: Learn) -> None:
    lesson = learn("", words=("-c", ASKS))

    assert (lesson.command.warm, lesson.learned.passes_again) == (None, True)


def test_a_second_run_that_fails_is_a_warning(learn: Learn) -> None:
    lesson = learn(FAILS_TWICE)

    assert not lesson.learned.passes_again
    assert lesson.warnings == (
        "run twice in a row the command ends with status 1, so that nothing is said about the next run after a fault",
    )
