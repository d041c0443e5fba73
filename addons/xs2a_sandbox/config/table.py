"""The table of everything that can be set: how it is called, documented, read and refused."""

from dataclasses import dataclass

from xs2a_sandbox.clock import EXPECTED_TIME
from xs2a_sandbox.config import readers, real_bank
from xs2a_sandbox.config.readers import Reader

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
    read: Reader
    metavar: str | None = None
    flag: str | None = None

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()


_A_PORT = "a port from 0 to 65535 (0 picks a free one)"

SETTINGS = (
    Setting(
        "host",
        "Address to listen on. Everybody who reaches it can use the sandbox.",
        "an address or a host name",
        "127.0.0.1",
        readers.text(r"[A-Za-z0-9._-]+|[0-9a-fA-F:.]+"),
        "HOST",
        "--host",
    ),
    Setting(
        "proxy_port",
        "Port of the forward proxy, for an app's proxy setting.",
        _A_PORT,
        "8080",
        readers.port,
        "PORT",
        "--proxy-port",
    ),
    Setting(
        "port",
        "Port for an app's base URL in plain HTTP; the sandbox's own pages are there too.",
        _A_PORT,
        "8081",
        readers.port,
        "PORT",
        "--port",
    ),
    Setting(
        "tls_port",
        "Port for an app's base URL over TLS, or off.",
        f"{_A_PORT} or off",
        "8443",
        readers.port_or_off,
        "PORT|off",
        "--tls-port",
    ),
    Setting(
        "dialect",
        "The folder of cassettes that says how the bank speaks.",
        "the name of a folder of cassettes",
        "xs2a-1.84",
        readers.text(r"[A-Za-z0-9][A-Za-z0-9._-]*"),
        "NAME",
        "--dialect",
    ),
    Setting(
        "cassettes",
        "More folders of cassettes, or scenarios/NAME; later ones win. May be repeated.",
        "folders that exist, or bundled ones such as scenarios/outage",
        "[]",
        readers.directories,
        "DIR",
        "--cassettes",
    ),
    Setting(
        "testdata",
        "A YAML file laid over the bundled customers, accounts, consents and payments.",
        "a file that exists",
        "my-testdata.yaml",
        readers.existing_file,
        "FILE",
        "--testdata",
    ),
    Setting(
        "state",
        "Where consents and payments are kept: memory: or sqlite:FILE (state.db in confdir).",
        "memory: or sqlite:FILE",
        "sqlite:~/.xs2a-sandbox/state.db",
        readers.state,
        "memory:|sqlite:FILE",
        "--state",
    ),
    Setting("reset", "Forget the kept state at the start.", "true or false", "false", readers.switch, None, "--reset"),
    Setting(
        "frozen_at",
        "The time at which every session's clock stands, until the session moves or sets it.",
        EXPECTED_TIME,
        '"2026-11-21T09:00"',
        readers.time,
        "TIME",
        "--frozen-at",
    ),
    Setting(
        "confdir",
        "Folder of the sandbox's certificates and state.",
        "a folder",
        "~/.xs2a-sandbox",
        readers.possible_directory,
        "DIR",
        "--confdir",
    ),
    Setting(
        "public_url",
        "Where a payment user's browser reaches the sandbox; begins the scaRedirect links.",
        "a URL such as https://sandbox.example.org, without query",
        "http://localhost:8081",
        readers.url,
        "URL",
        "--public-url",
    ),
    Setting(
        "proxy_auth",
        "Name and password that the proxy asks for.",
        "USER:PASS",
        '"user:password"',
        readers.text(r"[^:\x00-\x20\x7f]+:[^\x00-\x1f\x7f]+"),
        "USER:PASS",
        "--proxy-auth",
    ),
    Setting(
        "debug_headers",
        "Headers X-Sandbox-Source and X-Sandbox-Rule in answers, and the nearest rules in a 404.",
        "true or false",
        "true",
        readers.switch,
        None,
        "--no-debug-headers",
    ),
    Setting(
        "log_format",
        "Form of the log.",
        "text or json",
        "text",
        readers.text("text|json"),
        "text|json",
        "--log-format",
    ),
    Setting(
        "mode",
        "simulate: answer; spy: what nothing here answers goes to the bank; record: everything; compare: it too.",
        f"one of {', '.join(real_bank.MODES)}",
        "simulate",
        readers.text("|".join(real_bank.MODES)),
        "|".join(real_bank.MODES),
        "--mode",
    ),
    Setting(
        "bank",
        "The real bank, as the URL that its paths begin with.",
        "a URL such as https://api.bank.example/psd2, without query",
        "https://api.bank.example/psd2",
        readers.url,
        "URL",
        "--bank",
    ),
    Setting(
        "forward_host",
        "A host of the app's other traffic, such as a token server: the proxy passes it on. May be repeated.",
        "host names",
        "[]",
        readers.hosts,
        "HOST",
        "--forward-host",
    ),
    Setting(
        "allow_origin",
        "Origin of one's own web app, whose pages may use the way to a real bank. May be repeated.",
        "origins such as http://localhost:3000",
        "[]",
        readers.origins,
        "ORIGIN",
        "--allow-origin",
    ),
    Setting(
        "to",
        "Folder that recordings are written into.",
        "a folder",
        "recordings",
        readers.possible_directory,
        "DIR",
        "--to",
    ),
    Setting(
        "answer_from",
        "Who answers the app in mode compare.",
        "sandbox or bank",
        "sandbox",
        readers.text("sandbox|bank"),
        "sandbox|bank",
        "--answer-from",
    ),
    Setting(
        "allow_writes",
        "In mode compare, also send the bank what changes something.",
        "true or false",
        "false",
        readers.switch,
        None,
        "--allow-writes",
    ),
    Setting(
        "noise_reads",
        "In mode compare, how often more each read is sent to the bank, to see what it changes by itself.",
        "a number from 0 to 10, or off",
        "1",
        readers.noise_reads,
        "N|off",
        "--noise-reads",
    ),
    Setting(
        "ignore",
        "A file of ignore rules for comparing. May be repeated.",
        "files that exist",
        "[]",
        readers.existing_files,
        "FILE",
        "--ignore",
    ),
    Setting(
        "report",
        "In mode compare, write a report at the end: .json, .xml (JUnit) or .html. May be repeated.",
        f"files that end in {', '.join(readers.REPORTS)}, in a folder that exists",
        "[]",
        readers.reports,
        "FILE",
        "--report",
    ),
    Setting(
        "coverage",
        "At the end, list the operations, rules and errors that no request has exercised.",
        "true or false",
        "false",
        readers.switch,
        None,
        "--coverage",
    ),
    Setting(
        "hosts",
        "The only host names that are the bank; every host when empty.",
        "host names",
        "[]",
        readers.named_hosts,
    ),
    Setting(
        "base_path",
        "The only path before /v1 that is the bank's; any path when empty.",
        "a path such as /xs2a, without a slash at its end",
        '""',
        readers.text(r"(/[A-Za-z0-9._~%-]+)*"),
    ),
    Setting(
        "static_data",
        "Keep accounts as the test data has them, whatever payments do.",
        "true or false",
        "false",
        readers.switch,
    ),
    Setting(
        "banks",
        "Real banks, each with its url, hosts, mode, dialect, cassettes and certificates.",
        "a list of banks",
        "[]",
        real_bank.read,
    ),
    Setting(
        "redaction",
        "A YAML file of what recordings keep, replace and drop besides the usual.",
        "a file that exists",
        "my-redaction.yaml",
        readers.existing_file,
    ),
    Setting("max_age", "How old a recording that answers may be.", "a span such as 30d, or off", "off", readers.age),
    Setting(
        "on_expiry",
        "What happens at the start when a recording is older than max_age.",
        "warn or fail",
        "warn",
        readers.text("warn|fail"),
    ),
    Setting(
        "shift_dates",
        "Move the dates in recorded answers by the days that have passed since.",
        "true or false",
        "false",
        readers.switch,
    ),
)
"""In the order of the documentation; those without a flag can be set in the file only."""

BY_NAME = {setting.name: setting for setting in SETTINGS}
