"""Finds the page on which the customer decides about a document, if there is something to decide."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from xs2a_sandbox.bank.domain.documents import state_of
from xs2a_sandbox.bank.domain.lifecycle import BASKET, SCA
from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES, Family, is_open
from xs2a_sandbox.bank.sca_pages import PAGES
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.life import TimelineStep
from xs2a_sandbox.features.console.visit import ConsoleVisit


@dataclass(frozen=True, slots=True)
class UserPage:
    """`href` is empty if nothing can be decided: `closed` is the reason, `basket` the basket to decide instead."""

    href: str
    closed: str = ""
    basket: str = ""


async def find_user_page(
    visit: ConsoleVisit, collection: str, document: Mapping[str, Any], steps: Sequence[TimelineStep]
) -> UserPage | None:
    """Return the last page that a response has linked for an open decision, or None if no response has linked one."""
    pages = [step.page for step in steps if step.page]
    if not pages:
        return None
    if collection != AUTHORISATIONS:
        families = [family for family in FAMILIES.values() if family.collection == collection]
        return await _choose(visit, pages, families, document)
    if (status := document["status"]) in SCA.final:
        return UserPage("", f"The customer's page is closed: the authorisation is {status}.")
    family = FAMILIES[document["family"]]
    resource = await _find(visit, family.collection, document["resource"])
    if resource is None:
        return UserPage("", f"The customer's page is closed: the {family.name} was deleted.")
    return await _choose(visit, pages, [family], resource)


async def _choose(
    visit: ConsoleVisit, pages: Sequence[str], families: Sequence[Family], resource: Mapping[str, Any]
) -> UserPage:
    """Return the last page on which the customer can still decide about the resource."""
    opened = [family.name for family in families if is_open(family, resource)]
    href = next((page for page in reversed(pages) if _family_of(visit, page) in (None, *opened)), "")
    if not opened or not href:
        family = families[0]
        status = state_of(family.collection, resource)
        return UserPage("", f"The customer's page is closed: the {family.machine.name} is {status}.")
    basket_id = resource.get("basket") or ""
    basket = await _find(visit, "baskets", basket_id) if basket_id else None
    if basket and state_of("baskets", basket) not in BASKET.final:
        return UserPage(
            "", f"The customer's page is closed until the signing basket {basket_id} is decided.", basket_id
        )
    return UserPage(href)


def _family_of(visit: ConsoleVisit, page: str) -> str | None:
    """Return the family that the page decides about, or None for the pages of OAuth, which can be about any."""
    authorisables = visit.sandbox.banks.default.interface.authorisation.of
    path = urlsplit(page).path
    addresses = {name: one.page for name, one in authorisables.items() if one.page}
    return next((name for name, one in addresses.items() if path.endswith("/".join(("", PAGES, *one.path)))), None)


async def _find(visit: ConsoleVisit, collection: str, id: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = await visit.ask("GET", f"state/{collection}/{quote(id, safe='')}")
    except Refused:
        return None
    return found
