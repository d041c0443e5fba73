"""One exchange of the journal as the console shows it: as a curl line, as text, as one of those about a resource."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.http.header_fields import FRAMING

_NOT_TYPED = FRAMING | {"accept-encoding"}
"""Header fields that curl sends by itself."""


def curl(exchange: Mapping[str, Any], base_url: str) -> str:
    """The request as a command for the base URL."""
    words = ["curl", "-i", "-X", exchange["method"]]
    for name, value in exchange["request"]["headers"]:
        if name.lower() not in _NOT_TYPED:
            words += ["-H", f"{name}: {value}"]
    if text := body_text(exchange["request"], indent=None):
        words += ["--data-binary", text]
    return shlex.join([*words, base_url + exchange["target"]])


def body_text(message: Mapping[str, Any], indent: int | None = 2) -> str:
    """A body of the journal as text, JSON with lines; nothing where there is none."""
    if "body" in message:
        return json.dumps(message["body"], ensure_ascii=False, indent=indent)
    return str(message.get("text", message.get("base64", "")))


def mentions(exchange: Mapping[str, Any], id: str) -> bool:
    """Tells if it is about a resource: its address, a header or the answer names it."""
    headers = (value for _, value in exchange["request"]["headers"])
    return any(id.lower() in text.lower() for text in (exchange["target"], *headers, body_text(exchange["answer"])))
