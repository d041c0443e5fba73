"""Recipes of the test data: the entries and the IBAN of an account, made from a seed.

The same recipe makes the same entries, counted from the start of the session. Names come from Faker, an extra; amounts
and days do not depend on it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

from xs2a_sandbox.bank.domain.amounts import decimals_of
from xs2a_sandbox.bank.entry_kinds import KINDS, EntryKind
from xs2a_sandbox.documents.formats import is_iban
from xs2a_sandbox.errors import ConfigError, ExpressionError

if TYPE_CHECKING:
    from faker import Faker

ENTRIES, IBAN, RECIPE = "transactions", "iban", "generate"
"""The members of an account that can have a recipe, and the key of a recipe."""

_LOCALE = "en_GB"
_PARTNERS = 24
"""The number of partners of a kind that is not monthly."""
_DAYS = 365
_MONTHS = 12
_TRIES = 100


@dataclass(frozen=True, slots=True)
class Partner:
    name: str
    iban: str | None


def recipe_of(account: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the recipe for the entries of an account."""
    written = account.get(ENTRIES)
    recipe: Mapping[str, Any] | None = written.get(RECIPE) if isinstance(written, Mapping) else None
    return recipe


def check_recipe(recipe: Mapping[str, Any]) -> str | None:
    """Describe why a recipe cannot be followed. Raises ConfigError if Faker is not installed."""
    _faker(_LOCALE)
    monthly = [kind for kind in recipe["kinds"] if KINDS[kind].is_monthly]
    most = len(monthly) * recipe["months"]
    if len(monthly) == len(recipe["kinds"]) and recipe["count"] > most:
        return (
            f"{', '.join(monthly)} are monthly, which makes {most} entries in {recipe['months']} months, not "
            f"{recipe['count']}: lower count, or add a kind that is not monthly, such as groceries"
        )
    return None


def make_iban(recipe: Mapping[str, Any]) -> str:
    """Return the IBAN for a country and a seed. Raises ExpressionError if the country has no IBANs."""
    return _new_iban(recipe["country"], Random(f"iban {recipe['country']} {recipe['seed']}"))


def _new_iban(country: str, random: Random) -> str:
    import schwifty  # imported when needed, because it reads its registry of banks
    from schwifty.exceptions import SchwiftyException

    for _ in range(_TRIES):
        try:
            made = str(schwifty.IBAN.random(country, random=random, use_registry=False))
        except (SchwiftyException, KeyError, ValueError):
            break
        if is_iban(made):
            return made
    raise ExpressionError(f"{country} has no IBANs: choose a country that has, such as NL")


def follow(id: str, account: Any, today: date) -> Any:
    """Return the account with the entries of its recipe and its own ones, the newest first."""
    recipe = recipe_of(account)
    if recipe is None:
        return account
    made = _make_entries(recipe, id, account, today)
    lists = account.get("entries") or {}
    booked = sorted([*made, *lists.get("booked", ())], key=lambda entry: str(entry["booked_on"]), reverse=True)
    kept = {name: value for name, value in account.items() if name != ENTRIES}
    return {**kept, "entries": {**lists, "booked": booked}}


def _make_entries(
    recipe: Mapping[str, Any], id: str, account: Mapping[str, Any], today: date
) -> Iterator[dict[str, Any]]:
    own = account.get(IBAN) or (id if is_iban(id) else None)
    holder = Partner(account.get("owner_name") or account.get("name") or "", own)
    country = own[:2] if own else "GB"
    for name, count in _shares(recipe):
        kind, random = KINDS[name], Random(f"{name} {recipe['seed']}")
        # Numbers of their own, so that amounts and days do not depend on how names and IBANs are made.
        partners = list(_partners(kind, country, Random(f"{name} partners {recipe['seed']}"), bool(own)))
        low, high = int(kind.low * 100), int(kind.high * 100)
        same = random.randint(low, high)
        days = _monthly_days(count, today) if kind.is_monthly else _spread_days(count, recipe["months"], random, today)
        for number, day in enumerate(days):
            partner = partners[int(random.random() * len(partners))]
            cents = same if kind.is_monthly else random.randint(low, high)
            yield _entry(f"{name}-{count - number:05}", kind, cents, day, (partner, holder), account["currency"])


def _shares(recipe: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the number of entries of each kind: one a month for monthly kinds, the others share the rest."""
    left = recipe["count"]
    monthly = [kind for kind in recipe["kinds"] if KINDS[kind].is_monthly]
    others = [kind for kind in recipe["kinds"] if not KINDS[kind].is_monthly]
    for name in monthly:
        count = min(recipe["months"], left)
        left -= count
        yield name, count
    for number, name in enumerate(others):
        yield name, left // len(others) + (number < left % len(others))


def _partners(kind: EntryKind, country: str, random: Random, has_iban: bool) -> Iterator[Partner]:
    fake = _faker(_locale(country))
    fake.seed_instance(random.randint(0, 2**31))
    for _ in range(1 if kind.is_monthly else _PARTNERS):
        name = fake.name() if kind.is_of_people else fake.company()
        yield Partner(name, _new_iban(country, random) if has_iban else None)


def _monthly_days(count: int, today: date) -> Iterator[date]:
    """Yield the first day of each month, the newest first."""
    day = today
    for _ in range(count):
        day = day.replace(day=1)
        yield day
        day -= timedelta(days=1)


def _spread_days(count: int, months: int, random: Random, today: date) -> Sequence[date]:
    span = max(months * _DAYS // _MONTHS, 1)
    return [today - timedelta(days=back) for back in sorted(1 + int(random.random() * span) for _ in range(count))]


def _entry(
    id: str, kind: EntryKind, cents: int, day: date, sides: tuple[Partner, Partner], currency: str
) -> dict[str, Any]:
    partner, holder = sides
    creditor, debtor = (holder, partner) if kind.is_credit else (partner, holder)
    amount = (Decimal(cents) / 100).quantize(Decimal(1).scaleb(-decimals_of(currency)))
    entry: dict[str, Any] = {
        "id": id,
        "booked_on": day.isoformat(),
        "value_on": day.isoformat(),
        "amount": {"amount": str(amount if kind.is_credit else -amount), "currency": currency},
        "creditor_id": "",
        "remittance": kind.text.format(partner=partner.name, month=f"{day:%m/%Y}"),
        "code": kind.code,
    }
    for name, side in (("creditor", creditor), ("debtor", debtor)):
        entry[f"{name}_name"] = side.name
        if side.iban:
            entry[f"{name}_account"] = {"iban": side.iban}
    return entry


def _locale(country: str) -> str:
    """Return a locale of Faker for the country, or that of the United Kingdom."""
    from faker.config import AVAILABLE_LOCALES

    return next((one for one in sorted(AVAILABLE_LOCALES) if one.endswith(f"_{country}")), _LOCALE)


def _faker(locale: str) -> "Faker":
    try:
        from faker import Faker
    except ImportError:
        raise ConfigError(
            "recipes of test data need Faker, which is not installed: pip install 'xs2a-sandbox[faker]'"
        ) from None
    return Faker(locale)
