"""Media types, and other words with parameters behind a semicolon, as header fields write them."""

from collections.abc import Sequence
from functools import lru_cache


def split_parameters(text: str) -> tuple[str, dict[str, str]]:
    """The word and its parameters, of `gzip;q=0.5` or `application/json; charset="utf-8"`; without quotes."""
    word, *parameters = text.split(";")
    pairs = (parameter.partition("=") for parameter in parameters if parameter.strip())
    return word.strip().lower(), {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}


@lru_cache(64)
def media_type(field: str | None) -> str:
    """The type that a Content-Type names, without parameters and in lower case; empty where there is none."""
    return (field or "").partition(";")[0].strip().lower()


def is_json(media: str) -> bool:
    return media.endswith(("/json", "+json"))


def wishes(field: str) -> list[str]:
    """The words of an Accept field, or one like it, as their weights order them; those of weight 0 are left out."""
    weights = _weights(field)
    return sorted((word for word, weight in weights.items() if weight > 0), key=lambda word: -weights[word])


def choose_type(accept: str, offered: Sequence[str]) -> str | None:
    """The media type that an Accept field likes best, the first of those offered where it likes several; or None.

    Of what fits a type the most specific counts (RFC 9110, 12.5.1): `*/*` takes in none that has a weight of its own.
    """
    weights = _weights(accept)
    types = list(weights)
    best: tuple[float, int] = (0.0, 0)
    chosen = None
    for offer in offered:
        kind = next((kind for kind in (offer, f"{offer.partition('/')[0]}/*", "*/*") if kind in weights), None)
        if kind and weights[kind] > 0 and (rank := (weights[kind], -types.index(kind))) > best:
            chosen, best = offer, rank
    return chosen


def _weights(field: str) -> dict[str, float]:
    """The words of the field, in its order, each with its weight; one that cannot be read is 0."""
    weights: dict[str, float] = {}
    for wish in field.split(","):
        word, parameters = split_parameters(wish)
        try:
            weight = float(parameters.get("q", "1"))
        except ValueError:
            weight = 0.0
        if word:
            weights.setdefault(word, weight)
    return weights
