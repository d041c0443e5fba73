"""One exchange from any source: with a bank, in a recording, in the journal, or in a comparison."""

from dataclasses import dataclass
from datetime import datetime

from xs2a_sandbox.http.messages import Headers, Request, Response


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its response. `time` is when the request was sent.

    `bank` is the URL that it was sent to, as configured or else as the client wrote it; `target` is path and query
    below that URL, as rules see them: `/v1/accounts?x=y`. The body of a bank's response is decoded. `cut` means that
    only the beginning of a body is kept; `redactions` is the number of values that were replaced or left out. The
    response is stored in parts, because recordings of other programs contain some that are not valid as a `Response`.
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
        """Make an exchange. It is `cut` if more of the response is to follow."""
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
        """The response. Raises InvalidResponse if it is not valid HTTP."""
        return Response(self.status, self.answer_headers.pairs, self.answer_body)
