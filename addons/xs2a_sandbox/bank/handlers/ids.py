"""The ids that the bank gives out: in which form, and how they are found again."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Option
from xs2a_sandbox.documents.formats import is_uuid

UUID = "{uuid}"
ALPHABETS = {
    "digits": "0123456789",
    "hex": "0123456789abcdef",
    "capitals": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "base64url": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
}
"""The characters of each kind, the narrowest first."""

LEAST, MOST = 4, 64
"""How many characters an id can have by these forms."""

_PREFIX = re.compile(r"[A-Za-z]+[._~-]")
"""The part that ids have before what tells them apart."""

_AROUND = r"[A-Za-z0-9._~-]*"
_FORM = re.compile(rf"({_AROUND})\{{({'|'.join(ALPHABETS)}):([0-9]+)\}}({_AROUND})")


def form(what: str) -> Option:
    """The option that says in which form these ids are made."""
    return Option(
        f"In which form the ids of {what} are made: `{{uuid}}`, or so many characters, as `{{digits:12}}`, "
        "`{hex:32}`, `{capitals:10}` (and digits) or `{base64url:22}`, with more before or behind: `PAY-{digits:8}`.",
        {
            "type": "string",
            "pattern": rf"^{_AROUND}(\{{uuid\}}|\{{({'|'.join(ALPHABETS)}):([4-9]|[1-5][0-9]|6[0-4])\}}){_AROUND}$",
        },
        default=UUID,
    )


def new_id(call: Call, collection: str, options: Mapping[str, Any], name: str = "ids") -> str:
    """An id in the form that the option says, which nothing of the collection has."""
    template = options.get(name) or UUID
    if template == UUID:
        return call.new_id()
    while call.state.get(collection, id := _made(call, template)) is not None:
        pass
    return id


def form_of(ids: Collection[str]) -> str | None:
    """The form that all these ids have; None where it is none that could be said."""
    prefixes = {match[0] if (match := _PREFIX.match(id)) else "" for id in ids}
    prefix = prefixes.pop() if len(prefixes) == 1 else ""
    rests = [id.removeprefix(prefix) for id in ids]
    if all(is_uuid(rest) for rest in rests):
        return prefix + UUID
    lengths = {len(rest) for rest in rests}
    for kind, alphabet in ALPHABETS.items():
        if len(lengths) == 1 and MOST >= max(lengths) >= LEAST and all(set(rest) <= set(alphabet) for rest in rests):
            return f"{prefix}{{{kind}:{max(lengths)}}}"
    return None


def _made(call: Call, template: str) -> str:
    if match := _FORM.fullmatch(template):
        before, kind, length, after = match.groups()
        return before + call.new_text(ALPHABETS[kind], int(length)) + after
    return template.replace(UUID, call.new_id())
