"""Requirements: conditions that a request must meet before it is answered.

The first failure becomes the bank's error.
"""

from collections.abc import Collection
from typing import Any

from xs2a_sandbox.cassette.call import Call
from xs2a_sandbox.cassette.evaluation.expressions import render
from xs2a_sandbox.cassette.matchers import Constraint, in_words
from xs2a_sandbox.cassette.model import Requirement
from xs2a_sandbox.cassette.schema_names import fill_name
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.json_pointer import pointer_text
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http.body_members import kind_of, members
from xs2a_sandbox.http.media_type import is_json_field, media_type

_SPELLED = {"dpop": "DPoP", **{part: part.upper() for part in ("id", "ip", "psu", "tpp", "uri")}}
"""Parts of header names that are not simply capitalised."""


def check(requirement: Requirement, call: Call, schemas: Schemas) -> None:
    """Check the requirement.

    Raises BankError: `format-error`, `media-type`, or the error that the requirement names.
    """
    for step in requirement.steps:
        if step.error is None:
            _check(step, call, schemas)
            continue
        try:
            _check(step, call, schemas)
        except BankError as error:
            values = {"path": error.path, **error.values, **render(step.values or {}, call.scope())}
            raise BankError(step.error, **values) from None


def _check(requirement: Requirement, call: Call, schemas: Schemas) -> None:
    if requirement.that and not requirement.that(call.scope()):
        raise BankError("format-error", expected=f"the condition {requirement.that_text} is not met")
    of_body = []
    for constraint in requirement.constraints:
        if constraint.place.part == "body":
            of_body.append(constraint)
        else:
            _check_constraint(constraint, call)
    wants_body = of_body or requirement.schema is not None or requirement.media
    if not wants_body or (requirement.optional and not call.request.body.strip()):
        return
    _check_media_type(call, requirement.media)
    body = _body(call)
    for constraint in of_body:
        _check_constraint(constraint, call)
    if requirement.schema is not None:
        schema = schemas[fill_name(requirement.schema, call.path)]
        if complaint := schema.complaint(body):
            member = complaint.pointer[-1] if complaint.pointer else "the body"
            path = pointer_text(complaint.pointer) or None
            raise BankError("format-error", path=path, expected=f"{member} {complaint.text}")
        call.warnings.extend(
            f"the member {pointer} is unknown, and the bank ignores it" for pointer in schema.unlisted(body)
        )


def _body(call: Call) -> Any:
    """Return the JSON body, or None if the body has another media type and is well-formed. Raises BankError."""
    media = media_type(call.headers.get("content-type"))
    kind = kind_of(media)
    if kind == "json":
        return call.body
    if not call.request.body.strip():
        raise BankError("format-error", expected=f"a body with the media type {media} is required")
    try:
        members(call.request.body, media)
    except ValueError as error:
        raise BankError("format-error", expected=str(error)) from None
    return None


def _check_constraint(constraint: Constraint, call: Call) -> None:
    place, values = constraint.place, call.values(constraint.place)
    if place.part == "headers" and len(values) > 1:
        raise BankError(
            "format-error",
            expected=f"the header {header_name(place.name)} must be sent only once, not {len(values)} times",
        )
    # Handlers read the first of several values, but a matcher accepts any, so check each value.
    if all(constraint.fits((value,)) for value in values) if len(values) > 1 else constraint.fits(values):
        return
    pointer = place.name if place.part == "body" else None
    kind = {"headers": "header", "query": "query parameter", "body": "member"}.get(place.part, "value")
    name = header_name(place.name) if place.part == "headers" else place.name
    expected = in_words(constraint.spec)
    if values:
        text = f"the {kind} {name} must be {expected}"
    elif expected == "there":
        text = f"the {kind} {name} is missing"
    else:
        text = f"the {kind} {name} is missing; it must be {expected}"
    raise BankError("format-error", path=pointer, expected=text)


def header_name(name: str) -> str:
    """Return the name in its usual spelling: X-Request-ID, PSU-IP-Address."""
    return "-".join(_SPELLED.get(part) or part.capitalize() for part in name.split("-"))


def _check_media_type(call: Call, types: Collection[str]) -> None:
    """Check the Content-Type. `types` are the accepted types; empty means JSON. Raises BankError."""
    if (encoding := call.headers.get("content-encoding", "identity").strip().lower()) != "identity":
        raise BankError("media-type", expected=f"Content-Encoding {encoding} is not accepted; send the body as it is")
    content_type = call.headers.get("content-type")
    media = media_type(content_type)
    if types:
        if media not in types:
            text = f"Content-Type must be {' or '.join(types)}, not {media or 'empty'}"
            raise BankError(
                "media-type", expected=text if content_type is not None else f"{text}; the request has none"
            )
        return
    if not is_json_field(content_type):
        raise BankError("media-type", expected=f"Content-Type must be application/json, not {media or 'empty'}")
