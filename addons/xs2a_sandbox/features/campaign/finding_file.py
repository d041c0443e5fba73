"""Writes a finding as a short file with which it can be repeated on its own."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xs2a_sandbox.documents import own_file, yaml_reader
from xs2a_sandbox.documents.yaml_writer import yaml_text
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign.campaign import FaultResult, Results
from xs2a_sandbox.features.campaign.order import QUIRKS
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault

_LONGEST, _LARGEST = 300, 1_000_000
_MEMBERS = ("name", "operation", "call", "status", "code")
_MOST = 4
"""The most findings in a file."""


def name_of(result: FaultResult) -> str:
    return re.sub("[^a-z0-9]+", "-", str(result.fault).lower()).strip("-") + ".yaml"


def replay(result: FaultResult, results: Results, folder: Path) -> str:
    """Return the command that repeats the result, whose file is in this folder."""
    return f"{shlex.join([*results.again, '--only', str(folder / name_of(result))])} -- {results.command}"


def write(result: FaultResult, results: Results, folder: Path) -> str:
    fault = result.fault
    members: dict[str, Any] = {
        "campaign": 1,
        "command": results.command[:_LONGEST],
        "replay": replay(result, results, folder),
        "name": fault.name,
        "operation": fault.operation,
        "call": fault.call,
        "phase": fault.phase,
        "status": fault.status,
        "code": fault.code,
        "found": [
            f"{finding.oracle}: {' '.join(finding.text.split())[:_LONGEST]}" for finding in result.findings[:_MOST]
        ],
        "fault": dict(result.order),
    }
    return yaml_text({name: value for name, value in members.items() if value is not None})


def read_replay(file: Path) -> str:
    """Return the command that repeats the finding. Raises UserMistake."""
    return str(_parse(file).get("replay", ""))


def read(file: Path) -> tuple[InjectedFault, Mapping[str, Any]]:
    """Return the fault, and the order for it. Raises UserMistake."""
    value = _parse(file)
    members: dict[str, Any] = {name: value[name] for name in _MEMBERS if name in value}
    # A file without a fault is about a quirk.
    order = value.get("fault", None if "operation" in members else {QUIRKS: [value["name"]]})
    if not isinstance(order, dict):
        raise UserMistake(f"{file}: fault must be an object, as in POST /_sandbox/faults, or name quirks")
    return InjectedFault(**members, phase="after" if value.get("phase") == "after" else "before"), order


def _parse(file: Path) -> dict[str, Any]:
    """Return the content of a finding's file. Raises UserMistake."""
    try:
        value = yaml_reader.parse(own_file.read(file, limit=_LARGEST), file).value
    except OSError as error:
        raise UserMistake(f"cannot read {file}: {error.strerror}") from None
    if not isinstance(value, dict) or value.get("campaign") != 1 or not isinstance(value.get("name"), str):
        raise UserMistake(f"{file} is not a finding of a campaign: it must start with `campaign: 1` and have a name")
    return value
