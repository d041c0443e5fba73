"""Running text, such as the reason of an error."""

import re
from typing import TYPE_CHECKING

from xs2a_sandbox import vocabulary
from xs2a_sandbox.pseudonym import compact_iban

if TYPE_CHECKING:
    from xs2a_sandbox.censor import Censor

_SPOTS = re.compile(
    r"""(?P<kept>\b\d{4}-\d\d-\d\d(?:[T\ ]\d\d:[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?\b
                |\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b)
    |(?P<label>\b(?i:bearer|basic)\ +|(?i:token|passw(?:or)?d|secret|otp|pin)\b["']?\s*[=:]\s*["']?)
        (?P<secret>[^\s"',;]+)
    |(?P<url>(?<![\w<.])(?:https?:/)?/(?=[\w/])[^\s"'<>()\[\],]+)
    |(?P<iban>\b[A-Za-z]{2}\d{2}(?:\ ?[A-Za-z0-9]{4}){2,7}(?:\ ?[A-Za-z0-9]{1,4})?\b)
    |(?P<value>[^\s@"'<>(),;:=]{1,64}@[^\s@"'<>(),;:=]+
        |\b\d{1,3}(?:\.\d{1,3}){3}\b
        |\b[A-Za-z0-9_+/=-]{0,64}\d(?:[\ .-]?\d){5,}[A-Za-z0-9_+/=-]*
        |(?=[^\s\d]{0,200}\d)[A-Za-z0-9_+/=-]{16,})""",
    re.ASCII | re.VERBOSE,
)


def in_words(text: str, censor: "Censor") -> str:
    """Words of the vocabulary stay. What was replaced elsewhere is replaced in the same way here."""
    pieces, done = [], 0
    for start, end, pseudonym in censor.remembered(text):
        pieces += [_spotted(text[done:start], censor, words=True), pseudonym]
        done = end
    return "".join([*pieces, _spotted(text[done:], censor, words=True)])


def without_data(text: str, censor: "Censor") -> str:
    """Accounts, addresses, numbers and links are replaced, and all that was replaced elsewhere; other words stay.

    This is weaker, and for text that somebody wants kept.
    """
    return censor.recalled(_spotted(text, censor, words=False))


def _spotted(text: str, censor: "Censor", *, words: bool) -> str:
    pieces, done = [], 0
    for found in _SPOTS.finditer(text):
        pieces += [_between(text[done : found.start()], censor) if words else text[done : found.start()]]
        pieces.append(_spot(found, censor, words=words))
        done = found.end()
    return "".join([*pieces, _between(text[done:], censor) if words else text[done:]])


def _spot(found: re.Match[str], censor: "Censor", *, words: bool) -> str:
    text = found[0]
    if found["kept"] or censor.is_trusted(text):
        return text
    if found["iban"]:
        # Words after an account number look as if they belonged to it.
        end = next((end for end in range(len(text), 14, -1) if compact_iban(text[:end])), len(text))
        if end == len(text) and not compact_iban(text) and words:
            return _between(text, censor)
        return censor.value(text[:end]) + _spotted(text[end:], censor, words=words)
    if found["secret"]:
        return found["label"] + censor.dropped(found["secret"])
    return censor.url(text) if found["url"] else censor.value(text)


def _between(text: str, censor: "Censor") -> str:
    """Of a text without accounts, links and dates."""
    pieces, done = [], 0
    for start, end in vocabulary.strange(text, running=True):
        if censor.is_trusted(text[start:end]) or censor.is_of_the_interface(text[start:end]):
            continue
        pieces += [text[done:start], censor.shaped(text[start:end])]
        done = end
    return "".join([*pieces, text[done:]])
