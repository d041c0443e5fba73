"""What may stay in a recording as it is: kinds, places and words that say nothing of a person and open nothing.

What is not listed here is replaced. Names and words are the Berlin Group's (NextGenPSD2 1.3), OAuth's and HTTP's.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote

from xs2a_sandbox.formats import is_date, is_uuid

CODES = frozenset(
    """
    accountStatus allPsd2 aspspScaApproach authenticationType authenticationVersion availableAccounts
    availableAccountsWithBalance balanceType bankTransactionCode bic bicfi bookingStatus cashAccountType category
    chargeBearer code consentStatus country countryCode creditorAgent creditorAgentIdType currency dayOfExecution
    debtorAgent error executionRule fileFormat frequency grant_type instructionPriority language localInstrument
    merchantCategoryCode monthsOfExecution otpFormat paymentProduct paymentService product service
    proprietaryBankTransactionCode purposeCode rateType response_mode response_type schemeNameCode scaApproach scope
    scaStatus serviceLevel serviceLevelCode sourceCurrency status targetCurrency token_type tokenType
    transactionStatus unitCurrency usage
    """.lower().split()
)
"""Members, parameters and form fields (in lower case) that hold one of some codes, by their name."""

QUANTITIES = frozenset(
    """
    amount balance bytes count days fee fees hours in index interest length limit max maximum min minimum minutes months
    multiplicator occurrences offset page pages per percentage precision rate ratio retries
    retry scale seconds size sum timeout total totals transactions version weeks years
    """.split()
)
"""Last words of the names of numbers: `exchangeRate`, `expires_in`, `batchNumberOfTransactions`."""

HEADERS = frozenset(
    """
    accept accept-charset accept-encoding accept-language accept-patch accept-post accept-ranges allow
    aspsp-multiple-consent-support aspsp-notification-content aspsp-notification-support aspsp-sca-approach
    cache-control content-language content-type date retry-after
    tpp-decoupled-preferred tpp-explicit-authorisation-preferred tpp-notification-content-preferred
    tpp-redirect-preferred tpp-rejection-nofunds-preferred
    """.split()
)
FRAMING = frozenset(
    """
    connection content-encoding content-length expect host keep-alive proxy-connection te trailer transfer-encoding
    upgrade
    """.split()
)
"""Header fields that say how a message is sent, not what it says."""
URL_HEADERS = frozenset(
    "content-location location origin referer tpp-nok-redirect-uri tpp-notification-uri tpp-redirect-uri".split()
)
ID_HEADERS = frozenset("basket-id consent-id idempotency-key payment-id x-request-id".split())
ADDRESS_HEADERS = frozenset("forwarded psu-ip-address x-forwarded-for x-real-ip".split())
TEXT_HEADERS = frozenset(
    """
    psu-accept psu-accept-charset psu-accept-encoding psu-accept-language psu-corporate-id psu-corporate-id-type
    psu-device-id psu-geo-location psu-http-method psu-id psu-id-type psu-ip-port psu-user-agent
    tpp-brand-logging-information
    """.split()
)
"""Header fields about persons and their devices: replaced, where unknown ones are dropped."""
NOISE_HEADERS = frozenset(
    """
    age content-security-policy dnt etag expires last-modified permissions-policy pragma priority referrer-policy
    sec-fetch-dest sec-fetch-mode sec-fetch-site server strict-transport-security upgrade-insecure-requests user-agent
    vary via x-content-type-options x-frame-options x-powered-by x-xss-protection
    """.split()
)
"""Unknown like all others, but known to hold nothing that is worth looking for elsewhere."""

PATH_WORDS = frozenset(
    """
    accounts api as aspsp authorisations authorise authorize balances berlin-group berlingroup bulk-payments callback
    cancellation-authorisations card-accounts confirmation consents cross-border-credit-transfers funds-confirmations
    instant-sepa-credit-transfers nextgenpsd2 oauth oauth2 open-banking openbanking
    pain.001-cross-border-credit-transfers
    pain.001-instant-sepa-credit-transfers pain.001-sepa-credit-transfers pain.001-target-2-payments payments
    periodic-payments psd2 sandbox sca sepa-credit-transfers signing-baskets status target-2-payments token token.oauth2
    transactions trusted-beneficiaries xs2a authorization_not_yet_available
    """.split()
)

VOCABULARY = PATH_WORDS | frozenset(
    """
    accc accp acfc acsc acsp actc acwc acwp canc part patc pdng rcvd rjct
    exempted failed finalised psuauthenticated psuidentified received scamethodselected started unconfirmed
    expired partiallyauthorised rejected revokedbypsu terminatedbytpp valid
    closingbooked expected forwardavailable interimavailable interimbooked noninvoiced openingbooked
    enabled deleted blocked all booked both information pending allaccounts allaccountswithownername
    redirect embedded decoupled sms_otp chip_otp photo_otp push_otp smtp_otp
    daily weekly everytwoweeks monthly everytwomonths quarterly semiannual annual monthlyvariable following preceding
    debt cred shar slev spot sale agrd priv orga error warning characters integer
    authorization_code client_credentials refresh_token bearer basic digest invalid_client invalid_grant
    invalid_request invalid_scope unauthorized_client unsupported_grant_type access_denied server_error
    access_exceeded beneficiary_whitelisting_required cancellation_invalid card_invalid certificate_blocked
    certificate_expired certificate_invalid certificate_missing certificate_revoke certificate_revoked consent_expired
    consent_invalid consent_unknown corporate_id_invalid execution_date_invalid format_error funds_not_available
    internal_server_error kid_missing no_piis_activation parameter_not_consistent parameter_not_supported
    payment_failed period_invalid product_invalid product_unknown psu_credentials_invalid reference_mix_invalid
    reference_status_invalid requested_formats_invalid resource_blocked resource_expired resource_unknown role_invalid
    sca_invalid sca_method_unknown service_blocked service_invalid service_unavailable sessions_not_supported
    signature_invalid signature_missing status_invalid timestamp_invalid token_expired token_invalid token_unknown
    get head post put patch delete options true false dropped utf-8 charset gzip deflate identity
    no-cache no-store must-revalidate private public max-age application/json application/problem+json
    application/xml application/hal+json application/x-www-form-urlencoded text/html text/plain text/xml multipart
    application text json
    """.split()
)
"""Words, in lower case, that are harmless also when a person happens to be called so."""

_SECRETS = re.compile(
    """token|secret|passw|passphrase|signature|certificate|assertion|credential|psudata|scaauthenticationdata|
    confirmationcode|apikey|cookie|privatekey|sessionid|verifier|codechallenge""",
    re.IGNORECASE | re.VERBOSE,
)
_SECRET_WORDS = frozenset("authorization csrf cvc cvc2 cvv cvv2 jwt nonce otp pin puk pwd tan xsrf".split())
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_DEVICE_WORDS = frozenset("device devices imei".split())
_ID_WORDS = frozenset("id ids identification identifier identifiers reference ref".split())

_CODE = re.compile(r"[A-Za-z0-9_-]{1,35}", re.ASCII)
_LONG_NUMBER = re.compile(r"\d{5}", re.ASCII)
_RANDOM = re.compile(r"(?:[A-Za-z]+\d|\d+[A-Za-z])[A-Za-z0-9]*", re.ASCII)
_QUANTITY = re.compile(r"[-+]?\d{1,12}(?:[.,]\d{1,10})?%?", re.ASCII)
_DATE_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})?", re.ASCII
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,60}", re.ASCII)
_MARKS = re.compile(
    r"""[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11}  # begins like an IBAN
        |@ | \d(?:[ .-]?\d){8}                                    # e-mail, card, telephone, account
        |eyJ[A-Za-z0-9_-]{6}""",
    re.ASCII | re.VERBOSE,
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2}){8,}")
_LONGEST = 100
"""Characters of what is remembered: the names of members come again and again."""


def is_secret(name: str) -> bool:
    """Whether what has this name opens something: it is dropped, where other values get a pseudonym."""
    return _is_secret(name) if len(name) <= _LONGEST else _is_secret.__wrapped__(name)


@lru_cache(4096)
def _is_secret(name: str) -> bool:
    if name.lower() in CODES:
        return False
    if _SECRETS.search(re.sub("[-_ ]", "", name)):
        return True
    return not (is_quantity(name) or is_identifier(name) or _SECRET_WORDS.isdisjoint(_words(name)))


def is_identifier(name: str) -> bool:
    """Whether what has this name may also stand in a path."""
    words = _words(name)
    return bool(words) and words[-1] in _ID_WORDS


def is_url(name: str) -> bool:
    words = _words(name)
    return bool(words) and words[-1] in ("href", "link", "uri", "url")


def is_birthday(name: str) -> bool:
    """The one kind of date that is a person's."""
    words = _words(name)
    return "dob" in words or any(word.startswith("birth") for word in words)


def is_device(name: str) -> bool:
    """Whether what has this name is of one person's device: a UUID there is no id of the bank's."""
    return not _DEVICE_WORDS.isdisjoint(_words(name))


def is_quantity(name: str) -> bool:
    words = _words(name)
    return bool(words) and words[-1] in QUANTITIES


def is_code(name: str, text: str) -> bool:
    """Whether `text` is a code, by the name of its place and by its looks."""
    return name.lower() in CODES and _CODE.fullmatch(text) is not None and not _looks_random(text)


def is_amount(text: str) -> bool:
    return _QUANTITY.fullmatch(text) is not None


def is_moment(text: str) -> bool:
    """An ISO date, or a date-time with or without an offset."""
    if is_date(text):
        return True
    moment = _DATE_TIME.fullmatch(text)
    return moment is not None and is_date(moment[1])


def is_plain(text: str) -> bool:
    """A kind of value that is harmless wherever it stands: no text at all, a moment, a random UUID, a truth value."""
    if is_uuid(text):
        # Sixteen readable characters are no random number.
        return not all(0x20 <= byte < 0x7F for byte in bytes.fromhex(text.replace("-", "")))
    return not text or text in ("true", "false") or is_moment(text)


def is_word(text: str) -> bool:
    """Whether this is a word of the interface, which says nothing of anybody wherever it stands."""
    return text.lower() in VOCABULARY


def is_name(name: str) -> bool:
    """Whether this is the name of a member, not data that became one: an IBAN that maps to a balance."""
    return _NAME.fullmatch(name) is not None and not has_marks(name)


def has_marks(text: str) -> bool:
    """Whether something like an IBAN, a card or telephone number, an e-mail address or a token is in it."""
    return _MARKS.search(text) is not None


def decoded(text: str, depth: int = 2) -> Iterator[str]:
    """The text and what can be read in it when it is percent-encoded, base64 or hexadecimal."""
    yield text
    if not depth:
        return
    inner = {unquote(text), *map(_from_hex, _HEX.findall(text)), *map(_from_base64, _BASE64.findall(text))}
    for one in inner - {text, ""}:
        yield from decoded(one, depth - 1)


def _from_hex(text: str) -> str:
    return _readable(bytes.fromhex(text))


def _from_base64(text: str) -> str:
    try:
        return _readable(
            base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if set("-_") & set(text) else None)
        )
    except binascii.Error:
        return ""


def _readable(content: bytes) -> str:
    text = content.decode("utf-8", "replace")
    return text if text.isprintable() and "\ufffd" not in text else ""


def _looks_random(code: str) -> bool:
    """An account number, or an authorisation code in a member that is called `code`."""
    return _LONG_NUMBER.search(code) is not None or any(len(run[0]) >= 12 for run in _RANDOM.finditer(code))


def _words(name: str) -> tuple[str, ...]:
    return _split(name[:200])


@lru_cache(4096)
def _split(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORDS.findall(name))
