"""Scheme, host and port as one value, to compare targets of requests and origins of web pages."""

import re
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from xs2a_sandbox.http.messages import Headers, Request

PORTS = {"http": 80, "https": 443}
"""The default port of each scheme."""

_AUTHORITY = re.compile(r"([^\x00-\x20\x7f/?#\\@:\[\]<>\"^`{|}]+|\[[0-9A-Fa-f:.]+\])(?::(\d{0,5}))?", re.ASCII)
_URL = re.compile(r"(https?)://([^/?#\\]*)(?:[/?#].*)?", re.IGNORECASE | re.DOTALL)


class Origin(NamedTuple):
    """`host` is in lower case and without brackets; `port` is the scheme's default if none was given."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, scheme: str, authority: str) -> "Origin | None":
        """Return the origin, or None if the text is not an authority, for example because it contains a user."""
        scheme = scheme.lower()
        host, port = split_authority(authority) or ("", None)
        port = PORTS.get(scheme) if port is None else port
        return cls(scheme, host, port) if host and scheme in PORTS and port is not None else None

    @classmethod
    def parse(cls, url: str) -> "Origin | None":
        """Return the origin of an absolute URL, or None for anything else."""
        match = _URL.fullmatch(url)
        return cls.of(match[1], match[2]) if match else None

    def fits(self, entry: str) -> bool:
        """Return whether it matches an entry of `hosts`. An entry without a port means the scheme's default."""
        host, port = _of_entry(entry)
        return (host, PORTS[self.scheme] if port is None else port) == (self.host, self.port)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" if self.port == PORTS[self.scheme] else f"{self.scheme}://{host}:{self.port}"


@lru_cache(64)
def split_authority(text: str) -> tuple[str, int | None] | None:
    """Return host and port of `bank.example:8443`, or None if the text is not an authority."""
    match = _AUTHORITY.fullmatch(text)
    if not match or (match[2] and not 0 < int(match[2]) < 65536):
        return None
    host = match[1].lower()
    if host.startswith("["):
        try:
            host = str(IPv6Address(host[1:-1]))
        except ValueError:
            return None
    return host, int(match[2]) if match[2] else None


def host_of(entry: str) -> str:
    """Return the host in an entry of `hosts`."""
    return _of_entry(entry)[0]


def _of_entry(entry: str) -> tuple[str, int | None]:
    """Return host and port of an entry. Without a port, an IPv6 address has no brackets."""
    return split_authority(entry) or (entry, None)


def destinations(request: Request) -> frozenset[Origin | None]:
    """Return all origins that a request names as its target. A consistent client names one; None is an invalid one.

    They come from the requested host, every `Host` header, and the target of the client's tunnel.
    """
    origins = {Origin.of(request.scheme, authority) for authority in request.headers.all("Host")}
    if request.tunnel:
        origins.add(Origin.of(request.scheme, request.tunnel))
    host = f"[{request.host}]" if ":" in request.host else request.host
    target = Origin.of(request.scheme, host if request.port is None else f"{host}:{request.port}")
    # A target without a port has the port of the `Host` with the same name.
    if request.port is not None or not any(origin and target and origin.host == target.host for origin in origins):
        origins.add(target)
    return frozenset(origins)


def hostname(authority: str) -> str:
    """Return the host: `Bank.example:443` gives `bank.example`, `[::1]:443` gives `::1`."""
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0].lower()


def host_and_port(authority: str, headers: Headers) -> tuple[str, int | None]:
    """Return host and port of a request, from its authority or its `Host` header. The port may be None."""
    return _host_and_port(authority or headers.first.get("host", ""))


@lru_cache(64)
def _host_and_port(authority: str) -> tuple[str, int | None]:
    return hostname(authority), (split_authority(authority) or ("", None))[1]


def make_reachable(host: str) -> str:
    """Return an address that a client can use: a door on all interfaces is also on loopback."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)


def address(host: str, port: int) -> str:
    return f"{f'[{host}]' if ':' in host else host}:{port}"


def is_local(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host.lower() == "localhost"


def url(scheme: str, host: str, port: int) -> str:
    """Return the URL of a listening address, as a client can use it."""
    return f"{scheme}://{address(make_reachable(host), port)}"
