"""Ways into the engine without a socket, for the HTTP clients that apps are written with.

What a door does to a connection becomes the exception that the client raises for such a connection.
"""

from typing import TYPE_CHECKING

from xs2a_sandbox.door import Answer
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.loop_thread import LoopThread

if TYPE_CHECKING:
    from xs2a_sandbox.httpx_transport import HttpxTransport
    from xs2a_sandbox.requests_adapter import RequestsAdapter


def httpx_transport(answer: Answer, loop: LoopThread) -> "HttpxTransport":
    """For `httpx.Client(transport=…)` and `httpx.AsyncClient(transport=…)`. Raises UserMistake without httpx."""
    try:
        from xs2a_sandbox.httpx_transport import HttpxTransport
    except ImportError as error:
        raise _missing("httpx", error) from None
    return HttpxTransport(answer, loop)


def requests_adapter(answer: Answer, loop: LoopThread) -> "RequestsAdapter":
    """For `requests.Session().mount("https://", …)`. Raises UserMistake without requests."""
    try:
        from xs2a_sandbox.requests_adapter import RequestsAdapter
    except ImportError as error:
        raise _missing("requests", error) from None
    return RequestsAdapter(answer, loop)


def _missing(package: str, error: ImportError) -> UserMistake:
    name = (error.name or "").partition(".")[0]
    if name not in (package, "urllib3", "httpcore"):
        raise error
    return UserMistake(f"{package} is not installed here: install it where the tests run, or use another client")
