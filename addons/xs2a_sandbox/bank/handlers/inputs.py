"""What handlers take of a request; the dialect says where its requests have it."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Input

CONSENT = Input("consent", "The id of the consent.")
PAYMENT = Input("payment", "The id of the payment.")
BASKET = Input("basket", "The id of the signing basket.")
AUTHORISATION = Input("authorisation", "The id of the authorisation.")
ACCOUNT = Input("account", "The id of the account.")
ENTRY = Input("entry", "The id of the entry.")

CUSTOMER = Input("customer", "The id of the customer, where the app knows it.")
PRESENT = Input("customer_present", "There when the customer asks for it at this moment: their IP address.")
ONCE = Input("once", "The id by which a request is known that is sent a second time.")
REDIRECT_URI = Input("redirect_uri", "Where the customer goes back to.")
NOK_REDIRECT_URI = Input("nok_redirect_uri", "Where the customer goes back to who has declined.")
PREFERS_REDIRECT = Input("prefers_redirect", "Whether the app wishes for a redirect: true or false.")
PREFERS_DECOUPLED = Input("prefers_decoupled", "Whether the app wishes for the customer's own app: true or false.")
PREFERS_EXPLICIT = Input("prefers_explicit", "Whether the app starts the authorisation itself: true or false.")

SERVICE = Input("service", "The payment service.")
PRODUCT = Input("product", "The payment product.")

LISTS = Input("lists", "Which lists are asked for: one of the names that the option `lists` has.")
DATE_FROM = Input("date_from", "The first day of the entries.")
DATE_TO = Input("date_to", "The last day of the entries.")
WITH_BALANCES = Input("with_balances", "Whether balances are shown, too: true or false.")
PAGE = Input("page", "The number of the page, from 1 on.")
PAGE_SIZE = Input("page_size", "How many booked entries are on a page.")
NEWER_THAN = Input("newer_than", "The id of an entry: those that are newer are shown.")
NEWER_THAN_LAST = Input("newer_than_last", "Whether only what is newer than the last time is shown: true or false.")


def read_wish(call: Call, input: Input) -> bool | None:
    """What the request says of something that is true or false; None where it says neither."""
    return _WISHES.get(str(call.take(input.name)).lower())


_WISHES: Mapping[str, Any] = {"true": True, "false": False}
