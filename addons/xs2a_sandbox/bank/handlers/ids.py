"""The forms of the ids that the bank creates: makes ids, and recognises the form of existing ones."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.evaluation.id_form import ALPHABETS, LEAST, MOST, PATTERN, UUID
from xs2a_sandbox.cassette.handler import Option
from xs2a_sandbox.documents.formats import is_uuid

_PREFIX = re.compile(r"[A-Za-z]+[._~-]")
"""The constant beginning of ids."""


def form(what: str) -> Option:
    """Return an option of a handler that sets the form of new ids."""
    return Option(
        f"The form of the ids of new {what}: `{{uuid}}`, or a number of characters such as `{{digits:12}}`, "
        "`{hex:32}`, `{capitals:10}` (which also contains digits) or `{base64url:22}`. Text may precede or follow it: "
        "`PAY-{digits:8}`.",
        {
            "type": "string",
            "pattern": f"^{PATTERN}$",
        },
        default=UUID,
    )


def new_id(call: Call, collection: str, options: Mapping[str, Any], name: str = "ids") -> str:
    """Return an unused id of the collection, in the form that the option sets."""
    template = options.get(name) or UUID
    id = call.new_id(template)
    while template != UUID and call.state.get(collection, id) is not None:
        id = call.new_id(template)
    return id


def form_of(ids: Collection[str]) -> str | None:
    """Return the form that all these ids have, or None if no form describes them."""
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
