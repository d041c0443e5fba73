"""Which headers of an answer are compared, and in which spelling."""

from collections.abc import Sequence

ALWAYS_COMPARED = frozenset({"content-type", "location", "aspsp-sca-approach"})
"""Names of headers that every interface of this kind has."""

_VOLATILE = frozenset(
    # What differs in every answer, or says who transported it.
    "age alt-svc cf-cache-status cf-ray correlation-id date etag expires last-modified nel p3p report-to server"
    " server-timing set-cookie strict-transport-security traceparent tracestate via x-correlation-id x-powered-by"
    " x-request-id x-runtime x-served-by x-trace-id"
    # How the message is framed.
    " connection content-encoding content-length keep-alive proxy-authenticate proxy-connection te trailer"
    " transfer-encoding upgrade".split()
)
_VOLATILE_PREFIXES = ("x-sandbox-", "x-amz", "x-b3-", "x-envoy-", "x-cache")


def compared(headers: Sequence[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """By lower-case name: the name as written, and all its values in one."""
    found: dict[str, tuple[str, str]] = {}
    for written, value in headers:
        name = written.lower()
        if name in _VOLATILE or name.startswith(_VOLATILE_PREFIXES):
            continue
        value = _media_type(value) if name == "content-type" else value.strip()
        found[name] = (found[name][0], f"{found[name][1]}, {value}") if name in found else (written, value)
    return found


def _media_type(text: str) -> str:
    """One of several spellings. JSON is UTF-8 whatever its charset says."""
    kind, *parameters = (part.strip() for part in text.split(";"))
    kind = kind.lower()
    is_json = kind.endswith(("/json", "+json"))
    pairs = (parameter.partition("=") for parameter in parameters if parameter)
    kept = {name.strip().lower(): value.strip().strip('"').lower() for name, _, value in pairs}
    if is_json:
        kept.pop("charset", None)
    return "; ".join([kind, *(f"{name}={value}" for name, value in sorted(kept.items()))])
