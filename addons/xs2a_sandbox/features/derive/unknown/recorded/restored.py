"""Restores what redaction has hidden, where the recording still shows it."""

from dataclasses import replace

from xs2a_sandbox.features.derive.unknown.recorded.restored_tokens import restore_tokens
from xs2a_sandbox.features.derive.unknown.recorded.restored_words import restore_words
from xs2a_sandbox.recording.tape import Tape


def restore(tape: Tape) -> Tape:
    """Return the recording with the tokens that requests had, and with words in place of their pseudonyms."""
    return replace(tape, entries=restore_words(restore_tokens(tape.entries)))
