"""Real banks that the sandbox can imitate: a dialect, and the quirks that were seen at the bank."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from xs2a_sandbox.bundled import BANKS, bundled
from xs2a_sandbox.documents import yaml_reader


@dataclass(frozen=True, slots=True)
class KnownBank:
    """`bank` is its full name. `quirks` are in the order of their layers. `source` says where they were seen."""

    bank: str
    dialect: str
    quirks: tuple[str, ...]
    source: str


@cache
def known_banks() -> Mapping[str, KnownBank]:
    """Return the banks of the bundled table by their short names."""
    table = yaml_reader.read(bundled("cassettes") / BANKS).value
    return {name: KnownBank(**{**row, "quirks": tuple(row["quirks"])}) for name, row in table.items()}
