"""The credentials for the sandbox itself. They are never sent to banks, and no other response may set them."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from msgspec import structs

from xs2a_sandbox.http.messages import Headers, Request
from xs2a_sandbox.http.own_path import is_own

COOKIE = "xs2a-console"
"""What the names of the cookies begin with. Each run of a sandbox adds its own ending: ports share cookies."""


def console_cookies(headers: Headers, cookie: str) -> list[str]:
    """Return the values of a console's cookie in a request."""
    values = []
    for header in headers.all("Cookie"):
        for pair in header.split(";"):
            name, _, value = pair.strip().partition("=")
            if name.strip() == cookie:
                values.append(value.strip())
    return values


def without_own_credentials(request: Request) -> Request:
    """Return the request as others may see it: without the console's cookie, and without a Referer to our own pages."""
    first = request.headers.first
    if COOKIE not in first.get("cookie", "") and "referer" not in first and len(first) == len(request.headers.pairs):
        return request
    return structs.replace(request, headers=Headers(_drop_own(request.headers)))


def _drop_own(headers: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    for name, value in headers:
        match name.lower():
            case "cookie":
                pairs = [pair for pair in value.split(";") if not _is_own(pair)]
                if pairs:
                    yield name, ";".join(pairs).strip()
            case "referer" if is_own(urlsplit(value).path):
                pass
            case _:
                yield name, value


def sets_console_cookie(name: str, value: str) -> bool:
    """Return whether a response header sets the console's cookie, which only the console may do."""
    return name.lower() == "set-cookie" and _is_own(value)


def _is_own(pair: str) -> bool:
    return pair.partition("=")[0].strip().startswith(COOKIE)
