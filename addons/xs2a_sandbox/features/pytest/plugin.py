"""Fixtures for pytest: `xs2a`, a bank in the test's own process, and `xs2a_server`, a bank in a separate process.

pytest imports this module in every run, so slow imports are in the fixtures.
"""

import os
import re
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from xs2a_sandbox.config import RealBank, Settings
    from xs2a_sandbox.features.pytest.injected_fault import InjectedFault
    from xs2a_sandbox.features.pytest.intercept import Interception
    from xs2a_sandbox.features.pytest.recorded_test import RecordedTest, RecordingRun, RecordMode
    from xs2a_sandbox.features.pytest.sandbox import Sandbox
    from xs2a_sandbox.features.pytest.server_process import Served
    from xs2a_sandbox.journal.journal import Journaled
    from xs2a_sandbox.journal.log_line import LogEntry

MARKER = "xs2a"
_MEMBERS = ("cassettes", "quirk", "testdata", "dialect", "frozen_at", "seed")
_RECORD = "record"
_SWITCHES = {
    "intercept": (False, "answer every HTTP client of the process, and block HTTP to other hosts"),
    "virtual_time": (False, "delays of rules move the bank's clock instead of waiting"),
    "assert_all_called": (True, "fail a test if a rule that it adds is never used"),
    "assert_all_matched": (False, "fail a test if no rule and no operation matches a request"),
}
_EXPECTATIONS = pytest.StashKey[list["Expectation"]]()


class Expectation(NamedTuple):
    """The sandbox of a test, module or session, and the expectations to check after the tests have passed."""

    sandbox: "Sandbox | Served"
    switches: Mapping[str, bool]
    interception: "Interception | None" = None
    is_replayed: bool = False
    recording: "RecordingRun | None" = None

    def check(self) -> None:
        """Fail the test if its expectations are not met."""
        if self.interception and self.interception.refused:
            hosts = ", ".join(dict.fromkeys(self.interception.refused))
            pytest.fail(
                f"xs2a blocked connections to {hosts}, because it cannot intercept this client; see "
                "`xs2a-sandbox docs pytest`",
                pytrace=False,
            )
        missing = [exchange for exchange in self._exchanges if exchange.source in ("handler", "sandbox")]
        if self.is_replayed and missing:
            text = "record it again with --xs2a-record=all"
            pytest.fail(f"the recording of this test has no answer for:{_list(missing)}\n{text}", pytrace=False)
        if self.recording:
            return  # the bank answers, regardless of rules
        if self.switches["assert_all_called"] and (unused := self.sandbox.unused_rules):
            text = "if this is intended, add it with optional=True, or use xs2a(assert_all_called=False)"
            pytest.fail(f"the added rule {', '.join(unused)} was never used; {text}", pytrace=False)
        if self.switches["assert_all_matched"] and (unmatched := self.sandbox.unmatched):
            pytest.fail(f"no rule and no operation matches:{_list(unmatched)}", pytrace=False)

    def keep(self) -> None:
        """Keep the recording of a test that has passed."""
        from xs2a_sandbox.errors import UserMistake

        if self.recording is None:
            return
        try:
            left_out = self.recording.keep(self._exchanges)
        except UserMistake as mistake:
            raise pytest.fail.Exception(f"xs2a: {mistake}", pytrace=False) from None
        for reason in left_out:
            warnings.warn(pytest.PytestWarning(f"xs2a: left out of the recording: {reason}"), stacklevel=1)

    @property
    def _exchanges(self) -> "list[LogEntry]":
        from xs2a_sandbox.features.pytest.sandbox import Sandbox

        return self.sandbox.asked if isinstance(self.sandbox, Sandbox) else []


def _list(exchanges: "Sequence[LogEntry | Journaled]") -> str:
    return "".join(f"\n  {exchange.method} {exchange.path} → {exchange.status}" for exchange in exchanges)


type MakeSandbox = Callable[..., tuple[Sandbox, RecordingRun | None]]


class TestRecording(NamedTuple):
    """The bank that a test records, and when it is asked."""

    test: "RecordedTest"
    bank: "RealBank"
    mode: "RecordMode"
    confdir: Path | None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "xs2a_cassettes",
        "folders of cassettes that override or extend the bundled ones; later ones override earlier ones",
        "paths",
    )
    parser.addini("xs2a_quirk", "undocumented bank behaviours to imitate, such as pending-ids-change", "args")
    parser.addini(
        "xs2a_testdata", "a YAML file that overrides or extends the bundled customers, accounts, consents and payments"
    )
    parser.addini("xs2a_dialect", "dialect of the bank: the name of a folder of cassettes")
    parser.addini("xs2a_frozen_at", "freeze the bank's clock at this time, until a test moves or sets it")
    parser.addini("xs2a_seed", "with xs2a_frozen_at: create the same ids in every test and every run")
    parser.addini(
        "xs2a_confdir", "the folder with the key for the pseudonyms of recordings, instead of ~/.xs2a-sandbox"
    )
    for name, (default, what) in _SWITCHES.items():
        parser.addini(f"xs2a_{name}", what, "bool", default=default)
    parser.getgroup("xs2a").addoption(
        "--xs2a-record",
        choices=("once", "none", "all"),
        default="once",
        help="record tests marked xs2a(record=URL) if they have no recording (once, the default), "
        "never (none), or every time (all)",
    )


def pytest_configure(config: pytest.Config) -> None:
    text = "set cassettes, quirks, test data, dialect or time of the fixtures xs2a and xs2a_server"
    members = "cassettes=[…], quirk=[…], testdata=…, dialect=…, frozen_at=…, seed=…"
    members = ", ".join(
        [members, f"{_RECORD}=URL", *(f"{name}={not default}" for name, (default, _) in _SWITCHES.items())]
    )
    config.addinivalue_line("markers", f"{MARKER}({members}): {text}")


@pytest.fixture(scope="session")
def _xs2a_sandboxes(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator["MakeSandbox"]:
    """Make sandboxes. Files are read once for all tests with the same settings."""
    from xs2a_sandbox.errors import UserMistake
    from xs2a_sandbox.features.pytest.in_process import LoopThread
    from xs2a_sandbox.features.pytest.recorded_test import RecordingRun
    from xs2a_sandbox.features.pytest.sandbox import Blueprint, Sandbox

    blueprints: dict[object, Blueprint] = {}
    confdir = tmp_path_factory.getbasetemp() / "xs2a"
    loop = LoopThread()

    def read(settings: dict[str, Any]) -> Blueprint:
        # Cassettes in the working directory count, too, as for `serve`.
        key = (Path.cwd(), *sorted(settings.items()))
        if key not in blueprints:
            blueprints[key] = Blueprint.read(_settings({"confdir": confdir, **settings}))
        return blueprints[key]

    def make(
        settings: dict[str, Any], directory: Path, record: TestRecording | None, *, virtual_time: bool
    ) -> tuple[Sandbox, RecordingRun | None]:
        recording = None
        try:
            if record is None:
                blueprint = read(settings)
            elif record.test.asks_bank(record.mode):
                blueprint = read({**settings, **_asking(record)})
                recording = RecordingRun(record.test, blueprint, loop)
            else:
                blueprint = read({**settings, **_confdir(record)}).with_recording(record.test.cassettes)
        except UserMistake as mistake:
            raise pytest.fail.Exception(f"xs2a: {mistake}" if record else str(mistake), pytrace=False) from None
        egress = recording.egress if recording else None
        return Sandbox(blueprint, loop, directory, virtual_time=virtual_time, egress=egress), recording

    yield make
    loop.close()


@pytest.fixture
def xs2a(_xs2a_sandboxes: "MakeSandbox", request: pytest.FixtureRequest) -> Iterator["Sandbox"]:
    """A bank for this test, in its process. It ends with the test."""
    with _sandbox(_xs2a_sandboxes, request) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def xs2a_module(_xs2a_sandboxes: "MakeSandbox", request: pytest.FixtureRequest) -> Iterator["Sandbox"]:
    """A bank that all tests of a module share, with its state."""
    with _sandbox(_xs2a_sandboxes, request) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def xs2a_session(_xs2a_sandboxes: "MakeSandbox", request: pytest.FixtureRequest) -> Iterator["Sandbox"]:
    """A bank that all tests share, with its state."""
    with _sandbox(_xs2a_sandboxes, request) as sandbox:
        yield sandbox


@contextmanager
def _sandbox(make: "MakeSandbox", request: pytest.FixtureRequest) -> Iterator["Sandbox"]:
    switches = _switches_of(request)
    directory = request.config.rootpath if request.scope == "session" else request.path.parent
    record = _record_of(request)
    sandbox, recording = make(_settings_of(request), directory, record, virtual_time=switches["virtual_time"])
    with sandbox.intercept() if switches["intercept"] else nullcontext() as interception:
        expectation = Expectation(sandbox, switches, interception, bool(record and not recording), recording)
        with _expect(request, expectation):
            yield sandbox
            if request.scope != "function":  # the bank of a single test is checked as a part of the test
                expectation.check()
    if recording:
        recording.discard()


@contextmanager
def _expect(request: pytest.FixtureRequest, expectation: Expectation) -> Iterator[None]:
    request.node.stash.setdefault(_EXPECTATIONS, []).append(expectation)
    yield
    # If a test fails, its report needs the journal, so keep it.
    request.node.stash[_EXPECTATIONS].remove(expectation)


@pytest.fixture(scope="session")
def _xs2a_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., "Served"]]:
    """Start sandboxes with sockets, one for all tests with the same settings."""
    from xs2a_sandbox.errors import UserMistake
    from xs2a_sandbox.features.pytest.server_process import Process, Served

    processes: dict[object, Process] = {}
    with ExitStack() as started:

        def make(settings: dict[str, Any], session: str) -> Served:
            key = (Path.cwd(), *sorted(settings.items()))
            if key not in processes:
                flags = [flag for folder in settings.get("cassettes", ()) for flag in ("--cassettes", str(folder))]
                flags += [flag for name in settings["quirk"] for flag in ("--quirk", name)]
                members = [name for name in _MEMBERS[2:] if name in settings]
                flags += [word for name in members for word in (f"--{name.replace('_', '-')}", str(settings[name]))]
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
def xs2a_server(_xs2a_servers: Callable[..., "Served"], request: pytest.FixtureRequest) -> Iterator["Served"]:
    """A session for this test, in a sandbox that listens on the loopback address."""
    _record_of(request)
    name = re.sub("[^A-Za-z0-9._-]+", "-", request.node.name)[:48]
    served = _xs2a_servers(_settings_of(request), f"{name}-{uuid4().hex[:8]}")
    with _expect(request, Expectation(served, _switches_of(request))):
        yield served
    served.clear_rules()


@pytest.fixture
def xs2a_fault() -> "InjectedFault | None":
    """The fault in this run of a campaign, or None. If a test with this fixture fails, that is a finding."""
    from xs2a_sandbox.features.pytest.injected_fault import read_injected

    return read_injected(os.environ)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that has passed if the expectations on its bank are not met."""
    result = yield
    for expectation in item.stash.get(_EXPECTATIONS, ()):
        expectation.check()
        expectation.keep()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the bank's journal to the report of a failure."""
    report = yield
    if report.failed:
        sandboxes = [
            expectation.sandbox for node in item.listchain() for expectation in node.stash.get(_EXPECTATIONS, ())
        ]
        report.sections += [("xs2a journal", str(sandbox.journal)) for sandbox in sandboxes]
    # With a fault, only failures of tests that know about it count; without one, every failure counts.
    if report.failed:
        from xs2a_sandbox.features.pytest import injected_fault

        if injected_fault.read_injected(os.environ) is None or "xs2a_fault" in getattr(item, "fixturenames", ()):
            injected_fault.report(os.environ, item.nodeid, str(call.excinfo.value) if call.excinfo else "")
    return report


def _settings_of(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the settings of ini file and markers: cassettes and quirks are combined, for others the nearest wins.

    Relative paths start at the folder of the ini file, or at the root folder.
    """
    config = request.config
    settings: dict[str, Any] = {name: tuple(config.getini(f"xs2a_{name}")) for name in _MEMBERS[:2]}
    settings |= {name: value for name in _MEMBERS[2:] if (value := config.getini(f"xs2a_{name}"))}
    for marker in reversed(list(request.node.iter_markers(MARKER))):
        choices = (*_MEMBERS, _RECORD, *_SWITCHES)
        if marker.args or (unknown := sorted(marker.kwargs.keys() - {*choices})):
            what = "no positional arguments" if marker.args else f"no {unknown[0]}"
            pytest.fail(f"the marker xs2a accepts {what}; its arguments are {', '.join(choices)}", pytrace=False)
        lists = {name: settings[name] for name in _MEMBERS[:2]}
        for name in lists:
            members = marker.kwargs.get(name, ())
            lists[name] += (members,) if isinstance(members, str | Path) else tuple(members)
        more = {name: value for name, value in marker.kwargs.items() if name in _MEMBERS}
        settings = {**settings, **more, **lists}
    root = config.inipath.parent if config.inipath else config.rootpath
    settings["cassettes"] = _read("cassettes", [str(folder) for folder in settings["cassettes"]], root)
    if "testdata" in settings:
        settings["testdata"] = root / settings["testdata"]
    if isinstance(settings.get("frozen_at"), datetime):
        settings["frozen_at"] = settings["frozen_at"].isoformat()
    if "seed" in settings:
        settings["seed"] = str(settings["seed"])
    return settings


def _record_of(request: pytest.FixtureRequest) -> TestRecording | None:
    """Read the nearest marker that names a bank to record. Fails the test if it is invalid."""
    markers = request.node.iter_markers(MARKER)
    banks = [marker.kwargs[_RECORD] for marker in markers if marker.kwargs.get(_RECORD) is not None]
    if not banks:
        return None
    if request.fixturename != "xs2a":
        pytest.fail(f"xs2a: record works only with the fixture xs2a, not with {request.fixturename}", pytrace=False)
    from xs2a_sandbox.features.pytest.recorded_test import RecordedTest

    config = request.config
    root = config.inipath.parent if config.inipath else config.rootpath
    bank = _bank(banks[0] if isinstance(banks[0], dict) else {"url": banks[0]}, root)
    test = RecordedTest.of(request.path, request.node.nodeid.partition("::")[2])
    confdir = config.getini("xs2a_confdir")
    return TestRecording(
        test, bank, config.getoption("xs2a_record"), root / Path(confdir).expanduser() if confdir else None
    )


def _bank(written: dict[str, Any], directory: Path) -> "RealBank":
    """Return the bank as in the config file. Fails the test if it is invalid."""
    from xs2a_sandbox.config.real_bank import BANKS, RealBank
    from xs2a_sandbox.documents.schema_errors import did_you_mean

    names = [field.name for field in fields(RealBank)]
    if unknown := [name for name in written if name not in names]:
        hint = did_you_mean(unknown[0], names) or f"; the keys are {', '.join(names)}"
        text = f"unknown key {unknown[0]!r} in the bank{hint}"
    elif "url" not in written:
        text = "the URL of the bank is missing: set url, such as https://api.bank.example/psd2"
    else:
        try:
            (bank,) = BANKS.read([written], directory)
        except ValueError as error:
            text = str(error).removeprefix("banks[0].")
        else:
            return bank
    raise pytest.fail.Exception(f"xs2a: record: {text}", pytrace=False)


def _asking(record: TestRecording) -> dict[str, Any]:
    """Return the settings with which the bank answers all requests."""
    bank = replace(record.bank, mode="record", modes=())
    return {"banks": (bank,), "bank": bank.url, **_confdir(record)}


def _confdir(record: TestRecording) -> dict[str, Any]:
    """Return the folder with the key of pseudonyms, which must be the same in the next run."""
    from xs2a_sandbox.config.table import BY_NAME

    return {"confdir": record.confdir or Path(BY_NAME["confdir"].default)}


def _switches_of(request: pytest.FixtureRequest) -> dict[str, bool]:
    """Return the switches in the nearest marker, otherwise in the ini file."""
    switches = {name: bool(request.config.getini(f"xs2a_{name}")) for name in _SWITCHES}
    for marker in reversed(list(request.node.iter_markers(MARKER))):  # the nearest last
        switches |= {name: value for name, value in marker.kwargs.items() if name in _SWITCHES}
    if wrong := next((name for name, value in switches.items() if not isinstance(value, bool)), None):
        pytest.fail(f"xs2a: {wrong} must be True or False, not {switches[wrong]!r}", pytrace=False)
    return switches


def _read(name: str, written: Any, directory: Path) -> Any:
    """Return the value of a setting. Fails the test if it is invalid."""
    from xs2a_sandbox.config.readers import hint
    from xs2a_sandbox.config.table import BY_NAME

    kind = BY_NAME[name].kind
    try:
        return kind.read(written, directory)
    except (TypeError, ValueError) as error:
        value = ", ".join(written) if isinstance(written, list | tuple) else written
        text = f"xs2a: {name} must be {kind.expected}, not {value}{hint(error)}"
        raise pytest.fail.Exception(text, pytrace=False) from None


def _settings(settings: dict[str, Any]) -> "Settings":
    from xs2a_sandbox.config import Settings
    from xs2a_sandbox.features.pytest.sandbox import BASE_URL

    for name in settings.keys() & {"frozen_at", "quirk"}:
        settings = {**settings, name: _read(name, settings[name], Path.cwd())}
    return Settings(state="memory:", public_url=BASE_URL, **settings)
