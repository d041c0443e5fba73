"""The Berlin Group's formats of the answers of section 4.3: the content of each member, and which are never null.

They are based on the public OpenAPI of the XS2A framework 1.3.11 (Berlin Group, CC BY 4.0). Members without a value are
null here, so an answer has exactly these members, except for those in `MAY_LACK`.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.contract.answers import is_date, is_iban, is_uuid

type Kind = str | Callable[[Any], bool] | list[Any] | Mapping[str, Any]

MAY_LACK = "may lack members"
"""A key of shapes whose members without a value are left out."""


def _text(pattern: str = ".*", most: int | None = None) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, str)
        and re.fullmatch(pattern, value, re.DOTALL) is not None
        and (most is None or len(value) <= most)
    )


def _date(value: Any) -> bool:
    return isinstance(value, str) and is_date(value)


def _uuid(value: Any) -> bool:
    return isinstance(value, str) and is_uuid(value)


def _iban(value: Any) -> bool:
    return isinstance(value, str) and is_iban(value)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: value in words


TEXT, DATE, ID, FLAG, NOTHING = _text(), _date, _uuid, _flag, lambda _: False
SHORT, NAME = _text(most=35), _text(most=70)
CURRENCY = _text("[A-Z]{3}")
AMOUNT = {"currency!": CURRENCY, "amount!": _text(r"-?[0-9]{1,14}(\.[0-9]{1,3})?")}
LINK = {"href!": _text(".+")}
OWN = {"href!": _text("/v1/.+")}
SCA_STATUS = _one_of(
    "received",
    "psuIdentified",
    "psuAuthenticated",
    "scaMethodSelected",
    "started",
    "unconfirmed",
    "finalised",
    "failed",
    "exempted",
)
METHOD = {
    "authenticationType!": TEXT,
    "authenticationVersion": TEXT,
    "authenticationMethodId!": SHORT,
    "name": TEXT,
    "explanation": TEXT,
    MAY_LACK: True,
}
CHALLENGE = {
    "image": TEXT,
    "data": [TEXT],
    "imageLink": TEXT,
    "otpMaxLength": _number,
    "otpFormat": _one_of("characters", "integer"),
    "additionalInformation": TEXT,
    MAY_LACK: True,
}
STEPS = {
    "scaRedirect": {"href!": _text("https?://.+")},
    "scaStatus!": OWN,
    "updatePsuIdentification": OWN,
    "updatePsuAuthentication": OWN,
    "selectAuthenticationMethod": OWN,
    "authoriseTransaction": OWN,
    "confirmation": OWN,
    MAY_LACK: True,
}
STEP = {
    "scaStatus!": SCA_STATUS,
    "scaMethods": [METHOD],
    "chosenScaMethod": METHOD,
    "challengeData": CHALLENGE,
    "psuMessage": _text(most=500),
    "_links!": STEPS,
}
AUTHORISATIONS = {
    "start": {**STEP, "authorisationId!": ID},
    "list": {"authorisationIds!": [ID]},
    "status": {"scaStatus!": SCA_STATUS, "psuMessage": _text(most=500)},
    "update": STEP,
}
BASKET_STATUS = _one_of("ACSC", "ACTC", "PATC", "RCVD", "RJCT", "CANC")
REFERENCE = {
    "iban": _iban,
    "bban": _text("[a-zA-Z0-9]{1,30}"),
    "pan": SHORT,
    "maskedPan": SHORT,
    "msisdn": SHORT,
    "currency": CURRENCY,
}
BALANCE = {
    "balanceAmount!": AMOUNT,
    "balanceType!": _one_of(
        "closingBooked",
        "expected",
        "openingBooked",
        "interimAvailable",
        "interimBooked",
        "forwardAvailable",
        "nonInvoiced",
    ),
    "creditLimitIncluded": FLAG,
    "lastChangeDateTime": TEXT,
    "referenceDate": DATE,
    "lastCommittedTransaction": SHORT,
}
CARD = {
    "resourceId": TEXT,
    "maskedPan!": SHORT,
    "currency!": CURRENCY,
    "ownerName": _text(most=140),
    "name": NAME,
    "displayName": NAME,
    "product": SHORT,
    "debitAccounting": FLAG,
    "status": _one_of("enabled", "deleted", "blocked"),
    "usage": _one_of("PRIV", "ORGA"),
    "details": _text(most=1000),
    "creditLimit": AMOUNT,
    "_links": {"balances!": OWN, "transactions!": OWN},
}
CARD_ENTRY = {
    "cardTransactionId": SHORT,
    "terminalId": SHORT,
    "transactionDate": DATE,
    "acceptorTransactionDateTime": TEXT,
    "bookingDate": DATE,
    "valueDate": DATE,
    "transactionAmount!": AMOUNT,
    "grandTotalAmount": AMOUNT,
    "currencyExchange": [{}],
    "originalAmount": AMOUNT,
    "markupFee": AMOUNT,
    "markupFeePercentage": TEXT,
    "cardAcceptorId": SHORT,
    "cardAcceptorAddress": {
        "streetName": NAME,
        "buildingNumber": TEXT,
        "townName": TEXT,
        "postCode": TEXT,
        "country!": _text("[A-Z]{2}"),
    },
    "cardAcceptorPhone": TEXT,
    "merchantCategoryCode": _text(most=4),
    "maskedPAN": SHORT,
    "transactionDetails": _text(most=1000),
    "invoiced": FLAG,
    "proprietaryBankTransactionCode": SHORT,
}
ENTRY = {
    "transactionId": TEXT,
    "entryReference": SHORT,
    "endToEndId": SHORT,
    "mandateId": SHORT,
    "checkId": SHORT,
    "creditorId": SHORT,
    "bookingDate": DATE,
    "valueDate": DATE,
    "transactionAmount!": AMOUNT,
    "currencyExchange": [{}],
    "creditorName": NAME,
    "creditorAccount": REFERENCE,
    "creditorAgent": TEXT,
    "ultimateCreditor": NAME,
    "debtorName": NAME,
    "debtorAccount": REFERENCE,
    "debtorAgent": TEXT,
    "ultimateDebtor": NAME,
    "remittanceInformationUnstructured": _text(most=140),
    "remittanceInformationUnstructuredArray": [TEXT],
    "remittanceInformationStructured": {},
    "remittanceInformationStructuredArray": [{}],
    "additionalInformation": TEXT,
    "additionalInformationStructured": {},
    "purposeCode": TEXT,
    "bankTransactionCode": TEXT,
    "proprietaryBankTransactionCode": SHORT,
    "balanceAfterTransaction": BALANCE,
    "_links": {},
}
ANSWERS: Mapping[str, Mapping[str, Any]] = {
    **{
        id: AUTHORISATIONS[kind]
        for family in ("consent", "payment", "cancellation", "basket")
        for id, kind in {
            f"start-{family}-authorisation": "start",
            f"{family}-authorisations": "list",
            f"{family}-authorisation": "status",
            f"update-{family}-authorisation": "update",
        }.items()
    },
    "transaction": {"transactionsDetails!": ENTRY},
    "card-accounts": {"cardAccounts!": [CARD]},
    "card-account": {"cardAccount!": CARD},
    "card-balances": {"cardAccount": REFERENCE, "debitAccounting": FLAG, "balances!": [BALANCE]},
    "card-transactions": {
        "cardAccount": REFERENCE,
        "debitAccounting": FLAG,
        "cardTransactions": {"booked": [CARD_ENTRY], "pending": [CARD_ENTRY], "_links": {"cardAccount!": OWN}},
        "balances": [BALANCE],
        "_links": {},
    },
    "funds-confirmation": {"fundsAvailable!": FLAG},
    "create-basket": {
        "transactionStatus!": BASKET_STATUS,
        "basketId!": ID,
        "scaMethods": [METHOD],
        "chosenScaMethod": METHOD,
        "challengeData": CHALLENGE,
        "psuMessage": _text(most=500),
        "tppMessages": [{}],
        "_links!": {"self!": OWN, "status!": OWN, "startAuthorisation!": OWN},
    },
    "basket": {"payments": [ID], "consents": [ID], "transactionStatus!": BASKET_STATUS, "_links": {}},
    "basket-status": {"transactionStatus!": BASKET_STATUS},
}
"""By the statement of the index, without its prefix 4.3-.

Names with a ! are never null; the content of `{}` is not checked.
"""


def misfits(value: Any, kind: Any, at: str = "") -> list[str]:
    """Yield the places where a value does not match the shape."""
    if callable(kind):
        return [] if kind(value) else [f"{at}: {value!r}"]
    if isinstance(kind, list):
        if not isinstance(value, list):
            return [f"{at}: {value!r} is not a list"]
        return [line for i, entry in enumerate(value) for line in misfits(entry, kind[0], f"{at}/{i}")]
    if not isinstance(value, dict):
        return [f"{at}: {value!r} is not an object"]
    if not kind:
        return []
    lines = []
    known = {name.removesuffix("!"): name for name in kind if name is not MAY_LACK}
    for name in sorted(value.keys() - known.keys()):
        lines.append(f"{at}/{name} is not known")
    for name, marked in known.items():
        required = marked.endswith("!")
        if name not in value:
            if required or MAY_LACK not in kind:
                lines.append(f"{at}/{name} is missing")
        elif value[name] is None and not required:
            continue
        else:
            lines += misfits(value[name], kind[marked], f"{at}/{name}")
    return lines
