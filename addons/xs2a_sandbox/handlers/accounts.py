"""Account information with a consent (spec 2.6 to 2.8, 4.1)."""

from typing import Any

from xs2a_sandbox.call import Call
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.handlers.consents import reference, registered, status_of
from xs2a_sandbox.store import Document

RAISES = frozenset(
    {"consent-expired", "consent-invalid", "consent-unknown", "format-error", "period-invalid", "resource-not-covered"}
)


def list_accounts(call: Call) -> dict[str, Any]:
    """Options: `links`, see `_record`."""
    return {
        "accounts": [
            _record(call, iban, account, f"{call.self_path}/{iban}")
            for iban in _consent(call)["accounts"]
            if (account := call.state.get("accounts", iban)) is not None
        ]
    }


def read(call: Call) -> dict[str, Any]:
    """Options: `links`, see `_record`."""
    iban, account = _covered(call)
    return {"account": _record(call, iban, account, call.self_path)}


def balances(call: Call) -> dict[str, Any]:
    _, account = _covered(call)
    return {"balances": account["balances"]}


def transactions(call: Call) -> dict[str, Any]:
    """Options: `lists` says which lists each bookingStatus shows; the others are null."""
    iban, account = _covered(call)
    since, until = call.query.get("dateFrom"), call.query.get("dateTo")
    if since and until and since > until:
        raise BankError("period-invalid", expected="dateFrom must not be after dateTo")
    shown = call.options["lists"].get(call.query.get("bookingStatus"))
    if shown is None:
        wanted = ", ".join(call.options["lists"])
        raise BankError("format-error", expected=f"the query parameter bookingStatus must be one of {wanted}")
    found = account.get("transactions", {})
    return {
        "iban": iban,
        "account": reference(call, iban),
        "self": call.self_path.removesuffix("/transactions"),
        **{
            name: [t for t in found.get(name, ()) if _within(t.get("bookingDate"), since, until)]
            if name in shown
            else None
            for name in ("booked", "pending", "information")
        },
    }


def _consent(call: Call) -> Document:
    given = call.headers.get("consent-id")
    if given is None:
        raise BankError("format-error", expected="the header Consent-ID is missing")
    _, consent = registered(call, given)
    status = status_of(call, consent)
    if status == "expired":
        raise BankError("consent-expired", id=given)
    if status != "valid":
        raise BankError("consent-invalid", id=given, status=status)
    return consent


def _covered(call: Call) -> tuple[str, Document]:
    id = call.path["account-id"]
    account = call.state.get("accounts", id) if id in _consent(call)["accounts"] else None
    if account is None:
        raise BankError("resource-not-covered", id=id)
    return id, account


def _record(call: Call, iban: str, account: Document, path: str) -> dict[str, Any]:
    """An account as it is shown (spec 2.6). Options: `links: {container, members}`, members being path suffixes."""
    links = call.options["links"]
    record: dict[str, Any] = {"resourceId": iban, "iban": iban}
    record |= {name: account[name] for name in ("currency", "name", "product", "bic") if name in account}
    if call.query.get("withBalance") == "true":
        record["balances"] = account["balances"]
    record[links["container"]] = {name: {"href": path + suffix} for name, suffix in links["members"].items()}
    return record


def _within(day: str | None, since: str | None, until: str | None) -> bool:
    """ISO dates compare as text; entries without a booking date are not booked yet and always shown."""
    return day is None or ((not since or since <= day) and (not until or day <= until))
