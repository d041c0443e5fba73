"""The consents that the scripts for accounts share."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.outside.obie.manifests import Script


@dataclass
class Consent:
    permissions: set[str] = field(default_factory=set)
    excluded: set[str] = field(default_factory=set)
    scripts: list[str] = field(default_factory=list)

    def suits(self, script: Script) -> bool:
        return not (self.permissions & script.excluded or self.excluded & script.permissions)

    def add(self, script: Script) -> None:
        self.permissions |= script.permissions
        self.excluded |= script.excluded
        self.scripts.append(script.id)


def shared(scripts: Iterable[Script]) -> list[Consent]:
    consents: list[Consent] = []
    for script in scripts:
        if script.permissions:
            consent = next((consent for consent in consents if consent.suits(script)), None)
            if consent is None:
                consents.append(consent := Consent())
            consent.add(script)
    return consents
