"""Valid request bodies, which tests modify."""

from typing import Any

from tests.contract import facts

PRODUCTS = (
    "payments/sepa-credit-transfers",
    "payments/instant-sepa-credit-transfers",
    "payments/cross-border-credit-transfers",
    "bulk-payments/sepa-credit-transfers",
    "periodic-payments/sepa-credit-transfers",
)
SEPA, INSTANT, CROSS_BORDER, BULK, PERIODIC = PRODUCTS
SINGLE = (SEPA, INSTANT, CROSS_BORDER)
WITH_AMOUNT = (*SINGLE, PERIODIC)

REDIRECT = "https://tpp.example/back?a=1&b=%C3%BC#top"
"""A redirect address in which everything must be encoded in a query."""


def consent(*ibans: str, **changes: Any) -> dict[str, Any]:
    """Return access to details, balances and transactions of these accounts, or of all accounts if none is given."""
    references = [{"iban": iban} for iban in ibans]
    access = {"balances": references, "transactions": references} if ibans else {"availableAccounts": "allAccounts"}
    body = {"access": access, "recurringIndicator": True, "validUntil": facts.today(90), "frequencyPerDay": 4}
    return {**body, **changes}


def payment(product: str, **changes: Any) -> dict[str, Any]:
    """Return a payment of this product. `debtor`, `amount` and `currency` set the members of the same meaning."""
    debtor = changes.pop("debtor", None) or facts.debtor()
    amount, currency = changes.pop("amount", "10.50"), changes.pop("currency", "EUR")
    body: dict[str, Any] = {
        "debtorAccount": {"iban": debtor, "currency": facts.accounts()[debtor]["currency"]}
        if debtor in facts.accounts()
        else {"iban": debtor, "currency": "EUR"},
        "endToEndIdentification": "e2e-4711",
        "remittanceInformationStructured": {"reference": "RF-2210"},
    }
    if product == BULK:
        body |= {
            "creditorIban": [facts.foreign_iban(), facts.uncovered()],
            "creditorName": ["Berta Bauer", "Cafe Central"],
            "amount": [amount, "1.25"],
            "amountCurrency": [currency, currency],
            "e2eIdentification": ["e2e-1", "e2e-2"],
            "remittanceInformationUnstructured": ["first", "second"],
            "remittanceInformationStructured": [None, None],
            "requestedExecutionDate": None,
        }
        return body | changes
    body |= {
        "instructedAmount": {"amount": amount, "currency": currency},
        "creditorAccount": {"iban": facts.foreign_iban()},
        "creditorName": "Berta Bauer",
    }
    if product in (SEPA, INSTANT):
        body |= {"creditorAgent": "GIBAATWWXXX"}
    elif product == CROSS_BORDER:
        body |= {
            "creditorAgent": "CHASUS33XXX",
            "creditorAccountBban": "8876512",
            "creditorAgentOtherId": "021000021",
            "creditorAgentIdType": "USABA",
            "creditorAgentName": "Example Bank",
            "creditorAddressStreet": "Main Street",
            "creditorAddressBuildingNumber": "12a",
            "creditorAddressCity": "Springfield",
            "creditorAddressPostalCode": "01101",
            "creditorAddressCountryCode": "US",
            "remittanceInformationUnstructured": "invoice 7",
            "chargeBearer": "DEBT",
        }
    else:
        body |= {
            "creditorAdress": "AT;Wien;1010;Graben;21",
            "e2eIdentification": "e2e-monthly",
            "remittanceInformationUnstructured": "",
            "startDate": facts.today(3),
            "endDate": facts.today(400),
            "frequency": "Monthly",
            "dayOfExecution": None,
            "requestedExecutionDate": None,
        }
    return body | changes
