"""What handlers take of a request; the dialect says where its requests have it."""

from typing import Any

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Input
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.errors import BankError

CONSENT = Input("consent", "The id of the consent.")
PAYMENT = Input("payment", "The id of the payment.")
MANDATE = Input("mandate", "The id of the mandate: of a payment that was authorised before.")
BASKET = Input("basket", "The id of the signing basket.")
AUTHORISATION = Input("authorisation", "The id of the authorisation.")
ACCOUNT = Input("account", "The id of the account; of a confirmation of funds any of its numbers.")
ENTRY = Input("entry", "The id of the entry.")

CUSTOMER = Input("customer", "The id of the customer, where the app knows it.")
PRESENT = Input("customer_present", "There when the customer asks for it at this moment: their IP address.")
ONCE = Input("once", "The id by which a request is known that is sent a second time.")
REDIRECT_URI = Input("redirect_uri", "Where the customer goes back to.")
NOK_REDIRECT_URI = Input("nok_redirect_uri", "Where the customer goes back to who has declined.")
PREFERS_REDIRECT = Input("prefers_redirect", "Whether the app wishes for a redirect: true or false.")
PREFERS_DECOUPLED = Input("prefers_decoupled", "Whether the app wishes for the customer's own app: true or false.")
PREFERS_EXPLICIT = Input("prefers_explicit", "Whether the app starts the authorisation itself: true or false.")

CREDENTIALS = Input("credentials", "What holds the password, where requests have it within something.")
PASSWORD = Input("password", "The customer's password.")
ENCRYPTED_PASSWORD = Input("encrypted_password", "The password, encrypted with a key of the bank.")
METHOD = Input("method", "The id of the method that the customer chooses.")
OTP = Input("otp", "The one-time password that answers the challenge.")
CONFIRMATION_CODE = Input("confirmation_code", "The code that a customer has brought back from the bank's page.")

ACCESS = Input(
    "access",
    "A list of what a consent is for: `permissions` (`list`, `details`, `balances`, `entries`, `owner`, "
    "`beneficiaries`) and the `accounts` that they are for: references to them, `all`, or `chosen` by the customer. "
    "Those that are null are not asked for; an empty list is for whatever the customer chooses. A `kind` is what the "
    "interface calls it, for the option `kinds`.",
)
ACCOUNT_TYPES = Input("account_types", "Of which types the accounts are, where a consent names none; left out, of any.")
RECURRING = Input("recurring", "Whether the consent may be used more than once: true or false.")
FREQUENCY = Input("frequency", "How often a day it may be used without the customer; left out, as often as may be.")
VALID_UNTIL = Input("valid_until", "The last day of the consent; left out, it does not expire.")

SERVICE = Input("service", "The payment service.")
PRODUCT = Input("product", "The payment product.")

KIND = Input("kind", "`single`, `bulk` or `standing`; left out, it is single.")
INSTANT = Input("instant", "Whether it is paid within seconds: true or false.")
DEBTOR = Input("debtor", "The account that pays, by any of its numbers; left out, the first one of the customer.")
PARTS = Input(
    "parts",
    "A list of what is paid: the `amount`, the `creditor` (`name`, `account`, `agent`, `address`), `end_to_end_id` and "
    "`remittance` (`text`, `reference`) of each.",
)
EXECUTE_ON = Input("execute_on", "The day on which it executes; left out, as soon as it is authorised.")
SCHEDULE = Input(
    "schedule",
    "When a standing order executes: `start`, `end`, `frequency`, `day`, `months` and the `rule` for days off.",
)
BATCH = Input("batch", "Whether a bulk is booked as one sum: true or false.")
SENT = Input("sent", "What came, as it is given back.")

AMOUNT = Input("amount", "Its `currency` and `amount`.")

PAYMENTS = Input("payments", "The ids of payments that are authorised as one.")
CONSENTS = Input("consents", "The ids of consents that are authorised as one.")

LISTS = Input("lists", "Which lists are asked for: one of the names that the option `lists` has.")
DATE_FROM = Input("date_from", "The first day of the entries.")
DATE_TO = Input("date_to", "The last day of the entries.")
WITH_BALANCES = Input("with_balances", "Whether balances are shown, too: true or false.")
PAGE = Input("page", "The number of the page, from 1 on.")
PAGE_SIZE = Input("page_size", "How many booked entries are on a page.")
NEWER_THAN = Input("newer_than", "The id of an entry: those that are newer are shown.")
NEWER_THAN_LAST = Input("newer_than_last", "Whether only what is newer than the last time is shown: true or false.")

GRANT_TYPE = Input("grant_type", "The grant (RFC 6749). Left out, it and the others of a token stand in a form.")
CLIENT_ID = Input("client_id", "The id of the client that asks for a token.")
CLIENT_SECRET = Input("client_secret", "Its secret.")
CLIENT = Input("client", "The id of the client, where the dialect finds out itself who asks: null for nobody it knows.")
CODE = Input("code", "The code that a customer has brought back.")
CODE_REDIRECT_URI = Input("code_redirect_uri", "Where the customer came back with the code.")
CODE_VERIFIER = Input("code_verifier", "What the code_challenge was made of (RFC 7636).")
REFRESH_TOKEN = Input("refresh_token", "The refresh token.")
SCOPE = Input("scope", "What the token is to be for.")
TOKEN = Input("token", "The token that is to end.")


def read_wish(call: Call, input: Input) -> bool | None:
    """What the request says of something that is true or false; None where it says neither."""
    return read_truth(call.take(input.name))


def take_date(call: Call, input: Input) -> str | None:
    """Raises BankError `format-error` for what is no date."""
    return check_date(call, call.take(input.name), input.name)


def check_date(call: Call, value: Any, *place: str) -> str | None:
    """A date by ISO 8601, or None without a value; `place` is the input that it came with, and the steps to it there.

    Raises BankError `format-error`.
    """
    if value in (None, ""):
        return None
    if not isinstance(value, str) or not FORMATS["date"](value):
        text = f"{call.name_of(*place)} must be a date, such as {call.clock.today().isoformat()}"
        raise BankError("format-error", path=call.pointer_of(*place), expected=text)
    return value


_TRUTHS = {"true": True, "false": False}


def read_truth(value: Any) -> bool | None:
    return None if value is None else _TRUTHS.get(str(value).lower())
