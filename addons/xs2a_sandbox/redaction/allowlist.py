"""What may stay in a recording as it is: kinds, places and words that say nothing of a person and open nothing.

What is not listed here, nor a word of the vocabulary, is replaced. Names are the Berlin Group's (NextGenPSD2 1.3),
OAuth's and HTTP's.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote

from xs2a_sandbox.documents.formats import is_date, is_uuid
from xs2a_sandbox.redaction.vocabulary import Kind, kind

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
    cache-control content-encoding content-language content-type date retry-after
    tpp-decoupled-preferred tpp-explicit-authorisation-preferred tpp-notification-content-preferred
    tpp-redirect-preferred tpp-rejection-nofunds-preferred
    """.split()
)
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
PERSONAL_HEADERS = frozenset("psu-corporate-id psu-device-id psu-geo-location psu-id".split())
"""Of these those whose very words may tell who somebody is."""

_SECRETS = re.compile(
    """token|secret|passw|passphrase|signature|certificate|assertion|credential|psudata|scaauthenticationdata|
    confirmationcode|apikey|cookie|privatekey|sessionid|verifier|codechallenge""",
    re.IGNORECASE | re.VERBOSE,
)
_SECRET_WORDS = frozenset("authorization csrf cvc cvc2 cvv cvv2 jwt nonce otp pin puk pwd tan xsrf".split())
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CODE_WORDS = frozenset(
    "category class classification codes kind level method methods mode scopes state status type".split()
)
"""Last words of the names of codes: `transactionType`, `account_category`."""
_BICS = frozenset("bic bicfi creditoragent debtoragent".split())
_PROSE_WORDS = frozenset(
    "description detail details error errors explanation hint message messages msg text title".split()
)
"""Last words of the names of what is said to somebody: `error_description`, `psuMessage`."""
_PERSONAL_WORDS = frozenset(
    """
    address addresses alias building city customer email fax holder house login mail mobile nickname owner
    owners phone postal postcode psu remittance street surname telephone town user username zip
    """.split()
)
_THINGS = frozenset(
    "app application bank category document field file format host method product scheme service".split()
)
"""What has a name that is no person's: `schemeName`."""
_BIRTHS = ("birth", "geburt", "geboor", "naissan", "nascit", "nacimien", "nascimen", "narozen", "urodz", "fodsel")
_BIRTH_WORDS = frozenset("age alter birthday dob jahrgang".split())
_POSITION_WORDS = frozenset("coordinate coordinates geo lat latitude lng lon long longitude".split())
_DEVICE_WORDS = frozenset("device devices imei".split())
_ID_WORDS = frozenset("id ids identification identifier identifiers reference ref".split())

_BIC = re.compile(r"[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?", re.ASCII)
_QUANTITY = re.compile(r"[-+]?(?:\d{1,9}|\d{1,12}[.,]\d{1,10})%?", re.ASCII)
"""Longer whole numbers may be somebody's."""
_DATE_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})?", re.ASCII
)
_HTTP_DATE = re.compile(r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT", re.ASCII)
_CHUNK = re.compile(r"[A-Za-z0-9]+", re.ASCII)
_CHANGE = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", re.ASCII)
_FEW, _LONG_NAME = 4, 28
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
    """True if what has this name opens something: it is dropped, where other values get a pseudonym."""
    return _is_secret(name) if len(name) <= _LONGEST else _is_secret.__wrapped__(name)


@lru_cache(4096)
def _is_secret(name: str) -> bool:
    if name.lower() in CODES:
        return False
    if _SECRETS.search(re.sub("[-_ ]", "", name)):
        return True
    return not (is_quantity(name) or is_identifier(name) or _SECRET_WORDS.isdisjoint(_words(name)))


def is_identifier(name: str) -> bool:
    """True if what has this name may also stand in a path."""
    words = _words(name)
    return bool(words) and words[-1] in _ID_WORDS


def is_url(name: str) -> bool:
    words = _words(name)
    return bool(words) and words[-1] in ("href", "link", "uri", "url")


def is_birth(name: str) -> bool:
    """True if what has this name says when somebody was born: the one kind of date that is a person's."""
    return _is_birth(_words(name))


@lru_cache(4096)
def _is_birth(words: tuple[str, ...]) -> bool:
    return not _BIRTH_WORDS.isdisjoint(words) or any(word.startswith(_BIRTHS) for word in words)


def is_position(name: str) -> bool:
    """True if what has this name says where on earth somebody is."""
    words = _words(name)
    return not _POSITION_WORDS.isdisjoint(words)


def is_device(name: str) -> bool:
    """True if what has this name is of one person's device: a UUID there is no id of the bank's."""
    return not _DEVICE_WORDS.isdisjoint(_words(name))


def is_quantity(name: str) -> bool:
    words = _words(name)
    return bool(words) and words[-1] in QUANTITIES


def is_code(name: str) -> bool:
    """True if what has this name is a code, or some of them."""
    words = _words(name)
    return name.lower() in CODES or (bool(words) and words[-1] in _CODE_WORDS)


def is_bic(name: str, text: str) -> bool:
    return name.lower() in _BICS and _BIC.fullmatch(text) is not None


def is_prose(name: str) -> bool:
    """True if what has this name tells somebody what went wrong, or what to do."""
    words = _words(name)
    return bool(words) and (words[-1] in _PROSE_WORDS or (words[-1] in ("info", "information") and "error" in words))


def is_personal(name: str) -> bool:
    """True if what has this name is about a person, so that its very words may tell who that is."""
    words = _words(name)
    if words and words[-1] in ("name", "names"):
        return _THINGS.isdisjoint(words)
    return not _PERSONAL_WORDS.isdisjoint(words)


def is_amount(text: str) -> bool:
    return _QUANTITY.fullmatch(text) is not None


def is_moment(text: str) -> bool:
    """An ISO date, or a date-time with or without an offset; or a date as HTTP has it."""
    if is_date(text) or _HTTP_DATE.fullmatch(text):
        return True
    moment = _DATE_TIME.fullmatch(text)
    return moment is not None and is_date(moment[1])


def is_plain(text: str) -> bool:
    """A kind of value that is harmless wherever it stands: no text at all, a moment, a random UUID, a truth value."""
    if is_uuid(text):
        # Sixteen readable characters are no random number.
        return not all(0x20 <= byte < 0x7F for byte in bytes.fromhex(text.replace("-", "")))
    return not text or text in ("true", "false") or is_moment(text)


def is_name(name: str) -> bool:
    """True if this is the name of a member, not data that became one: an IBAN that maps to a balance, a token."""
    return len(name) <= _LONGEST and _is_name(name)


@lru_cache(4096)
def _is_name(name: str) -> bool:
    chunks = _CHUNK.findall(name)
    if not _NAME.fullmatch(name) or _is_numbered(name, chunks) or any(map(_is_random, chunks)):
        return False
    return not any(map(has_marks, readings(name)))


def _is_numbered(name: str, chunks: list[str]) -> bool:
    """True if several chunks are an id rather than a name: `KD-4711-081`, and without a word `K7Q2-DHJC`."""
    digits = sum(map(str.isdecimal, name))
    if len(chunks) < 2 or not digits or kind(name) is Kind.WORD:
        return False
    return digits > _FEW or (name.isupper() and not any(len(one) > 2 and kind(one) is Kind.WORD for one in chunks))


def _is_random(chunk: str) -> bool:
    """True if letters and digits without anything between them are none that somebody thought of."""
    if kind(chunk) is not Kind.OTHER:
        return False
    changes = len(_CHANGE.findall(chunk))
    if changes > 2 or sum(map(str.isdigit, chunk)) > _FEW or len(chunk) > _LONG_NAME:
        return True
    humps = _WORDS.findall(chunk)
    return len(humps) > 3 and len(chunk) < 2.5 * len(humps)


def has_marks(text: str) -> bool:
    """True if something like an IBAN, a card or telephone number, an e-mail address or a token is in it."""
    return _MARKS.search(text) is not None


@lru_cache(4096)
def readings(name: str) -> tuple[str, ...]:
    """The name of a member and what can be read in it; the same names come again and again."""
    return tuple(decoded(name))


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


def _words(name: str) -> tuple[str, ...]:
    return _split(name[:200])


@lru_cache(4096)
def _split(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORDS.findall(name))
