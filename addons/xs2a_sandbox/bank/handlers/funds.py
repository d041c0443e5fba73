"""Confirmations of funds (spec 4.3)."""

from decimal import Decimal
from typing import Any

from xs2a_sandbox.bank.domain.balances import compute_available
from xs2a_sandbox.bank.domain.bookings import convert
from xs2a_sandbox.bank.domain.signing import payer_of
from xs2a_sandbox.bank.handlers.consents import find_account, find_consent
from xs2a_sandbox.bank.handlers.inputs import ACCOUNT, AMOUNT, CONSENT, MANDATE
from xs2a_sandbox.bank.handlers.mandates import find_mandate
from xs2a_sandbox.bank.handlers.payments import check_money
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import handler
from xs2a_sandbox.errors import BankError


@handler(
    "funds.confirm",
    takes=(CONSENT, ACCOUNT, AMOUNT, MANDATE),
    raises="account-not-held consent-unknown format-error mandate-unknown",
    returns="available",
)
def confirm(call: Call) -> dict[str, Any]:
    """Check whether the named account, or the account of a mandate, has the money. The money is not reserved."""
    account_id, money = _asked(call)
    account = call.state.get("accounts", account_id)
    if account is None:
        return {"available": False}
    currency, amount = check_money(call, money, "amount")
    value = convert(call, Decimal(amount), currency, account["currency"])
    if value is None:
        text = f"the bank has no exchange rate for {currency}"
        raise BankError("format-error", path=call.pointer_of("amount", "currency"), expected=text)
    return {"available": value <= compute_available(call, account_id, account)}


def _asked(call: Call) -> tuple[str, Any]:
    """Return the account and the amount that it would have to pay. The account is empty if none has been chosen yet."""
    if call.take("mandate") is not None:
        _, mandate = find_mandate(call)
        return payer_of(mandate) or "", mandate["amount"]
    if (consent_id := call.take("consent")) is not None:
        find_consent(call, consent_id)
    return find_account(call, call.need("account"), "account"), call.need("amount")
