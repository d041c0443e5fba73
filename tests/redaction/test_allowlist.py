import base64

import pytest

from tests.redaction.planting import BIRTHS
from xs2a_sandbox.http.header_fields import FRAMING, NOISE
from xs2a_sandbox.redaction import allowlist
from xs2a_sandbox.redaction.rules import DEFAULT
from xs2a_sandbox.redaction.values import ValueRedactor


@pytest.mark.parametrize(
    "name",
    """access_token accessToken ACCESSTOKEN client_secret password psuData encryptedPassword scaAuthenticationData otp
    pin confirmationCode X-JWS-Signature clientCertificate api_key API-KEY code_verifier nonce id_token sessionId
    client_assertion cvv hasło haslo contraseña motDePasse palavra-passe lösenord jelszó şifre zmienHaslo""".split(),
)
def test_names_of_secrets_are_recognised(name: str) -> None:
    assert allowlist.is_secret(name)


@pytest.mark.parametrize(
    "name",
    """token_type otpFormat otpMaxLength authorizationId challengeData scaStatus code status spinner shopping debtorName
    iban transactionId""".split(),
)
def test_other_names_are_not_secret(name: str) -> None:
    assert not allowlist.is_secret(name)


@pytest.mark.parametrize(
    "name",
    """transactionStatus currency code product scope bankTransactionCode cashAccountType grant_type statusZlecenia
    etatConsentement""".split(),
)
def test_names_of_codes_are_recognised(name: str) -> None:
    assert allowlist.is_code(name)


@pytest.mark.parametrize("name", "creditorName text remittanceInformation iban".split())
def test_other_names_are_not_codes(name: str) -> None:
    assert not allowlist.is_code(name)


def test_a_bic_is_recognised_only_under_its_names() -> None:
    assert allowlist.is_bic("creditorAgent", "BKAUATWW")
    assert not allowlist.is_bic("creditorAgent", "Margaret")
    assert not allowlist.is_bic("product", "BKAUATWW")


@pytest.mark.parametrize(
    "name", "creditorName ownerName name psuId PSU-ID username remittanceInformationUnstructured townName".split()
)
def test_names_of_personal_data_are_recognised(name: str) -> None:
    assert allowlist.is_personal(name)


@pytest.mark.parametrize("name", "schemeName schemeNameCode consentId status text bankName fileName".split())
def test_other_names_are_not_personal(name: str) -> None:
    assert not allowlist.is_personal(name)


@pytest.mark.parametrize("name", "dateOfBirth birthDate birth_year geburtsdatum dob age".split())
def test_names_of_dates_of_birth_are_recognised(name: str) -> None:
    assert allowlist.is_birth(name)


def test_names_of_positions_are_recognised() -> None:
    assert all(map(allowlist.is_position, ["latitude", "lon", "geo", "geoCoordinates"]))
    assert not any(map(allowlist.is_position, ["location", "position", "status"]))


def test_names_of_prose_are_recognised() -> None:
    assert all(map(allowlist.is_prose, ["text", "error_description", "psuMessage", "additionalErrorInfo"]))
    assert not any(map(allowlist.is_prose, ["remittanceInformationUnstructured", "additionalInformation", "status"]))


def test_quantities_and_amounts_are_recognised() -> None:
    names = "amount balanceAmount expires_in exchangeRate pageIndex itemsPerPage limit batchNumberOfTransactions"
    assert all(map(allowlist.is_quantity, names.split()))
    assert not any(map(allowlist.is_quantity, "accountNumber account discounted phone taxNumber".split()))
    assert all(map(allowlist.is_amount, ["0", "-12.34", "+1,5", "999999999999.99", "1.5%"]))
    assert not any(map(allowlist.is_amount, ["", "1 000", "EUR 5", "4111111111111111", "12345678901", "1e5", "١"]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "true",
        "2026-11-21",
        "2026-11-21T08:37:14Z",
        "2026-11-21T08:37:14.123+01:00",
        "2026-11-21T08:37",
        "99391c7e-ad88-49ec-a2ad-99ddcb1f7721",
    ],
)
def test_values_of_harmless_kinds_are_plain(text: str) -> None:
    assert allowlist.is_plain(text)


@pytest.mark.parametrize(
    "text",
    [
        "Anna",
        "12",
        "2026-02-30",
        "2026-11-21T08:37:14.4111111111111111Z",
        "2026-11-21 Anna",
        "416e6e61-2047-7275-656e-77616c642121",
        "411111111111111141111111111111",
    ],
)
def test_values_of_other_kinds_are_not_plain(text: str) -> None:
    assert not allowlist.is_plain(text)


def test_member_names_are_distinguished_from_data() -> None:
    assert all(map(allowlist.is_name, ["iban", "_links", "x_customer", "a.b-c", "json_standingorderType"]))
    data = [
        "AT611904300234573201",
        "anna@example.com",
        "123456789",
        "card4111111111111111",
        "Anna Grünwald",
        "a" * 62,
        "",
    ]
    assert not any(map(allowlist.is_name, data))


def test_tokens_are_not_names() -> None:
    tokens = [
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2ln",
        "SplxlOBeZQQYbYS6WxSbIA",
        "2YotnFZFEjr1zCsicMWpAA",
        "ak_live_x7Kq2mP9",
        "d41d8cd98f00b204e9800998ecf8427e",
        "tGzv3JOkF0XG5Qx2TlKWIA",
        "kJhGfDsAqWeRtYuIoP",
    ]
    assert not any(map(allowlist.is_name, tokens))
    names = [
        "remittanceInformationUnstructuredArray",
        "x5t",
        "line1",
        "addressLine2",
        "sha256",
        "isPSD2Ready",
        "BkToCstmrAcctRpt",
        "kontostandNachBuchung",
        "_links",
        "P2PPayment",
        "aBc",
    ]
    assert all(map(allowlist.is_name, names))


@pytest.mark.parametrize(
    "text",
    [
        "xAT611904300234573201",
        "AT61 1904 3002 3457 3201",
        "a@b",
        "+43 664 1234567",
        "4111-1111-1111-1111",
        "eyJhbGciOi",
    ],
)
def test_characters_of_data_are_recognised(text: str) -> None:
    assert allowlist.has_marks(text)


@pytest.mark.parametrize(
    "text", ["Fri, 21 Nov 2026 08:37:14 GMT", "application/json; charset=utf-8", "max-age=31536000"]
)
def test_text_without_characters_of_data_is_recognised(text: str) -> None:
    assert not allowlist.has_marks(text)


def test_encoded_text_is_decoded_two_levels_deep() -> None:
    secret = "anna@example.com"
    once = base64.urlsafe_b64encode(secret.encode()).decode()
    for text in (
        once,
        once.rstrip("="),
        base64.b64encode(once.encode()).decode(),
        secret.encode().hex(),
        "anna%40example.com",
    ):
        assert any("anna@example.com" in one for one in allowlist.decode(f"x {text} y")), text


def test_the_lists_are_in_lower_case() -> None:
    for names in (allowlist.CODES, allowlist.HEADERS, FRAMING, allowlist.TEXT_HEADERS):
        assert names == {name.lower() for name in names}
    places = [
        allowlist.HEADERS,
        FRAMING,
        allowlist.URL_HEADERS,
        allowlist.ID_HEADERS,
        allowlist.ADDRESS_HEADERS,
    ]
    places += [allowlist.TEXT_HEADERS, NOISE]
    assert sum(map(len, places)) == len(frozenset[str]().union(*places))


@pytest.mark.parametrize("name", [*BIRTHS.split(), "PSU-Birth-Date"])
def test_names_of_dates_of_birth_are_recognised_in_the_languages_of_banks(name: str) -> None:
    assert allowlist.is_birth(name)


@pytest.mark.parametrize("text", ["1968-04-17", "1968-04-17T10:00:00Z", "2011-12-31"])
def test_an_old_date_is_kept_only_under_the_name_of_an_event(text: str) -> None:
    assert allowlist.is_long_ago(text)
    censor = ValueRedactor(b"k" * 32, DEFAULT)
    assert censor.member("x", text) != text
    assert censor.member("transactionStatus", text) != text
    assert all(
        censor.member(name, text) == text for name in ("bookingDate", "validUntil", "dateFrom", "lastActionDate")
    )


@pytest.mark.parametrize("text", ["1970-01-01", "2012-01-01", "9999-12-31", "Thu, 01 Jan 1970 00:00:00 GMT", "1968"])
def test_other_values_are_not_old_dates(text: str) -> None:
    assert not allowlist.is_long_ago(text)
