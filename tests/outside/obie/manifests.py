"""The scripts of the four manifests, in the order of the suite."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.shared import SHARED

FOLDER = "data/obie-v4"
OPENAPI, MANIFESTS = SHARED / FOLDER / "openapi", SHARED / FOLDER / "manifests"
VERSION = (4, 0, 0)


@dataclass(frozen=True)
class Interface:
    name: str
    manifest: str
    document: str
    scope: str
    signed: bool = False
    """Whether its requests have a signature and an idempotency key."""


INTERFACES = (
    Interface("accounts", "ob_4.0_accounts_transactions_fca", "account-info", "accounts"),
    Interface("payments", "ob_4.0_payment_fca", "payment-initiation", "payments", signed=True),
    Interface("vrp", "ob_4.0_variable_recurring_payments", "vrp", "payments", signed=True),
    Interface("cbpii", "ob_4.0_cbpii_fca", "confirmation-funds", "fundsconfirmations"),
)


@dataclass(frozen=True)
class Script:
    id: str
    """With a number appended if it is not the first with this name."""
    source: Mapping[str, Any]

    @property
    def method(self) -> str:
        return str(self.source["method"]).upper()

    @property
    def parameters(self) -> dict[str, str]:
        parameters: dict[str, str] = self.source["parameters"]
        return parameters

    @property
    def permissions(self) -> frozenset[str]:
        return frozenset(self.source.get("permissions", ()))

    @property
    def excluded(self) -> frozenset[str]:
        return frozenset(self.source.get("permissions-excluded", ()))

    @property
    def wants_approval(self) -> bool:
        return self.parameters.get("requestConsent") == "true"

    @property
    def needs_customer(self) -> bool:
        """Whether it sends the customer's token. Not used for accounts."""
        uri = self.source["uri"]
        return "funds-confirmation" in uri.split("/")[-1:] or (self.method == "POST" and "consents" not in uri)

    @property
    def keeps(self) -> tuple[str, str] | None:
        """Yield a name, and the path of the value that is stored under it."""
        keep = self.source.get("keepContextOnSuccess")
        return (keep["name"], keep["value"]) if keep else None


def scripts(interface: Interface) -> list[Script]:
    found = json.loads((MANIFESTS / f"{interface.manifest}.json").read_bytes())["scripts"]
    numbered = [script for script in _numbered(found) if _concerns(script.source.get("apiVersion", ">=0"))]
    return sorted(numbered, key=lambda script: (not script.wants_approval, script.id))


def _numbered(sources: Sequence[Mapping[str, Any]]) -> Iterator[Script]:
    seen: Counter[str] = Counter()
    for source in sources:
        seen[source["id"]] += 1
        number = seen[source["id"]]
        yield Script(source["id"] if number == 1 else f"{source['id']}#{number}", source)


def _concerns(versions: str) -> bool:
    assert versions.startswith(">="), versions
    return tuple(map(int, versions[2:].split("."))) <= VERSION


def references() -> tuple[dict[str, Any], dict[str, str]]:
    """Return the expectations of asserts, and the bodies as texts, by name."""
    expected, bodies = (json.loads((MANIFESTS / name).read_bytes()) for name in ("assertions.json", "data.json"))
    return (
        {name: value["expect"] for name, value in expected["references"].items()},
        {name: json.dumps(value["body"]) for name, value in bodies["references"].items()},
    )
