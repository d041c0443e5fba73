"""Splits multipart bodies into parts with names."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xs2a_sandbox.http.media_type import media_type

if TYPE_CHECKING:
    from email.message import Message

_FIRST_LINE = re.compile(rb"(?:\A|\r?\n)--([^\r\n]{1,70}?)[ \t]*\r?\n")
_BOUNDARY = re.compile(r"""\s*;\s*boundary\s*=\s*(?:"[^"]*"|[^;\s]*)""", re.IGNORECASE)
BOUNDARY = "boundary-of-the-recording"
"""Replaces the boundary in recordings, because clients generate a new one for each body."""

_MOST = 1000
"""The most parts in a body."""


@dataclass(frozen=True, slots=True)
class BodyPart:
    """`name` is the name of a form field, or the part's number; `kind` is its Content-Type, empty if it has none.

    `content` is decoded; `disposition` is the value of its Content-Disposition.
    """

    name: str
    kind: str
    content: bytes
    disposition: str = ""

    @property
    def media(self) -> str:
        return media_type(self.kind)


def is_multipart(media: str) -> bool:
    return media.startswith("multipart/")


def without_boundary(field: str) -> str:
    """Return a Content-Type without the boundary, which clients generate for each multipart body."""
    return _BOUNDARY.sub("", field, count=1) if is_multipart(media_type(field)) else field


def parts(body: bytes) -> tuple[BodyPart, ...]:
    """Split a body at the boundary with which it begins. Raises ValueError with the mistake."""
    from email.parser import BytesParser  # imported for the first such body

    first = _FIRST_LINE.search(body)
    # RFC 2046: a body without its last boundary is truncated.
    if first is None or b"--" + first[1] + b"--" not in body:
        raise ValueError("the body must be multipart, so it must start and end with a boundary")
    head = b'Content-Type: multipart/form-data; boundary="' + first[1].replace(b'"', b"") + b'"\r\n\r\n'
    try:
        message: Any = BytesParser().parsebytes(head + body)
        messages = message.get_payload()
    except RecursionError:
        raise ValueError("the body is nested too deep") from None
    if not isinstance(messages, list) or len(messages) > _MOST:
        raise ValueError(f"the body must be multipart, with at most {_MOST} parts")
    return tuple(_parts(messages))


def _parts(messages: "Sequence[Message]") -> Iterator[BodyPart]:
    for number, message in enumerate(messages):
        name = message.get_param("name", header="content-disposition")
        content = message.get_payload(decode=True)
        if not isinstance(content, bytes):  # a nested multipart, which is left as it is
            content = message.as_bytes()
        kind = str(message.get("content-type", ""))
        disposition = str(message.get("content-disposition", ""))
        yield BodyPart(name if isinstance(name, str) else str(number), kind, content, disposition)


def with_boundary(field: str, boundary: str) -> str:
    """Return the Content-Type of a multipart body with this boundary. Other types are returned unchanged."""
    return f"{without_boundary(field)}; boundary={boundary}" if is_multipart(media_type(field)) else field


def join(parts: Sequence[BodyPart], boundary: str) -> bytes:
    """Return the body of these parts. Raises ValueError if one of them contains the boundary."""
    delimiter = b"--" + boundary.encode()
    pieces = []
    for part in parts:
        if delimiter in part.content:
            raise ValueError("a part of the body contains the boundary")
        fields = {"Content-Disposition": part.disposition, "Content-Type": part.kind}
        head = "".join(f"{name}: {text}\r\n" for name, text in fields.items() if text)
        pieces.append(b"%s\r\n%s\r\n%s\r\n" % (delimiter, head.encode(), part.content))
    return b"".join(pieces) + delimiter + b"--\r\n"
