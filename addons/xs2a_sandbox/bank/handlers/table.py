"""All handlers, by the name that cassettes know them by."""

from xs2a_sandbox.bank.handlers import accounts, authorisations, baskets, cards, consents, funds, payments, token
from xs2a_sandbox.cassette.handler import Handler

HANDLERS = {
    value.name: value
    for module in (accounts, authorisations, baskets, cards, consents, funds, payments, token)
    for value in vars(module).values()
    if isinstance(value, Handler)
}
