"""A real bank as it is configured: where it is, how to trust it, and which of the requests are its to answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from xs2a_sandbox.config import readers
from xs2a_sandbox.config.readers import seconds
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.origin import Origin, named

Mode = Literal["simulate", "spy", "record", "compare"]
MODES = ("simulate", "spy", "record", "compare")


@dataclass(frozen=True, slots=True)
class RealBank:
    """`url` ends without a slash; None for a bank that is only simulated. Timeouts are in seconds.

    `hosts` are the names that a TPP knows it by, with a port where that is not the scheme's own; `modes` say the mode
    of paths that begin like that, longest first; a `mode` or `dialect` of None is that of the settings.
    """

    url: str | None = None
    hosts: tuple[str, ...] = ()
    mode: Mode | None = None
    modes: tuple[tuple[str, Mode], ...] = ()
    dialect: str | None = None
    cassettes: tuple[Path, ...] = ()
    client_cert: Path | None = None
    client_key: Path | None = None
    client_key_password: str | None = field(default=None, repr=False)
    ca: Path | None = None
    tls_minimum: Literal["1.2", "1.3"] = "1.2"
    tls_strict: bool = True
    private: bool = False
    keep_host: bool = False
    rewrite_links: bool = True
    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    total_timeout: float = 60.0

    @property
    def origin(self) -> Origin | None:
        """Where it is itself."""
        return Origin.parse(self.url) if self.url else None

    def is_named_by(self, request: Request) -> bool:
        """Whether all that the request names is this bank: its own scheme, host and port, or one of `hosts`."""
        return all(self._is_at(origin) for origin in named(request))

    def _is_at(self, origin: Origin | None) -> bool:
        return origin is not None and (origin == self.origin or any(origin.fits(entry) for entry in self.hosts))

    def mode_of(self, segments: Sequence[str]) -> Mode:
        """The mode of a path that begins where its operation begins."""
        if self.url is None:
            return "simulate"
        path = "/" + "/".join(segments)
        for prefix, mode in self.modes:
            if path == prefix or path.startswith(prefix.rstrip("/") + "/"):
                return mode
        return self.mode or "simulate"

    @property
    def can_be_asked(self) -> bool:
        """Whether any request could ever be sent to it."""
        return self.url is not None and any(mode != "simulate" for mode in self.all_modes)

    @property
    def all_modes(self) -> frozenset[Mode | None]:
        return frozenset((self.mode, *dict(self.modes).values()))


def read(written: Any, directory: Path) -> tuple[RealBank, ...]:
    """The setting `banks`. Raises ValueError with what is wrong in which entry."""
    return tuple(_read_one(entry, f"banks[{n}]", directory) for n, entry in enumerate(written))


def _read_one(entry: Mapping[str, Any], place: str, directory: Path) -> RealBank:
    values = {}
    for name, value in entry.items():
        expected, reader = _KEYS[name]
        try:
            values[name] = reader(value, directory)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{place}.{name} must be {expected}{readers.hint(error)}") from None
    if ("client_key" in values or "client_key_password" in values) and "client_cert" not in values:
        raise ValueError(f"{place}: client_key goes with a client_cert")
    return RealBank(**values)


def _mode(written: Any, directory: Path) -> str:
    return readers.text("|".join(MODES))(written, directory)


def _modes(written: Mapping[str, Any], directory: Path) -> Sequence[tuple[str, str]]:
    if not all(prefix.startswith("/") for prefix in written):
        raise ValueError
    found = [(prefix, _mode(mode, directory)) for prefix, mode in written.items()]
    return tuple(sorted(found, key=lambda one: -len(one[0])))


def _seconds(written: Any, directory: Path) -> float:
    if (span := seconds(str(written))) <= 0:
        raise ValueError
    return span


_SWITCH = ("true or false", readers.switch)
_FILE = ("a file that exists", readers.existing_file)
_DURATION = ("a duration such as 500ms, 10s or 2m", _seconds)

_KEYS: Mapping[str, tuple[str, Callable[[Any, Path], Any]]] = {
    "url": ("a URL such as https://api.bank.example/psd2, without query", readers.url),
    "hosts": ("host names, some with a port", readers.named_hosts),
    "mode": (f"one of {', '.join(MODES)}", _mode),
    "modes": (f"a mapping from the beginning of a path to one of {', '.join(MODES)}", _modes),
    "dialect": ("the name of a folder of cassettes", readers.text(r"[A-Za-z0-9][A-Za-z0-9._-]*")),
    "cassettes": ("folders that exist", readers.directories),
    "client_cert": _FILE,
    "client_key": _FILE,
    "client_key_password": ("text", readers.text(r"(?s).+")),
    "ca": _FILE,
    "tls_minimum": ("1.2 or 1.3", readers.text(r"1\.[23]")),
    "tls_strict": _SWITCH,
    "private": _SWITCH,
    "keep_host": _SWITCH,
    "rewrite_links": _SWITCH,
    "connect_timeout": _DURATION,
    "read_timeout": _DURATION,
    "total_timeout": _DURATION,
}


def stranger(request: Request, *banks: RealBank) -> BankError:
    """For a request at the proxy that names another place than these banks, with what would let it through."""
    asked = " and ".join(sorted({str(origin) if origin else request.host for origin in named(request)}))
    known = ", ".join(sorted({str(entry) for one in banks for entry in (*one.hosts, one.origin) if entry}))
    only = f", only {known} is" if known else ""
    text = f"{asked} is not the bank{only}: if it is, name it in banks[].hosts of xs2a-sandbox.yaml"
    return BankError("path-unknown", id=request.host, hint=f"{text}; --forward-host {request.host} passes it on")
