"""Redacts the traffic of real banks according to the settings, for recordings and for display."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.journal.display import KEY_OF_THIS_RUN, Display
from xs2a_sandbox.journal.typed_redactor import TypedRedactor
from xs2a_sandbox.recording import replay
from xs2a_sandbox.recording.replay import Replay
from xs2a_sandbox.redaction import pseudonyms
from xs2a_sandbox.redaction import rules as redaction_rules
from xs2a_sandbox.redaction.marked_members import MarkedMembers
from xs2a_sandbox.redaction.redactor import Redactor
from xs2a_sandbox.redaction.rules import RedactionRules

if TYPE_CHECKING:
    from xs2a_sandbox.redaction.real_values import Depseudonymizer, VaultWriter


def show(display: Display, settings: Settings, banks: Banks, data: TestData) -> None:
    """Redact displayed exchanges according to files that were read again."""
    # If a bank is asked, its traffic is redacted by a redactor that remembers earlier requests.
    asks_bank = any(bank.real.can_be_asked for bank in banks.all)
    personal = None if asks_bank else partial(personal_redactor, settings, banks)
    display.use(personal, partial(typed_redactor, settings, banks, data))


def personal_redactor(settings: Settings, banks: Banks) -> Redactor:
    """Return the redactor for a sandbox that asks no real bank."""
    # Apps send back the pseudonyms that they got from a redacted recording.
    replayed = [bank.interface for bank in banks.all if bank.replays_personal]
    return redactor_of(settings, banks, frozenset().union(*map(replay.recorded_texts, replayed)))


def typed_redactor(settings: Settings, banks: Banks, data: TestData) -> Redactor:
    # The key is not stored, so the pseudonyms may differ in the next run.
    return redactor_of(settings, banks, data.texts(), TypedRedactor, KEY_OF_THIS_RUN)


def redactor_of(
    settings: Settings,
    banks: Banks,
    unchanged: frozenset[str] = frozenset(),
    kind: type[Redactor] = Redactor,
    key: bytes | None = None,
) -> Redactor:
    """Return a redactor for the traffic of these banks. `key` defaults to the one in `confdir`."""
    key = key or pseudonyms.ensure_key(settings.confdir)
    return kind(key, rules_of(settings), unchanged=unchanged, **_known_of(banks))


def restorer_of(settings: Settings, banks: Banks) -> "Depseudonymizer":
    """Return a Depseudonymizer for the pseudonyms of `redactor_of`."""
    from xs2a_sandbox.redaction.real_values import Depseudonymizer

    return Depseudonymizer(b"-", rules_of(settings), **_known_of(banks))


def _known_of(banks: Banks) -> "_Known":
    """Return texts that are not personal data (words of the interfaces, addresses of the banks), and marked members."""
    return {
        "words": frozenset().union(*(replay.words(bank.interface) for bank in banks.all)),
        "banks": {
            url
            for bank in banks.all
            for url in (*bank.real.urls, *(f"https://{name}" for name in bank.real.host_names))
        },
        "marked": MarkedMembers.together(_find_marked(bank.interface, bank.schemas) for bank in banks.all),
    }


def _find_marked(interface: Interface, schemas: Schemas) -> MarkedMembers:
    """Return the members that a bank's schemas mark as secret or personal, and its links to pages."""
    return MarkedMembers.of(schemas.marked("x-secret"), schemas.marked("x-personal"), interface.things.pages)


class _Known(TypedDict):
    words: frozenset[str]
    banks: set[str]
    marked: MarkedMembers


def keeper(settings: Settings, redactor: Redactor) -> "VaultWriter":
    """Return a redactor for a recording. It keeps the real values in the vault in `confdir`. Raises ConfigError."""
    from xs2a_sandbox.redaction import vault
    from xs2a_sandbox.redaction.real_values import VaultWriter

    opened = vault.open_for_writing(settings.confdir)
    try:
        return VaultWriter(redactor, rules_of(settings), opened, pseudonyms.ensure_key(settings.confdir))
    except OSError as error:
        raise ConfigError(f"the vault in {settings.confdir} cannot be written: {error.strerror}") from None


def tape_restorer(settings: Settings, banks: Banks, replaying: Sequence[Bank]) -> "Depseudonymizer | None":
    """Return a Depseudonymizer for redacted recordings. Raises ConfigError."""
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


def replay_of(settings: Settings, spoken: Interface, schemas: Schemas, real: RealBank) -> Replay | None:
    """Return the replay for recorded rules, or None if there are none. Raises ConfigError."""
    tapes = [rule.tape for rule in spoken.rules if rule.tape]
    if not tapes:
        return None
    redact = None
    if any(tape.redacted for tape in tapes):
        key, texts = pseudonyms.ensure_key(settings.confdir), replay.recorded_texts(spoken)
        urls = {tape.bank for tape in tapes}
        marked = _find_marked(spoken, schemas)
        redactor = Redactor(
            key, rules_of(settings), words=replay.words(spoken), banks=urls, unchanged=texts, marked=marked
        )
        redact = redactor.request
    return Replay(spoken, redact, shift_dates=settings.shift_dates, rewrite_links=real.rewrite_links)


def rules_of(settings: Settings) -> RedactionRules:
    """Return the user's redaction rules. Raises Unreadable."""
    return redaction_rules.read(settings.redaction) if settings.redaction else redaction_rules.DEFAULT
