"""The files that make a bank: the dialect, the cases, each `--cassettes`, the bank's own, the quirks, the test data."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xs2a_sandbox.bank import testdata
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.bank.testdata import TestData
from xs2a_sandbox.bundled import bundled, dialects
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.dialect import layers as interface
from xs2a_sandbox.cassette.dialect.layer_files import TESTDATA
from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.config.settings import FILE
from xs2a_sandbox.documents import Schemas, own_file, schema_files
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import ConfigError, Problem, Unreadable, check_system

OWN = Path("cassettes")
CASES = "cases"


@dataclass(frozen=True, slots=True)
class LoadedFiles:
    """The content of the files as far as they can be read.

    `layers` and `data` are the paths of cassettes and test data.
    """

    interface: Interface | None
    testdata: TestData | None
    schemas: Schemas
    layers: list[list[Path]]
    data: list[Path]
    problems: list[Problem]

    def require_all(self) -> tuple[Interface, TestData]:
        """Return the interface and the test data. Raises Unreadable with every problem."""
        if self.problems or self.interface is None or self.testdata is None:
            raise Unreadable(self.problems)
        return self.interface, self.testdata


def check(settings: Settings, paths: Sequence[Path]) -> list[Problem]:
    """Return every problem in the configured files and in `paths`: folders of cassettes, cassettes or test data."""
    problems = [problem for real in settings.real_banks() for problem in read(settings, paths, real).problems]
    return list(dict.fromkeys(problems))


def read(settings: Settings, paths: Sequence[Path] = (), real: RealBank | None = None) -> LoadedFiles:
    """Read the configured files of one bank, with `paths` layered on top. Raises ConfigError on Windows."""
    check_system()
    real = real or settings.real_banks()[-1]
    schemas = _schemas()
    more = [path for path in paths if path.is_file() and _is_testdata(path)]
    all_layers = [*layers(settings, real), *([path] for path in paths if path not in more)]
    checked, problems = interface.check(all_layers, schemas, collect_handlers(), bank=_has_bank(settings))
    problems += schema_files.check(schemas)
    data, read_data = data_files(settings, more, checked.foundation if checked else ()), None
    try:
        read_data = testdata.load(data)
    except Unreadable as error:
        problems += error.problems
    problems.sort(key=lambda p: (str(p.file), p.line, p.column))
    return LoadedFiles(checked, read_data, schemas, all_layers, data, problems)


def interface_and_schemas(settings: Settings) -> tuple[Interface, Schemas]:
    """Return the interface of the configured cassettes. Raises Unreadable."""
    schemas = _schemas()
    return interface.read(layers(settings), schemas, collect_handlers(), bank=_has_bank(settings)), schemas


def layers(settings: Settings, real: RealBank | None = None) -> list[list[Path]]:
    """Return the layers: the dialect, the cases, each `--cassettes`, the bank's own, the quirks.

    A dialect that is not in ./cassettes is the bundled one.

    Raises:
        ConfigError: there is no such dialect.
    """
    real = real or settings.real_banks()[-1]
    name = real.dialect or settings.dialect
    dialect = _own_or_bundled(name)
    if not dialect.is_dir():
        names = dialects(Path.cwd() / OWN, bundled("cassettes"))
        raise ConfigError(
            f"there is no dialect {name!r}{did_you_mean(name, names)}; the dialects are {', '.join(names)}"
        )
    # Nobody's but the user's: in a checkout those beside the bundled dialect are for this folder alone.
    cases = Path.cwd() / OWN / CASES
    own = [cases] if cases.exists() else []
    quirks = dict.fromkeys((*settings.quirk, *real.quirk))
    return [[path] for path in (dialect, *own, *settings.cassettes, *real.cassettes, *quirks)]


def places(settings: Settings) -> list[Path]:
    """Return the files and folders that the engine is built from. Some may not exist yet."""
    own = [Path.cwd() / FILE, Path.cwd() / "schemas", Path.cwd() / OWN / TESTDATA, Path.cwd() / OWN / CASES]
    own_data = [settings.testdata] if settings.testdata else []
    read = [place for real in settings.real_banks() for layer in layers(settings, real) for place in layer]
    return list(dict.fromkeys([*own, *own_data, *read]))


def load_testdata(settings: Settings) -> TestData:
    """Return the configured test data, even if cassettes have mistakes. Raises Unreadable."""
    files = read(settings)
    return files.testdata or testdata.load(files.data)


def data_files(settings: Settings, more: Sequence[Path] = (), foundation: Sequence[Path] = ()) -> list[Path]:
    """Return the files of test data; each is merged over those before it.

    `foundation` are the folders of the dialects that the dialect extends.
    """
    own_data = [settings.testdata] if settings.testdata else []
    (dialect,), *_ = layers(settings)
    files = (Path.cwd() / OWN / dialect.name / TESTDATA, Path.cwd() / OWN / TESTDATA)
    own = next((file for file in files if file.exists()), None)
    return [own or testdata_of(dialect, foundation), *own_data, *more]


def testdata_of(dialect: Path, foundation: Sequence[Path]) -> Path:
    """Return the test data of a dialect: in its folder or that of one that it extends, or next to it.

    Otherwise the bundled test data.
    """
    places = (*(folder / TESTDATA for folder in (dialect, *reversed(foundation))), dialect.parent / TESTDATA)
    return next((file for file in places if file.exists()), bundled("cassettes") / TESTDATA)


def _has_bank(settings: Settings) -> bool:
    """Return whether any bank is a real one. Cassettes are read for each bank, so one is enough for `bank: true`."""
    return any(real.url is not None for real in settings.real_banks())


def _schemas() -> Schemas:
    own = Path.cwd() / "schemas"
    return Schemas([own, bundled("schemas")] if own.is_dir() else [bundled("schemas")])


def _own_or_bundled(name: str) -> Path:
    own = Path.cwd() / OWN / name
    return own if own.exists() else bundled("cassettes") / name


def _is_testdata(path: Path) -> bool:
    try:
        text = own_file.read(path, folder=path.parent).decode(errors="replace")
    except OSError:
        return False  # reading it as a cassette reports the error
    first = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    return first.startswith("testdata:")
