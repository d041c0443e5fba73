"""Header fields that are not part of the content: the only list of them, grouped by reason."""

OURS = "x-sandbox-"
"""Prefix of fields between a client and the sandbox, which are not sent to banks and not recorded."""

HOP_BY_HOP = frozenset(
    "connection http2-settings keep-alive proxy-connection te trailer transfer-encoding upgrade".split()
)
"""Fields about one connection. They are removed when a message is forwarded."""

FRAMING = HOP_BY_HOP | {"content-length", "expect", "host"}
"""Fields about the transfer, not the content. They are set again when a message is sent."""

NOISE = frozenset(
    """
    age content-security-policy dnt expires last-modified matched-stub-id matched-stub-name permissions-policy
    priority referrer-policy sec-fetch-dest sec-fetch-mode sec-fetch-site server strict-transport-security
    upgrade-insecure-requests user-agent vary via x-content-type-options x-frame-options x-powered-by x-xss-protection
    """.split()
)
"""Fields about browsers, caches and server software. They contain no personal data, and apps do not depend on them."""

_ONCE = frozenset(
    # Fields that belong to one message: its date, coding or signature.
    "content-digest content-encoding content-md5 date digest etag repr-digest signature signature-input"
    " tpp-signature-certificate x-fapi-interaction-id x-jws-signature x-request-id"
    # Fields that belong to one client or to one network path.
    " alt-svc b3 correlation-id nel p3p report-to server-timing set-cookie set-cookie2 traceparent tracestate"
    " x-correlation-id x-correlationid x-runtime x-served-by x-span-id x-spanid x-timer x-trace-id x-traceid"
    " x-transaction-id x-transactionid".split()
)
_ONCE_PREFIXES = (
    *("cf-", "proxy-", "x-amz", "x-azure-", "x-b3-", "x-cache", "x-cloud-", "x-envoy-", "x-kong-", "x-vcap-"),
    OURS,
)

_NEVER_COUNT = FRAMING | NOISE | _ONCE


def counts(name: str) -> bool:
    """Return whether recorded rules and comparisons include this response header.

    These are the headers that another response to the same request would have, too.
    """
    name = name.lower()
    return name not in _NEVER_COUNT and not name.startswith(_ONCE_PREFIXES)
