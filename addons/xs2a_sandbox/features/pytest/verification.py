"""`xs2a_sandbox.verify`: verifies the signature of an answer of any HTTP client."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Protocol

from xs2a_sandbox.http import Headers
from xs2a_sandbox.signatures import answers


class SignedAnswer(Protocol):
    """A response from requests, httpx or the sandbox's own clients, with its body already read."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def content(self) -> bytes: ...


def verify(response: SignedAnswer, *, ca: str | PathLike[str] | None = None) -> None:
    """Raise WrongSignature with the reason, unless the bank has signed the answer as it was received.

    `ca` is a PEM file: if it is given, that CA must have issued the seal.
    """
    answers.verify(Headers(response.headers.items()), response.content, Path(ca) if ca is not None else None)
