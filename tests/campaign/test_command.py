"""The command of a campaign: its environment, and how it ends."""

import sys
from pathlib import Path
from threading import Event

import pytest

from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign.command import Command

TOLD = {"XS2A_SANDBOX_URL": "http://127.0.0.1:1/s/a"}


def python(code: str, tmp_path: Path, **variables: str) -> Command:
    return Command((sys.executable, "-c", code), variables, tmp_path)


def test_the_command_gets_addresses_and_no_local_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XS2A_SANDBOX_DIALECT", "elsewhere")
    code = "import os; print(*sorted(f'{n}={v}' for n, v in os.environ.items() if 'XS2A' in n or n == 'BANK'))"

    ended = python(code, tmp_path, BANK="{url}/v1").run(TOLD, tmp_path, 60, Event())

    assert ended.output == "BANK=http://127.0.0.1:1/s/a/v1 XS2A_SANDBOX_URL=http://127.0.0.1:1/s/a\n"
    assert (ended.status, ended.hung, ended.signal) == (0, False, None)


def test_a_command_that_does_not_end_is_stopped_with_all_its_children(tmp_path: Path) -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(3600)'])"

    ended = python(code, tmp_path).run(TOLD, tmp_path, 0.5, Event())

    assert (ended.hung, ended.signal) == (True, None)


def test_a_crash_is_recognised(tmp_path: Path) -> None:
    ended = python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", tmp_path).run(TOLD, tmp_path, 60, Event())

    assert (ended.hung, ended.signal) == (False, "SIGSEGV")


def test_a_missing_command_or_placeholder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="cannot run nothing-like-it: No such file"):
        Command(("nothing-like-it",), {}, tmp_path).run(TOLD, tmp_path, 60, Event())
    with pytest.raises(UserMistake, match="uses an unknown placeholder"):
        python("", tmp_path, BANK="{uri}").run(TOLD, tmp_path, 60, Event())
