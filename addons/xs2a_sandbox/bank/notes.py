"""Notes about the documents that a transaction writes. With them, later requests need not search all documents."""

from xs2a_sandbox.bank import timeline
from xs2a_sandbox.bank.domain import balances, signing
from xs2a_sandbox.bank.handlers import mandates
from xs2a_sandbox.state import Transaction


def note(state: Transaction) -> None:
    signing.note_replaceable(state)
    balances.note_totals(state)
    mandates.note_mandates(state)
    timeline.note(state)
