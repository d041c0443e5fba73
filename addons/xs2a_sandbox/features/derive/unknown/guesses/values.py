"""Guesses about values that a bank cannot accept: wrong account numbers, foreign payers, other currencies."""

from collections.abc import Iterator

from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.features.derive.expression_text import literal
from xs2a_sandbox.features.derive.unknown.conditions.checks import LearnedCheck
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition, places_in
from xs2a_sandbox.features.derive.unknown.conditions.mentions import instead
from xs2a_sandbox.features.derive.unknown.guesses.known_operation import KnownOperation
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, source_of

_RANK = 58
"""After the form of all members, before their limits."""


def guess_impossible_values(known: KnownOperation) -> Iterator[LearnedCheck]:
    """A value in the right form that cannot be is refused like one beyond a limit, or else like a wrong form."""
    own = [check for check in known.checks if check.condition.place[:1] == ("body",)]
    others = [check for check in known.every if check.condition.kind in ("form", "impossible") and not check.is_guess]
    for condition in _conditions(known):
        # Operations that take the same member check it in the same way.
        same = (check for check in (*own, *others) if check.condition.place == condition.place)
        limits = (check for check in own if check.condition.kind == "limit")
        if donor := next(same, None) or next(limits, None) or next(iter(own), None):
            yield donor.guess(condition, instead(donor, condition))


def _conditions(known: KnownOperation) -> Iterator[Condition]:
    rows = [row for rows in known.scopes.world.rows for row in rows.entries]
    held = {value for row in rows for value in row.values() if isinstance(value, str)}
    for place in places_in(known.oks):
        values = [value for one in known.oks if (value := one.at(place)) is not None]
        texts = {value for value in values if isinstance(value, str)}
        if place[0] != "body" or not texts or len(texts) < len(set(map(str, values))):
            continue
        if all(map(FORMATS["iban"], texts)):
            yield _condition(place, "not ({} | has_format('iban'))")
            countries = {text[:2] for text in texts}
            if texts <= held and len(countries) == 1:
                # The payer has an account at this bank.
                yield _condition(place, f"{{}}[:2] != {literal(countries.pop())}")
        elif all(map(FORMATS["currency"], texts)) and texts <= held:
            yield _condition(place, f"{{}} not in {literal(sorted(texts))}")


def _condition(place: Place, source: str) -> Condition:
    text = source_of(place)
    return Condition(f"{text} is string and {source.format(text)}", _RANK, "impossible", place)
