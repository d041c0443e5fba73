"""What customers decide on pages, as far as the links back to the app show it."""

from collections import defaultdict
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from xs2a_sandbox.features.derive.unknown.recorded.places import leaves
from xs2a_sandbox.features.derive.unknown.recorded.seen import REDIRECTS, SeenExchange
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import World


def find_copied(world: World) -> dict[LearnedOperation, frozenset[str]]:
    """Return the parameters of links to the app that always repeat what the app has sent, such as its `state`.

    Values that differ from request to request count as repeated even if they are short.
    """
    found = {}
    for operation in world.operations:
        pairs: defaultdict[str, set[tuple[str, Any]]] = defaultdict(set)
        for one in (one for one in operation.seen if one.status in REDIRECTS):
            sent = {place[-1:]: value for _, thing in world.named(one) for place, value in leaves(thing.created.body)}
            for name, value in _parameters(world, one)[1]:
                pairs[name].add((value, sent.get((name,))))
        found[operation] = frozenset(
            name for name, both in pairs.items() if len(both) > 1 and all(value == sent for value, sent in both)
        )
    return found


def redirect_choices(world: World, one: SeenExchange) -> Any:
    """Return what the link to the app tells about the customer's decision: its parameters, except for ids and copies.

    Parameters of the app's own address are left out. If the app has sent several, the one that was used tells, too.
    """
    address, parameters = _parameters(world, one)
    copied = world.copied[world.operation_of[one]]
    used = ((str(world.addresses[address]), ""),) if address and len(set(world.addresses.values())) > 1 else ()
    return used + tuple(
        (name, "" if name in copied or (world.ids.has(value) and len(value) > 4) else value)
        for name, value in parameters
    )


def _parameters(world: World, one: SeenExchange) -> tuple[str, list[tuple[str, str]]]:
    """Return the address of the app to which an answer leads, and the parameters that the bank has added."""
    location = one.answer_headers.get("location", "")
    address = max((url for url in world.addresses if location.startswith(url)), key=len, default="")
    query = location[len(address) :].lstrip("?&") if address else urlsplit(location).query
    return address, parse_qsl(query)


def is_alike(world: World, one: SeenExchange, other: SeenExchange) -> bool:
    """Return whether two requests of an operation were answered in the same way."""
    is_same = world.operation_of[one] is world.operation_of[other] and one.status == other.status
    if not is_same or one.status not in REDIRECTS:
        return is_same
    return bool(redirect_choices(world, one) == redirect_choices(world, other))
