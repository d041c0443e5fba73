"""From settings to an engine: which files make the bank, and where its state is."""

from collections.abc import Sequence
from pathlib import Path

from xs2a_sandbox import interface, testdata
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import ConfigError, Problem, Unreadable
from xs2a_sandbox.handlers import HANDLERS, RAISES
from xs2a_sandbox.schema import Schemas
from xs2a_sandbox.sqlite import SqliteStore
from xs2a_sandbox.store import MemoryStore, Store
from xs2a_sandbox.testdata import TestData

OWN = Path("cassettes")
CASES = "cases"
TESTDATA = "testdata.yaml"
CA_FILE = "mitmproxy-ca-cert.pem"


def build(settings: Settings) -> Engine:
    """Raises UserMistake, for all mistakes in all files at once."""
    problems: list[Problem] = []
    schemas = _schemas()
    data = read_interface = None
    try:
        read_interface = interface.read(layers(settings), schemas, HANDLERS, RAISES)
    except Unreadable as error:
        problems += error.problems
    try:
        data = load_testdata(settings)
    except Unreadable as error:
        problems += error.problems
    if read_interface is None or data is None:
        raise Unreadable(problems)
    store = open_store(settings)
    if settings.reset:
        store.reset()
    return Engine(
        read_interface,
        schemas,
        store,
        data,
        host=settings.host,
        public_url=settings.public_url or f"http://{settings.host}:{settings.port}",
        hosts=settings.hosts,
        base_path=settings.base_path,
        static_data=settings.static_data,
        debug_headers=settings.debug_headers,
        ca_file=settings.confdir / CA_FILE,
    )


def check(settings: Settings, paths: Sequence[Path]) -> list[Problem]:
    """Every problem of the configured files, and of `paths`: directories of cassettes, cassettes or test data."""
    data = [path for path in paths if path.is_file() and _is_testdata(path)]
    cassettes = [path for path in paths if path not in data]
    _, problems = interface.check([*layers(settings), *([p] for p in cassettes)], _schemas(), HANDLERS, RAISES)
    try:
        load_testdata(settings, data)
    except Unreadable as error:
        problems += error.problems
    return sorted(problems, key=lambda p: (str(p.file), p.line, p.column))


def layers(settings: Settings) -> list[list[Path]]:
    """The dialect, the cases, then each `--cassettes`. Each part missing in ./cassettes is the bundled one.

    Raises:
        ConfigError: there is no such dialect.
    """
    dialect = _own_or_bundled(settings.dialect)
    if not dialect.is_dir():
        known = sorted(d.name for d in bundled("cassettes").iterdir() if d.is_dir() and d.name != CASES)
        raise ConfigError(f"there is no dialect {settings.dialect!r}; there are {', '.join(known)}")
    return [[dialect], [_own_or_bundled(CASES)], *([path] for path in settings.cassettes)]


def load_testdata(settings: Settings, more: Sequence[Path] = ()) -> TestData:
    named = [settings.testdata] if settings.testdata else []
    return testdata.load([_own_or_bundled(TESTDATA), *named, *more])


def open_store(settings: Settings) -> Store:
    kind, _, name = settings.state.partition(":")
    return MemoryStore() if kind == "memory" else SqliteStore(Path(name))


def _schemas() -> Schemas:
    own = Path.cwd() / "schemas"
    return Schemas([own, bundled("schemas")] if own.is_dir() else [bundled("schemas")])


def _own_or_bundled(name: str) -> Path:
    own = Path.cwd() / OWN / name
    return own if own.exists() else bundled("cassettes") / name


def _is_testdata(path: Path) -> bool:
    with path.open(errors="replace") as lines:
        first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    return first.startswith("testdata:")
