"""The files that make a bank: the dialect, the cases, each `--cassettes`, the bank's own, the quirks, the test data."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xs2a_sandbox.bank import testdata
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.bank.testdata import TestData
from xs2a_sandbox.bundled import QUIRKS, are_untouched, bundled, dialects, quirks
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.dialect import layers as interface
from xs2a_sandbox.cassette.dialect.layer_files import TESTDATA, read_path
from xs2a_sandbox.cassette.model import Cassette
from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.config.settings import FILE
from xs2a_sandbox.documents import Schemas, own_file, schema_files
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import ConfigError, Problem, Unreadable, check_system

OWN = Path("cassettes")
CASES = "cases"


@dataclass(frozen=True, slots=True)
class LoadedFiles:
    """The content of the files that could be read.

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


def read(
    settings: Settings, paths: Sequence[Path] = (), real: RealBank | None = None, *, trusts_bundled: bool = False
) -> LoadedFiles:
    """Read the configured files of one bank, with `paths` layered on top. Raises ConfigError on Windows.

    With `trusts_bundled`, schemas and test data are not checked if all of them are part of the package, whose tests
    check them.
    """
    check_system()
    real = real or settings.real_banks()[-1]
    schemas = find_schemas()
    more = [path for path in paths if path.is_file() and _is_testdata(path)]
    configured = layers(settings, real)
    all_layers = [*configured, *([path] for path in paths if path not in more and not _is_in(path, configured))]
    checked, problems = interface.check(all_layers, schemas, collect_handlers(), bank=_has_bank(settings))
    if not (trusts_bundled and are_untouched(schemas.directories)):
        problems += schema_files.check(schemas)
    data, read_data = data_files(settings, more, checked.foundation if checked else ()), None
    try:
        read_data = testdata.load(data, is_sound=trusts_bundled and are_untouched(data))
    except Unreadable as error:
        problems += error.problems
    problems.sort(key=lambda p: (str(p.file), p.line, p.column))
    return LoadedFiles(checked, read_data, schemas, all_layers, data, problems)


def interface_and_schemas(settings: Settings) -> tuple[Interface, Schemas]:
    """Return the interface of the configured cassettes. Raises Unreadable."""
    schemas = find_schemas()
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
            f"unknown dialect {name!r}{did_you_mean(name, names) or '.'} The dialects are {', '.join(names)}"
        )
    # Only the user's layers: in a checkout, the files next to the bundled dialect belong only to that folder.
    cases = Path.cwd() / OWN / CASES
    own = [cases] if cases.exists() else []
    chosen = dict.fromkeys((*settings.quirk, *real.quirk))
    return [[path] for path in (dialect, *own, *settings.cassettes, *real.cassettes, *chosen)]


def _is_in(path: Path, configured: Sequence[Sequence[Path]]) -> bool:
    """Return whether a layer has the path. As a separate layer, it would override the files next to it."""
    return any(path.resolve().is_relative_to(place.resolve()) for layer in configured for place in layer)


def places(settings: Settings) -> list[Path]:
    """Return the files and folders that the engine is built from. Some may not exist yet."""
    own = [Path.cwd() / FILE, Path.cwd() / "schemas", Path.cwd() / OWN / TESTDATA, Path.cwd() / OWN / CASES]
    own_data = [settings.testdata] if settings.testdata else []
    read = [place for real in settings.real_banks() for layer in layers(settings, real) for place in layer]
    return list(dict.fromkeys([*own, *own_data, *read]))


def read_quirks() -> dict[str, Cassette]:
    """Return every quirk by its name. Raises Unreadable."""
    schemas, problems = find_schemas(), list[Problem]()
    files = quirks(bundled("cassettes") / QUIRKS, Path.cwd() / OWN / QUIRKS)
    read = {name: read_path(file, schemas, problems) for name, file in sorted(files.items())}
    if problems:
        raise Unreadable(problems)
    return {name: cassette for name, (cassette,) in read.items()}


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
    names = [folder.name for folder in (dialect, *reversed(foundation))]
    files = (Path.cwd() / OWN / folder / TESTDATA for folder in (*names, "."))
    own = next((file for file in files if file.exists()), None)
    once: dict[Path, Path] = {}
    for file in (own or testdata_of(dialect, foundation), *own_data, *more):
        once.setdefault(file.resolve(), file)
    return list(once.values())


def testdata_of(dialect: Path, foundation: Sequence[Path]) -> Path:
    """Return the test data of a dialect: in its folder or that of one that it extends, or next to it.

    Otherwise the bundled test data.
    """
    places = (*(folder / TESTDATA for folder in (dialect, *reversed(foundation))), dialect.parent / TESTDATA)
    return next((file for file in places if file.exists()), bundled("cassettes") / TESTDATA)


def _has_bank(settings: Settings) -> bool:
    """Return whether any bank is a real one. Cassettes are read for each bank, so one is enough for `bank: true`."""
    return any(real.url is not None for real in settings.real_banks())


def find_schemas() -> Schemas:
    """Return the schemas of the working directory, on top of the bundled ones."""
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
