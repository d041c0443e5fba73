"""Media types, and other words with parameters behind a semicolon, as header fields write them."""

from collections.abc import Sequence


def split_parameters(text: str) -> tuple[str, dict[str, str]]:
    """The word and its parameters, of `gzip;q=0.5` or `application/json; charset="utf-8"`; without quotes."""
    word, *parameters = text.split(";")
    pairs = (parameter.partition("=") for parameter in parameters if parameter.strip())
    return word.strip().lower(), {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}


def media_type(field: str | None) -> str:
    """The type that a Content-Type names, without parameters and in lower case; empty where there is none."""
    return (field or "").partition(";")[0].strip().lower()


def is_json(media: str) -> bool:
    return media.endswith(("/json", "+json"))


def wishes(field: str) -> list[str]:
    """The words of an Accept field, or one like it, as their weights order them; those of weight 0 are left out."""
    weighed = []
    for position, wish in enumerate(field.split(",")):
        word, parameters = split_parameters(wish)
        try:
            weight = float(parameters.get("q", "1"))
        except ValueError:
            weight = 0.0
        if word and weight > 0:
            weighed.append((-weight, position, word))
    return [word for _, _, word in sorted(weighed)]


def preferred(accept: str, offered: Sequence[str]) -> str | None:
    """The media type that an Accept field likes best, the first of those offered where it likes several; or None."""
    fitting = (one for kind in wishes(accept) for one in offered if kind in (one, "*/*", f"{one.partition('/')[0]}/*"))
    return next(fitting, None)
