"""One exchange, wherever it is from: asked of a bank, read from a recording, kept in the journal, compared."""

from dataclasses import dataclass
from datetime import datetime

from xs2a_sandbox.http.messages import Headers, Request, Response


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and what came back. `time` is when it was sent.

    `bank` is the URL that it was sent to, as configured or else as the client named it; `target` is path and query
    below that URL, as rules see them: `/v1/accounts?x=y`. Of a bank's answer the body is as it was before any
    Content-Encoding. `cut`: of a body only the beginning is kept; `redactions` counts the values that were replaced or
    left out. The answer stands here in its parts, as recordings of other programs hold some that no `Response` can be.
    """

    time: datetime
    milliseconds: float
    bank: str
    method: str
    target: str
    headers: Headers
    body: bytes
    status: int
    answer_headers: Headers
    answer_body: bytes
    cut: bool = False
    redactions: int = 0

    @staticmethod
    def of(request: Request, response: Response, bank: str, time: datetime, milliseconds: float) -> "Exchange":
        """The two as one; it is `cut` where more of the answer is to come."""
        return Exchange(
            time=time,
            milliseconds=milliseconds,
            bank=bank,
            method=request.method,
            target=request.target,
            headers=request.headers,
            body=request.body,
            status=response.status,
            answer_headers=Headers(response.headers),
            answer_body=response.body,
            cut=response.rest is not None,
        )

    @property
    def response(self) -> Response:
        """Raises InvalidResponse for what no bank can have answered."""
        return Response(self.status, self.answer_headers.pairs, self.answer_body)
