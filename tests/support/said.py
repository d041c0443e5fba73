"""Accounts and cards as the documented interface shows them, computed from the test data."""

from collections.abc import Mapping
from typing import Any

BALANCES = {
    "CLBD": "closingBooked",
    "XPCD": "expected",
    "OPBD": "openingBooked",
    "ITAV": "interimAvailable",
    "ITBD": "interimBooked",
    "FWAV": "forwardAvailable",
    "INFO": "nonInvoiced",
}
_BALANCE = {
    "amount": "balanceAmount",
    "type": "balanceType",
    "credit_limit_included": "creditLimitIncluded",
    "reference_date": "referenceDate",
}
_ACCOUNT = {
    "owner_name": "ownerName",
    "display_name": "displayName",
    "type": "cashAccountType",
    "entries": "transactions",
}
_ENTRY = {
    "id": "transactionId",
    "reference": "entryReference",
    "end_to_end_id": "endToEndId",
    "mandate_id": "mandateId",
    "creditor_id": "creditorId",
    "booked_on": "bookingDate",
    "value_on": "valueDate",
    "amount": "transactionAmount",
    "creditor_name": "creditorName",
    "creditor_account": "creditorAccount",
    "debtor_name": "debtorName",
    "debtor_account": "debtorAccount",
    "remittance": "remittanceInformationUnstructured",
    "code": "bankTransactionCode",
    "standing_order": "additionalInformationStructured",
}
_ORDER = {
    "start": "startDate",
    "end": "endDate",
    "rule": "executionRule",
    "months": "monthsOfExecution",
    "day": "dayOfExecution",
}
_CARD = {
    **_ACCOUNT,
    "masked_pan": "maskedPan",
    "account": "linkedAccount",
    "credit_limit": "creditLimit",
    "debit_accounting": "debitAccounting",
}
_CARD_ENTRY = {
    "id": "cardTransactionId",
    "used_on": "transactionDate",
    "booked_on": "bookingDate",
    "value_on": "valueDate",
    "amount": "transactionAmount",
    "exchange": "currencyExchange",
    "original_amount": "originalAmount",
    "fee": "markupFee",
    "fee_percentage": "markupFeePercentage",
    "acceptor": "cardAcceptorId",
    "acceptor_address": "cardAcceptorAddress",
    "merchant_category": "merchantCategoryCode",
    "masked_pan": "maskedPAN",
    "details": "transactionDetails",
}
_EXCHANGE = {
    "source": "sourceCurrency",
    "rate": "exchangeRate",
    "unit": "unitCurrency",
    "target": "targetCurrency",
    "quoted_on": "quotationDate",
}
_ADDRESS = {
    "street_name": "streetName",
    "building_number": "buildingNumber",
    "town_name": "townName",
    "post_code": "postCode",
}


def account(kept: Mapping[str, Any]) -> dict[str, Any]:
    return _held(kept, _ACCOUNT, entry)


def card(kept: Mapping[str, Any]) -> dict[str, Any]:
    return _held(kept, _CARD, card_entry)


def balance(kept: Mapping[str, Any]) -> dict[str, Any]:
    return _renamed({**kept, "type": BALANCES[kept["type"]]}, _BALANCE)


def entry(kept: Mapping[str, Any]) -> dict[str, Any]:
    said = _renamed(kept, _ENTRY)
    if order := kept.get("standing_order"):
        said["additionalInformationStructured"] = {"standingOrderDetails": _renamed(order, _ORDER)}
    return said


def card_entry(kept: Mapping[str, Any]) -> dict[str, Any]:
    said = _renamed(kept, _CARD_ENTRY)
    if "exchange" in kept:
        said["currencyExchange"] = [_renamed(one, _EXCHANGE) for one in kept["exchange"]]
    if "acceptor_address" in kept:
        said["cardAcceptorAddress"] = _renamed(kept["acceptor_address"], _ADDRESS)
    return said


def _held(kept: Mapping[str, Any], names: Mapping[str, str], of_entry: Any) -> dict[str, Any]:
    said = _renamed(kept, names)
    said["balances"] = [balance(one) for one in kept["balances"]]
    if "entries" in kept:
        said["transactions"] = {name: [of_entry(one) for one in listed] for name, listed in kept["entries"].items()}
    return said


def _renamed(kept: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in kept.items()}
