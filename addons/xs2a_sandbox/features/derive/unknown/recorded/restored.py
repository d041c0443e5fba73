"""Restores what redaction has hidden, where the recording still shows it."""

from dataclasses import replace

from xs2a_sandbox.features.derive.unknown.recorded.restored_authorizations import restore_authorizations
from xs2a_sandbox.features.derive.unknown.recorded.restored_keys import restore_keys
from xs2a_sandbox.features.derive.unknown.recorded.restored_tokens import restore_tokens
from xs2a_sandbox.features.derive.unknown.recorded.restored_words import restore_words
from xs2a_sandbox.recording.tape import Tape


def restore(tape: Tape) -> Tape:
    """Return the recording with the keys and tokens that requests had, and with words in place of their pseudonyms."""
    entries = restore_authorizations(restore_tokens(restore_keys(tape.entries)))
    return replace(tape, entries=restore_words(entries))
