"""Fixtures for pytest: `xs2a`, a bank in the test's own process, and `xs2a_server`, one with sockets.

pytest imports this module in every run, so all that takes time is imported by the fixtures.
"""

import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from xs2a_sandbox.config import Settings
    from xs2a_sandbox.testing.injected_fault import InjectedFault
    from xs2a_sandbox.testing.sandbox import Sandbox
    from xs2a_sandbox.testing.server_process import Served

MARKER = "xs2a"
_MEMBERS = ("cassettes", "quirk", "testdata", "dialect", "frozen_at", "seed")
_SANDBOX = pytest.StashKey["Sandbox"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("xs2a_cassettes", "folders of cassettes laid over the bundled ones, later ones win", "paths")
    parser.addini("xs2a_quirk", "what the bank does otherwise, by name, such as pending-ids-change", "args")
    parser.addini("xs2a_testdata", "a YAML file laid over the bundled customers, accounts, consents and payments")
    parser.addini("xs2a_dialect", "the folder of cassettes that says how the bank speaks")
    parser.addini("xs2a_frozen_at", "the time at which the bank's clock stands, until a test moves or sets it")
    parser.addini("xs2a_seed", "with xs2a_frozen_at: ids are the same in every test, and again")


def pytest_configure(config: pytest.Config) -> None:
    text = "more cassettes, quirks, other test data, another dialect or time for the fixtures xs2a and xs2a_server"
    members = "cassettes=[…], quirk=[…], testdata=…, dialect=…, frozen_at=…, seed=…"
    config.addinivalue_line("markers", f"{MARKER}({members}): {text}")


@pytest.fixture(scope="session")
def _xs2a_sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., "Sandbox"]]:
    """Makes sandboxes: files are read once for all tests with the same settings."""
    from xs2a_sandbox.errors import UserMistake
    from xs2a_sandbox.testing.in_process import LoopThread
    from xs2a_sandbox.testing.sandbox import Blueprint, Sandbox

    blueprints: dict[object, Blueprint] = {}
    confdir = tmp_path_factory.getbasetemp() / "xs2a"
    loop = LoopThread()

    def make(settings: dict[str, Any], directory: Path) -> Sandbox:
        # Cassettes of the working directory are the bank's, too, as they are for `serve`.
        key = (Path.cwd(), *sorted(settings.items()))
        if key not in blueprints:
            try:
                blueprints[key] = Blueprint.read(_settings(settings, confdir))
            except UserMistake as mistake:
                raise pytest.fail.Exception(str(mistake), pytrace=False) from None
        return Sandbox(blueprints[key], loop, directory)

    yield make
    loop.close()


@pytest.fixture
def xs2a(_xs2a_sandboxes: Callable[..., "Sandbox"], request: pytest.FixtureRequest) -> "Sandbox":
    """A bank of the test's own, in its process: without sockets, and gone with the test."""
    sandbox = _xs2a_sandboxes(_settings_of(request), request.path.parent)
    request.node.stash[_SANDBOX] = sandbox
    return sandbox


@pytest.fixture(scope="session")
def _xs2a_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., "Served"]]:
    """Starts sandboxes with sockets: one for all tests with the same settings."""
    from xs2a_sandbox.errors import UserMistake
    from xs2a_sandbox.testing.server_process import Process, Served

    processes: dict[object, Process] = {}
    with ExitStack() as started:

        def make(settings: dict[str, Any], session: str) -> Served:
            key = (Path.cwd(), *sorted(settings.items()))
            if key not in processes:
                flags = [flag for folder in settings.get("cassettes", ()) for flag in ("--cassettes", str(folder))]
                flags += [flag for name in settings["quirk"] for flag in ("--quirk", name)]
                named = [name for name in _MEMBERS[2:] if name in settings]
                flags += [word for name in named for word in (f"--{name.replace('_', '-')}", str(settings[name]))]
                process = Process(tmp_path_factory.mktemp("xs2a-server"), flags)
                try:
                    process.start()
                except UserMistake as mistake:
                    raise pytest.fail.Exception(str(mistake), pytrace=False) from None
                started.callback(process.stop)
                processes[key] = process
            return Served(processes[key], session)

        yield make


@pytest.fixture
def xs2a_server(_xs2a_servers: Callable[..., "Served"], request: pytest.FixtureRequest) -> "Served":
    """A session of the test's own, of a sandbox that listens on the loopback address."""
    name = re.sub("[^A-Za-z0-9._-]+", "-", request.node.name)[:48]
    return _xs2a_servers(_settings_of(request), f"{name}-{uuid4().hex[:8]}")


@pytest.fixture
def xs2a_fault() -> "InjectedFault | None":
    """What goes wrong in this run of a campaign; None where nothing does. A test that asks and fails is a finding."""
    from xs2a_sandbox.testing.injected_fault import injected

    return injected(os.environ)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Puts what the bank was asked beside the failure."""
    report = yield
    if report.failed and (sandbox := item.stash.get(_SANDBOX, None)) is not None:
        report.sections.append(("xs2a journal", str(sandbox.journal)))
    if report.failed and "xs2a_fault" in getattr(item, "fixturenames", ()):
        from xs2a_sandbox.testing import injected_fault

        injected_fault.report(os.environ, item.nodeid, str(call.excinfo.value) if call.excinfo else "")
    return report


def _settings_of(request: pytest.FixtureRequest) -> dict[str, Any]:
    """All that ini file and markers say, the nearest last: cassettes and quirks add up, of the others the last counts.

    Relative paths begin at the folder of the ini file, or at the root folder.
    """
    config = request.config
    settings: dict[str, Any] = {name: tuple(config.getini(f"xs2a_{name}")) for name in _MEMBERS[:2]}
    settings |= {name: value for name in _MEMBERS[2:] if (value := config.getini(f"xs2a_{name}"))}
    for marker in reversed(list(request.node.iter_markers(MARKER))):
        if marker.args or (unknown := sorted(marker.kwargs.keys() - set(_MEMBERS))):
            what = "no positional arguments" if marker.args else f"no {unknown[0]}"
            pytest.fail(f"the marker xs2a takes {what}; it takes {', '.join(_MEMBERS)}", pytrace=False)
        lists = {name: settings[name] for name in _MEMBERS[:2]}
        for name in lists:
            more = marker.kwargs.get(name, ())
            lists[name] += (more,) if isinstance(more, str | Path) else tuple(more)
        settings = {**settings, **marker.kwargs, **lists}
    root = config.inipath.parent if config.inipath else config.rootpath
    settings["cassettes"] = tuple(root / folder for folder in settings["cassettes"])
    if "testdata" in settings:
        settings["testdata"] = root / settings["testdata"]
    if isinstance(settings.get("frozen_at"), datetime):
        settings["frozen_at"] = settings["frozen_at"].isoformat()
    if "seed" in settings:
        settings["seed"] = str(settings["seed"])
    return settings


def _settings(settings: dict[str, Any], confdir: Path) -> "Settings":
    """Raises UserMistake."""
    from xs2a_sandbox.config import Settings
    from xs2a_sandbox.config.readers import hint
    from xs2a_sandbox.config.table import BY_NAME
    from xs2a_sandbox.errors import UserMistake
    from xs2a_sandbox.testing.sandbox import BASE_URL

    for name in settings.keys() & {"frozen_at", "quirk"}:
        setting = BY_NAME[name]
        try:
            settings = {**settings, name: setting.kind.read(settings[name], Path.cwd())}
        except (TypeError, ValueError) as error:
            raise UserMistake(f"xs2a: {name} must be {setting.kind.expected}{hint(error)}") from None
    return Settings(state="memory:", confdir=confdir, public_url=BASE_URL, **settings)
