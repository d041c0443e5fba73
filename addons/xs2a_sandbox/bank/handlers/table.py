"""The bank's logic, where state or dates are needed. What it says, and with which status, is the dialect's.

A handler returns its result as plain data, or raises a BankError by name.
"""

from collections.abc import Callable
from typing import Any

from xs2a_sandbox.bank.handlers import (
    accounts,
    approaches,
    authorisations,
    baskets,
    cards,
    consents,
    funds,
    payments,
    token,
)
from xs2a_sandbox.cassette import Call

Handler = Callable[[Call], dict[str, Any]]

HANDLERS: dict[str, Handler] = {
    "accounts.balances": accounts.balances,
    "accounts.list": accounts.list_accounts,
    "accounts.read": accounts.read,
    "accounts.transaction": accounts.transaction,
    "accounts.transactions": accounts.transactions,
    "authorisations.list": authorisations.list_ids,
    "authorisations.read": authorisations.read,
    "authorisations.start": authorisations.start,
    "authorisations.update": authorisations.update,
    "baskets.create": baskets.create,
    "baskets.delete": baskets.delete,
    "baskets.read": baskets.read,
    "cards.balances": cards.balances,
    "cards.list": cards.list_cards,
    "cards.read": cards.read,
    "cards.transactions": cards.transactions,
    "consents.create": consents.create,
    "consents.delete": consents.delete,
    "consents.read": consents.read,
    "consents.status": consents.status,
    "funds.confirm": funds.confirm,
    "payments.cancel": payments.cancel,
    "payments.initiate": payments.initiate,
    "payments.read": payments.read,
    "token.issue": token.issue,
}

_MODULES = (accounts, approaches, authorisations, baskets, cards, consents, funds, payments, token)

RAISES = frozenset[str]().union(*(module.RAISES for module in _MODULES))
"""The errors that handlers raise, by name; a dialect must say every one."""
