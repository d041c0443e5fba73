"""Verification of payees, as the law on credit transfers in euro demands it."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.bank.domain.payees import COMPARED, doubtful_payees, verify
from xs2a_sandbox.bank.handlers.inputs import PAYEES
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.dialect.authorisation import ON_PAGES
from xs2a_sandbox.cassette.handler import Option, handler
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state.faults import PAYEE_OUTCOMES

VERIFICATION = {
    "verification": Option(
        "How payees are verified: their names and identifiers are `compared` with the test data, or every "
        "verification has the same outcome.",
        {"enum": [COMPARED, *PAYEE_OUTCOMES]},
        default=COMPARED,
    )
}


@handler(
    "payees.verify",
    takes=(PAYEES.needed,),
    raises="format-error",
    returns="payees",
    options=VERIFICATION,
)
def verify_payees(call: Call) -> dict[str, Any]:
    """Verify payees; `payees` are the results in the same order.

    Each has `name_match` (`match`, `close-match`, `no-match`, `not-possible`) if the request has a name,
    `suggested_name` for a close match, and `identifier_match` if the request has identifiers.
    """
    payees = call.need("payees")
    if not isinstance(payees, list) or not payees:
        text = f"{call.name_of('payees')} must be a list of one payee or more"
        raise BankError("format-error", path=call.pointer_of("payees"), expected=text)
    for number, payee in enumerate(payees):
        _check(call, payee, number)
    return {"payees": [verify(call, payee, call.options["verification"]) for payee in payees]}


def tell_payees(payment: Mapping[str, Any], begun: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the payees that are not a match, unless the customer sees them on a page."""
    return [] if begun["approach"] in ON_PAGES else list(doubtful_payees(payment))


def _check(call: Call, payee: Any, number: int) -> None:
    """Check that the payee has an IBAN, and a name or an identifier. Raises BankError `format-error`."""
    account, name = (payee.get("account"), payee.get("name")) if isinstance(payee, Mapping) else (None, None)
    if not isinstance(account, Mapping) or not isinstance(account.get("iban"), str):
        _refuse(call, "must have an iban", number, "account")
    if name is not None and not isinstance(name, str):
        _refuse(call, "must be text", number, "name")
    identifiers = payee.get("identifiers") or ()
    if not name and not any(isinstance(item, Mapping) and item.get("value") for item in identifiers):
        _refuse(call, "is missing: a payee needs a name or an identifier with a value", number, "name")


def _refuse(call: Call, text: str, *place: str | int) -> None:
    raise BankError(
        "format-error", path=call.pointer_of("payees", *place), expected=f"{call.name_of('payees', *place)} {text}"
    )
