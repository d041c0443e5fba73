"""Reads the settings from `xs2a-sandbox.yaml`, the environment and the command line.

Later ones override earlier ones.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from xs2a_sandbox.config.checks import Checks
from xs2a_sandbox.config.kinds import NO_SETTINGS, PREFIX, Setting
from xs2a_sandbox.config.known_banks import known_banks
from xs2a_sandbox.config.modes import find_mode
from xs2a_sandbox.config.readers import hint, quirk_files
from xs2a_sandbox.config.table import BY_NAME, SETTINGS, Settings
from xs2a_sandbox.documents import own_file
from xs2a_sandbox.documents.document import Document
from xs2a_sandbox.documents.json_schema import bundled_schema
from xs2a_sandbox.documents.schema_errors import Complaint, did_you_mean
from xs2a_sandbox.documents.yaml_reader import LARGEST, parse
from xs2a_sandbox.errors import ConfigError, Problem, Unreadable
from xs2a_sandbox.http.origin import host_of

FILE = "xs2a-sandbox.yaml"

_SECRET = re.compile("aut|pass|pwd|secret|token|@", re.IGNORECASE)


def load_settings(command_line: Mapping[str, Any] | None = None) -> Settings:
    """Return the settings of this process."""
    return load(command_line or {}, os.environ, Path.cwd())


def load(command_line: Mapping[str, Any], environ: Mapping[str, str], directory: Path) -> Settings:
    """Read file, environment and command line. None and empty sequences on the command line count as missing.

    Raises:
        Unreadable: the file has problems; reports all of them.
        ConfigError: variables or flags are unknown or have wrong values; reports all of them.
    """
    values = _from_file(directory / FILE)
    mistakes: list[str] = []
    for setting, origin, written in [*_from_environment(environ, mistakes), *_from_command_line(command_line)]:
        try:
            values[setting.name] = setting.kind.read(written, directory)
        except ValueError as error:
            # A URL may contain a password, too.
            is_public = not _SECRET.search(setting.name) and "@" not in str(written)
            instead = f", not {_as_written(written)}" if is_public else ""
            mistakes.append(f"{origin}: must be {setting.kind.expected}{instead}{hint(error)}")
    if not mistakes:
        _imitate(values, directory)
        mistakes.extend(_clashes(values))
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    return Settings(**values)


def _imitate(values: dict[str, Any], directory: Path) -> None:
    """Add the dialect and the quirks of the bank in `like`. A dialect that is set stays; further quirks come last."""
    if name := values.get("like"):
        bank = known_banks()[name]
        values.setdefault("dialect", bank.dialect)
        own = quirk_files(bank.quirks, directory)
        values["quirk"] = tuple(dict.fromkeys((*own, *values.get("quirk", ()))))


def _as_written(written: Any) -> str:
    texts = [written] if isinstance(written, str) else written
    return ", ".join(json.dumps(text, ensure_ascii=False) for text in texts)


def _from_file(file: Path) -> dict[str, Any]:
    other = file.with_suffix(".yml")
    if other.exists():
        raise ConfigError(f"{other} is ignored, because settings are read from {file.name}: rename or remove it")
    try:
        content = own_file.read(file, limit=LARGEST)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None
    try:
        document = parse(content, file)
        return {} if document.value is None else _values(document)
    except Unreadable as unreadable:
        secret = _SECRET.search(content.decode(errors="replace")) is not None
        # A misspelled key may be the key of the password.
        problems = [_hide_secret(p) if secret or p.code == "unknown-key" else p for p in unreadable.problems]
        raise Unreadable(problems) from None


def _values(document: Document) -> dict[str, Any]:
    complaints = bundled_schema("config").complaints(document.value)
    settings = document.value if isinstance(document.value, dict) else {}
    problems = [
        document.problem(c.pointer, c.code, _wording(c, settings, document.file), key=c.key) for c in complaints
    ]
    mistaken = {c.pointer[0] for c in complaints if c.pointer}
    values = {}
    for name in settings.keys() - mistaken:
        setting = BY_NAME[name]
        try:
            values[name] = setting.kind.read(settings[name], document.file.parent)
        except ValueError as error:
            text = str(error) if name == "banks" else f"{name} must be {setting.kind.expected}{hint(error)}"
            problems.append(document.problem([name], "wrong-value", text))
    if problems:
        raise Unreadable(problems)
    return values


def _wording(complaint: Complaint, settings: Mapping[str, Any], file: Path) -> str:
    """Return the text of a complaint. A number is reported as the wrong type only if quotes would correct it."""
    setting = BY_NAME.get(str(complaint.pointer[0])) if len(complaint.pointer) == 1 else None
    if setting and complaint.code == "wrong-type" and isinstance(settings[setting.name], int | Decimal):
        try:
            setting.kind.read(str(settings[setting.name]), file.parent)
        except ValueError:
            return f"{setting.name} must be {setting.kind.expected}, not {settings[setting.name]}"
    return complaint.text


def _hide_secret(problem: Problem) -> Problem:
    """Return the problem without quotes from the file, because logs must not contain its passwords."""
    names_a_key = problem.code in ("unknown-key", "duplicate-key")
    if _SECRET.search(problem.source) and not names_a_key:
        problem = replace(
            problem, text="the value is invalid (it may be secret, so it is not shown); write it as text in quotes"
        )
    return replace(problem, source="")


def _from_environment(environ: Mapping[str, str], mistakes: list[str]) -> Iterator[tuple[Setting, str, str]]:
    by_variable = {setting.variable: setting for setting in SETTINGS if setting.flag}
    for variable in sorted(environ):
        if variable in by_variable:
            yield by_variable[variable], variable, environ[variable]
        elif variable.startswith(PREFIX) and variable not in NO_SETTINGS:
            if variable.removeprefix(PREFIX).lower() in BY_NAME:
                mistakes.append(f"{variable}: can only be set in {FILE}")
            else:
                mistakes.append(f"{variable}: unknown setting{did_you_mean(variable, by_variable)}")


def _from_command_line(command_line: Mapping[str, Any]) -> Iterator[tuple[Setting, str, Any]]:
    for name, written in command_line.items():
        if written is not None and written != ():
            yield BY_NAME[name], str(BY_NAME[name].flag), written


def _clashes(values: Mapping[str, Any]) -> Iterator[str]:
    taken: dict[int, str] = {}
    for name in ("proxy_port", "port", "tls_port"):
        port = values.get(name, Settings.__dataclass_fields__[name].default)
        if port and port in taken:
            of_default = next((f", the default of {one}" for one in (taken[port], name) if one not in values), "")
            yield f"{taken[port]} and {name} are both {port}{of_default}: choose different ports (0 picks a free one)"
        elif port:
            taken[port] = name
    if values.get("seed") is not None and values.get("frozen_at") is None:
        yield "seed needs frozen_at: ids repeat only while the clock is frozen (--frozen-at TIME)"
    yield from _worker_clashes(values)
    yield from _bank_clashes(Settings(**{name: value for name, value in values.items() if name in _OF_BANKS}))


def _worker_clashes(values: Mapping[str, Any]) -> Iterator[str]:
    if (workers := values.get("workers", 1)) == 1:
        return
    if values.get("state") == "memory:":
        text = "state memory: belongs to one process only; use --state sqlite:FILE"
        yield f"workers is {workers}, and {text}"
    modes = {values.get("mode")}.union(*({bank.mode, *dict(bank.modes).values()} for bank in values.get("banks", ())))
    written = [mode for mode in ("record", "compare") if mode in modes]
    if written or values.get("to"):
        what = f"mode {written[0]}" if written else "to"
        yield f"workers is {workers}, and {what} writes files, which only one process can do: use --workers 1"


_OF_BANKS = ("mode", "bank", "banks", "forward_host", "hosts", "to", "profile", "checks")


def _bank_clashes(settings: Settings) -> Iterator[str]:
    hosts: set[str] = set()
    *with_hosts, default = settings.real_banks()
    yield from dict.fromkeys(
        clash for bank in (*with_hosts, default) if (clash := Checks.clash(bank.profile or "", bank.checks or ()))
    )
    for bank in (*with_hosts, default):
        if bank.url is None and any(mode and find_mode(mode).asks_bank for mode in bank.all_modes):
            if bank is default and any(bank.can_be_asked for bank in with_hosts):
                continue
            where = f"the bank with the hosts {', '.join(bank.host_names)}" if bank.hosts else f"mode {bank.mode}"
            yield f"{where} needs the bank's URL: set --bank URL, or url under banks in {FILE}"
        for host in map(host_of, bank.host_names):
            if host in hosts:
                yield f"{FILE}: two banks have the host {host}; give each host to one bank"
            hosts.add(host)
    for host in settings.forward_host:
        if host in hosts or any(
            # At the proxy, a bank with hosts is known only by these.
            bank.can_be_asked and not bank.hosts and urlsplit(bank.url or "").hostname == host
            for bank in (*with_hosts, default)
        ):
            yield f"forward_host: {host} is the host of a bank; forwarded requests are neither simulated nor recorded"
    if sum(not bank.hosts for bank in settings.banks) > 1:
        yield (
            f"only one bank in {FILE} can be without hosts, because it gets all other requests: add hosts to the others"
        )
