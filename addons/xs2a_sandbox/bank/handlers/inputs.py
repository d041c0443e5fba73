"""The inputs that handlers take from a request. The dialect defines their places."""

from typing import Any

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Input
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.errors import BankError

CONSENT = Input("consent", "The id of the consent.")
PAYMENT = Input("payment", "The id of the payment.")
MANDATE = Input("mandate", "The id of the mandate, a payment that was authorised before.")
BASKET = Input("basket", "The id of the signing basket.")
AUTHORISATION = Input("authorisation", "The id of the authorisation.")
ACCOUNT = Input("account", "The id of the account; for a confirmation of funds, any of its numbers.")
ENTRY = Input("entry", "The id of the entry.")

CUSTOMER = Input("customer", "The id of the customer, if the app knows it.")
PRESENT = Input(
    "customer_present",
    "The customer's IP address, which shows that the customer is present. Missing if the app sends the request without "
    "the customer.",
)
ONCE = Input("once", "The id by which the bank recognises a request that is sent again.")
REDIRECT_URI = Input("redirect_uri", "The address to which the customer returns.")
NOK_REDIRECT_URI = Input("nok_redirect_uri", "The address to which the customer returns after declining.")
PREFERS_REDIRECT = Input("prefers_redirect", "Whether the app prefers a redirect: true or false.")
PREFERS_DECOUPLED = Input("prefers_decoupled", "Whether the app prefers decoupled authorisation: true or false.")
PREFERS_EXPLICIT = Input("prefers_explicit", "Whether the app wants to start the authorisation itself: true or false.")

CREDENTIALS = Input("credentials", "The object that contains the password, if requests nest it.")
PASSWORD = Input("password", "The customer's password.")
ENCRYPTED_PASSWORD = Input("encrypted_password", "The password, encrypted with a key of the bank.")
METHOD = Input("method", "The id of the method that the customer chooses.")
OTP = Input("otp", "The one-time password, in response to the challenge.")
CONFIRMATION_CODE = Input(
    "confirmation_code", "The confirmation code with which the customer returned from the bank's page."
)

ACCESS = Input(
    "access",
    "The rights that a consent requests. A list; each item has `permissions` (`list`, `details`, `balances`, "
    "`entries`, `owner`, `beneficiaries`) and the `accounts` that they apply to: references to accounts, `all`, or "
    "`chosen` by the customer. An item whose `accounts` are null is ignored; with an empty list the customer "
    "chooses the accounts. `kind` is the interface's name for the item, used by the option `kinds`.",
)
ACCOUNT_TYPES = Input(
    "account_types", "The types of the accounts, if a consent names no accounts. By default all types."
)
RECURRING = Input("recurring", "Whether the consent may be used more than once: true or false.")
FREQUENCY = Input(
    "frequency", "The number of times a day that the consent may be used without the customer. By default no limit."
)
VALID_UNTIL = Input("valid_until", "The last day of the consent. By default it does not expire.")

SERVICE = Input("service", "The payment service.")
PRODUCT = Input("product", "The payment product.")

KIND = Input("kind", "`single`, `bulk` or `standing`. By default `single`.")
INSTANT = Input("instant", "Whether it is an instant payment, paid within seconds: true or false.")
DEBTOR = Input("debtor", "The account that pays, by any of its numbers. By default the customer's first account.")
PARTS = Input(
    "parts",
    "A list of the single payments, each with `amount`, `creditor` (`name`, `account`, `agent`, `address`), "
    "`end_to_end_id` and `remittance` (`text`, `reference`).",
)
EXECUTE_ON = Input("execute_on", "The day on which the payment is executed. By default as soon as it is authorised.")
SCHEDULE = Input(
    "schedule",
    "When a standing order is executed: `start`, `end`, `frequency`, `day`, `months` and the `rule` for closed days.",
)
VERIFY_PAYEES = Input(
    "verify_payees",
    "Whether the bank verifies the payees of the payment: true or false. By default false. It verifies only payees "
    "with an IBAN that are paid in EUR.",
)
BATCH = Input("batch", "Whether a bulk payment is booked as one sum: true or false.")
SENT = Input("sent", "The data that the app sent, to return them unchanged.")
PART_COUNT = Input("part_count", "The number of single payments that the app has announced.")
CONTROL_SUM = Input(
    "control_sum", "The sum of the amounts of all single payments that the app has announced, whatever their currency."
)

PAYEES = Input(
    "payees",
    "A list of the payees to verify, each with an `account` (`iban`), and a `name` or `identifiers`: a list of "
    "`scheme` and `value`.",
)
AMOUNT = Input("amount", "The `currency` and the `amount`.")

LIMITS = Input(
    "limits",
    "How much the payments of a recurring mandate may be: a list of `amount` and `currency`, each for one payment, or "
    "for all payments in a `period`: `day`, `week`, `fortnight`, `month`, `half-year` or `year`. Periods are those of "
    "the calendar, or with `from: mandate` start on the day of the mandate.",
)

PAYMENTS = Input("payments", "The ids of the payments that are authorised together.")
CONSENTS = Input("consents", "The ids of the consents that are authorised together.")

LISTS = Input("lists", "The requested lists: one of the names in the option `lists`.")
DATE_FROM = Input("date_from", "The first day of the entries.")
DATE_TO = Input("date_to", "The last day of the entries.")
WITH_BALANCES = Input("with_balances", "Whether to show balances, too: true or false.")
PAGE = Input("page", "The number of the page; the first page is 1.")
PAGE_SIZE = Input("page_size", "The number of booked entries per page.")
NEWER_THAN = Input("newer_than", "The id of an entry; only newer entries are shown.")
NEWER_THAN_LAST = Input(
    "newer_than_last", "Whether to show only entries that are newer than at the last request: true or false."
)

GRANT_TYPE = Input(
    "grant_type", "The grant (RFC 6749). By default the handler reads this and the other inputs of a token from a form."
)
CLIENT_ID = Input("client_id", "The id of the client that requests a token.")
CLIENT_SECRET = Input("client_secret", "The secret of the client.")
CLIENT = Input(
    "client", "The id of the client, if the dialect identifies the client itself; null for an unknown client."
)
CODE = Input("code", "The authorisation code with which the customer returned.")
CODE_REDIRECT_URI = Input("code_redirect_uri", "The address to which the customer returned with the code.")
CODE_VERIFIER = Input("code_verifier", "The verifier from which the code_challenge was made (RFC 7636).")
REFRESH_TOKEN = Input("refresh_token", "The refresh token.")
SCOPE = Input("scope", "The scope of the token.")
TOKEN = Input("token", "The token to revoke.")


def read_wish(call: Call, input: Input) -> bool | None:
    """Return a yes-or-no input as a boolean, or None if it is missing or neither."""
    value = call.take(input.name)
    return None if value is None else read_truth(value)


def take_date(call: Call, input: Input) -> str | None:
    """Return the date in an input. Raises BankError `format-error`."""
    return check_date(call, call.take(input.name), input.name)


def check_date(call: Call, value: Any, *place: str) -> str | None:
    """Return an ISO 8601 date, or None without a value. `place` is the input with the value, and the steps to it.

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
