"""Media types, and other words with parameters behind a semicolon, as header fields write them."""


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
