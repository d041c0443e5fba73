"""Builds an engine, its parts and its store from the settings."""

from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.bank.loading import read
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config import Settings
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.engine.egress import Egress
from xs2a_sandbox.engine.engine import Engine
from xs2a_sandbox.engine.holds import Holds
from xs2a_sandbox.engine.stack import Parts
from xs2a_sandbox.errors import ConfigError, RecordingFailed, Unreadable
from xs2a_sandbox.journal.display import Display
from xs2a_sandbox.journal.journal import BYTES, COUNT, Journal
from xs2a_sandbox.plugins import plugins
from xs2a_sandbox.state import MemoryStore, RemoteStore, Store
from xs2a_sandbox.state.redis_url import is_in_redis
from xs2a_sandbox.upstream import client

if TYPE_CHECKING:
    from xs2a_sandbox.engine.destinations.live_comparison import LiveComparison
    from xs2a_sandbox.engine.destinations.shared_journeys import SharedJourneys
    from xs2a_sandbox.recording.har_log import Recording
    from xs2a_sandbox.redaction.redactor import Redactor
    from xs2a_sandbox.signatures.bank_seal import AnswerSealer
    from xs2a_sandbox.tpp.trust_service import Trust

RECORDINGS = "recordings"
CA_FILE = "mitmproxy-ca-cert.pem"


def build(settings: Settings, *, redact: bool = True, diagnose: bool = True) -> Engine:
    """Build the engine.

    If `redact` is false, recordings contain the real traffic. If `diagnose` is false, no 404 says which rules are near.

    Raises UserMistake with all mistakes.
    """
    try:
        plugins().configure(dict(settings.plugins))
    except ValueError as error:
        raise ConfigError(str(error)) from error
    banks, data = read_all(settings, diagnose=diagnose)
    real_banks = [bank.real for bank in banks.all if bank.real.can_be_asked]
    for real in real_banks:
        client.check(real)
    if settings.on_expiry == "fail":
        from xs2a_sandbox.recording.replay import find_outdated

        if outdated := [
            line for b in banks.all for line in find_outdated(b.interface, Clock().now(), settings.max_age)
        ]:
            raise ConfigError("\n".join([*outdated, "record again, or increase max_age"]))
    redactor = _redactor_of(settings, banks) if real_banks else None
    store = open_store(settings)
    return Engine(
        Parts(
            banks,
            store,
            data,
            limits=replace(USUAL, connections=settings.connections),
            clock=settings.clock,
            holds=_holds(store),
            egress=egress_of(settings, banks, redactor, redact=redact),
            comparing=_build_comparison(settings, banks, redactor if redact else None, store),
            display=_display(settings, banks, data, redactor),
            host=settings.host,
            public_url=settings.public_url or f"http://{settings.host}:{settings.port}",
            static_data=settings.static_data,
            debug_headers=settings.debug_headers,
            prefer=settings.prefer,
            ca_file=settings.confdir / CA_FILE,
            journal=_journal(settings, store),
            allow_origin=settings.allow_origin,
            # Created for the first signed answer, because importing the code for certificates is slow.
            seal=lambda response, rules: _sealer(settings.confdir).sign(response, rules),
            sign=lambda claims, header: _sealer(settings.confdir).token(claims, header),
            bank_keys=lambda: _sealer(settings.confdir).key_set(),
        )
    )


# Redaction is imported when something has to be redacted: a start without a real bank and recordings needs none.


def _redactor_of(settings: Settings, banks: Banks) -> "Redactor":
    from xs2a_sandbox.engine.redacting import redactor_of

    return redactor_of(settings, banks)


def _display(settings: Settings, banks: Banks, data: TestData, redactor: "Redactor | None") -> Display:
    def personal() -> "Redactor":
        from xs2a_sandbox.engine.redacting import personal_redactor

        return redactor or personal_redactor(settings, banks)

    def typed() -> "Redactor":
        from xs2a_sandbox.engine.redacting import typed_redactor

        return typed_redactor(settings, banks, data)

    return Display(personal, typed)


@cache
def _sealer(confdir: Path) -> "AnswerSealer":
    from xs2a_sandbox.signatures.bank_seal import AnswerSealer

    return AnswerSealer(confdir)


def read_all(settings: Settings, *, diagnose: bool = True) -> tuple[Banks, TestData]:
    """Return every bank, and the test data. Raises UserMistake with all mistakes in all files."""
    read_for = {real: read(settings, (), real, trusts_bundled=True) for real in settings.real_banks()}
    if problems := [problem for files in read_for.values() for problem in files.problems]:
        raise Unreadable(list(dict.fromkeys(problems)))
    banks, data = [], TestData({}, ())
    for real, files in read_for.items():
        if files.interface and files.testdata:
            data = files.testdata
            replayed = None
            if any(rule.tape for rule in files.interface.rules):
                from xs2a_sandbox.engine.redacting import replay_of

                replayed = replay_of(settings, files.interface, files.schemas, real)
            banks.append(
                Bank(
                    files.interface,
                    files.schemas,
                    real,
                    base_path=settings.base_path,
                    replay=replayed,
                    diagnose=diagnose and settings.debug_headers,
                    trust=partial(_trust, settings.confdir),
                )
            )
    return Banks(banks[-1], banks[:-1]), data


def _trust(confdir: Path) -> "Trust":
    """Return the current test trust service in `confdir`. Raises ConfigError."""
    from xs2a_sandbox.tpp.trust_service import TrustService

    return TrustService(confdir).trust()


def open_store(settings: Settings) -> Store | RemoteStore:
    """Open the store, and reset it if the settings say so. Raises UserMistake."""
    if is_in_redis(settings.state):
        return _open_redis(settings)
    kind, _, name = settings.state.partition(":")
    store = MemoryStore() if kind == "memory" else _open_sqlite(Path(name))
    if settings.reset:
        store.reset()
    return store


def _open_sqlite(file: Path) -> Store:
    from xs2a_sandbox.state.sqlite import SqliteStore

    return SqliteStore(file)


def _open_redis(settings: Settings) -> RemoteStore:
    # Imported only for Redis.
    from xs2a_sandbox.state.redis import RedisStore

    spoken = dict.fromkeys(real.dialect or settings.dialect for real in settings.real_banks())
    store = RedisStore(settings.state, ", ".join(spoken), settings.session_ttl)
    if settings.reset:
        store.reset_now()
    return store


def warnings(settings: Settings, engine: Engine) -> list[str]:
    """Return warnings about recordings that answer requests, and about state that sandboxes do not share."""
    recorded = [bank.interface for bank in engine.banks.all if bank.interface.tapes or bank.interface.replaced]
    if not recorded:
        return []
    from xs2a_sandbox.recording import replay
    from xs2a_sandbox.redaction import pseudonyms

    lines: list[str] = []
    for spoken in recorded:
        lines += replay.find_replaced(spoken)
        lines += replay.list_left_out(spoken)
        lines += replay.find_outdated(spoken, Clock().now(), settings.max_age)
        if any(rule.tape for rule in spoken.rules):
            lines += replay.of_another_key(spoken, pseudonyms.fingerprint(pseudonyms.ensure_key(settings.confdir)))
    return list(dict.fromkeys(lines))


def _journal(settings: Settings, store: Store | RemoteStore) -> Journal:
    count = settings.journal
    size = count * BYTES // COUNT
    if isinstance(store, RemoteStore):
        from xs2a_sandbox.journal.shared import SharedJournal

        return SharedJournal(count, size, stream=store.stream("journal", count, size))
    return Journal(count, size)


def egress_of(settings: Settings, banks: Banks, redactor: "Redactor | None", *, redact: bool) -> Egress:
    """Return the way out to real banks, with the recording of its traffic. Raises ConfigError."""
    real_banks = [bank.real for bank in banks.all if bank.real.can_be_asked]
    records = any("record" in real.all_modes for real in real_banks)
    if redactor is None or not (records or settings.to):
        return _egress(settings)
    from xs2a_sandbox.engine.redacting import keeper
    from xs2a_sandbox.recording.har_log import Recording
    from xs2a_sandbox.redaction import pseudonyms

    # Relative to the working directory, like everything on the command line.
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
    return _egress(settings, recording)


def _egress(settings: Settings, recording: "Recording | None" = None) -> Egress:
    return Egress(
        settings.forward_host,
        recording,
        spied=recording is not None and settings.to is not None,
        callback_hosts=settings.callback_host,
        callback_ca=settings.callback_ca,
    )


def _build_comparison(
    settings: Settings, banks: Banks, redactor: "Redactor | None", store: Store | RemoteStore
) -> "LiveComparison | None":
    """Return the live comparison. Raises Unreadable for invalid ignore rules, ConfigError for an unusable vault."""
    compared = [bank for bank in banks.all if bank.real.can_be_asked and "compare" in bank.real.all_modes]
    urls = [bank.real.url for bank in compared if bank.real.url]
    if not urls:
        return None
    from xs2a_sandbox.compare import masking
    from xs2a_sandbox.compare.reports.live import LiveReport
    from xs2a_sandbox.engine.destinations.journeys import Journeys
    from xs2a_sandbox.engine.destinations.live_comparison import LiveComparison
    from xs2a_sandbox.engine.redacting import tape_restorer

    # Imported now, because importing it at the first request to the bank would delay other answers.
    import_module("xs2a_sandbox.upstream.connections")
    rules = masking.Ignoring(masking.read(settings.ignore), Clock().today())
    return LiveComparison(
        LiveReport(", ".join(urls), rules, redactor.entry if redactor else None, keeps=bool(settings.report)),
        rules,
        answer_from=settings.answer_from,
        allow_writes=settings.allow_writes,
        noise_reads=settings.noise_reads,
        journeys=_shared_journeys(store) if isinstance(store, RemoteStore) else Journeys(),
        restorer=tape_restorer(settings, banks, [bank for bank in compared if bank.replays_personal]),
    )


def _shared_journeys(store: RemoteStore) -> "SharedJourneys":
    from xs2a_sandbox.engine.destinations.shared_journeys import SharedJourneys

    return SharedJourneys(store)


def _holds(store: Store | RemoteStore) -> Holds:
    if not isinstance(store, RemoteStore):
        return Holds()
    from xs2a_sandbox.engine.shared_holds import SharedHolds

    return SharedHolds(store)
