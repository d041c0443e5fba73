"""The operations of the interface, for the breakers."""

from tools.breakers.breaker import Operation

CREATE_CONSENT = Operation("POST", "/v1/consents")
CONSENT = Operation("GET", "/v1/consents/*")
CONSENT_STATUS = Operation("GET", "/v1/consents/*/status")
DELETE_CONSENT = Operation("DELETE", "/v1/consents/*")
CONSENTS = (CREATE_CONSENT, CONSENT, CONSENT_STATUS, DELETE_CONSENT)

LIST = Operation("GET", "/v1/accounts")
ACCOUNT = Operation("GET", "/v1/accounts/*")
BALANCES = Operation("GET", "/v1/accounts/*/balances")
TRANSACTIONS = Operation("GET", "/v1/accounts/*/transactions")
TRANSACTION = Operation("GET", "/v1/accounts/*/transactions/*")
ACCOUNTS = (LIST, ACCOUNT, BALANCES, TRANSACTIONS)

SEPA = "payments/sepa-credit-transfers"
INSTANT = "payments/instant-sepa-credit-transfers"
CROSS_BORDER = "payments/cross-border-credit-transfers"
BULK = "bulk-payments/sepa-credit-transfers"
PERIODIC = "periodic-payments/sepa-credit-transfers"
PRODUCTS = (SEPA, INSTANT, CROSS_BORDER, BULK, PERIODIC)
SINGLE = (SEPA, INSTANT, CROSS_BORDER)
WITH_AMOUNT = (*SINGLE, PERIODIC)


def initiate(product: str) -> Operation:
    return Operation("POST", f"/v1/{product}")


def record(product: str) -> Operation:
    return Operation("GET", f"/v1/{product}/*")


def status(product: str) -> Operation:
    return Operation("GET", f"/v1/{product}/*/status")


def cancel(product: str) -> Operation:
    return Operation("DELETE", f"/v1/{product}/*")


PAYMENTS = tuple(of(product) for product in PRODUCTS for of in (initiate, record, status, cancel))
DOCUMENTED = (*CONSENTS, *ACCOUNTS, *PAYMENTS)

FAMILIES = {
    "consent": "/v1/consents/*/authorisations",
    "payment": "/v1/*payments/*/*/authorisations",
    "cancellation": "/v1/*payments/*/*/cancellation-authorisations",
    "basket": "/v1/signing-baskets/*/authorisations",
}
"""Whose authorisations stand where."""


def start(family: str) -> Operation:
    return Operation("POST", FAMILIES[family])


def authorisations(family: str) -> Operation:
    return Operation("GET", FAMILIES[family])


def authorisation(family: str) -> Operation:
    return Operation("GET", f"{FAMILIES[family]}/*")


def update(family: str) -> Operation:
    return Operation("PUT", f"{FAMILIES[family]}/*")


CARDS = Operation("GET", "/v1/card-accounts")
CARD = Operation("GET", "/v1/card-accounts/*")
CARD_BALANCES = Operation("GET", "/v1/card-accounts/*/balances")
CARD_TRANSACTIONS = Operation("GET", "/v1/card-accounts/*/transactions")
FUNDS = Operation("POST", "/v1/funds-confirmations")
CREATE_BASKET = Operation("POST", "/v1/signing-baskets")
BASKET = Operation("GET", "/v1/signing-baskets/*")
BASKET_STATUS = Operation("GET", "/v1/signing-baskets/*/status")
DELETE_BASKET = Operation("DELETE", "/v1/signing-baskets/*")

FURTHER = {
    **{f"start-{family}-authorisation": start(family) for family in FAMILIES},
    **{f"{family}-authorisations": authorisations(family) for family in FAMILIES},
    **{f"{family}-authorisation": authorisation(family) for family in FAMILIES},
    **{f"update-{family}-authorisation": update(family) for family in FAMILIES},
    "account-list": LIST,
    "transaction": TRANSACTION,
    "card-accounts": CARDS,
    "card-account": CARD,
    "card-balances": CARD_BALANCES,
    "card-transactions": CARD_TRANSACTIONS,
    "funds-confirmation": FUNDS,
    "create-basket": CREATE_BASKET,
    "basket": BASKET,
    "basket-status": BASKET_STATUS,
    "delete-basket": DELETE_BASKET,
}
"""Those of section 4.3, by the statement of the index without its 4.3-."""

TOKEN = Operation("POST", "/as/token.oauth2")
CONSENT_PAGE = Operation("GET", "/sca/consents")
PAYMENT_PAGE = Operation("GET", "/sca/payments")
PAGES = Operation("GET", "/sca/*")
ANY = Operation("*", "*")
