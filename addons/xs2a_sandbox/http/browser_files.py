"""Files that browsers request by themselves from every site. Such requests are not the app's."""

from xs2a_sandbox.errors import BankError

_PATHS = frozenset(
    {
        "/favicon.ico",
        "/apple-touch-icon.png",
        "/apple-touch-icon-precomposed.png",
        "/.well-known/appspecific/com.chrome.devtools.json",
    }
)


def is_browser_file(method: str, target: str) -> bool:
    return method in ("GET", "HEAD") and target.partition("?")[0] in _PATHS


def unavailable(target: str) -> BankError:
    """Return the error for such a request."""
    path = target.partition("?")[0]
    return BankError(
        "path-unknown", id=path, hint="only browsers request this file, so it does not count as a request of the app"
    )
