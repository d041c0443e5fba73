"""The text that is signed: headers of a message, one per line (draft-cavage-http-signatures-10, section 2.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from xs2a_sandbox.http import Headers

REQUEST_TARGET = "(request-target)"


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """The parts of a request or an answer that can be signed. An answer has neither `method` nor `target`."""

    headers: Headers
    body: bytes = b""
    method: str = ""
    target: str = ""
    url: str = ""

    @property
    def is_answer(self) -> bool:
        return not self.method

    def value(self, name: str) -> str | None:
        """Return the signed value of a header, with repeated headers joined, or None if there is none."""
        if name == REQUEST_TARGET:
            return f"{self.method.lower()} {self.target}" if not self.is_answer else None
        values = self.headers.all(name)
        return ", ".join(value.strip() for value in values) if values else None


def signing_string(names: Sequence[str], message: SignedMessage) -> str:
    """Return the signed text. A missing header counts as empty."""
    return "\n".join(f"{name}: {message.value(name) or ''}" for name in names)
