"""A bank that differs from the documented dialect in ten ways, and recorded flows of an app at that bank."""

import asyncio
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.support.doors import limits
from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank import Bank, Banks, testdata
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.bundled import quirks as bundled_quirks
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.compare.states import ReportedState, Thing
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.documents.yaml_writer import yaml_text
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.state import MemoryStore

URL = "https://api.differing.example"
PREFIX = "/open-banking/berlingroup"
IBAN = "DE02120300000000202051"
CREDITOR = "DE89370400440532013000"
START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)

FOLDER = Path(__file__).with_name("differing")
"""The bank's dialect and test data."""


def write(directory: Path) -> Path:
    """Write the bank's dialect into a folder."""
    return Path(shutil.copytree(FOLDER, directory / "differing"))


def varied(directory: Path, options: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write the bank's dialect with these additional options into a folder."""
    folder = write(directory)
    file = folder / "dialect.yaml"
    cassette = yaml_reader.read(file).value
    own = cassette["changes"]["options"]
    cassette["authorisation"] |= options.get("authorisation", {})
    options = {name: more for name, more in options.items() if name != "authorisation"}
    cassette["changes"]["options"] = own | {name: {**own.get(name, {}), **more} for name, more in options.items()}
    file.write_text(yaml_text(cassette))
    return folder


def engine(folder: Path, *quirks: str) -> Engine:
    """Return a sandbox with the dialect and the test data of a folder."""
    data = folder / "testdata.yaml"
    return Engine(
        Parts(
            Banks(
                Bank(
                    layers.read(
                        [
                            [folder],
                            *(
                                [bundled_quirks().get(quirk) or Path(__file__).with_name(f"{quirk}.yaml")]
                                for quirk in quirks
                            ),
                        ],
                        SCHEMAS,
                        NAMED,
                    ),
                    SCHEMAS,
                )
            ),
            MemoryStore(),
            testdata.load([data if data.exists() else bundled("cassettes") / "testdata.yaml"]),
            limits=limits(),
            clock=Clock(frozen=START),
        )
    )


@dataclass
class App:
    """Send requests to an engine, and record the exchanges."""

    engine: Engine
    bank: str = URL
    executed: str = "ACSC"
    """The bank's word for an executed payment."""
    entries: list[Exchange] = field(default_factory=list)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Return the JSON of the answer."""
        fields = [("X-Request-ID", str(uuid4())), ("PSU-IP-Address", "192.0.2.7")]
        fields += [(name.replace("_", "-"), value) for name, value in headers.items()]
        content = b"" if body is None else json.dumps(body).encode()
        if content:
            fields.append(("Content-Type", "application/json"))
        request = Request(method, PREFIX + path, Headers(fields), content)
        response = asyncio.run(self.engine.answer(request))
        time = START + timedelta(seconds=len(self.entries))
        self.entries.append(Exchange.of(request, _as_of_a_bank(response), self.bank, time, 5.0))
        return json.loads(response.body) if response.body else None

    def decide(self, thing: Thing, id: str, state: str) -> None:
        """Let the customer or the bank bring the resource into this state."""
        request = Request("GET", f"{PREFIX}/v1/accounts", Headers([]), b"")
        move = asyncio.run(self.engine.follow(request, ReportedState(thing, id, state)))
        assert move
        assert move.done

    # Flows

    def reads_accounts(self, until: str = "2027-01-31", *, delete: bool = True) -> str:
        """Create, use and delete a consent."""
        made = self.ask("POST", "/v1/consents", _consent(until), PSU_ID="petra")
        id = str(made["consentId"])
        self.ask("GET", f"/v1/consents/{id}/status")
        first = {"psuData": {"password": "start12"}}
        started = self.ask("POST", f"/v1/consents/{id}/authorisations", first, PSU_ID="petra")
        authorisation = f"/v1/consents/{id}/authorisations/{started['authorisationId']}"
        self.ask("GET", authorisation)
        self.ask("PUT", authorisation, {"scaAuthenticationData": "123456"}, PSU_ID="petra")
        self.ask("GET", f"/v1/consents/{id}/status")
        self.ask("GET", f"/v1/consents/{id}")
        self.ask("GET", "/v1/accounts", Consent_ID=id)
        self.ask("GET", f"/v1/accounts/{IBAN}/balances", Consent_ID=id)
        self.ask("GET", f"/v1/accounts/{IBAN}/transactions?bookingStatus=booked", Consent_ID=id)
        if delete:
            self.ask("DELETE", f"/v1/consents/{id}")
            self.ask("GET", f"/v1/consents/{id}/status")
            self.ask("GET", "/v1/accounts", Consent_ID=id)
        return id

    def pays(self, amount: str = "12.50", product: str = "giro-transfers") -> str:
        """Initiate, sign and read a payment."""
        id = str(self.ask("POST", f"/v1/payments/{product}", _payment(amount), PSU_ID="petra")["paymentId"])
        own = f"/v1/payments/{product}/{id}"
        self.ask("GET", f"{own}/status")
        self.ask("GET", own)
        self.decide("payment", id, self.executed)
        self.ask("GET", f"{own}/status")
        self.ask("GET", own)
        return id

    def mistypes(self) -> str:
        """Create a consent, and enter a wrong code until the authorisation fails."""
        made = self.ask("POST", "/v1/consents", _consent("2027-01-31"), PSU_ID="petra")
        own = f"/v1/consents/{made['consentId']}"
        started = self.ask("POST", f"{own}/authorisations", {"psuData": {"password": "start12"}}, PSU_ID="petra")
        authorisation = f"{own}/authorisations/{started['authorisationId']}"
        while self.ask("GET", authorisation)["scaStatus"] != "failed":
            self.ask("PUT", authorisation, {"scaAuthenticationData": "999999"}, PSU_ID="petra")
        self.ask("PUT", authorisation, {"scaAuthenticationData": "123456"}, PSU_ID="petra")
        self.ask("GET", f"{own}/status")
        return str(made["consentId"])

    def declines(self) -> str:
        """Let the customer reject a consent. Then read, use and delete it."""
        made = self.ask("POST", "/v1/consents", _consent("2027-01-31"), PSU_ID="petra")
        id = str(made["consentId"])
        self.decide("consent", id, "rejected")
        self.ask("GET", f"/v1/consents/{id}/status")
        self.ask("GET", "/v1/accounts", Consent_ID=id)
        self.ask("DELETE", f"/v1/consents/{id}")
        self.ask("GET", f"/v1/consents/{id}/status")
        return id

    def cancels(self) -> str:
        """Cancel a payment before it is signed, and another one after it has been executed."""
        own = "/v1/payments/giro-transfers"
        first, second = (str(self.ask("POST", own, _payment("7.70"), PSU_ID="petra")["paymentId"]) for _ in range(2))
        self.ask("DELETE", f"{own}/{first}")
        self.ask("GET", f"{own}/{first}/status")
        self.decide("payment", second, self.executed)
        self.ask("DELETE", f"{own}/{second}")
        self.ask("GET", f"{own}/{second}/status")
        return first

    def overdraws(self) -> str:
        """Initiate a payment that exceeds the balance."""
        own = "/v1/payments/giro-transfers"
        id = str(self.ask("POST", own, _payment("999999.00"), PSU_ID="petra")["paymentId"])
        self.ask("GET", f"{own}/{id}")
        self.ask("GET", f"{own}/{id}/status")
        return id

    def errs(self) -> None:
        """Request unknown ids."""
        self.ask("GET", f"/v1/consents/{uuid4()}/status")
        self.ask("GET", "/v1/accounts", Consent_ID=str(uuid4()))
        self.ask("GET", f"/v1/payments/sepa-credit-transfers/{uuid4()}/status")
        self.ask("GET", "/v1/branches")


def _consent(until: str) -> dict[str, Any]:
    access = {"balances": [{"iban": IBAN}], "transactions": [{"iban": IBAN}]}
    return {"access": access, "recurringIndicator": False, "validUntil": until, "frequencyPerDay": 4}


def _payment(amount: str) -> dict[str, Any]:
    return {
        "debtorAccount": {"iban": IBAN},
        "creditorAccount": {"iban": CREDITOR},
        "creditorName": "Bäckerei Ähre",
        "instructedAmount": {"currency": "EUR", "amount": amount},
        "purpose": "GDDS",
    }


def _as_of_a_bank(response: Response) -> Response:
    """Return the answer without the sandbox's own headers."""
    own = tuple(pair for pair in response.headers if not pair[0].lower().startswith("x-sandbox-"))
    return Response(response.status, own, response.body)


def states(entries: list[Exchange]) -> Mapping[str, list[str]]:
    """Return the sequence of states in the answers for each member that contains states."""
    by_member: dict[str, list[str]] = {}
    for entry in entries:
        value = json.loads(entry.answer_body) if entry.answer_body else None
        for name in ("consentStatus", "transactionStatus", "scaStatus"):
            if isinstance(value, dict) and name in value:
                by_member.setdefault(name, []).append(value[name])
    return by_member
