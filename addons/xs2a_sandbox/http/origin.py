"""Scheme, host and port, as one thing to compare: where a request is meant to go, and where a web page comes from."""

import re
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from xs2a_sandbox.http.messages import Headers, Request

PORTS = {"http": 80, "https": 443}
"""By scheme, the port that no port means."""

_AUTHORITY = re.compile(r"([^\x00-\x20\x7f/?#\\@:\[\]<>\"^`{|}]+|\[[0-9A-Fa-f:.]+\])(?::(\d{0,5}))?", re.ASCII)
_URL = re.compile(r"(https?)://([^/?#\\]*)(?:[/?#].*)?", re.IGNORECASE | re.DOTALL)


class Origin(NamedTuple):
    """`host` is in lower case and without brackets, `port` the scheme's own where none was written."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, scheme: str, authority: str) -> "Origin | None":
        """None for what is no authority, such as one with a user in it."""
        scheme = scheme.lower()
        host, port = split_authority(authority) or ("", None)
        port = PORTS.get(scheme) if port is None else port
        return cls(scheme, host, port) if host and scheme in PORTS and port is not None else None

    @classmethod
    def parse(cls, url: str) -> "Origin | None":
        """The origin of an absolute URL; None for anything else."""
        match = _URL.fullmatch(url)
        return cls.of(match[1], match[2]) if match else None

    def fits(self, entry: str) -> bool:
        """True if an entry of `hosts` names it; one without a port stands for the scheme's own."""
        host, port = _of_entry(entry)
        return (host, PORTS[self.scheme] if port is None else port) == (self.host, self.port)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" if self.port == PORTS[self.scheme] else f"{self.scheme}://{host}:{self.port}"


@lru_cache(64)
def split_authority(text: str) -> tuple[str, int | None] | None:
    """Host and port of `bank.example:8443`; None for what is no authority."""
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
    """The name in an entry of `hosts`."""
    return _of_entry(entry)[0]


def _of_entry(entry: str) -> tuple[str, int | None]:
    """An IPv6 address without a port stands there without brackets."""
    return split_authority(entry) or (entry, None)


def destinations(request: Request) -> frozenset[Origin | None]:
    """All that a request names as where it is to go: one, if its client is consistent. None for what is no authority.

    The host that was asked for, every `Host` header, and the address that the client's tunnel leads to.
    """
    origins = {Origin.of(request.scheme, authority) for authority in request.headers.all("Host")}
    if request.tunnel:
        origins.add(Origin.of(request.scheme, request.tunnel))
    host = f"[{request.host}]" if ":" in request.host else request.host
    target = Origin.of(request.scheme, host if request.port is None else f"{host}:{request.port}")
    # Without a port of its own it is the one of that `Host`.
    if request.port is not None or not any(origin and target and origin.host == target.host for origin in origins):
        origins.add(target)
    return frozenset(origins)


def hostname(authority: str) -> str:
    """`Bank.example:443` to `bank.example`, `[::1]:443` to `::1`."""
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0].lower()


def host_and_port(authority: str, headers: Headers) -> tuple[str, int | None]:
    """Host and port that a request names: in its authority, else in its `Host` header. Without port None."""
    return _host_and_port(authority or headers.first.get("host", ""))


@lru_cache(64)
def _host_and_port(authority: str) -> tuple[str, int | None]:
    return hostname(authority), (split_authority(authority) or ("", None))[1]


def make_reachable(host: str) -> str:
    """The address that can be typed: a door that listens on all interfaces is also on loopback."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)


def address(host: str, port: int) -> str:
    return f"{f'[{host}]' if ':' in host else host}:{port}"


def is_local(host: str) -> bool:
    """True if only this machine reaches what listens there."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host.lower() == "localhost"


def url(scheme: str, host: str, port: int) -> str:
    """The URL of what listens there, as it can be typed."""
    return f"{scheme}://{address(make_reachable(host), port)}"
