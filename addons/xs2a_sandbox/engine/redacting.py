"""Redacts what real banks were sent and said, by the settings: for recordings, and wherever exchanges are shown."""

import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypedDict

from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.journal.display import Display, TypedRedactor
from xs2a_sandbox.recording import replay
from xs2a_sandbox.recording.replay import Replay
from xs2a_sandbox.redaction import pseudonyms
from xs2a_sandbox.redaction import rules as redaction_rules
from xs2a_sandbox.redaction.marked_members import MarkedMembers
from xs2a_sandbox.redaction.redactor import Redactor
from xs2a_sandbox.redaction.rules import RedactionRules

if TYPE_CHECKING:
    from xs2a_sandbox.redaction.real_values import Depseudonymizer, VaultWriter

_KEY_OF_THIS_RUN = secrets.token_bytes(32)
"""For pseudonyms that are the same in all processes that serve together."""


def show(display: Display, settings: Settings, banks: Banks, data: TestData) -> None:
    """Lets exchanges be shown by files that were read anew."""
    # Where a bank is asked, it is redacted by one who remembers what it was sent before.
    asks_bank = any(bank.real.can_be_asked for bank in banks.all)
    display.use(None if asks_bank else personal_redactor(settings, banks, None), typed_redactor(settings, banks, data))


def personal_redactor(settings: Settings, banks: Banks, redactor: Redactor | None) -> Callable[[], Redactor]:
    def make() -> Redactor:
        # What apps that replay a redacted recording were answered they send back.
        replayed = [bank.interface for bank in banks.all if bank.replays_personal]
        return redactor or redactor_of(settings, banks, frozenset().union(*map(replay.recorded_texts, replayed)))

    return make


def typed_redactor(settings: Settings, banks: Banks, data: TestData) -> Callable[[], Redactor]:
    # Nothing of it is kept, so its pseudonyms need not be the same in the next run: no key is written for it.
    return lambda: redactor_of(settings, banks, data.texts(), TypedRedactor, _KEY_OF_THIS_RUN)


def redactor_of(
    settings: Settings,
    banks: Banks,
    unchanged: frozenset[str] = frozenset(),
    kind: type[Redactor] = Redactor,
    key: bytes | None = None,
) -> Redactor:
    """A redactor for what these banks are sent and say; `key` is that in `confdir` unless another one is given."""
    key = key or pseudonyms.ensure_key(settings.confdir)
    return kind(key, _rules(settings), unchanged=unchanged, **_known_of(banks))


def restorer_of(settings: Settings, banks: Banks) -> "Depseudonymizer":
    """Puts real values in the place of what `redactor_of` has made of them."""
    from xs2a_sandbox.redaction.real_values import Depseudonymizer

    return Depseudonymizer(b"-", _rules(settings), **_known_of(banks))


def _known_of(banks: Banks) -> "_Known":
    """Texts that are no person's, which are the words of the interfaces and where the banks are; and what is marked."""
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
    """The members of which a bank's schemas say that they are secret or personal, and its links to pages."""
    return MarkedMembers.of(schemas.marked("x-secret"), schemas.marked("x-personal"), interface.things.pages)


class _Known(TypedDict):
    words: frozenset[str]
    banks: set[str]
    marked: MarkedMembers


def keeper(settings: Settings, redactor: Redactor) -> "VaultWriter":
    """Redacts for a recording; what is replaced is kept in the vault in `confdir`. Raises ConfigError."""
    from xs2a_sandbox.redaction import vault
    from xs2a_sandbox.redaction.real_values import VaultWriter

    opened = vault.open_for_writing(settings.confdir)
    try:
        return VaultWriter(redactor, _rules(settings), opened, pseudonyms.ensure_key(settings.confdir))
    except OSError as error:
        raise ConfigError(f"the vault in {settings.confdir} cannot be written: {error.strerror}") from None


def tape_restorer(settings: Settings, banks: Banks, replaying: Sequence[Bank]) -> "Depseudonymizer | None":
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


def replay_of(settings: Settings, spoken: Interface, schemas: Schemas, real: RealBank) -> Replay | None:
    """Returns the replay by which recorded rules answer; None without such rules. Raises ConfigError."""
    tapes = [rule.tape for rule in spoken.rules if rule.tape]
    if not tapes:
        return None
    redact = None
    if any(tape.redacted for tape in tapes):
        key, texts = pseudonyms.ensure_key(settings.confdir), replay.recorded_texts(spoken)
        urls = {tape.bank for tape in tapes}
        marked = _find_marked(spoken, schemas)
        redactor = Redactor(
            key, _rules(settings), words=replay.words(spoken), banks=urls, unchanged=texts, marked=marked
        )
        redact = redactor.request
    return Replay(spoken, redact, shift_dates=settings.shift_dates, rewrite_links=real.rewrite_links)


def _rules(settings: Settings) -> RedactionRules:
    return redaction_rules.read(settings.redaction) if settings.redaction else redaction_rules.DEFAULT
