"""A run of the command in a separate session with one fault, and its requests to the bank."""

import shutil
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from xs2a_sandbox.bank.expiry import is_expired
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.config.kinds import CAMPAIGN_FAULT, CAMPAIGN_FINDINGS, CAMPAIGN_SHOWN
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.control.shapes import Document, FaultOrder
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign import bank
from xs2a_sandbox.features.campaign.command import OUTPUT, Command, Ended
from xs2a_sandbox.features.campaign.records import read_records
from xs2a_sandbox.features.campaign.seen import Seen, last_number, look, payment_ids
from xs2a_sandbox.features.campaign.sent import read_entries
from xs2a_sandbox.features.campaign.shown import Declared, Shown, read_shown
from xs2a_sandbox.features.campaign.stored import KeptEntries
from xs2a_sandbox.features.pytest import injected_fault
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault

_COUNTING: Mapping[str, Any] = {"sca": "decline", "skip": 1_000_000}
"""Counts the authorisations that customers approve, without ending any."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A run: its end, and the bank's view of it.

    `hits` is how often the fault occurred; `assertions` are failures that the app's own tests report: with a fault only
    those of tests that know about it, otherwise all. `kept` is what the app has stored, `shown` what it has shown.
    """

    ended: Ended
    seen: Seen
    hits: int = 0
    approvals: int = 0
    assertions: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)
    kept: KeptEntries = field(default_factory=KeptEntries)
    shown: Shown = field(default_factory=Shown)


@dataclass(slots=True)
class RunSession:
    """A session of a sandbox, and a folder in which the app can keep data between runs."""

    sandbox: bank.SandboxAddresses
    name: str
    command: Command
    seconds: float
    folder: Path
    index: Index
    declared: Declared = ()
    stop: threading.Event = field(default_factory=threading.Event)
    client: Client = field(init=False)
    _consents: Mapping[str, Document] = field(default_factory=dict)
    _payments: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.client = Client(self.sandbox.direct, self.name, confdir=self.sandbox.confdir)

    def __enter__(self) -> "RunSession":
        """Start from an unchanged session. Raises UserMistake."""
        self.client.reset()
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "kept").mkdir(parents=True)
        self._consents, self._payments = self.client.collection("consents"), payment_ids(self.client)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(UserMistake):
            self.client.delete_session(self.name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(
        self, fault: InjectedFault | None = None, order: Mapping[str, Any] | None = None, most_calls: int | None = None
    ) -> Observed:
        """Run the command, which is ended after `most_calls`. Raises UserMistake, and Stopped if it should stop."""
        variables = bank.variables(self.sandbox, self.name, self.folder / "kept")
        findings, shown = self.folder / "findings.jsonl", self.folder / "shown.txt"
        findings.unlink(missing_ok=True)
        shown.unlink(missing_ok=True)
        self.client.clear_faults()
        self.client.add_fault(cast(FaultOrder, dict(order or _COUNTING)))
        variables |= {CAMPAIGN_FINDINGS: str(findings), CAMPAIGN_SHOWN: str(shown)}
        if fault:
            variables[CAMPAIGN_FAULT] = fault.as_json()
        since, payments = last_number(self.client), payment_ids(self.client)

        def is_flooded() -> bool:
            if most_calls is None:
                return False
            with suppress(UserMistake):  # if the sandbox has ended, the run may still end by itself
                return self.client.journal(session=self.name, since=since, limit=1)["found"] > most_calls
            return False

        ended = self.command.run(variables, self.folder, self.seconds, self.stop, is_flooded)
        counted = self.client.faults()["faults"]
        self.client.clear_faults()
        seen = look(self.client, self.index, self.name, since, payments, self._payments)
        reported = tuple(injected_fault.read_reports(findings))
        hits, approvals = (counted[0]["hits"], counted[0]["seen"]) if counted else (0, 0)
        kept = KeptEntries(read_entries(seen.calls), read_records(self.folder / "kept"))
        texts = read_shown(shown, self.folder / OUTPUT, self.declared)
        return Observed(ended, seen, hits, 0 if order else approvals, reported, kept, texts)

    def lift(self) -> None:
        """Restore the consents of the test data that a fault has expired, because the app cannot do that."""
        for id, document in self.client.collection("consents").items():
            if is_expired(document) and id in self._consents:
                self.client.put_document("consents", id, self._consents[id])
