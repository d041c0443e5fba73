"""Describes in a few words why a request failed, as it may be shown in the log, the journal and tracebacks."""

import json
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.body import decode
from xs2a_sandbox.http.error_body import ErrorMessage, read_errors

_LONGEST_BODY = 256 * 1024
"""The most bytes of an answer that are read for its reason, because reasons are in short answers."""

_SHORTEST = 4
"""The least length of a secret that is hidden. Shorter ones occur in too many words."""

_NEAR = 0.3
"""A path with this distance or a longer one was probably not meant."""

_HIDDEN = "…"


def of_answer(response: Response) -> str | None:
    """Return the reason in an answer: the code and text of its error, or None if it has none that is known."""
    if len(response.body) > _LONGEST_BODY:
        return None
    content = decode(Headers(response.headers), response.body)
    try:
        body = json.loads(response.body if content is None else content)
    except (ValueError, RecursionError):
        return None
    errors = read_errors(body)
    return _of_message(errors[0], body.get("sandbox")) if errors else None


def of_failure(error: BaseException) -> str:
    """Return the type and text of an internal error, without its place."""
    # The text of a BankError is defined by the dialect. If a real bank failed, the reason describes it.
    text = str(error.values.get("reason") or error.name) if isinstance(error, BankError) else str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def without_secrets(text: str, request: Request | None, redact: Callable[[str], str]) -> str:
    """Return the text as it may be shown. All reasons and texts of exceptions go through this function.

    It removes every secret that the request itself contains; `redact` removes the rest.
    """
    secrets = {secret for secret in _find_sent(request) if len(secret) >= _SHORTEST} if request else set()
    for secret in sorted(secrets - {_HIDDEN}, key=len, reverse=True):
        for form in (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1]):
            text = text.replace(form, _HIDDEN)
    try:
        return redact(text)
    except Exception as error:
        # The text of the error could quote data that must not be shown.
        return f"(not shown, because it could not be redacted: {type(error).__name__})"


def _of_message(message: ErrorMessage, diagnosis: Any) -> str | None:
    code, text, path = message
    if path:
        text = f"{text} (at {path})" if text else f"at {path}"
    if isinstance(diagnosis, dict):
        text = f"{text}; {near}" if (near := _find_near(diagnosis)) else text
    return ": ".join(word for word in (code, text) if word) or None


def _find_near(diagnosis: Mapping[str, Any]) -> str | None:
    """Return the path that was probably meant instead of an unknown one."""
    match diagnosis:
        case {"decision": "sandbox", "message": str(text)}:
            return text
        case {"nearest": [{"distance": int() | float() as distance, "missed": list(missed)}, *_]} if distance < _NEAR:
            return next((str(m["text"]) for m in missed if isinstance(m, dict) and m.get("what") == "path"), None)
    return None


def _find_sent(request: Request) -> Iterator[str]:
    """Yield all credentials in the request, found by the names under which they were sent."""
    from xs2a_sandbox.redaction.allowlist import is_secret  # imported for the first refused request

    for name, value in request.headers:
        if is_secret(name):
            yield value
            yield value.partition(" ")[2]  # without the scheme
            yield from _basic(value)
    query = request.target.partition("?")[2]
    body = request.body.decode("latin-1")
    for name, value in (*_pairs(query), *_pairs(body)):
        if is_secret(name) or name == "code":
            yield value
    try:
        waiting = [json.loads(request.body)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            for name, inner in value.items():
                if is_secret(name):
                    yield from _texts(inner)
                else:
                    waiting.append(inner)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
    elif value is not None:
        yield str(value)


def _pairs(text: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text, max_num_fields=1000) if "=" in text else []
    except ValueError:
        return []


def _basic(value: str) -> Iterator[str]:
    scheme, _, encoded = value.partition(" ")
    if scheme.lower() == "basic":
        try:
            yield b64decode(encoded, validate=True).decode("utf-8", "replace").partition(":")[2]
        except (Error, ValueError):
            return
