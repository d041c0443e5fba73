"""An answer as a client would see it come over a connection, for clients that have none."""

from dataclasses import replace

from xs2a_sandbox import door
from xs2a_sandbox.door import Answer
from xs2a_sandbox.messages import Request, Response

NOT_HTTP = b"This is not HTTP"
"""What the fault `malformed` sends."""


async def ask(answer: Answer, request: Request) -> Response:
    """The answer in one piece."""
    response = await answer(request)
    if response.rest is None:
        return response
    body = bytearray(response.body)
    try:
        async for piece in response.rest:
            body += piece
    finally:
        await response.rest.aclose()
    return replace(response, body=bytes(body), rest=None)


def framed(response: Response, method: str) -> list[tuple[str, str]]:
    """The headers as a door sends them. A truncated answer promises at least a byte more than there is."""
    headers = door.framed(response, method)
    if response.fault == "truncate":
        headers = [pair for pair in headers if pair[0] != "Content-Length"]
        headers.append(("Content-Length", str(len(response.body) or 1)))
    return headers


def sent(response: Response) -> bytes:
    """What of the body is on its way before the connection breaks."""
    return response.body[: len(response.body) // 2] if response.fault == "truncate" else response.body
