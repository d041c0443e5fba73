"""Media types and other words with parameters after a semicolon, as in header fields."""

from collections.abc import Sequence
from functools import lru_cache


def split_parameters(text: str) -> tuple[str, dict[str, str]]:
    """Split `gzip;q=0.5` or `application/json; charset="utf-8"` into the word and its parameters, without quotes."""
    word, *parameters = text.split(";")
    pairs = (parameter.partition("=") for parameter in parameters if parameter.strip())
    return word.strip().lower(), {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}


@lru_cache(64)
def media_type(field: str | None) -> str:
    """Return the media type of a Content-Type, without parameters and in lower case; empty if there is none."""
    return (field or "").partition(";")[0].strip().lower()


def is_json(media: str) -> bool:
    return media.endswith(("/json", "+json"))


@lru_cache(64)
def is_json_field(field: str | None) -> bool:
    """Return whether a body with this Content-Type is JSON of an application. Without one it is."""
    media = media_type(field)
    return field is None or (media.startswith("application/") and is_json(media))


def wishes(field: str) -> list[str]:
    """Return the words of an Accept field or a similar one by descending weight, without those of weight 0."""
    weights = _weights(field)
    return sorted((word for word, weight in weights.items() if weight > 0), key=lambda word: -weights[word])


def choose_type(accept: str, offered: Sequence[str]) -> str | None:
    """Return the media type that an Accept field prefers, or None. On a tie, the first one offered wins.

    For each type the most specific range counts (RFC 9110, 12.5.1): `*/*` does not cover types with a weight of their
    own.
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
    """Return the words of the field in order, with their weights. An unreadable weight is 0."""
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
