"""Confirmations of funds (spec 4.3)."""

from decimal import Decimal
from typing import Any

from xs2a_sandbox.bank.domain.bookings import compute_available, convert
from xs2a_sandbox.bank.handlers.consents import find_account, find_consent
from xs2a_sandbox.bank.handlers.inputs import CONSENT
from xs2a_sandbox.bank.handlers.payments import money
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import handler
from xs2a_sandbox.errors import BankError


@handler(
    "funds.confirm",
    takes=(CONSENT,),
    reads="body/account body/instructedAmount",
    raises="account-not-held consent-unknown format-error",
    returns="fundsAvailable",
)
def confirm(call: Call) -> dict[str, Any]:
    """Asking changes nothing: no money is set aside."""
    if (consent_id := call.take("consent")) is not None:
        find_consent(call, consent_id)
    body = call.body
    iban = find_account(call, body["account"], "/account")
    account = call.state.get("accounts", iban) or {}
    currency, amount = money(body["instructedAmount"], "/instructedAmount")
    value = convert(call, Decimal(amount), currency, account["currency"])
    if value is None:
        text = f"the bank has no exchange rate for {currency}"
        raise BankError("format-error", path="/instructedAmount/currency", expected=text)
    return {"fundsAvailable": value <= compute_available(call, iban, account)}
