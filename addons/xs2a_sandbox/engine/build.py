"""From settings to an engine: which files make the bank, and where its state is."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from xs2a_sandbox.bank import Bank, Banks, TestData, testdata
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled, dialects
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.dialect import layers as interface
from xs2a_sandbox.cassette.dialect.layer_files import TESTDATA
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.compare import masking
from xs2a_sandbox.compare.reports.live import LiveReport
from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.config.settings import FILE
from xs2a_sandbox.documents import Schemas, own_file, schema_files
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.engine.egress import Passage
from xs2a_sandbox.engine.engine import Engine
from xs2a_sandbox.engine.journeys import Journeys
from xs2a_sandbox.engine.live_comparison import LiveComparison
from xs2a_sandbox.engine.shared_journeys import SharedJourneys
from xs2a_sandbox.errors import ConfigError, Problem, RecordingFailed, Unreadable, check_system
from xs2a_sandbox.journal.display import Display, TypedRedactor
from xs2a_sandbox.journal.journal import BYTES, COUNT, Journal
from xs2a_sandbox.journal.shared import SharedJournal
from xs2a_sandbox.recording import replay
from xs2a_sandbox.recording.har_log import Recording
from xs2a_sandbox.recording.replay import Replay
from xs2a_sandbox.redaction import pseudonyms
from xs2a_sandbox.redaction import rules as redaction_rules
from xs2a_sandbox.redaction.redactor import Redactor
from xs2a_sandbox.redaction.rules import RedactionRules
from xs2a_sandbox.state import DistantStore, MemoryStore, Store
from xs2a_sandbox.state.redis_url import is_in_redis
from xs2a_sandbox.state.sqlite import SqliteStore
from xs2a_sandbox.upstream import client

if TYPE_CHECKING:
    from xs2a_sandbox.redaction.real_values import Keeper, Restorer
    from xs2a_sandbox.signatures.bank_seal import AnswerSealer
    from xs2a_sandbox.tpp.trust_service import Trust

OWN = Path("cassettes")
CASES = "cases"
RECORDINGS = "recordings"
_KEY_OF_THIS_RUN = secrets.token_bytes(32)
"""For pseudonyms that are the same in all processes that serve together."""

CA_FILE = "mitmproxy-ca-cert.pem"


@dataclass(frozen=True, slots=True)
class LoadedFiles:
    """All that the files say, as far as they can be read; `layers` and `data` are where cassettes and test data are."""

    interface: Interface | None
    testdata: TestData | None
    schemas: Schemas
    layers: list[list[Path]]
    data: list[Path]
    problems: list[Problem]

    def whole(self) -> tuple[Interface, TestData]:
        """The interface and the test data. Raises Unreadable, with every problem."""
        if self.problems or self.interface is None or self.testdata is None:
            raise Unreadable(self.problems)
        return self.interface, self.testdata


def build(settings: Settings, *, redact: bool = True) -> Engine:
    """The engine of the settings; with `redact` false recordings hold all as it was sent.

    Raises UserMistake, for all mistakes at once.
    """
    banks, data = read_all(settings)
    real_banks = [bank.real for bank in banks.all if bank.real.can_be_asked]
    for real in real_banks:
        client.check(real)
    if settings.on_expiry == "fail":
        outdated = [line for b in banks.all for line in replay.outdated(b.interface, Clock().now(), settings.max_age)]
        if outdated:
            raise ConfigError("\n".join([*outdated, "record again, or let max_age be longer"]))
    redactor = redactor_of(settings, banks) if real_banks else None
    store = open_store(settings)
    return Engine(
        banks,
        store,
        data,
        limits=replace(USUAL, connections=settings.connections),
        clock=settings.clock,
        passage=passage_of(settings, banks, redactor, _journeys(store), redact=redact),
        display=Display(_personal(settings, banks, redactor), _typed(settings, banks, data)),
        host=settings.host,
        public_url=settings.public_url or f"http://{settings.host}:{settings.port}",
        static_data=settings.static_data,
        debug_headers=settings.debug_headers,
        prefer=settings.prefer,
        ca_file=settings.confdir / CA_FILE,
        journal=_journal(settings, store),
        allow_origin=settings.allow_origin,
        # Loaded by the first answer that is signed, as what makes certificates is heavy.
        seal=lambda response, form: _sealer(settings.confdir).sign(response, form),
    )


@cache
def _sealer(confdir: Path) -> "AnswerSealer":
    from xs2a_sandbox.signatures.bank_seal import AnswerSealer

    return AnswerSealer(confdir)


def read_all(settings: Settings) -> tuple[Banks, TestData]:
    """Every bank, with the test data. Raises UserMistake, for all mistakes in all files at once."""
    read_for = {real: read(settings, (), real) for real in settings.real_banks()}
    if problems := [problem for files in read_for.values() for problem in files.problems]:
        raise Unreadable(list(dict.fromkeys(problems)))
    banks, data = [], TestData({}, ())
    for real, files in read_for.items():
        if files.interface and files.testdata:
            data = files.testdata
            replayed = replay_of(settings, files.interface, real)
            banks.append(
                Bank(
                    files.interface,
                    files.schemas,
                    real,
                    base_path=settings.base_path,
                    replay=replayed,
                    diagnose=settings.debug_headers,
                    trust=partial(_trust, settings.confdir),
                )
            )
    return Banks(banks[-1], banks[:-1]), data


def _trust(confdir: Path) -> "Trust":
    """What the test trust service in `confdir` says now. Raises ConfigError."""
    from xs2a_sandbox.tpp.trust_service import TrustService

    return TrustService(confdir).trust()


def check(settings: Settings, paths: Sequence[Path]) -> list[Problem]:
    """Every problem of the configured files, and of `paths`: directories of cassettes, cassettes or test data."""
    problems = [problem for real in settings.real_banks() for problem in read(settings, paths, real).problems]
    return list(dict.fromkeys(problems))


def read(settings: Settings, paths: Sequence[Path] = (), real: RealBank | None = None) -> LoadedFiles:
    """The configured files of one bank, and `paths` laid over them. Raises ConfigError on Windows."""
    check_system()
    real = real or settings.real_banks()[-1]
    schemas = _schemas()
    more = [path for path in paths if path.is_file() and _is_testdata(path)]
    all_layers = [*layers(settings, real), *([path] for path in paths if path not in more)]
    problems = schema_files.check(schemas)
    checked, wrong = interface.check(all_layers, schemas, NAMED, bank=_has_bank(settings))
    problems += wrong
    data, read_data = data_files(settings, more, checked.foundation if checked else ()), None
    try:
        read_data = testdata.load(data)
    except Unreadable as error:
        problems += error.problems
    problems.sort(key=lambda p: (str(p.file), p.line, p.column))
    return LoadedFiles(checked, read_data, schemas, all_layers, data, problems)


def interface_and_schemas(settings: Settings) -> tuple[Interface, Schemas]:
    """The interface of the configured cassettes. Raises Unreadable."""
    schemas = _schemas()
    return interface.read(layers(settings), schemas, NAMED, bank=_has_bank(settings)), schemas


def layers(settings: Settings, real: RealBank | None = None) -> list[list[Path]]:
    """The dialect, the cases, each `--cassettes`, the bank's own, the quirks; a dialect not in ./cassettes is bundled.

    Raises:
        ConfigError: there is no such dialect.
    """
    real = real or settings.real_banks()[-1]
    name = real.dialect or settings.dialect
    dialect = _own_or_bundled(name)
    if not dialect.is_dir():
        names = dialects(Path.cwd() / OWN, bundled("cassettes"))
        raise ConfigError(f"there is no dialect {name!r}{did_you_mean(name, names)}; there are {', '.join(names)}")
    # Nobody's but the user's: in a checkout those beside the bundled dialect are for this folder alone.
    cases = Path.cwd() / OWN / CASES
    own = [cases] if cases.exists() else []
    quirks = dict.fromkeys((*settings.quirk, *real.quirk))
    return [[path] for path in (dialect, *own, *settings.cassettes, *real.cassettes, *quirks)]


def places(settings: Settings) -> list[Path]:
    """The files and folders that the engine is made of; some may not be there yet."""
    own = [Path.cwd() / FILE, Path.cwd() / "schemas", Path.cwd() / OWN / TESTDATA, Path.cwd() / OWN / CASES]
    own_data = [settings.testdata] if settings.testdata else []
    read = [place for real in settings.real_banks() for layer in layers(settings, real) for place in layer]
    return list(dict.fromkeys([*own, *own_data, *read]))


def load_testdata(settings: Settings) -> TestData:
    """The configured test data, whatever is wrong with the cassettes. Raises Unreadable."""
    files = read(settings)
    return files.testdata or testdata.load(files.data)


def data_files(settings: Settings, more: Sequence[Path] = (), foundation: Sequence[Path] = ()) -> list[Path]:
    """Each is laid over those before it; `foundation` are the dialects that the dialect extends."""
    own_data = [settings.testdata] if settings.testdata else []
    (dialect,), *_ = layers(settings)
    files = (Path.cwd() / OWN / dialect.name / TESTDATA, Path.cwd() / OWN / TESTDATA)
    own = next((file for file in files if file.exists()), None)
    return [own or testdata_of(dialect, foundation), *own_data, *more]


def testdata_of(dialect: Path, foundation: Sequence[Path]) -> Path:
    """The test data that a dialect is written for: in its folder or that of one that it extends, else beside it.

    Else they are those that are bundled.
    """
    places = (*(folder / TESTDATA for folder in (dialect, *reversed(foundation))), dialect.parent / TESTDATA)
    return next((file for file in places if file.exists()), bundled("cassettes") / TESTDATA)


def open_store(settings: Settings) -> Store | DistantStore:
    """The state, forgotten where that is wished. Raises UserMistake."""
    if is_in_redis(settings.state):
        return _open_redis(settings)
    kind, _, name = settings.state.partition(":")
    store = MemoryStore() if kind == "memory" else SqliteStore(Path(name))
    if settings.reset:
        store.reset()
    return store


def _open_redis(settings: Settings) -> DistantStore:
    # Nobody else waits for its library.
    from xs2a_sandbox.state.redis import RedisStore

    spoken = dict.fromkeys(real.dialect or settings.dialect for real in settings.real_banks())
    store = RedisStore(settings.state, ", ".join(spoken), settings.session_ttl)
    if settings.reset:
        store.reset_now()
    return store


def warnings(settings: Settings, engine: Engine) -> list[str]:
    """Lines about recordings that answer, and are not as they should be, and about what sandboxes do not share."""
    lines: list[str] = []
    for spoken in [bank.interface for bank in engine.banks.all]:
        lines += replay.replaced(spoken)
        lines += replay.left_out(spoken)
        lines += replay.outdated(spoken, Clock().now(), settings.max_age)
        if any(rule.tape for rule in spoken.rules):
            lines += replay.of_another_key(spoken, pseudonyms.fingerprint(pseudonyms.ensure_key(settings.confdir)))
    return list(dict.fromkeys(lines))


def show(display: Display, settings: Settings, banks: Banks, data: TestData) -> None:
    """Lets exchanges be shown by files that were read anew."""
    # Where a bank is asked, it is redacted by one who remembers what it was sent before.
    asks_bank = any(bank.real.can_be_asked for bank in banks.all)
    display.use(None if asks_bank else _personal(settings, banks, None), _typed(settings, banks, data))


def _personal(settings: Settings, banks: Banks, redactor: Redactor | None) -> Callable[[], Redactor]:
    def made() -> Redactor:
        # What apps that replay a redacted recording were answered they send back.
        replayed = [bank.interface for bank in banks.all if bank.replays_personal]
        return redactor or redactor_of(settings, banks, frozenset().union(*map(replay.recorded_texts, replayed)))

    return made


def _typed(settings: Settings, banks: Banks, data: TestData) -> Callable[[], Redactor]:
    # Nothing of it is kept, so its pseudonyms need not be the same in the next run: no key is written for it.
    return lambda: redactor_of(settings, banks, data.texts(), TypedRedactor, _KEY_OF_THIS_RUN)


def _journal(settings: Settings, store: Store | DistantStore) -> Journal:
    count = settings.journal
    size = count * BYTES // COUNT
    if isinstance(store, DistantStore):
        return SharedJournal(count, size, stream=store.stream("journal", count, size))
    return Journal(count, size)


def _journeys(store: Store | DistantStore) -> Journeys:
    return SharedJourneys(store) if isinstance(store, DistantStore) else Journeys()


def passage_of(
    settings: Settings, banks: Banks, redactor: Redactor | None, journeys: Journeys, *, redact: bool
) -> Passage:
    """The way to the real banks, with a recording of what goes there. Raises ConfigError."""
    real_banks = [bank.real for bank in banks.all if bank.real.can_be_asked]
    records = any("record" in real.all_modes for real in real_banks)
    comparing = _comparing(settings, banks, redactor if redact else None, journeys)
    if redactor is None or not (records or settings.to):
        return Passage(settings.forward_host, None, comparing)
    # Relative to where the sandbox was started, as all that is named on the command line.
    directory = settings.to or Path.cwd() / RECORDINGS
    head = {
        "banks": [url for real in real_banks for url in real.urls],
        "redacted": pseudonyms.fingerprint(pseudonyms.ensure_key(settings.confdir)) if redact else False,
    }
    recording = Recording(directory, keeper(settings, redactor).entry if redact else None, head)
    try:
        recording.check()
    except RecordingFailed as error:
        raise ConfigError(str(error)) from None
    return Passage(settings.forward_host, recording, comparing, spied=settings.to is not None)


def _comparing(
    settings: Settings, banks: Banks, redactor: Redactor | None, journeys: Journeys
) -> LiveComparison | None:
    """Raises Unreadable for ignore rules that cannot be used, ConfigError for a vault that cannot."""
    compared = [bank for bank in banks.all if bank.real.can_be_asked and "compare" in bank.real.all_modes]
    urls = [bank.real.url for bank in compared if bank.real.url]
    if not urls:
        return None
    # Imported when the bank is first asked, it would hold up the answers of that moment.
    import_module("xs2a_sandbox.upstream.connections")
    rules = masking.Ignoring(masking.read(settings.ignore), Clock().today())
    return LiveComparison(
        LiveReport(", ".join(urls), rules, redactor.entry if redactor else None, settings.report),
        rules,
        answer_from=settings.answer_from,
        allow_writes=settings.allow_writes,
        noise_reads=settings.noise_reads,
        journeys=journeys,
        restorer=_restorer(settings, banks, [bank for bank in compared if bank.replays_personal]),
    )


def _restorer(settings: Settings, banks: Banks, replaying: Sequence[Bank]) -> "Restorer | None":
    """Puts real values in place of the pseudonyms of redacted recordings that answer. Raises ConfigError."""
    tapes = [rule.tape for bank in replaying for rule in bank.interface.rules if rule.tape and rule.tape.redacted]
    if not tapes:
        return None
    from xs2a_sandbox.recording.tape import without_values
    from xs2a_sandbox.redaction import vault

    file = settings.confdir / vault.FILE
    opened = vault.read(file, settings.confdir) if file.exists() else None
    keys = sorted({str(tape.redacted) for tape in tapes})
    if opened is None or not all(key in opened.keys for key in keys):
        raise without_values(f"recorded rules, redacted with the key {', '.join(keys)}", file)
    values = {pseudonym: text for key in keys for pseudonym, text in opened.values.get(key, {}).items()}
    return restorer_of(settings, banks).knowing(values)


def redactor_of(
    settings: Settings,
    banks: Banks,
    unchanged: frozenset[str] = frozenset(),
    kind: type[Redactor] = Redactor,
    key: bytes | None = None,
) -> Redactor:
    """A redactor for what these banks are sent and say; `key` is that in `confdir` unless another one is given."""
    key = key or pseudonyms.ensure_key(settings.confdir)
    return kind(key, _rules(settings), unchanged=unchanged, **_harmless(banks))


def restorer_of(settings: Settings, banks: Banks) -> "Restorer":
    """Puts real values in the place of what `redactor_of` has made of them."""
    from xs2a_sandbox.redaction.real_values import Restorer

    return Restorer(b"-", _rules(settings), **_harmless(banks))


def _harmless(banks: Banks) -> "_Harmless":
    """Texts that are no person's: the words of the interfaces, and where the banks are."""
    return {
        "words": frozenset().union(*(replay.words(bank.interface) for bank in banks.all)),
        "banks": {
            url
            for bank in banks.all
            for url in (*bank.real.urls, *(f"https://{name}" for name in bank.real.host_names))
        },
    }


class _Harmless(TypedDict):
    words: frozenset[str]
    banks: set[str]


def keeper(settings: Settings, redactor: Redactor) -> "Keeper":
    """Redacts for a recording; what is replaced is kept in the vault in `confdir`. Raises ConfigError."""
    from xs2a_sandbox.redaction import vault
    from xs2a_sandbox.redaction.real_values import Keeper

    opened = vault.open_for_writing(settings.confdir)
    try:
        return Keeper(redactor, _rules(settings), opened, pseudonyms.ensure_key(settings.confdir))
    except OSError as error:
        raise ConfigError(f"the vault in {settings.confdir} cannot be written: {error.strerror}") from None


def replay_of(settings: Settings, spoken: Interface, real: RealBank) -> Replay | None:
    """Returns the replay by which recorded rules answer; None without such rules. Raises ConfigError."""
    tapes = [rule.tape for rule in spoken.rules if rule.tape]
    if not tapes:
        return None
    redact = None
    if any(tape.redacted for tape in tapes):
        key, texts = pseudonyms.ensure_key(settings.confdir), replay.recorded_texts(spoken)
        urls = {tape.bank for tape in tapes}
        redact = Redactor(key, _rules(settings), words=replay.words(spoken), banks=urls, unchanged=texts).request
    return Replay(spoken, redact, shift_dates=settings.shift_dates, rewrite_links=real.rewrite_links)


def _rules(settings: Settings) -> RedactionRules:
    return redaction_rules.read(settings.redaction) if settings.redaction else redaction_rules.DEFAULT


def _has_bank(settings: Settings) -> bool:
    """The cassettes are read for each bank, and what they say of a real one is right if there is one."""
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
        return False  # whoever reads it as a cassette says why it cannot be read
    first = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    return first.startswith("testdata:")
