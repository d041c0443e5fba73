"""Names for what is learned, and how they differ from ids."""

import re
from collections.abc import Collection
from itertools import count

from xs2a_sandbox.redaction.vocabulary import is_words

_LONG = 16
"""The least length of an id of letters alone, if only its length and its case are known."""
_IN_GROUPS = re.compile(r"[A-Z]{3,8}(-[A-Z]{4}){1,6}")
"""An id such as a pseudonym of `MBC-K7QD-XTBA`, in which all digits have become letters."""
_VERSION = re.compile(r"v?\d{1,2}(\.\d+)*")
_WORD = re.compile(r"[a-z]{3,}\d|20\d\d-(0[1-9]|1[0-2])(-\d\d)?")
"""A word of paths such as `oauth2`, or a version such as `2024-10`."""


def is_id(text: str, *, is_redacted: bool = False) -> bool:
    """Return whether a text looks like an id, and not like a word of an interface.

    Whether letters can be said shows nothing in a redacted recording, in which words have pseudonyms.
    """
    if (_VERSION.fullmatch(text) and len(text) < 4 and not text.isdecimal()) or _WORD.fullmatch(text):
        return False
    if any(character.isdecimal() for character in text):
        return True
    if len(text) >= 10 and text.isalpha() and len(re.findall("[a-z][A-Z]|[A-Z][a-z]", text)) * 3 >= len(text):
        # Names such as accountNumber change between small and capital letters less often.
        return True
    if is_redacted:
        is_long = len(text) >= _LONG and text.isalpha() and text.isupper()
        return is_long or (_IN_GROUPS.fullmatch(text) is not None and not is_words(text))
    if len(text) < 6 or not re.search("[aeiouyAEIOUY]", text):
        return len(text) >= 6
    return text.isupper() and len(text) >= 8 and "_" not in text and not _can_be_said(text)


def _can_be_said(text: str) -> bool:
    """Return whether a text without digits has as many vowels as words have, such as INVALID_FIELD."""
    letters = re.sub("[^A-Z]", "", text)
    vowels = re.findall("[AEIOUY]", letters)
    return len(vowels) * 4 >= len(letters) and not re.search("[^AEIOUY]{5}", letters)


def new_name(name: str, taken: Collection[str], separator: str = "-") -> str:
    """Return a name that is not taken: `name`, `name-2`, `name-3`, ..."""
    possible = (name if number == 1 else f"{name}{separator}{number}" for number in count(1))
    return next(one for one in possible if one not in taken)


def identifier(name: str) -> str:
    """Return the name of a member as one that expressions can have."""
    text = re.sub(r"\W", "_", name).strip("_").lower()
    return text if text[:1].isalpha() else f"id_{text}".strip("_")


def singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word
