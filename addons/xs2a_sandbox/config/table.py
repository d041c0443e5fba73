"""The only declaration of each setting.

`make generate` generates from it `schemas/config.schema.json` and the table in `docs/command-line.md`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config import kinds, readers
from xs2a_sandbox.config.checks import CHECK_NAMES, Profile
from xs2a_sandbox.config.kinds import SettingKind, choice, setting, settings_of, text, url
from xs2a_sandbox.config.limits import CONNECTIONS, JOURNALED
from xs2a_sandbox.config.readers import Network
from xs2a_sandbox.config.real_bank import BANKS, BankHost, RealBank
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http.origin import Origin
from xs2a_sandbox.state.redis_url import is_in_redis

_STATE = SettingKind(
    "memory:, sqlite:FILE or a URL such as redis://USER:PASSWORD@HOST:6379/0", readers.state, "memory:|sqlite:FILE|URL"
)

_ADDRESSES = "Addresses and connections"
_BANK = "Behaviour of the bank"
_STATE_AND_TIME = "State and time"
_TESTING = "Tests and logs"
_REAL_BANK = "Real bank"
_COMPARING = "Comparison with the real bank (mode compare)"
_CLIENT_CERTIFICATES = "Client certificates behind a proxy"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Paths are absolute after `load`."""

    host: str = setting(
        text("an address or a host name", r"[A-Za-z0-9._-]+|[0-9a-fA-F:.]+", "HOST"),
        "127.0.0.1",
        "Address to listen on. Anyone who can reach it can use the sandbox.",
        section=_ADDRESSES,
    )
    proxy_port: int = setting(
        kinds.PORT,
        8080,
        "Port of the forward proxy, for an app's proxy setting.",
        section=_ADDRESSES,
    )
    port: int = setting(
        kinds.PORT,
        8081,
        "Port for an app's base URL in plain HTTP; the sandbox's own pages are there too.",
        section=_ADDRESSES,
    )
    tls_port: int | None = setting(
        kinds.PORT_OR_OFF,
        8443,
        "Port for an app's base URL over TLS, or off.",
        section=_ADDRESSES,
    )
    proxy_engine: Literal["auto", "mitmproxy"] = setting(
        choice("auto", "mitmproxy"),
        "auto",
        "Engine of the proxy and the TLS port; auto uses mitmproxy only for connections that are not HTTP/1.1.",
        section=_ADDRESSES,
    )
    workers: int = setting(
        kinds.WORKERS,
        1,
        "Number of processes that serve the same ports as one sandbox.",
        section=_ADDRESSES,
    )
    connections: int = setting(
        kinds.COUNT,
        CONNECTIONS,
        "Maximum number of open connections for each worker, over all ports.",
        section=_ADDRESSES,
    )
    dialect: str = setting(
        kinds.DIALECT,
        "xs2a-1.84",
        "Dialect of the bank: the name of a folder of cassettes.",
        section=_BANK,
    )
    cassettes: tuple[Path, ...] = setting(
        kinds.CASSETTES,
        (),
        "Another folder of cassettes, or scenarios/NAME; later ones override earlier ones. May be repeated.",
        section=_BANK,
    )
    quirk: tuple[Path, ...] = setting(
        kinds.QUIRKS,
        (),
        "An undocumented bank behaviour to imitate, such as pending-ids-change. May be repeated.",
        section=_BANK,
    )
    like: str | None = setting(
        kinds.KNOWN_BANK,
        None,
        "A real bank to imitate, such as n26: its dialect, and the quirks that were seen there.",
        example="n26",
        section=_BANK,
    )
    testdata: Path | None = setting(
        kinds.FILE,
        None,
        "A YAML file that overrides or extends the bundled customers, accounts, consents and payments.",
        example="my-testdata.yaml",
        section=_BANK,
    )
    state: str = setting(
        _STATE,
        "",
        "Where consents and payments are kept: memory:, sqlite:FILE (state.db in confdir), or a redis:// URL.",
        example="sqlite:~/.xs2a-sandbox/state.db",
        unset="`state.db` in `confdir`",
        is_secret=True,
        section=_STATE_AND_TIME,
    )
    session_ttl: timedelta | None = setting(
        kinds.AGE,
        None,
        "With state in Redis, delete a session that has not been used for this long.",
        written="off",
        section=_STATE_AND_TIME,
    )
    reset: bool = setting(
        kinds.SWITCH,
        False,
        "Delete the state of earlier runs at startup.",
        section=_STATE_AND_TIME,
    )
    frozen_at: datetime | None = setting(
        kinds.TIME,
        None,
        "Freeze the clock of every session at this time, until the session moves or sets it.",
        example='"2026-11-21T09:00"',
        section=_STATE_AND_TIME,
    )
    seed: str | None = setting(
        text("a string of 1 to 200 characters", r".{1,200}", "TEXT"),
        None,
        "With --frozen-at, create the same ids in every session and every run.",
        example="spring",
        section=_STATE_AND_TIME,
    )
    confdir: Path = setting(
        kinds.FOLDER,
        Path("~/.xs2a-sandbox"),
        "Folder of the sandbox's certificates and state.",
        written="~/.xs2a-sandbox",
        section=_STATE_AND_TIME,
    )
    public_url: str | None = setting(
        url("https://sandbox.example.org"),
        None,
        "The sandbox's address for a payment user's browser; scaRedirect links start with it.",
        example="http://localhost:8081",
        unset="the base URL",
        section=_ADDRESSES,
    )
    proxy_auth: str | None = setting(
        text("USER:PASS, and USER without spaces", r"[^:\x00-\x20\x7f]+:[^\x00-\x1f\x7f]+", "USER:PASS"),
        None,
        "Name and password that the proxy requires.",
        example='"user:password"',
        is_secret=True,
        section=_ADDRESSES,
    )
    debug_headers: bool = setting(
        kinds.SWITCH,
        True,
        "Add the headers X-Sandbox-Source and X-Sandbox-Rule to responses, and list the nearest rules in a 404.",
        section=_TESTING,
    )
    prefer: bool = setting(
        kinds.SWITCH,
        True,
        "Allow requests to choose faults with the header X-Sandbox-Prefer.",
        section=_TESTING,
    )
    journal: int = setting(
        kinds.COUNT,
        JOURNALED,
        "Number of exchanges that the journal keeps (25 KiB each).",
        section=_TESTING,
    )
    app_command: tuple[str, ...] = setting(
        kinds.COMMAND,
        (),
        "Command that runs your app's tests, for the campaigns that the console and agents start.",
        example="pytest tests/bank",
        section=_TESTING,
    )
    log_format: Literal["text", "json"] = setting(
        choice("text", "json"),
        "text",
        "Format of the log.",
        section=_TESTING,
    )
    mode: str = setting(
        kinds.MODE,
        "simulate",
        "Which requests go to the real bank. simulate: none; spy: those that no rule or operation matches; "
        "record: all; compare: all, and the responses are compared.",
        section=_REAL_BANK,
    )
    bank: str | None = setting(
        kinds.BANK_URL,
        None,
        "Base URL of the real bank.",
        example="https://api.bank.example/psd2",
        section=_REAL_BANK,
    )
    forward_host: tuple[str, ...] = setting(
        kinds.HOSTS,
        (),
        "Another host that your app needs, such as a token server; the proxy passes its requests through. "
        "May be repeated.",
        section=_REAL_BANK,
    )
    callback_host: tuple[str | Network, ...] = setting(
        kinds.CALLBACK_HOSTS,
        readers.LOOPBACK,
        "Host, address or network to which the bank may send callbacks; replaces this machine, the default. "
        "May be repeated.",
        example="[localhost, 172.17.0.0/16]",
        unset="`localhost`, `127.0.0.0/8` and `::1`",
        section=_BANK,
    )
    callback_ca: Path | None = setting(
        kinds.FILE,
        None,
        "A file with the CA that issued the certificates of apps at which callbacks arrive over TLS.",
        example="my-ca.pem",
        unset="the CAs of the system",
        in_file_only=True,
    )
    allow_origin: tuple[Origin, ...] = setting(
        kinds.ORIGINS,
        (),
        "Origin of your own web app, whose pages may send requests to a real bank. May be repeated.",
        section=_REAL_BANK,
    )
    to: Path | None = setting(
        kinds.FOLDER,
        None,
        "Folder for the recordings.",
        example="recordings",
        unset="`recordings`",
        section=_REAL_BANK,
    )
    answer_from: Literal["sandbox", "bank"] = setting(
        choice("sandbox", "bank"),
        "sandbox",
        "In mode compare, return the response of the sandbox or of the bank to the app.",
        section=_COMPARING,
    )
    allow_writes: bool = setting(
        kinds.SWITCH,
        False,
        "In mode compare, also send writes to the bank.",
        section=_COMPARING,
    )
    noise_reads: int = setting(
        kinds.NOISE_READS,
        1,
        "In mode compare, repeat each read at the bank this many times, to find values that change by themselves.",
        section=_COMPARING,
    )
    ignore: tuple[Path, ...] = setting(
        kinds.FILES,
        (),
        "A file of ignore rules for comparing. May be repeated.",
        section=_COMPARING,
    )
    report: tuple[Path, ...] = setting(
        kinds.REPORTS,
        (),
        f"In mode compare, write a report at the end: {readers.REPORTS_TEXT}. May be repeated.",
        section=_COMPARING,
    )
    coverage: bool = setting(
        kinds.SWITCH,
        False,
        "At the end, list the operations, rules and errors that no request has exercised.",
        section=_TESTING,
    )
    hosts: tuple[str, ...] = setting(
        kinds.NAMED_HOSTS,
        (),
        "The host names of the bank at the proxy; any host if empty.",
        unset="all",
        in_file_only=True,
    )
    base_path: str = setting(
        text("a path such as /xs2a, without a trailing slash", r"(/[A-Za-z0-9._~%-]+)*"),
        "",
        "The only path that may precede /v1 in the bank's URLs; any path if empty.",
        unset="any",
        in_file_only=True,
    )
    profile: Profile = setting(
        kinds.PROFILE,
        "documented",
        "documented: refuse the requests that the documented interface refuses; strict: apply all checks as well.",
        section=_BANK,
    )
    checks: tuple[str, ...] = setting(
        kinds.CHECKS,
        (),
        f"A check beyond the documented interface: {', '.join(CHECK_NAMES)}. "
        "warn: the other checks refuse no requests, but report in a header. May be repeated.",
        unset="none",
        section=_BANK,
    )
    client_cert_header: str | None = setting(
        kinds.HEADER,
        None,
        "Header in which a proxy in front of the base URL passes on the client certificate.",
        example="X-SSL-Client-Cert",
        section=_CLIENT_CERTIFICATES,
    )
    client_cert_from: tuple[Network, ...] = setting(
        kinds.NETWORKS,
        (),
        "Address of a proxy that may send this header; the header is removed from all other requests. May be repeated.",
        example="[127.0.0.1]",
        section=_CLIENT_CERTIFICATES,
    )
    static_data: bool = setting(
        kinds.SWITCH, False, "Do not change accounts when payments are executed.", in_file_only=True
    )
    banks: tuple[RealBank, ...] = setting(
        BANKS,
        (),
        "Real banks, each with its url, hosts, mode, dialect, cassettes and certificates.",
        in_file_only=True,
    )
    plugins: tuple[tuple[str, Mapping[str, Any]], ...] = setting(
        kinds.PLUGINS, (), "The settings of installed plugins, by their names.", in_file_only=True
    )
    redaction: Path | None = setting(
        kinds.FILE,
        None,
        "A YAML file with your own redaction rules for recordings.",
        example="my-redaction.yaml",
        in_file_only=True,
    )
    max_age: timedelta | None = setting(
        kinds.AGE, None, "Maximum age of a recording that is replayed.", written="off", in_file_only=True
    )
    on_expiry: Literal["warn", "fail"] = setting(
        choice("warn", "fail"),
        "warn",
        "What happens at startup if a recording is older than max_age.",
        in_file_only=True,
    )
    shift_dates: bool = setting(
        kinds.SWITCH,
        False,
        "Move the dates in recorded answers forward by the days since the recording.",
        in_file_only=True,
    )

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "confdir", self.confdir.expanduser())
        except RuntimeError:
            text = "cannot find a home directory for state and certificates: set --confdir DIR"
            raise ConfigError(text) from None
        if self.session_ttl and not is_in_redis(self.state):
            raise ConfigError("session_ttl is for state in Redis; in memory and in a file sessions stay until a reset")
        if bool(self.client_cert_header) is not bool(self.client_cert_from):
            raise ConfigError("client_cert_header and client_cert_from need each other: set both or neither")
        if not self.state:
            object.__setattr__(self, "state", f"sqlite:{self.confdir / 'state.db'}")

    @property
    def clock(self) -> Clock:
        """The first clock of every session."""
        return Clock(frozen=self.frozen_at, seed=self.seed if self.frozen_at else None)

    def real_banks(self) -> tuple[RealBank, ...]:
        """Return the banks that have hosts, followed by the bank for all other requests."""
        with_hosts = [bank for bank in self.banks if bank.hosts and bank.url != self.bank]
        rest = [bank for bank in self.banks if bank.url == self.bank or not bank.hosts]
        default = next((bank for bank in rest if self.bank in (None, bank.url)), RealBank(self.bank))
        if self.hosts:
            default = replace(default, hosts=tuple(dict.fromkeys((*map(BankHost, self.hosts), *default.hosts))))
        return tuple(
            replace(
                bank,
                mode=bank.mode or self.mode,
                profile=bank.profile or self.profile,
                checks=self.checks if bank.checks is None else bank.checks,
            )
            for bank in (*with_hosts, default)
        )


SETTINGS = settings_of(Settings)
"""All settings in the order of the documentation."""

BY_NAME = {setting.name: setting for setting in SETTINGS}
