"""All handlers and actions, by the names that cassettes use."""

from dataclasses import replace
from functools import cache

from xs2a_sandbox.bank.handlers import (
    accounts,
    actions,
    authorisations,
    baskets,
    cards,
    consents,
    funds,
    mandates,
    payees,
    payments,
    token,
)
from xs2a_sandbox.bank.handlers.acts import ACTS
from xs2a_sandbox.cassette.handler import Handler
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.plugins import plugins

HANDLERS = {
    value.name: replace(value, does=ACTS.get(value.name))
    for module in (accounts, authorisations, baskets, cards, consents, funds, mandates, payees, payments, token)
    for value in vars(module).values()
    if isinstance(value, Handler)
}
ACTIONS = actions.ACTIONS
NAMED = HANDLERS | ACTIONS


@cache
def collect_handlers() -> dict[str, Handler]:
    """Return all handlers and actions, including those of plugins. Raises ConfigError if two have the same name."""
    found = dict(NAMED)
    for handler in plugins().collect("handlers"):
        if handler.name in found:
            raise ConfigError(
                f"a plugin has a handler {handler.name}, but this name is already taken: give the plugin's "
                "handler another name"
            )
        found[handler.name] = handler
    return found
