"""The configuration of a real bank: where it is, how to trust it, and which requests go to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from xs2a_sandbox.config import kinds, readers
from xs2a_sandbox.config.checks import Checks, Profile
from xs2a_sandbox.config.kinds import SettingKind, setting
from xs2a_sandbox.config.modes import MODES, find_mode
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.origin import Origin, destinations
from xs2a_sandbox.http.target import split_target

_MODE = SettingKind(kinds.MODE.expected, kinds.MODE.read, schema=kinds.MODE.schema, definition="mode")


def _modes(written: Mapping[str, Any], directory: Path) -> tuple[tuple[str, str], ...]:
    if not all(prefix.startswith("/") for prefix in written):
        raise ValueError
    modes = [(prefix, _MODE.read(mode, directory)) for prefix, mode in written.items()]
    return tuple(sorted(modes, key=lambda mode: -len(mode[0])))


_MODES = SettingKind(
    f"a mapping from the start of a path to one of {', '.join(MODES)}",
    _modes,
    schema={"type": "object", "additionalProperties": _MODE.reference},
)
_TLS: SettingKind[Any] = SettingKind("1.2 or 1.3", readers.text(r"1\.[23]"), schema={"type": ["string", "number"]})


class BankHost(NamedTuple):
    """A host name by which a TPP knows a bank, optionally with a port.

    `url` is where its requests go, if not to the bank's own URL: for example to its OAuth server, or its redirect
    pages.
    """

    name: str
    url: str | None = None


def _hosts(written: Any, directory: Path) -> tuple[BankHost, ...]:
    if not isinstance(written, list):
        return tuple(map(BankHost, readers.host_names(written, directory)))
    return tuple(_host(entry, directory) for entry in written)


def _host(entry: Any, directory: Path) -> BankHost:
    if not isinstance(entry, dict):
        (name,) = readers.host_names([entry], directory)
        return BankHost(name)
    (name,) = readers.host_names([entry["host"]], directory)
    return BankHost(name, kinds.BANK_URL.read(entry["url"], directory))


_HOSTS: SettingKind[tuple[BankHost, ...]] = SettingKind(
    "host names, some with a port, or {host: NAME, url: URL}",
    _hosts,
    schema={
        "type": "array",
        "items": {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {
                        "host": {"description": "The host name, optionally with a port.", "type": "string"},
                        "url": {"description": "The URL to which its requests go.", **kinds.BANK_URL.schema},
                    },
                    "required": ["host", "url"],
                    "additionalProperties": False,
                },
            ]
        },
    },
)


class BankDestination(NamedTuple):
    """`sent` is the path with the query for the bank; `target` is its part below `url`."""

    url: str
    target: str
    sent: str

    @property
    def segments(self) -> int:
        """The number of segments below `url`."""
        return len(split_target(self.target).segments)

    def with_target(self, target: str) -> "BankDestination":
        """Return the same destination with another path and query below `url`."""
        return self if target == self.target else self._replace(target=target, sent=urlsplit(self.url).path + target)


@dataclass(frozen=True, slots=True)
class RealBank:
    """`url` has no trailing slash, and is None for a bank that is never asked. Timeouts are in seconds.

    `hosts` are the names by which a TPP knows it, with a port if it is not the scheme's default; `modes` give the mode
    of paths with these beginnings, longest first; a `mode` or `dialect` of None is that of the settings.
    """

    url: str | None = setting(kinds.BANK_URL, None, "Base URL of the bank: https://api.bank.example/psd2.")
    hosts: tuple[BankHost, ...] = setting(
        _HOSTS,
        (),
        "Host names in requests for the bank; use {host, url} for a host whose requests go to a different URL.",
    )
    mode: str | None = setting(_MODE, None, "The mode of its requests; by default the mode of the settings.")
    modes: tuple[tuple[str, str], ...] = setting(
        _MODES, (), "Modes by the start of the path, such as /v1/payments; the longest match wins."
    )
    dialect: str | None = setting(
        kinds.DIALECT, None, "The dialect of the bank; by default the dialect of the settings."
    )
    cassettes: tuple[Path, ...] = setting(
        kinds.CASSETTES, (), "More folders of cassettes, which override those of the settings."
    )
    quirk: tuple[Path, ...] = setting(
        kinds.QUIRKS, (), "The bank's quirks, by name, in addition to the quirks of the settings."
    )
    profile: Profile | None = setting(
        kinds.PROFILE, None, "Its profile, documented or strict; by default the profile of the settings."
    )
    checks: tuple[str, ...] | None = setting(
        kinds.CHECKS, None, "Its checks beyond the documented interface; by default the checks of the settings."
    )
    client_cert: Path | None = setting(
        kinds.FILE, None, "The client certificate (QWAC) for the bank: a PEM file, or PKCS#12 with its key."
    )
    client_key: Path | None = setting(kinds.FILE, None, "The certificate's key, if it is in a separate file.")
    client_key_password: str | None = setting(
        kinds.text("text", r"(?s).+"), None, "The password of the key, or of the PKCS#12 file.", is_secret=True
    )
    ca: Path | None = setting(kinds.FILE, None, "The CA to trust instead of the usual ones, a PEM file.")
    tls_minimum: Literal["1.2", "1.3"] = setting(_TLS, "1.2", "The oldest version of TLS to accept: 1.2 or 1.3.")
    tls_strict: bool = setting(
        kinds.SWITCH, True, "false: accept certificates that violate RFC 5280, like those of some test CAs."
    )
    private: bool = setting(kinds.SWITCH, False, "true: its host name may resolve to a private address.")
    keep_host: bool = setting(kinds.SWITCH, False, "true: send the app's Host header unchanged.")
    rewrite_links: bool = setting(
        kinds.SWITCH,
        True,
        "false: do not rewrite its absolute links, so that they point to the bank instead of the sandbox.",
    )
    connect_timeout: float = setting(kinds.DURATION, 10.0, "Maximum time to connect.", written="10s")
    read_timeout: float = setting(kinds.DURATION, 30.0, "Maximum time without data from the bank.", written="30s")
    total_timeout: float = setting(kinds.DURATION, 60.0, "Maximum time for a complete answer.", written="60s")

    @property
    def judged_by(self) -> Checks:
        """The checks of its profile, and those that are named."""
        return Checks.of(self.profile or "documented", self.checks or ())

    @property
    def origin(self) -> Origin | None:
        """The origin of its URL."""
        return Origin.parse(self.url) if self.url else None

    @property
    def host_names(self) -> tuple[str, ...]:
        return tuple(host.name for host in self.hosts)

    @property
    def urls(self) -> tuple[str, ...]:
        """All URLs to which requests are sent."""
        return tuple(url for url in (self.url, *(host.url for host in self.hosts)) if url)

    def at(self, request: Request) -> "RealBank":
        """Return the bank at the host that a request names, which may have a URL of its own."""
        for host in self.hosts:
            if host.url and (there := replace(self, url=host.url, hosts=(BankHost(host.name),))).is_named_by(request):
                return there
        return self

    def is_named_by(self, request: Request) -> bool:
        """Return whether all hosts in the request belong to this bank: the host and port of its URL, or `hosts`.

        A host with its own URL matches only on the bank that `at` returns.
        """
        return all(self._is_at(origin) for origin in destinations(request))

    def _is_at(self, origin: Origin | None) -> bool:
        if origin is None:
            return False
        return origin == self.origin or any(origin.fits(host.name) for host in self.hosts if not host.url)

    def destination(self, request: Request, typed: str) -> BankDestination:
        """Return the destination of a request; `typed` is its path and query without a session's prefix.

        If the request names the bank's own host, its path is used as it is. Otherwise it names the sandbox, or an
        alias: the path of the bank's URL is prepended to `typed`, unless `typed` starts with it.
        """
        if self.url is None:
            raise ValueError("a bank without a URL is only simulated")
        path = urlsplit(self.url).path
        names_it = destinations(request) == {self.origin}
        # Session prefixes exist only at base URLs; at the proxy the whole path belongs to the bank.
        sent = request.target if names_it and request.door == "proxy" and request.target[:1] == "/" else typed
        destination = self.below(sent)
        if names_it and destination.sent != sent:
            return BankDestination(self.url.removesuffix(path), sent, sent)
        return destination

    def below(self, typed: str) -> BankDestination:
        """Return the destination of a path and query without a host.

        It is below the URL's path, unless they start with it.
        """
        if self.url is None:
            raise ValueError("a bank without a URL is only simulated")
        path = urlsplit(self.url).path
        if typed.startswith(path) and (rest := typed[len(path) :])[:1] in ("", "/", "?"):
            return BankDestination(self.url, rest if rest.startswith("/") else f"/{rest}", typed)
        return BankDestination(self.url, typed, path + typed)

    def mode_of(self, segments: Sequence[str]) -> str:
        """Return the mode of a path, which is without the prefix before the operation.

        Without a URL this is a mode that asks no bank.
        """
        mode = self._pick_mode(segments) if self.modes else self.mode or "simulate"
        is_impossible = self.url is None and mode != "simulate" and find_mode(mode).asks_bank
        return "simulate" if is_impossible else mode

    def _pick_mode(self, segments: Sequence[str]) -> str:
        path = "/" + "/".join(segments)
        for prefix, mode in self.modes:
            if path == prefix or path.startswith(prefix.rstrip("/") + "/"):
                return mode
        return self.mode or "simulate"

    @property
    def can_be_asked(self) -> bool:
        """Whether any request could be sent to it."""
        return self.url is not None and any(mode is None or find_mode(mode).asks_bank for mode in self.all_modes)

    @property
    def all_modes(self) -> frozenset[str | None]:
        return frozenset((self.mode, *dict(self.modes).values()))


_KEYS = {key.name: key for key in kinds.settings_of(RealBank)}


def _read(written: Sequence[Mapping[str, Any]], directory: Path) -> tuple[RealBank, ...]:
    return tuple(_read_one(entry, f"banks[{n}]", directory) for n, entry in enumerate(written))


def _read_one(entry: Mapping[str, Any], place: str, directory: Path) -> RealBank:
    values = {}
    for name, written in entry.items():
        kind = _KEYS[name].kind
        try:
            values[name] = kind.read(written, directory)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{place}.{name} must be {kind.expected}{readers.hint(error)}") from None
    if ("client_key" in values or "client_key_password" in values) and "client_cert" not in values:
        raise ValueError(f"{place}: client_key needs a client_cert")
    return RealBank(**values)


BANKS = SettingKind("a list of banks", _read, schema={"type": "array", "items": {"$ref": "#/$defs/bank"}})
"""Raises ValueError with the entry and its mistake."""


def unknown_host(request: Request, *banks: RealBank) -> BankError:
    """Return the error for a request at the proxy to another host, with the settings that would allow it."""
    place = " and ".join(sorted({str(origin) if origin else request.host for origin in destinations(request)}))
    names = ", ".join(sorted({str(entry) for bank in banks for entry in (*bank.host_names, bank.origin) if entry}))
    only = f", only {names} is" if names else ""
    text = f"{place} is not a host of the bank{only}; if it should be, add it to banks[].hosts in xs2a-sandbox.yaml"
    return BankError(
        "path-unknown", id=request.host, hint=f"{text}, or forward its requests with --forward-host {request.host}"
    )
