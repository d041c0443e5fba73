"""The kinds of entries that can be made for an account, in the console or by a recipe of the test data."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class EntryKind:
    """A kind of entry, with the amounts it has by default. A monthly kind has one partner and one amount."""

    title: str
    code: str
    low: Decimal
    high: Decimal
    partners: tuple[str, ...]
    text: str
    """The remittance, with `{partner}` and `{month}`."""
    is_credit: bool = False
    is_monthly: bool = False
    is_of_people: bool = False


KINDS: Mapping[str, EntryKind] = {
    "card": EntryKind(
        "Card payments",
        "PMNT-CCRD-POSD",
        Decimal(2),
        Decimal(80),
        (
            *("Morning Glory Bakery", "Lindenhof Market", "Soap Bubble Drugstore", "Dog-Ear Bookshop", "Blue Jug Inn"),
            *("Limoncella Trattoria", "Spoke and Wheel Cycles", "Overland Petrol Station", "Soft Step Shoes"),
        ),
        "Card payment {partner}",
    ),
    "received": EntryKind(
        "Transfers received",
        "PMNT-RCDT-ESCT",
        Decimal(5),
        Decimal(200),
        ("Robin Larkfield", "Sasha Winterbourne", "Noor Appleyard", "Mika Fennimore"),
        "From {partner}",
        is_credit=True,
        is_of_people=True,
    ),
    "salary": EntryKind(
        "Salaries, one a month",
        "PMNT-RCDT-SALA",
        Decimal(1800),
        Decimal(3200),
        ("Millbrook Machine Works",),
        "Salary {month}",
        is_credit=True,
        is_monthly=True,
    ),
    "rent": EntryKind(
        "Rent, one a month",
        "PMNT-ICDT-STDO",
        Decimal(600),
        Decimal(1200),
        ("Chestnut Court Property Management",),
        "Rent {month}",
        is_monthly=True,
    ),
    "groceries": EntryKind(
        "Groceries",
        "PMNT-CCRD-POSD",
        Decimal(8),
        Decimal(140),
        ("Lindenhof Market", "Green Corner Foods", "Morning Glory Bakery", "Harvest Table"),
        "Groceries {partner}",
    ),
    "subscription": EntryKind(
        "Subscriptions, one a month",
        "PMNT-RDDT-ESDD",
        Decimal(5),
        Decimal(40),
        ("Film Flood Streaming",),
        "Subscription {month}",
        is_monthly=True,
    ),
}
"""The kinds of entries, by the beginning of their ids."""
