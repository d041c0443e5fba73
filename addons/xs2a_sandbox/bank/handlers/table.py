"""All handlers and actions, by the names that cassettes know them by."""

from xs2a_sandbox.bank.handlers import (
    accounts,
    actions,
    authorisations,
    baskets,
    cards,
    consents,
    funds,
    payments,
    token,
)
from xs2a_sandbox.cassette.handler import Handler

HANDLERS = {
    value.name: value
    for module in (accounts, authorisations, baskets, cards, consents, funds, payments, token)
    for value in vars(module).values()
    if isinstance(value, Handler)
}
ACTIONS = actions.ACTIONS
NAMED = HANDLERS | ACTIONS
"""All that cassettes can name."""
