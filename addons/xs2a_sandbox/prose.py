"""Running text, such as the reason of an error: what looks like data in it is replaced, the words stay.

No list of what is harmless can be made for prose, so this is weaker than what is done with values; whatever may hold
much of what a bank or a client sent is not to be written down as prose.
"""

import re

from xs2a_sandbox import harmless
from xs2a_sandbox.censor import Censor
from xs2a_sandbox.pseudonym import compact_iban

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
_QUOTATION = re.compile(r"""(?<!\w)(?P<open>b?(?P<mark>["']))(?P<inside>.*?)(?P<close>(?P=mark)|$)""", re.DOTALL)


def without_data(text: str, censor: Censor) -> str:
    """Accounts, addresses, numbers and links are replaced, and all that was replaced elsewhere."""

    def spot(found: re.Match[str]) -> str:
        if found["kept"] or censor.is_trusted(found[0]):
            return found[0]
        if found["iban"]:
            return account(found[0])
        if found["secret"]:
            return found["label"] + censor.dropped(found["secret"])
        return censor.url(found[0]) if found["url"] else censor.value(found[0])

    def account(text: str) -> str:
        # Words after an account number look as if they belonged to it.
        end = next((end for end in range(len(text), 14, -1) if compact_iban(text[:end])), len(text))
        return censor.value(text[:end]) + _SPOTS.sub(spot, text[end:])

    return censor.recalled(_SPOTS.sub(spot, text))


def without_quotations(text: str, censor: Censor) -> str:
    """The same for text that may quote what somebody sent: `Bad status line 'Anna'`."""

    def quotation(found: re.Match[str]) -> str:
        inside = found["inside"]
        harmless_one = harmless.is_word(inside) or censor.is_trusted(inside)
        return found["open"] + (inside if harmless_one else censor.value(inside)) + found["close"]

    return without_data(_QUOTATION.sub(quotation, text), censor)
