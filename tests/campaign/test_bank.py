"""The sandbox of a campaign, and the variables that the command gets."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.doors import opened
from tests.support.roads import direct_door
from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.control.access import ensure_token
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign import bank
from xs2a_sandbox.features.campaign.bank import SandboxAddresses

RUNS = SandboxAddresses("http://127.0.0.1:8081", Path("conf"))


class Begun:
    """A fake process that records whether it runs."""

    direct, tls, proxy = "http://127.0.0.1:8081", "https://127.0.0.1:8443", "http://127.0.0.1:8080"
    runs = False

    def __init__(self, confdir: Path, flags: tuple[str, ...]) -> None:
        self.flags = flags
        self.ca_file = confdir / "ca.pem"

    def start(self) -> None:
        Begun.runs = True

    def stop(self) -> None:
        Begun.runs = False


def test_a_temporary_sandbox_runs_until_the_campaign_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bank, "Process", Begun)
    confdir = tmp_path / "deep" / "conf"

    def broken_off() -> None:
        with bank.of_its_own(confdir, ("--quirk", "x")) as sandbox:
            assert sandbox == SandboxAddresses(Begun.direct, confdir, Begun.tls, Begun.proxy, confdir / "ca.pem")
            assert Begun.runs
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert not Begun.runs
    assert confdir.stat().st_mode & 0o777 == 0o700


@contextmanager
def serving(confdir: Path, **settings: Any) -> Iterator[str]:
    """Yield the base URL of a sandbox."""
    engine = build(Settings(state="memory:", confdir=confdir, **settings))
    engine.use(admin_token=ensure_token(confdir))
    with opened(lambda: direct_door(engine.answer)) as (door, _):
        yield f"http://127.0.0.1:{door.port}"


def test_a_running_sandbox_is_used_by_its_address(tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        assert bank.that_runs(f"{url}/", tmp_path) == SandboxAddresses(url, tmp_path)


def test_a_running_sandbox_that_forwards_to_a_real_bank_is_refused(tmp_path: Path) -> None:
    real = RealBank("https://bank.example", mode="spy")
    with serving(tmp_path, banks=(real,)) as url, pytest.raises(UserMistake, match=r"is in mode spy: start it in mode"):
        bank.that_runs(url, tmp_path)


def test_variables_contain_the_session_and_the_address_of_the_bank() -> None:
    assert bank.variables(RUNS, "run-1", Path("scratch")) == {
        "XS2A_SANDBOX_URL": "http://127.0.0.1:8081/s/run-1",
        "XS2A_SANDBOX_SESSION": "run-1",
        "XS2A_SANDBOX_RUN_DIR": "scratch",
        "XS2A_SANDBOX_HOST": "127.0.0.1",
        "XS2A_SANDBOX_PORT": "8081",
        "XS2A_SANDBOX_CONFDIR": "conf",
    }


def test_variables_contain_all_known_addresses() -> None:
    sandbox = SandboxAddresses(
        "http://bank.test", Path("conf"), "https://bank.test:8443", "http://bank.test:8080", Path("ca.pem")
    )
    variables = bank.variables(sandbox, "run-1", Path("scratch"))
    assert variables["XS2A_SANDBOX_PORT"] == "80"
    assert variables["XS2A_SANDBOX_TLS_URL"] == "https://bank.test:8443/s/run-1"
    assert variables["XS2A_SANDBOX_CA_FILE"] == "ca.pem"
    assert variables["XS2A_SANDBOX_PROXY"] == "http://run-1:x@bank.test:8080"
