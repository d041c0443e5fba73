"""What a transaction notes beside the documents that it writes, so that later requests need not search for it."""

from xs2a_sandbox.bank import timeline
from xs2a_sandbox.bank.domain import balances, signing
from xs2a_sandbox.bank.handlers import mandates
from xs2a_sandbox.state import Transaction


def note(state: Transaction) -> None:
    signing.note_replaceable(state)
    balances.note_totals(state)
    mandates.note_mandates(state)
    timeline.note(state)
