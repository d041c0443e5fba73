"""Readers that convert the text of a setting to its value, or raise ValueError."""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from xs2a_sandbox.bundled import QUIRKS, SCENARIOS, bundled, quirks, scenarios
from xs2a_sandbox.clock import TOO_FAR, read_time
from xs2a_sandbox.config.checks import WARN, check_names
from xs2a_sandbox.config.known_banks import known_banks
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import Misspelled
from xs2a_sandbox.http.origin import Origin, split_authority
from xs2a_sandbox.state.redis_url import SCHEMES, RedisUrl

EXPECTED = "a duration such as 90d, -12h, 1d6h30m or PT15M (weeks, days, hours, minutes, seconds)"

_DAYS = r"(?:(?P<weeks>\d{1,9})W)?(?:(?P<days>\d{1,9})D)?"
_TIME = r"(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,12})S)?"
_SHORT = re.compile(rf"(?P<sign>[+-]?)(?=\d){_DAYS}{_TIME}", re.IGNORECASE | re.ASCII)
_ISO = re.compile(rf"(?P<sign>[+-]?)P(?=T?\d){_DAYS}(?:T(?=\d){_TIME})?", re.ASCII)


def parse_duration(text: str) -> timedelta:
    """Parse a duration without years and months, whose lengths vary. Raises ValueError."""
    short = _SHORT.fullmatch(text)
    if short and text != text.lower():
        # 1M could mean a month.
        why = "units are lower-case letters (m means minute); months are not supported, because their lengths differ"
        raise ValueError(f"{text[:40]!r} is not {EXPECTED}: {why}")
    fits = short or _ISO.fullmatch(text)
    if not fits:
        raise ValueError(f"{text[:40]!r} is not {EXPECTED}")
    parts = {name: int(digits) for name, digits in fits.groupdict().items() if name != "sign" and digits}
    try:
        span = timedelta(**parts)
    except OverflowError:
        raise ValueError(f"{text!r} is too long") from None
    return -span if fits["sign"] == "-" else span


_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)")
LONGEST = 300.0
"""The longest delay of an answer, in seconds."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


def seconds(text: str) -> float:
    """Parse `250ms`, `1.5s` or `2m` into seconds. Raises ValueError."""
    fits = _DURATION.fullmatch(text)
    if not fits:
        raise ValueError(f"{text!r} is not a duration such as 250ms, 1.5s or 2m")
    span = float(fits[1]) * _UNITS[fits[2]]
    if span > LONGEST:
        raise ValueError(f"{text} is too long: the maximum is {LONGEST:g}s")
    return span


REPORTS = (".json", ".xml", ".html")
"""The endings of report files, which determine their format."""
REPORTS_TEXT = f"{', '.join(REPORTS[:-1])} or {REPORTS[-1]}".replace(".xml", ".xml (JUnit)")
"""The endings of report files in words."""


def hint(error: Exception) -> str:
    """Return the end of an error message about the value, such as a suggestion."""
    return str(error) if isinstance(error, Misspelled) else ""


Network = IPv4Network | IPv6Network


def text(pattern: str) -> Callable[[Any, Path], str]:
    def read(written: Any, directory: Path) -> str:
        if not re.fullmatch(pattern, str(written)):
            raise ValueError
        return str(written)

    return read


def port(written: Any, directory: Path) -> int:
    if not re.fullmatch("[0-9]{1,5}", str(written)) or int(written) > 65535:
        raise ValueError
    return int(written)


def port_or_off(written: Any, directory: Path) -> int | None:
    return None if written == "off" else port(written, directory)


def switch(written: Any, directory: Path) -> bool:
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    try:
        return words[str(written).lower()]
    except KeyError:
        raise ValueError from None


def path(written: Any, directory: Path) -> Path:
    if not written or "\0" in written:
        raise ValueError
    try:
        return Path(os.path.normpath(directory.absolute() / Path(written).expanduser()))
    except RuntimeError:
        raise ValueError from None


def existing_file(written: Any, directory: Path) -> Path:
    if not (file := path(written, directory)).is_file():
        raise ValueError
    return file


def directories(written: Any, directory: Path) -> tuple[Path, ...]:
    bundled = {f"{SCENARIOS}/{name}": folder for name, folder in scenarios().items()}
    names, folders = _split_list(written, os.pathsep), []
    for name in names:
        own = path(name, directory)
        folder = own if own.is_dir() else bundled.get(name.removesuffix("/"), own)
        if not folder.is_dir():
            bare = f"{SCENARIOS}/{name}"
            raise _misspelled(name, names, bundled, bare if bare in bundled else "")
        folders.append(folder)
    return tuple(folders)


def quirk_files(written: Any, directory: Path) -> tuple[Path, ...]:
    """Return the files of the named quirks: those in ./cassettes override the bundled ones."""
    files = quirks(bundled("cassettes") / QUIRKS, directory.absolute() / "cassettes" / QUIRKS)
    names = _words(written)
    for name in names:
        if name not in files:
            raise _misspelled(name, names, files)
    return tuple(files[name] for name in dict.fromkeys(names))


def known_bank(written: Any, directory: Path) -> str:
    if written not in known_banks():
        raise _misspelled(str(written), [str(written)], known_banks())
    return str(written)


def possible_directory(written: Any, directory: Path) -> Path:
    if (folder := path(written, directory)).exists() and not folder.is_dir():
        raise ValueError
    return folder


def state(written: Any, directory: Path) -> str:
    if written == "memory:":
        return "memory:"
    kind, _, file = str(written).partition(":")
    if kind in SCHEMES:
        try:
            RedisUrl.read(written)
        except ValueError as error:
            raise Misspelled(f": {error}") from None
        return str(written)
    if kind != "sqlite" or file == ":memory:":
        raise ValueError
    return f"sqlite:{path(file, directory)}"


def url(written: Any, directory: Path) -> str:
    parts = urlsplit(written)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError
    if parts.port == 0 or re.search(r"[\s\x00-\x1f\"<>\\]", written):
        raise ValueError
    return str(written).rstrip("/")


def hosts(written: Any, directory: Path) -> tuple[str, ...]:
    read = text(r"[A-Za-z0-9._-]+|\[?[0-9a-fA-F:]+\]?")
    return tuple(read(name, directory).lower().strip("[]") for name in _split_list(written, ","))


def networks(written: Any, directory: Path) -> tuple[Network, ...]:
    """Read addresses and networks, such as 127.0.0.1 and 10.0.0.0/8."""
    read = text(r"[0-9a-fA-F:./]+")
    return tuple(ip_network(read(name, directory)) for name in _split_list(written, ","))


LOOPBACK: tuple[str | Network, ...] = ("localhost", ip_network("127.0.0.0/8"), ip_network("::1"))


def callback_hosts(written: Any, directory: Path) -> tuple[str | Network, ...]:
    """Read host names, addresses and networks."""
    return tuple(_callback_host(name) for name in _split_list(written, ","))


def _callback_host(name: Any) -> str | Network:
    if re.fullmatch(r"[0-9a-fA-F:./]*[:/][0-9a-fA-F:./]*|[0-9.]+", str(name)):
        return ip_network(name)
    if not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", str(name)):
        raise ValueError
    return str(name).lower()


def checks(written: Any, directory: Path) -> tuple[str, ...]:
    names, known = _words(written), (*check_names(), WARN)
    for name in names:
        if name not in known:
            raise _misspelled(name, names, known)
    return tuple(dict.fromkeys(names))


def host_names(written: Any, directory: Path) -> tuple[str, ...]:
    """Read host names, some with a port."""
    return tuple(_host_name(name) for name in _split_list(written, ","))


def _host_name(written: str) -> str:
    host, port = split_authority(written) or (written.strip("[]").lower(), None)
    if not re.fullmatch(r"[a-z0-9._-]+|[0-9a-f:.]*:[0-9a-f:.]*", host):
        raise ValueError
    if port is None:
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def origins(written: Any, directory: Path) -> tuple[Origin, ...]:
    """Read origins as browsers write them, without a path."""
    read = [
        Origin.parse(text) if re.fullmatch(r"\w+://[^/?#]+/?", text) else None for text in _split_list(written, ",")
    ]
    if None in read:
        raise ValueError
    return tuple(origin for origin in read if origin)


def age(written: Any, directory: Path) -> timedelta | None:
    if written == "off":
        return None
    span = parse_duration(str(written))
    if span <= timedelta():
        raise ValueError
    return span


def duration(written: Any, directory: Path) -> float:
    if (span := seconds(str(written))) <= 0:
        raise ValueError
    return span


def time(written: Any, directory: Path) -> datetime:
    try:
        return read_time(written)
    except OverflowError:
        raise Misspelled(f": {TOO_FAR}") from None


def count(written: Any, directory: Path) -> int:
    if not re.fullmatch("[1-9][0-9]{0,4}|100000", str(written)):
        raise ValueError
    return int(written)


def workers(written: Any, directory: Path) -> int:
    if not re.fullmatch("[1-9]|[1-5][0-9]|6[0-4]", str(written)):
        raise ValueError
    return int(written)


def command(written: Any, directory: Path) -> tuple[str, ...]:
    """Read the words of a command, with quotes as in a shell."""
    try:
        words = tuple(shlex.split(str(written)))
    except ValueError as error:
        raise Misspelled(f": {str(error).lower()}") from None
    if not words or "\0" in str(written):
        raise ValueError
    return words


def noise_reads(written: Any, directory: Path) -> int:
    if written == "off":
        return 0
    if not re.fullmatch("[0-9]|10", str(written)):
        raise ValueError
    return int(written)


def existing_files(written: Any, directory: Path) -> tuple[Path, ...]:
    return tuple(existing_file(name, directory) for name in _split_list(written, os.pathsep))


def reports(written: Any, directory: Path) -> tuple[Path, ...]:
    files = tuple(path(name, directory) for name in _split_list(written, os.pathsep))
    if not all(file.suffix in REPORTS and file.parent.is_dir() for file in files):
        raise ValueError
    return files


def _split_list(written: Any, separator: str) -> Sequence[str]:
    """Split a list that the environment and flags give as one string."""
    texts: Sequence[str] = written.split(separator) if isinstance(written, str) else written
    return texts


def _words(written: Any) -> list[str]:
    """Return the words of a list, separated by commas, given by repeated flags, or both."""
    return [word.strip() for text in _split_list(written, ",") for word in str(text).split(",")]


def _misspelled(name: str, names: Sequence[str], known: Iterable[str], meant: str = "") -> Misspelled:
    which = f": unknown value {name!r}" if len(names) > 1 else ""
    close = f"; did you mean {meant}?" if meant else did_you_mean(name, known)
    return Misspelled(which + (close or f"; the values are {', '.join(sorted(known))}"))
