"""Guesses the body from which a client made its digest, before a library encoded it again."""

import hashlib
import json
from collections.abc import Iterator


def other_bodies(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the encodings that libraries produce from the body, each with the difference in words."""
    if body:
        yield "an empty body", b""
    else:
        yield "the body {}", b"{}"
        yield "the body null", b"null"
        yield "the body undefined", b"undefined"
    for words, end in (("a line end after it", b"\n"), ("a carriage return and a line feed after it", b"\r\n")):
        yield f"the body with {words}", body + end
    yield "the body without white space at its ends", body.strip()
    if b"\r\n" in body:
        yield "the body with line feeds only", body.replace(b"\r\n", b"\n")
    elif b"\n" in body:
        yield "the body with carriage returns before its line feeds", body.replace(b"\n", b"\r\n")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return
    for ascii in (False, True):
        escapes = ", with \\u escapes" if ascii and not body.isascii() else ""
        for ordered in (False, True):
            order = ", its members in alphabetical order" if ordered else ""
            for words, separators, indent in (
                ("without white space", (",", ":"), None),
                ("with blanks after commas and colons", (", ", ": "), None),
                ("indented by 2", (",", ": "), 2),
                ("indented by 4", (",", ": "), 4),
            ):
                try:
                    text = json.dumps(
                        value, ensure_ascii=ascii, sort_keys=ordered, separators=separators, indent=indent
                    )
                    yield f"the body {words}{escapes}{order}", text.encode()
                except (ValueError, TypeError, RecursionError):
                    return


def body_of(digest: bytes, body: bytes) -> str | None:
    """Describe the re-encoding of the body that has this digest, such as "the body indented by 2".

    Returns None if none has it.
    """
    for words, other in other_bodies(body):
        if digest in (hashlib.sha256(other).digest(), hashlib.sha512(other).digest()):
            return words
    return None
