"""The bank's data about its customers, in its own vocabulary. Every secret in it is planted."""

import base64
import json
from random import Random
from typing import Any

from tests.support.recorded_bank.planted import at, base64url, iban, plant

LISTED = "answer body, GET /v1/accounts"
DETAILS = "answer body, GET /v1/accounts/{id}"
BOOKED = "answer body, GET /v1/accounts/{id}/transactions"

COUNTRIES = ("AT", "DE", "CH", "GB", "NL", "MT")
HOLDER = plant("name", f"{LISTED}, ownerName")
OTHER_HOLDER = plant("name", f"{LISTED}, ownerName of the second account")
PSU_ID = plant("psu id", "request header PSU-ID")
EMAIL = plant("e-mail", "answer body, GET /customers/{psu}/profile")
PHONE = plant("phone", "answer body, GET /customers/{psu}/profile")

IBANS = [
    plant("iban", f"{LISTED}, iban of account {n}", iban(Random(f"own {n}"), country))
    for n, country in enumerate(COUNTRIES)
]
OWN = IBANS[0]
"""This is also the resource id in paths, as at some banks."""

AMOUNTS = ("1310.25", "-48.90", "7.00", "250000.00", "0.01", "99.99", "12.5", "-1000.00")


def _party(place: str) -> dict[str, Any]:
    return {"name": plant("name", f"{place}Name"), "account": {"iban": plant("iban", f"{place}Account")}}


def _address(place: str) -> dict[str, Any]:
    street, town = plant("address", f"{place}Address.streetName"), plant("town", f"{place}Address.townName")
    return {"streetName": street, "townName": town, "country": "AT"}


def _transaction(account: int, number: int) -> dict[str, Any]:
    place = f"{BOOKED}, account {account}, entry {number}, "
    other = _party(place + "creditor")
    amount = AMOUNTS[(account * 3 + number) % len(AMOUNTS)]
    entry: dict[str, Any] = {
        "transactionId": f"T{account}{number:05}",
        "bookingDate": f"2026-10-{number + 3:02}",
        "valueDate": f"2026-10-{number + 4:02}",
        "transactionAmount": {"currency": "EUR", "amount": amount},
        "bankTransactionCode": "PMNT-RCDT-ESCT",
        "creditorName": other["name"],
        "creditorAccount": other["account"],
    }
    text = plant("remittance", place + "remittanceInformationUnstructured")
    match number % 4:
        case 0:
            entry["remittanceInformationUnstructured"] = text
            entry["creditorAddress"] = _address(place + "creditor")
        case 1:
            entry["remittanceInformationUnstructuredArray"] = [text, "Danke"]
            entry["ultimateDebtor"] = plant("name", place + "ultimateDebtor")
        case 2:
            # Members that are in no standard.
            address = _address(place + "x-gegenseite, creditor")
            entry["buchungstext"] = text
            entry["x-gegenseite"] = {
                "wer": other["name"],
                "wo": [address["streetName"]],
                "iban": other["account"]["iban"],
            }
            entry["zustellAdresse"] = address
        case _:
            entry["remittanceInformationStructured"] = {"reference": text, "referenceType": "SCOR"}
            entry["debtorName"] = HOLDER
            entry["debtorAccount"] = {"iban": OWN}
            entry["additionalInformation"] = f"von {HOLDER} ({_paper(OWN)}) an {other['name']}"
    return entry


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _paper(number: str) -> str:
    """Return an IBAN in its printed format."""
    return " ".join(number[n : n + 4] for n in range(0, len(number), 4))


ACCOUNTS: list[dict[str, Any]] = [
    {
        "resourceId": OWN if n == 0 else f"3dc3d5b3-7023-4848-9853-f5400a64e8{n:02}",
        "iban": number,
        "currency": "CHF" if number.startswith("CH") else "EUR",
        "name": "Girokonto",
        "product": "Konto Plus",
        "cashAccountType": "CACC",
        "status": "enabled",
        "ownerName": HOLDER if n % 2 == 0 else OTHER_HOLDER,
    }
    for n, number in enumerate(IBANS)
]
_KINDS = {"sub": "psu id", "name": "name", "iban": "iban", "email": "e-mail"}
PER_PAGE = 4
TRANSACTIONS = [[_transaction(account, number) for number in range(9 if account == 0 else 3)] for account in range(3)]

DETAIL: dict[str, Any] = {
    "linkedAccounts": plant("iban", f"{DETAILS}, linkedAccounts"),
    "details": f"Zeichnungsberechtigt: {plant('name', f'{DETAILS}, text of details')}",
    "x-halter": [
        plant("name", f"{DETAILS}, array of an unknown member"),
        plant("iban", f"{DETAILS}, array of an unknown member"),
        {
            "tief": {
                "tiefer": [
                    [plant("e-mail", f"{DETAILS}, six levels down")],
                    plant("phone", f"{DETAILS}, five levels down"),
                ]
            }
        },
    ],
    "limits": {plant("iban", f"{DETAILS}, key of an object"): {"amount": "500.00", "currency": "EUR"}},
    "telefon": int(plant("phone", f"{DETAILS}, number", "436641" + str(Random("phone").randint(1000000, 9999999)))),
    "steuernummer": plant("tax number", f"{DETAILS}, unknown member"),
    "svNr": plant("birth number", f"{DETAILS}, unknown member"),
}

_profile = at("answer body, GET /customers/{psu}/profile")
CUSTOMER: dict[str, Any] = {
    "psuId": PSU_ID,
    "fullName": HOLDER,
    "partner": _profile("name", "partner"),
    "contact": {"email": EMAIL, "mobile": PHONE, "homePage": f"https://{_profile('psu id', 'host of a URL')}.example/"},
    "addresses": [
        {"street": _profile("address", f"addresses[{n}]"), "city": _profile("town", f"addresses[{n}]")}
        for n in range(3)
    ],
    "dateOfBirth": "1980-02-29",
    "taxIds": [_profile("tax number", f"taxIds[{n}]") for n in range(3)],
    "steuerId": int(_profile("birth number", "a number").replace(" ", "")),
    "lastLogin": {
        "ip": _profile("ipv4", "lastLogin.ip"),
        "ipv6": _profile("ipv6", "lastLogin.ipv6"),
        "device": _profile("device", "lastLogin.device"),
    },
    "sessions": [
        {"sessionToken": _profile("token", f"sessionToken {n}"), "apiKey": _profile("api key", f"apiKey {n}")}
        for n in range(2)
    ],
    "beneficiaries": {
        _profile("name", f"key of an object, {n}"): _profile("iban", f"value below a name, {n}") for n in range(4)
    },
    "password_hint": _profile("password", "password_hint"),
    "vertreter": ";".join(_profile("name", f"list within a string, {n}") for n in range(3)),
}

CARDS = "answer body, GET /v1/card-accounts"
CARD_ACCOUNTS: list[dict[str, Any]] = [
    {
        "resourceId": f"c{n}d1-card",
        "maskedPan": f"{4000 + n}********{1000 + n}",
        "pan": plant("pan", f"{CARDS}, pan {n}"),
        "cardNumber": int(plant("pan", f"{CARDS}, number {n}")),
        "currency": "EUR",
        "ownerName": plant("name", f"{CARDS}, ownerName {n}"),
        "embossed": plant("name", f"{CARDS}, embossed {n}").upper(),
        "status": "enabled",
    }
    for n in range(3)
]

_file = at("answer body, GET /v1/accounts/{id}/documents")
_WRITTEN = f"""Kontoauszug
Inhaber: {_file("name", "base64")}
Konto: {_file("iban", "base64")}
Anschrift: {_file("address", "base64")}
"""
_CLAIMS = json.dumps({name: _file(kind, "base64url") for name, kind in _KINDS.items()}, ensure_ascii=False)
_INNER = json.dumps({name: _file(kind, "JSON within a string") for name, kind in _KINDS.items()}, ensure_ascii=False)
_TWICE = f"Empfänger: {_file('name', 'base64 twice')} {_file('iban', 'base64 twice')}"
DOCUMENTS: dict[str, Any] = {
    "documents": [
        {"id": f"D-2026-{n}", "mediaType": media, "content": content}
        for n, (media, content) in enumerate(
            (
                ("text/plain", _base64(_WRITTEN)),
                ("application/json", base64url(_CLAIMS)),
                ("application/jwt", f"{base64url('{"alg": "none"}')}.{base64url(_CLAIMS)}."),
                ("application/json", _INNER),
                ("text/plain", _base64(_base64(_TWICE))),
            ),
            10,
        )
    ]
}
