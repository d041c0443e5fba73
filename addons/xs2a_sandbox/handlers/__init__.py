"""The bank's logic, where state or dates are needed. What it says, and with which status, is the dialect's.

A handler returns its result as plain data, or raises a BankError by name.
"""

from collections.abc import Callable
from typing import Any

from xs2a_sandbox.call import Call
from xs2a_sandbox.handlers import accounts, consents, payments

Handler = Callable[[Call], dict[str, Any]]

HANDLERS: dict[str, Handler] = {
    "accounts.balances": accounts.balances,
    "accounts.list": accounts.list_accounts,
    "accounts.read": accounts.read,
    "accounts.transactions": accounts.transactions,
    "consents.create": consents.create,
    "consents.delete": consents.delete,
    "consents.read": consents.read,
    "payments.cancel": payments.cancel,
    "payments.initiate": payments.initiate,
    "payments.read": payments.read,
}

RAISES = consents.RAISES | accounts.RAISES | payments.RAISES
"""The errors that handlers raise, by name; a dialect must say every one."""
