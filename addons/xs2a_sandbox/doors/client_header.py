"""The client certificate that a reverse proxy passes on in a header. Only that proxy is trusted to send it.

Nginx ($ssl_client_escaped_cert), Apache, Traefik and Azure send PEM, percent-encoded or on one line; HAProxy and others
that follow RFC 9440 send DER in base64; Envoy sends one of several fields (x-forwarded-client-cert).
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import unquote_to_bytes

from xs2a_sandbox.config.readers import Network
from xs2a_sandbox.http import Headers

_ENVOY = re.compile(r"(?:^|[;,])Cert=\"?([^\";,]+)", re.IGNORECASE)
_ARMOUR = re.compile(rb"-----(?:BEGIN|END) [A-Z ]+-----")


@dataclass(frozen=True, slots=True)
class ClientHeader:
    """The name of the header in lower case, and the networks from which it is trusted."""

    name: str
    networks: Collection[Network]

    @classmethod
    def of(cls, name: str | None, networks: Collection[Network]) -> "ClientHeader | None":
        return cls(name.lower(), networks) if name else None

    def take(self, headers: Headers, peer: Any) -> tuple[Headers, tuple[bytes, ...]]:
        """Remove this header. Return the other headers, and the certificates in it: none from an untrusted peer."""
        values = [value for value in headers.all(self.name) if value]
        if self.name not in headers.first:
            return headers, ()
        left = Headers(pair for pair in headers if pair[0].lower() != self.name)
        return left, tuple(map(_der, values)) if self._believes(peer) else ()

    def _believes(self, peer: Any) -> bool:
        if not isinstance(peer, tuple):
            return False
        address = ip_address(str(peer[0]).partition("%")[0])
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in network for network in self.networks)


def _der(value: str) -> bytes:
    """Return the certificate in DER. Invalid content is returned as it is; the code that reads it reports the error."""
    match = _ENVOY.search(value)
    text = unquote_to_bytes((match[1] if match else value).strip().strip(':"'))
    try:
        return b64decode(b"".join(_ARMOUR.sub(b"", text).split()), validate=True)
    except (binascii.Error, ValueError):
        return text
