"""A developer's changes to a message that a breakpoint holds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec import structs

from xs2a_sandbox.http.messages import Headers, Request, Response

type Pairs = tuple[tuple[str, str], ...]

_OF_THE_BODY = frozenset({"content-length", "content-encoding", "transfer-encoding"})
"""Headers that describe the body before the edit."""


@dataclass(frozen=True, slots=True)
class Edits:
    """`headers` are the new values of headers, empty to remove a header. With `drop` the client gets no answer.

    Without any of these the message stays unchanged.
    """

    status: int | None = None
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    body: bytes | None = None
    drop: bool = False

    def __bool__(self) -> bool:
        return self != Edits()

    def change_request(self, request: Request) -> Request:
        """Return the edited request. Its destination, door and client stay the same."""
        body = request.body if self.body is None else self.body
        return structs.replace(request, headers=Headers(self._change_headers(request.headers)), body=body)

    def change_response(self, response: Response) -> Response:
        """Return the edited response, without its `rest` if the body was replaced. Raises InvalidResponse."""
        return Response(
            self.status or response.status,
            tuple(self._change_headers(response.headers)),
            response.body if self.body is None else self.body,
            response.fault,
            response.rest if self.body is None else None,
        )

    def describe(self) -> str:
        """Return the names of the changed parts, without their values."""
        parts = [] if self.status is None else ["status"]
        parts += [f"header {name}" for name in self.headers]
        parts += [] if self.body is None else ["body"]
        return ", ".join(parts)

    def _change_headers(self, pairs: Iterable[tuple[str, str]]) -> Pairs:
        """Return the headers with changes in place, and new headers at the end."""
        left = {name.lower(): [(name, value) for value in values] for name, values in self.headers.items()}
        changed = frozenset(left)
        result: list[tuple[str, str]] = []
        for name, value in pairs:
            low = name.lower()
            if self.body is not None and low in _OF_THE_BODY and low not in changed:
                continue
            if low in changed:
                result += left.pop(low, [])
            else:
                result.append((name, value))
        return (*result, *(pair for added in left.values() for pair in added))
