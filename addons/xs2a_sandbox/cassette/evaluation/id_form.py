"""The forms of generated ids, such as `{uuid}`, `{digits:12}` or `PAY-{hex:16}`."""

import re
from collections.abc import Callable

UUID = "{uuid}"
ALPHABETS = {
    "digits": "0123456789",
    "hex": "0123456789abcdef",
    "capitals": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "base64url": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
}
"""The characters of each kind, from the smallest alphabet to the largest."""

LEAST, MOST = 4, 64
"""The least and the most random characters in an id."""

_AROUND = r"[A-Za-z0-9._~-]*"
PATTERN = rf"{_AROUND}(\{{uuid\}}|\{{({'|'.join(ALPHABETS)}):([4-9]|[1-5][0-9]|6[0-4])\}}){_AROUND}"
"""The regular expression that matches all forms."""
_FIXED_BITS, _VERSION_4 = 0xF000 << 64 | 0xC000 << 48, 0x4000 << 64 | 0x8000 << 48
"""The bits of a UUID for its version and variant (RFC 9562), and their values in a random UUID."""
_KIND = re.compile(r"\{([a-z0-9]+):([0-9]+)\}")


def is_form(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(PATTERN, text) is not None


def make_id(form: str, uuid: Callable[[], str], text: Callable[[str, int], str]) -> str:
    """Return an id in that form. `text` returns random text from an alphabet, in a given length.

    Raises ValueError if it is not a form.
    """
    if form == UUID:
        return uuid()
    if not is_form(form):
        raise ValueError(f"{form!r} is not a form of ids, such as {{uuid}}, {{digits:12}} or PAY-{{hex:16}}")
    if UUID in form:
        return form.replace(UUID, uuid())
    return _KIND.sub(lambda match: text(ALPHABETS[match[1]], int(match[2])), form)


def as_uuid(drawn: bytes) -> str:
    """Return 16 random bytes as a random UUID (version 4)."""
    # Takes a third of the time of the class UUID, and every payment needs one.
    number = int.from_bytes(drawn) & ~_FIXED_BITS | _VERSION_4
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
