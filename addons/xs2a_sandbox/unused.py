"""Test data of one's own that no request can ever reach."""

from collections import Counter
from collections.abc import Iterator

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.errors import Problem
from xs2a_sandbox.index import Index
from xs2a_sandbox.interface import Interface
from xs2a_sandbox.testdata import Overlay

CODE = "unused-testdata"


def unused(over: Overlay, interface: Interface) -> list[Problem]:
    """What is bundled is left alone: it is not the user's to mend."""
    found = [
        one.problem((name, id), CODE, f"this takes nothing out: there is no {id} among the {name}", key=True)
        for one, name, id in over.idle
    ]
    for collection, id, text, below in (*_customers(over), *_payments(over, interface), *_transactions(over)):
        origin = over.origins[collection, id]
        if not origin.file.resolve().is_relative_to(bundled("cassettes")):
            found.append(origin.problem((collection, id, *below), CODE, text, key=not below))
    return found


type _Found = Iterator[tuple[str, str, str, tuple[str | int, ...]]]
"""Collection, id, what is wrong, and where below the entry."""


def _customers(over: Overlay) -> _Found:
    accounts = over.collections.get("accounts", {}).values()
    busy = {psu for account in accounts for psu in (account["psuId"], *account.get("signatories", ()))}
    for id in over.collections.get("psus", {}).keys() - busy:
        yield "psus", id, f"the customer {id} has no account and signs for none", ()


def _payments(over: Overlay, interface: Interface) -> _Found:
    index = Index(interface)
    for id, payment in over.collections.get("payments", {}).items():
        service, product = payment["service"], payment["product"]
        if index.find("GET", ("v1", service, product, id)).operation is None:
            yield "payments", id, f"no operation reads {service} of the product {product}", ("product",)


def _transactions(over: Overlay) -> _Found:
    """One entry is asked for by its id, whichever list it is in."""
    for iban, account in over.collections.get("accounts", {}).items():
        seen: Counter[str] = Counter()
        for name, entries in account.get("transactions", {}).items():
            for position, entry in enumerate(entries):
                id = entry["transactionId"]
                seen[id] += 1
                if seen[id] > 1:
                    text = f"another transaction of this account has the id {id}, too"
                    yield "accounts", iban, text, ("transactions", name, position, "transactionId")
