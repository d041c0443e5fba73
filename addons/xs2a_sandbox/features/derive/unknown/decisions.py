"""What customers decide on pages, as far as the links back to the app show it."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

from xs2a_sandbox.features.derive.unknown.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.things import World

REDIRECTS = (302, 303)


def redirect_choices(world: World, location: str) -> Any:
    """Return what the link to the app tells about the customer's decision: its parameters, except for ids.

    Parameters of the app's own address are left out. If the app has sent several, the one that was used tells, too.
    """
    address = max((url for url in world.addresses if location.startswith(url)), key=len, default="")
    query = location[len(address) :].lstrip("?&") if address else urlsplit(location).query
    used = ((str(world.addresses[address]), ""),) if address and len(set(world.addresses.values())) > 1 else ()
    return used + tuple(
        (name, "" if world.ids.has(value) and len(value) > 4 else value) for name, value in parse_qsl(query)
    )


def is_alike(world: World, one: SeenExchange, other: SeenExchange) -> bool:
    """Return whether two requests of an operation were answered in the same way."""
    is_same = world.operation_of[one] is world.operation_of[other] and one.status == other.status
    if not is_same or one.status not in REDIRECTS:
        return is_same
    locations = (each.answer_headers.get("location", "") for each in (one, other))
    return len({redirect_choices(world, location) for location in locations}) == 1
