"""The table of everything that can be set: how it is called, documented, read and refused."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PREFIX = "XS2A_SANDBOX_"


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of `config.Settings`.

    `read` turns what was written into the field's value, given the directory that relative paths start from;
    it raises ValueError for what is not `expected`. `example` is YAML: the default where there is one.
    """

    name: str
    doc: str
    expected: str
    example: str
    read: Callable[[Any, Path], Any]
    metavar: str | None = None
    flag: str | None = None

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()


def _text(pattern: str) -> Callable[[Any, Path], str]:
    def read(written: Any, directory: Path) -> str:
        if not re.fullmatch(pattern, str(written)):
            raise ValueError
        return str(written)

    return read


def _port(written: Any, directory: Path) -> int:
    if not re.fullmatch("[0-9]{1,5}", str(written)) or int(written) > 65535:
        raise ValueError
    return int(written)


def _port_or_off(written: Any, directory: Path) -> int | None:
    return None if written == "off" else _port(written, directory)


def _switch(written: Any, directory: Path) -> bool:
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    try:
        return words[str(written).lower()]
    except KeyError:
        raise ValueError from None


def _path(written: Any, directory: Path) -> Path:
    if not written or "\0" in written:
        raise ValueError
    try:
        return Path(os.path.normpath(directory.absolute() / Path(written).expanduser()))
    except RuntimeError:
        raise ValueError from None


def _existing_file(written: Any, directory: Path) -> Path:
    if not (path := _path(written, directory)).is_file():
        raise ValueError
    return path


def _directories(written: Any, directory: Path) -> tuple[Path, ...]:
    names = written.split(os.pathsep) if isinstance(written, str) else written
    paths = tuple(_path(name, directory) for name in names)
    if not all(path.is_dir() for path in paths):
        raise ValueError
    return paths


def _possible_directory(written: Any, directory: Path) -> Path:
    if (path := _path(written, directory)).exists() and not path.is_dir():
        raise ValueError
    return path


def _state(written: Any, directory: Path) -> str:
    if written == "memory:":
        return "memory:"
    kind, _, file = written.partition(":")
    if kind != "sqlite" or file == ":memory:":
        raise ValueError
    return f"sqlite:{_path(file, directory)}"


def _url(written: Any, directory: Path) -> str:
    url = urlsplit(written)
    if url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment or url.username:
        raise ValueError
    if url.port == 0 or re.search(r"[\s\x00-\x1f\"<>\\]", written):
        raise ValueError
    return str(written).rstrip("/")


def _hosts(written: Any, directory: Path) -> tuple[str, ...]:
    return tuple(_text(r"[A-Za-z0-9._-]+|\[?[0-9a-fA-F:]+\]?")(host, directory).lower() for host in written)


_A_PORT = "a port from 0 to 65535 (0 picks a free one)"

SETTINGS = (
    Setting(
        "host",
        "Address to listen on. Everybody who reaches it can use the sandbox.",
        "an address or a host name",
        "127.0.0.1",
        _text(r"[A-Za-z0-9._-]+|[0-9a-fA-F:.]+"),
        "HOST",
        "--host",
    ),
    Setting(
        "proxy_port",
        "Port of the forward proxy, for an app's proxy setting.",
        _A_PORT,
        "8080",
        _port,
        "PORT",
        "--proxy-port",
    ),
    Setting(
        "port",
        "Port for an app's base URL in plain HTTP; the sandbox's own pages are there too.",
        _A_PORT,
        "8081",
        _port,
        "PORT",
        "--port",
    ),
    Setting(
        "tls_port",
        "Port for an app's base URL over TLS, or off.",
        f"{_A_PORT} or off",
        "8443",
        _port_or_off,
        "PORT|off",
        "--tls-port",
    ),
    Setting(
        "dialect",
        "The folder of cassettes that says how the bank speaks.",
        "the name of a folder of cassettes",
        "xs2a-1.84",
        _text(r"[A-Za-z0-9][A-Za-z0-9._-]*"),
        "NAME",
        "--dialect",
    ),
    Setting(
        "cassettes",
        "More folders of cassettes; later ones win. May be repeated.",
        "folders that exist",
        "[]",
        _directories,
        "DIR",
        "--cassettes",
    ),
    Setting(
        "testdata",
        "A YAML file laid over the bundled customers, accounts, consents and payments.",
        "a file that exists",
        "my-testdata.yaml",
        _existing_file,
        "FILE",
        "--testdata",
    ),
    Setting(
        "state",
        "Where consents and payments are kept: memory: or sqlite:FILE (state.db in confdir).",
        "memory: or sqlite:FILE",
        "sqlite:~/.xs2a-sandbox/state.db",
        _state,
        "memory:|sqlite:FILE",
        "--state",
    ),
    Setting("reset", "Forget the kept state at the start.", "true or false", "false", _switch, None, "--reset"),
    Setting(
        "confdir",
        "Folder of the sandbox's certificates and state.",
        "a folder",
        "~/.xs2a-sandbox",
        _possible_directory,
        "DIR",
        "--confdir",
    ),
    Setting(
        "public_url",
        "Where a payment user's browser reaches the sandbox; begins the scaRedirect links.",
        "a URL such as https://sandbox.example.org, without query",
        "http://localhost:8081",
        _url,
        "URL",
        "--public-url",
    ),
    Setting(
        "proxy_auth",
        "Name and password that the proxy asks for.",
        "USER:PASS",
        '"user:password"',
        _text(r"[^:\x00-\x20\x7f]+:[^\x00-\x1f\x7f]+"),
        "USER:PASS",
        "--proxy-auth",
    ),
    Setting(
        "debug_headers",
        "Headers X-Sandbox-Source and X-Sandbox-Rule in answers, and the nearest rules in a 404.",
        "true or false",
        "true",
        _switch,
        None,
        "--no-debug-headers",
    ),
    Setting("log_format", "Form of the log.", "text or json", "text", _text("text|json"), "text|json", "--log-format"),
    Setting("hosts", "The only host names that are the bank; every host when empty.", "host names", "[]", _hosts),
    Setting(
        "base_path",
        "The only path before /v1 that is the bank's; any path when empty.",
        "a path such as /xs2a, without a slash at its end",
        '""',
        _text(r"(/[A-Za-z0-9._~%-]+)*"),
    ),
    Setting(
        "static_data",
        "Keep accounts as the test data has them, whatever payments do.",
        "true or false",
        "false",
        _switch,
    ),
)
"""In the order of the documentation; those without a flag can be set in the file only."""

BY_NAME = {setting.name: setting for setting in SETTINGS}
