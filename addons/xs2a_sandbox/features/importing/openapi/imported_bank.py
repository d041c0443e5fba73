"""The test data of an imported dialect: the accounts of `bank.yaml`, with ids that the interface's paths have."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.features.derive.expression_text import expression
from xs2a_sandbox.features.importing.openapi import roles
from xs2a_sandbox.features.importing.openapi.attachments import account_ids, service
from xs2a_sandbox.features.importing.openapi.bodies import Bodies
from xs2a_sandbox.features.importing.openapi.operations import ApiOperation
from xs2a_sandbox.features.importing.openapi.recognition import AccountReads, Creation
from xs2a_sandbox.features.importing.openapi.requirements import NodeOf, example_request

_BANK = Path(__file__).with_name("bank.yaml")


def bundled_bank() -> Mapping[str, Any]:
    bank: Mapping[str, Any] = yaml_reader.read(_BANK).value
    return bank


class ImportedBank:
    """The things of the test data, which example requests name."""

    def __init__(
        self,
        bodies: Bodies,
        parameter_names: Mapping[int, str],
        node_of: NodeOf,
        creations: Sequence[Creation],
        accounts: AccountReads | None,
    ) -> None:
        self._bodies = bodies
        self._parameter_names = parameter_names
        self._node = node_of
        self._creations = creations
        self._accounts = accounts

    def known_id(self, operation: ApiOperation, parameter: str) -> str | None:
        """Return the id of the consent, payment or account of the test data that a path parameter can name."""
        for creation in self._creations:
            above = creation.create.operation.pattern.segments
            below = operation.pattern.segments
            if below[: len(above)] == above and len(below) > len(above) and below[len(above)].text == parameter:
                return str(next(iter(bundled_bank()["consents" if creation.kind == "consent" else "payments"])))
        if self._accounts:
            above = self._accounts.list.operation.pattern.segments
            below = operation.pattern.segments
            if below[: len(above)] == above and len(below) > len(above) and below[len(above)].text == parameter:
                return self.first_account()[0]
        return None

    def first_account(self) -> tuple[str, dict[str, Any]]:
        """Return the first account of the test data, with the id that the interface's paths have."""
        (iban, account), *_ = bundled_bank()["accounts"].items()
        return self._account_id(iban), {"iban": iban, **account}

    def _account_id(self, iban: str, number: int = 0) -> str:
        """Return the IBAN if paths and answers can have it as id. Otherwise return an id of their form."""
        if self._accounts is None:
            return iban
        parameters = [
            parameter
            for one, _ in self._accounts.others.values()
            for parameter in one.operation.parameters
            if parameter.place == "path" and parameter.name == one.operation.pattern.names[-1]
        ]
        entry = roles.at(self._accounts.answer, (*self._accounts.items, 0))
        (place, *_), name = account_ids(entry, self._accounts), self._accounts.list.answer_name

        def allowed(text: str) -> bool:
            answer = deepcopy(self._accounts.answer) if self._accounts else None
            roles.at(answer, (*self._accounts.items, 0, *place[:-1]))[place[-1]] = text  # type: ignore[union-attr]
            nodes = [self._parameter_names[id(one)] for one in parameters]
            return self._bodies.allows(name, answer) and all(self._bodies.allows(one, text) for one in nodes)

        given = str(roles.at(entry, place))
        others = [given[:-1] + digit for digit in "123456789" if digit != given[-1:]]
        candidates = [iban, given, *others] if number == 0 else [iban, *others]
        return next((text for text in candidates if allowed(text)), given if number == 0 else iban)

    def testdata(self, handlers: set[str]) -> dict[str, Any]:
        """Return a customer with accounts, and a consent and a payment if operations read them."""
        bank = deepcopy(dict(bundled_bank()))
        renamed = {iban: self._account_id(iban, number) for number, iban in enumerate(bank["accounts"])}
        bank["accounts"] = {
            renamed[iban]: {**({"iban": iban} if renamed[iban] != iban else {}), **account}
            for iban, account in bank["accounts"].items()
        }
        for consent in bank["consents"].values():
            consent["accounts"] = [renamed[iban] for iban in consent["accounts"]]
        payment_creations = [one for one in self._creations if one.kind == "payment"]
        if not payment_creations or "payments.read" not in handlers:
            del bank["payments"]
            return bank
        for payment in bank["payments"].values():
            payment |= self._service(payment_creations[0])
            payment["debtor"] = {"account": renamed[payment["debtor"]["account"]]}
        return bank

    def _service(self, creation: Creation) -> dict[str, str]:
        """Return service and product that the example request of the payment has."""
        operation = creation.create.operation
        chosen = example_request(operation, self._node).get("where", {})
        written = service(creation.create)
        given = {f"{{{{ {expression('path', (name,))} }}}}": chosen.get(name, "") for name in operation.pattern.names}
        return {name: str(given.get(text, text)) for name, text in written.items()}
