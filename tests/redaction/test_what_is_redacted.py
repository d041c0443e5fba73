"""Words of banks' interfaces are kept, and names of persons in the same places are replaced."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import quote, unquote

import pytest
from faker import Faker

from tests.support.bank_words import FOLDER, Said, words_of_banks
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.redaction.redactor import Redactor
from xs2a_sandbox.redaction.rules import DEFAULT, RedactionRules

KEY = b"k" * 32
LANGUAGES = ("en_US", "de_DE", "fr_FR", "es_ES", "pl_PL")
NAMES = 1000
PARTICLES = frozenset("van von der den del las los the".split())
"""Parts of names that are words of their languages, and do not identify anybody."""

OWN_WORDS = [
    *(
        Said("path", "", one)
        for one in """
        v1 accounts balances transactions card-accounts consents authorisations payments sepa-credit-transfers status
        periodic-payments bulk-payments signing-baskets funds-confirmations oauth2 token authorize callback psd2 xs2a
        accountid consentid paymentinitiation standingorders psd2api xs2aapi oauth2api getDeliveries deliveriesId
        openbankingproject preprod hateoas imprint heartbeat regions portfolios enrolment idp sso saml
        berlingroup open-banking account-information payment-initiation customers consent-requests login scaOauthLinks
        api-oauth-xs2a domestic-payments standing-orders direct-debits beneficiaries well-known openid-configuration
        """.split()
    ),
    *(
        Said("scope", "scope", one)
        for one in """
        AIS PIS CBPII openid profile offline_access DEDICATED_AISP aisp-payments payment-accounts:balances:view accounts
        fundsconfirmations openid paymentinitiation accountinformation stet-extended ais:accounts
        """.split()
    ),
    *(
        Said("enumeration", "status", one)
        for one in """
        ACSC ACSP RCVD RJCT PDNG received valid rejected expired revokedByPsu terminatedByTpp partiallyAuthorised
        scaMethodSelected psuAuthenticated finalised failed exempted closingBooked interimAvailable CACC SVGS EUR CHF
        AWAITING_AUTHORISATION Enabled booked both pending information Bearer authorization_code refresh_token SMS_OTP
        PUSH_OTP enabled deleted blocked PRIV ORGA SLEV Girokonto Overschrijving
        """.split()
    ),
    *(
        Said("error text", "text", one)
        for one in (
            "{consentid} or {paymentid} is unknown",
            "The consent is expired and must be renewed by the payment service user",
            "Mandatory header is missing or has an invalid format",
            "Resource unknown: the account does not exist or is not available for this consent",
            "Signature could not be verified, certificate has been revoked",
            "Requested execution date must not be in the past",
            "Internal server error, please try again later",
            "Ungültige Eingabe: Der Auftrag wurde nicht gefunden",
            "Le compte est introuvable ou le consentement a expiré",
            "La operación no está disponible, inténtelo más tarde",
            "Il consenso non è valido",
        )
    ),
]


def placed(said: Said) -> Exchange:
    """Return an exchange with the text in this place."""
    target, body = "/v1/accounts", {}
    match said.place:
        case "path":
            target = f"/v1/{quote(said.text, safe='')}/accounts"
        case "scope":
            target = f"/oauth2/authorize?scope={quote(said.text, safe='')}"
        case "enumeration":
            body = {"accounts": [{said.name: said.text}]}
        case _:
            message = {"category": "ERROR", "code": "FORMAT_ERROR", said.name: said.text}
            body = {"tppMessages": [message]}
    headers = Headers([("Content-Type", "application/json")])
    started = datetime(2026, 11, 21, tzinfo=UTC)
    content = json.dumps(body).encode()
    return Exchange(started, 1.0, "https://bank.example", "GET", target, Headers(), b"", 200, headers, content)


def written(said: Said, entry: Exchange) -> str:
    """Return the current value at the place."""
    match said.place:
        case "path":
            return unquote(entry.target.split("/")[2])
        case "scope":
            return unquote(entry.target.partition("=")[2])
        case "enumeration":
            return str(json.loads(entry.answer_body)["accounts"][0][said.name])
        case _:
            return str(json.loads(entry.answer_body)["tppMessages"][0][said.name])


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


def lost(every: list[Said]) -> tuple[list[str], int]:
    """Return the words that are not kept, and the number of words."""
    redactor, gone, count = Redactor(KEY), [], 0
    for said in every:
        before, after = words(said.text), words(written(said, redactor.entry(placed(said))))
        count += len(before)
        kept = after if len(after) == len(before) else [""] * len(before)
        gone += [f"{said.place}: {one}" for one, two in zip(before, kept, strict=True) if one != two]
    return gone, count


def names() -> Iterator[str]:
    """Return the same number of names of each language."""
    for number, language in enumerate(LANGUAGES):
        fake = Faker(language)
        fake.seed_instance(2026 + number)
        for count in range(NAMES // len(LANGUAGES)):
            first, last = fake.first_name(), fake.last_name()
            # In the forms that people use.
            full, short = f"{first} {last}", f"{last}, {first[0]}."
            yield (full, full.upper(), first, last, full.lower(), f"{first}.{last}", f"{last}-{first}", short)[
                count % 8
            ]


def staying(every: list[str], known: set[str], rules: RedactionRules = DEFAULT) -> list[str]:
    """Return names with a kept part that is not a word of a bank, with their places."""
    redactor, stay = Redactor(KEY, rules), []
    for name in every:
        for said in (
            Said("path", "", name),
            Said("scope", "scope", f"AIS {name}"),
            Said("enumeration", "status", name),
            Said("enumeration", "product", name),
            Said("error text", "text", f"The consent of {name} is not valid for this account"),
            Said("error text", "text", f"{name} has no account"),
            Said("error text", "detail", f"Konto von {name} wurde nicht gefunden"),
        ):
            left = {one.lower() for one in words(written(said, redactor.entry(placed(said))))}
            parts = {part.lower() for part in words(name) if len(part) > 2} - PARTICLES - known
            frame = {one.lower() for one in words(said.text.replace(name, ""))}
            stay += [f"{said.place}: {name}" for part in parts & left - frame]
    return stay


def test_words_of_interfaces_are_kept() -> None:
    gone, count = lost(OWN_WORDS)
    assert count > 150
    assert gone == []


@pytest.mark.slow
def test_names_in_the_same_places_are_replaced() -> None:
    known = {word.lower() for said in OWN_WORDS for word in words(said.text)}
    stay = staying(list(names()), known)
    assert stay == []


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the recordings of banks are not in {FOLDER}")
def test_words_of_five_banks_are_kept_and_names_are_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    every = sorted(words_of_banks())
    gone, count = lost(every)
    known = {word.lower() for said in every for word in words(said.text)}
    persons = list(names())
    stay = staying(persons, known)
    with capsys.disabled():
        share = 100 * (1 - len(gone) / count)
        print(f"\nof {count} words of five banks {share:.1f} % stay, of {len(persons)} names {len(stay)}")
    assert len(persons) == NAMES
    assert count > 100
    assert len(gone) <= 0.01 * count, gone
    assert stay == []
