"""Header fields that don't count: the one list of them, by the reason why."""

OURS = "x-sandbox-"
"""Begins the fields between a client and the sandbox, which no bank sees and no recording has."""

HOP_BY_HOP = frozenset(
    "connection http2-settings keep-alive proxy-connection te trailer transfer-encoding upgrade".split()
)
"""About one connection: whoever sends the message on leaves them out."""

FRAMING = HOP_BY_HOP | {"content-length", "expect", "host"}
"""How a message is sent, not what it says: whoever sends it anew says these anew."""

NOISE = frozenset(
    """
    age content-security-policy dnt etag expires last-modified matched-stub-id matched-stub-name permissions-policy
    pragma priority referrer-policy sec-fetch-dest sec-fetch-mode sec-fetch-site server strict-transport-security
    upgrade-insecure-requests user-agent vary via x-content-type-options x-frame-options x-powered-by x-xss-protection
    """.split()
)
"""About browsers, caches and makes of servers: they hold no person's data, and no app goes by them."""

_ONCE = frozenset(
    # Only that one message was sent then, in that coding, signed over those bytes.
    "content-digest content-encoding content-md5 date digest repr-digest signature signature-input"
    " tpp-signature-certificate x-request-id"
    # It belongs to one client, or to one way through the network.
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
    """True for a field of an answer that rules answer with, and that is compared: another answer has it as well."""
    name = name.lower()
    return name not in _NEVER_COUNT and not name.startswith(_ONCE_PREFIXES)
