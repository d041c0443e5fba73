"""Kinds of values, and the declaration of settings: everything about a setting follows from its entry in a class."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from xs2a_sandbox.clock import EXPECTED_TIME
from xs2a_sandbox.config import readers
from xs2a_sandbox.config.checks import CHECK_NAMES, WARN
from xs2a_sandbox.config.modes import MODES, mode_names
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import Misspelled
from xs2a_sandbox.plugins import plugins

PREFIX = "XS2A_SANDBOX_"
VAULT_PASSPHRASE = f"{PREFIX}VAULT_KEY"
"""The variable for the passphrase of the vault. It is not a setting, so that it is not in any file."""
CAMPAIGN_FAULT, CAMPAIGN_FINDINGS, CAMPAIGN_SHOWN = f"{PREFIX}FAULT", f"{PREFIX}FINDINGS", f"{PREFIX}SHOWN"
CAMPAIGN_ADDRESSES = tuple(f"{PREFIX}{name}" for name in ("URL", "TLS_URL", "PROXY", "CA_FILE", "SESSION", "RUN_DIR"))
PROGRESS = f"{PREFIX}PROGRESS"
"""The variable for the file in which a command records its progress."""
NO_SETTINGS = frozenset(
    {VAULT_PASSPHRASE, PROGRESS, CAMPAIGN_FAULT, CAMPAIGN_FINDINGS, CAMPAIGN_SHOWN, *CAMPAIGN_ADDRESSES}
)
"""Variables with the prefix of settings that are not settings."""

type Json = Mapping[str, Any]
_TEXT: Json = {"type": "string"}


@dataclass(frozen=True, slots=True)
class SettingKind[T]:
    """A kind of value.

    `read` converts what was written; it gets the folder for relative paths, and raises ValueError if the value is not
    as `expected`. `schema` is for files and editors; it has its own name if `definition` is set.
    """

    expected: str
    read: Callable[[Any, Path], T]
    metavar: str | None = None
    schema: Json = field(default_factory=lambda: _TEXT)
    definition: str | None = None

    @property
    def is_list(self) -> bool:
        return self.schema.get("type") == "array"

    @property
    def reference(self) -> Json:
        return {"$ref": f"#/$defs/{self.definition}"} if self.definition else self.schema


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of a class of settings, from which its flag, variable and documentation follow.

    `default` is the default as text, or None if there is none; `unset` describes this case in the documentation.
    `example` is YAML. `section` is the heading of the flag in `serve --help`.
    """

    name: str
    kind: SettingKind[Any]
    doc: str
    default: Any
    example: str
    unset: str
    in_file_only: bool
    section: str

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()

    @property
    def flag(self) -> str | None:
        """The flag, or None if the setting is only in the file."""
        if self.in_file_only:
            return None
        return f"--{'no-' if self.default is True else ''}{self.name.replace('_', '-')}"


def setting[T](
    kind: SettingKind[T],
    default: T,
    doc: str,
    *,
    written: str | None = None,
    example: str | None = None,
    unset: str = "none",
    in_file_only: bool = False,
    section: str = "",
    is_secret: bool = False,
) -> T:
    """Return a field for a class of settings.

    `written` is the default as text, if it differs from the value; `example` replaces a default that is not shown.
    """
    value: Any = written or default
    if default == ():
        value = [] if kind.is_list else {}
    declared = {
        "kind": kind,
        "doc": doc,
        "default": None if example else value,
        "example": example or (value if isinstance(value, str) and value else json.dumps(value)),
        "unset": unset,
        "in_file_only": in_file_only,
        "section": section,
    }
    return field(default=default, repr=not is_secret, metadata=declared)


def settings_of(kind: type) -> tuple[Setting, ...]:
    """Return the settings that a class declares, in order."""
    return tuple(Setting(field.name, **field.metadata) for field in fields(kind))


def choice(*words: str) -> SettingKind[Any]:
    *most, last = words
    expected = f"{', '.join(most)} or {last}" if len(words) < 4 else f"one of {', '.join(words)}"
    return SettingKind(expected, readers.text("|".join(words)), "|".join(words), {"enum": list(words)})


def text(expected: str, pattern: str, metavar: str | None = None) -> SettingKind[str]:
    return SettingKind(expected, readers.text(pattern), metavar)


def url(example: str) -> SettingKind[str]:
    return SettingKind(f"a URL such as {example}, without query", readers.url, "URL")


def several[T](expected: str, read: Callable[[Any, Path], tuple[T, ...]], metavar: str) -> SettingKind[tuple[T, ...]]:
    return SettingKind(expected, read, metavar, {"type": "array", "items": _TEXT})


_A_PORT = "a port from 0 to 65535 (0 picks a free one)"

PORT = SettingKind(_A_PORT, readers.port, "PORT", {"type": "integer", "minimum": 0, "maximum": 65535}, "port")
PORT_OR_OFF = SettingKind(
    f"{_A_PORT} or off", readers.port_or_off, "PORT|off", {"anyOf": [PORT.reference, {"const": "off"}]}
)
SWITCH = SettingKind("true or false", readers.switch, None, {"type": "boolean"})
FILE = SettingKind("a file that exists", readers.existing_file, "FILE")
FILES = several("files that exist", readers.existing_files, "FILE")
FOLDER = SettingKind("a folder", readers.possible_directory, "DIR")
CASSETTES = several("folders that exist, or bundled ones such as scenarios/outage", readers.directories, "DIR")
QUIRKS = several("names of quirks", readers.quirk_files, "NAME")
KNOWN_BANK = SettingKind("the name of a bank in the atlas", readers.known_bank, "NAME")
DIALECT = text("the name of a folder of cassettes", r"[A-Za-z0-9][A-Za-z0-9._-]*", "NAME")
HOSTS = several("host names", readers.hosts, "HOST")
NAMED_HOSTS = several("host names, some with a port", readers.host_names, "HOST")
ORIGINS = several("origins such as http://localhost:3000", readers.origins, "ORIGIN")
CALLBACK_HOSTS = several("host names, addresses or networks such as 10.0.0.0/8", readers.callback_hosts, "HOST")
NETWORKS = several("addresses or networks such as 10.0.0.0/8", readers.networks, "ADDRESS")
HEADER = text("the name of a header", r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}", "HEADER")
CHECKS = SettingKind(
    f"a list of checks: {', '.join(CHECK_NAMES)}; or {WARN}",
    readers.checks,
    "CHECK",
    {"type": "array", "items": {"type": "string", "examples": [*CHECK_NAMES, WARN]}},
)
PROFILE = choice("documented", "strict")
REPORTS = several(f"files that end in {', '.join(readers.REPORTS)}, in a folder that exists", readers.reports, "FILE")
TIME = SettingKind(EXPECTED_TIME, readers.time, "TIME")
AGE = SettingKind("a span such as 30d, or off", readers.age, "SPAN")
DURATION = SettingKind(
    "a duration such as 500ms, 10s or 2m",
    readers.duration,
    schema={
        "description": "A duration such as 500ms, 10s or 2m.",
        "type": "string",
        "pattern": r"^[0-9]+(\.[0-9]+)?(ms|s|m)$",
    },
    definition="duration",
)


def _mode(written: Any, directory: Path) -> Any:
    if written not in mode_names():
        raise Misspelled(did_you_mean(str(written), mode_names()))
    return written


MODE = SettingKind(f"one of {', '.join(MODES)}", _mode, "|".join(MODES), {"type": "string", "examples": list(MODES)})


def _plugins(written: Any, directory: Path) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    found = plugins()
    names = {*found.loaded, *found.failed}
    for name in written.keys() - names:
        raise Misspelled(f": no plugin {name} is installed{did_you_mean(name, names)}")
    return tuple(written.items())


PLUGINS = SettingKind(
    "an object with an object of settings for each plugin",
    _plugins,
    schema={"type": "object", "additionalProperties": {"type": "object"}},
)
COUNT = SettingKind(
    "a number from 1 to 100000",
    readers.count,
    "N",
    {"type": "integer", "minimum": 1, "maximum": 100_000},
)
COMMAND = SettingKind("a command such as pytest tests/bank", readers.command, "COMMAND")
WORKERS = SettingKind("a number from 1 to 64", readers.workers, "N", {"type": "integer", "minimum": 1, "maximum": 64})
NOISE_READS = SettingKind("a number from 0 to 10, or off", readers.noise_reads, "N|off", {"enum": [*range(11), "off"]})
BANK_URL = url("https://api.bank.example/psd2")
