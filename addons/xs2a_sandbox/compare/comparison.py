"""Compares a bank and the sandbox: sends the same requests to both, and finds the differences in the answers."""

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal, get_args

from msgspec import structs

from xs2a_sandbox.cassette import Interface, Operation
from xs2a_sandbox.cassette.index import Index, Lookup
from xs2a_sandbox.compare import loaded_answer, payment_user
from xs2a_sandbox.compare.consequence import Consequences
from xs2a_sandbox.compare.diff import AnswerDiff
from xs2a_sandbox.compare.difference import Difference
from xs2a_sandbox.compare.identifiers import Counterparts
from xs2a_sandbox.compare.loaded_answer import Ask, LoadedAnswer
from xs2a_sandbox.compare.masking import IgnoreRule, Ignoring, Noise
from xs2a_sandbox.compare.payment_user import PaymentUser
from xs2a_sandbox.compare.schema_drift import Drift
from xs2a_sandbox.compare.states import Asked, BankStates, Follow, Move, SandboxSide
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.formats import is_uuid
from xs2a_sandbox.documents.json_pointer import at_pointer
from xs2a_sandbox.errors import BankError, InvalidResponse
from xs2a_sandbox.http import Headers, Request, Response, body
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.header_fields import OURS
from xs2a_sandbox.http.target import client_url, split_target
from xs2a_sandbox.redaction.values import DROPPED

Side = Literal["recording", "bank", "sandbox"]
Source = Literal["bank", "sandbox"]
Against = Literal["sandbox", "recording"]
"""The side that is compared with the bank."""
Verdict = Literal["same", "differs", "refused", "not answered", "not comparable"]
"""`refused`: both sides answer with an error, although a success was recorded or is expected."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
COMPARED: tuple[Verdict, ...] = ("same", "differs")


@dataclass(frozen=True, slots=True)
class Step:
    """A request to both sides. `title` is shown, so it contains no data of the request; `recorded` is the exchange it
    comes from, if any, and `expected` the status that it had or should have.
    """

    title: str
    request: Request
    recorded: Exchange | None = None
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """A request and its result. The exchanges contain secrets: `report.py` decides what is shown.

    `sandbox` is the recorded exchange if the recording is compared with the bank. `masked` are differences that do not
    count, each with its reason. `trouble` is why there is no comparison, `remark` further information. `moved` is the
    state change that the sandbox made to follow the bank.
    """

    title: str
    operation: str | None
    verdict: Verdict
    bank: Exchange | None = None
    sandbox: Exchange | None = None
    differences: tuple[Difference, ...] = ()
    masked: tuple[tuple[Difference, str], ...] = ()
    trouble: str | None = None
    remark: str | None = None
    moved: Move | None = None

    @staticmethod
    def from_failure(title: str, operation: str | None, error: Exception) -> "Compared":
        """Return the result for a request without an answer from one side, or with one that cannot be compared."""
        verdict: Verdict = "not answered" if isinstance(error, BankError | InvalidResponse) else "not comparable"
        return Compared(title, operation, verdict, trouble=reason(error))


@dataclass(frozen=True, slots=True)
class Result:
    """`skipped` are the titles of writes that were not sent to the bank; `unused` and `lapsed` are ignore rules."""

    compared: tuple[Compared, ...]
    skipped: tuple[str, ...] = ()
    unused: tuple[IgnoreRule, ...] = ()
    lapsed: tuple[IgnoreRule, ...] = ()


@dataclass(eq=False, repr=False)
class Comparison:
    """Compares step by step and remembers the ids of things on each side.

    Without a `bank`, the recorded answers are used.

    Answers one of two questions: is the sandbox wrong, or (`against` the recording) has the bank changed?

    - `bank_url`, `sandbox_url`: the beginning of absolute links on each side. `against` the recording, `sandbox_url` is
      the bank's URL at that time.
    - `follow`: moves the sandbox to the state that the bank reports
    - `payment_user`: waits for the payment user to act at the bank
    - `redact`: replaces values with pseudonyms. Answers of the sandbox may contain pseudonyms too, because amendments
      are made from redacted answers. A recording that `is_redacted` contains nothing else.
    - `noise_reads`: how many more times each read is sent to the bank
    """

    interface: Interface
    schemas: Schemas
    sandbox: Ask
    bank: Ask | None
    _: KW_ONLY
    bank_url: str = ""
    sandbox_url: str = ""
    against: Against = "sandbox"
    follow: Follow | None = None
    payment_user: PaymentUser | None = None
    redact: Callable[[Exchange], Exchange] | None = None
    is_redacted: bool = False
    ignoring: Ignoring = field(default_factory=Ignoring)
    noise_reads: int = 1
    allow_writes: bool = False

    def __post_init__(self) -> None:
        self._index = Index(self.interface)
        things = self.interface.things
        self._drift = Drift(self.schemas, self.interface.every_error.schema, things.identifiers)
        self._undeclared = Drift(Schemas([]))
        self._consequences = Consequences(self.interface)
        self._between = Counterparts(self.bank_url, self.sandbox_url, things=things)
        self._states = BankStates()
        self._recorded_bank = Counterparts(self.bank_url, self.bank_url, things=things)
        self._recorded_sandbox = Counterparts(self.bank_url, self.sandbox_url, things=things)

    def on_journey(
        self, counterparts: Counterparts, states: BankStates, sandbox: SandboxSide, bank: Ask
    ) -> "Comparison":
        """Return a copy with other ids and states, for another client."""
        other = copy(self)
        other._between, other._states, other.bank = counterparts, states, bank
        other.sandbox, other.follow = sandbox.ask, sandbox.follow
        return other

    async def play(
        self, steps: Sequence[Step], progress: Callable[[int, int], None] = lambda done, count: None
    ) -> Result:
        """Run all steps in order. Calls `progress` with the number of finished steps and of all steps."""
        compared: dict[int, Compared] = {}
        skipped = []
        visits: Mapping[int, int] = {}
        if self.bank and self.payment_user:
            visits = payment_user.visits([step.recorded for step in steps], self._index)
        for position, step in enumerate(steps):
            if self.bank and not self._may_send(step.request):
                skipped.append(step.title)
            else:
                made = compared.get(visits[position]) if position in visits else None
                remark = await self._await_payment_user(made)
                compared[position] = outcome = await self.step(step)
                if remark:
                    compared[position] = replace(outcome, remark="; ".join(filter(None, (outcome.remark, remark))))
            progress(position + 1, len(steps))
        return Result(tuple(compared.values()), tuple(skipped), self.ignoring.unused, self.ignoring.lapsed)

    async def step(self, step: Step) -> Compared:
        """Ask both sides, or only the sandbox if the recorded answer replaces the bank's answer."""
        operation = self._operation(step.request)
        try:
            if self.bank is None or self.against == "recording":
                if step.recorded is None:
                    raise ValueError("there is no recorded answer to compare with")
                recorded = loaded_answer.load_recorded(step.recorded)
                if self.against == "recording":
                    bank, again = await self._ask_bank(step.request, "sandbox")
                    return self._judge(step.title, operation, bank, recorded, again)
                moved, sandbox = await self._ask_sandbox(step.request, "bank", recorded)
                return self._judge(step.title, operation, recorded, sandbox, [], moved)
            written: Side = "recording" if step.recorded else "sandbox"
            bank, again = await self._ask_bank(step.request, written)
            moved, sandbox = await self._ask_sandbox(step.request, written, bank)
            if step.recorded:
                self._learn(step.recorded, bank, self._recorded_bank)
                self._learn(step.recorded, sandbox, self._recorded_sandbox)
            return self._judge(step.title, operation, bank, sandbox, again, moved, step.expected)
        except (ValueError, InvalidResponse, BankError) as error:
            return Compared.from_failure(step.title, _id(operation), error)

    async def beside(
        self, request: Request, answer: Response, source: Source, worker: Executor | None = None, moves: int = 0
    ) -> Compared | None:
        """Compare an answer that a client has received with the other side's answer.

        Returns None for a write that is not sent.

        `moves` is how often the sandbox had followed the bank when it answered. If it has followed again since, the
        read is repeated. Never raises, like `step`; `answer` must be complete. The comparison runs in a thread, of
        `worker` if given, because large answers take seconds.
        """
        operation = self._operation(request)
        title = _id(operation) or "unknown operation"
        if source == "sandbox" and not self._may_send(request):
            return None
        try:
            again: list[LoadedAnswer] = []
            if source == "bank":
                bank = loaded_answer.take(request, answer, self.bank_url, 0.0)
                moved, sandbox = await self._ask_sandbox(request, "bank", bank)
                if self.bank:
                    again = await self._again(self.bank, request)
            else:
                self._between.is_also_at(client_url(request, len(split_target(request.target).segments)))
                sandbox = loaded_answer.take(request, answer, self.sandbox_url, 0.0)
                bank, again = await self._ask_bank(request, "sandbox")
                moved = await self._keep_step(request, bank)
                if self._states.moves != moves and self._is_read(request):
                    sandbox = await loaded_answer.ask(self.sandbox, request, self.sandbox_url)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(worker, self._judge, title, operation, bank, sandbox, again, moved)
        except (ValueError, InvalidResponse, BankError) as error:
            return Compared.from_failure(title, _id(operation), error)

    # Asking

    async def _await_payment_user(self, made: Compared | None) -> str | None:
        """Wait for the payment user to act on what was made. Returns a remark if that did not help."""
        if self.bank and self.payment_user and made and made.bank and made.bank.status < 300:
            return await self.payment_user.act(self.bank, made.bank, self._index)
        return None

    def _may_send(self, request: Request) -> bool:
        return self.allow_writes or self._is_read(request)

    async def _ask_sandbox(
        self, request: Request, written: Side, bank: LoadedAnswer
    ) -> tuple[Move | None, LoadedAnswer]:
        """Return the sandbox's answer, after it has followed the bank's state."""
        if written == "bank":
            request = self._between.to_right(request)
        elif written == "recording":
            request = self._recorded_sandbox.to_right(request)
        self._between.is_also_at(client_url(request, len(split_target(request.target).segments)))
        moved = await self._keep_step(request, bank)
        return moved, await loaded_answer.ask(self.sandbox, request, self.sandbox_url)

    async def _keep_step(self, request: Request, bank: LoadedAnswer) -> Move | None:
        """Let the sandbox, which gets or got `request`, follow the state in the bank's answer."""
        exchange = bank.exchange
        asked = Asked.in_exchange(self._index, exchange)
        state = self._states.detect_change(asked, exchange, bank.content)
        if self.follow is None or not self._is_read(exchange):
            return None
        if state is None:
            return self._states.find_refused(asked, bank.content)
        moved = await self.follow(request, replace(state, id=self._between.twin(state.id)))
        if moved:
            self._states.keep(state, moved)
        return moved

    async def _ask_bank(self, request: Request, written: Side) -> tuple[LoadedAnswer, list[LoadedAnswer]]:
        if self.bank is None:
            raise ValueError("no bank is configured")
        if written == "sandbox":
            request = self._between.to_left(request)
        elif written == "recording":
            request = self._recorded_bank.to_right(request)
        own = (pair for pair in request.headers if not pair[0].lower().startswith(OURS))
        request = structs.replace(request, headers=Headers(own))
        answer = await loaded_answer.ask(self.bank, request, self.bank_url)
        return answer, await self._again(self.bank, request)

    async def _again(self, bank: Ask, request: Request) -> list[LoadedAnswer]:
        """Repeat a read one or more times. Differences between the answers are noise."""
        if not self._is_read(request):
            return []
        again: list[LoadedAnswer] = []
        for _ in range(self.noise_reads):
            fresh = Headers(
                (name, str(uuid.uuid4()) if name.lower() == "x-request-id" and is_uuid(value) else value)
                for name, value in request.headers
            )
            again.append(await loaded_answer.ask(bank, structs.replace(request, headers=fresh), self.bank_url))
        return again

    def _learn(self, recorded: Exchange, answer: LoadedAnswer, counterparts: Counterparts) -> None:
        """Learn that the ids in the recorded answer and in the current one mean the same."""
        if recorded.cut or max(recorded.status, answer.response.status) >= 300:
            return
        then = loaded_answer.load_recorded(recorded)
        AnswerDiff(counterparts, makes=self._makes(recorded)).answers(
            then.response, then.content, answer.response, answer.content
        )

    # Judging

    def _operation(self, request: Request | Exchange) -> Operation | None:
        return self._lookup(request).operation

    def _lookup(self, request: Request | Exchange) -> Lookup:
        return self._index.find(request.method, split_target(request.target).segments)

    def _is_read(self, request: Request | Exchange) -> bool:
        return self._lookup(request).is_read(request.method)

    def _makes(self, exchange: Exchange) -> bool:
        """Return whether the answer names what the request has created."""
        operation = self._operation(exchange)
        return operation.does.verb == "create" if operation and operation.does else exchange.method == "POST"

    def _judge(
        self,
        title: str,
        operation: Operation | None,
        bank: LoadedAnswer,
        sandbox: LoadedAnswer,
        again: Sequence[LoadedAnswer],
        moved: Move | None = None,
        expected: int | None = None,
    ) -> Compared:
        answers = [self.interface.every_answer, *(operation.behaviour.respond if operation else ())]
        header_names = {name.lower() for answer in answers for name, _ in answer.headers}
        silent = self.interface.silent
        # A bank that does not speak the dialect is not judged by its schemas.
        drift = self._undeclared if silent and (operation is None or operation.id in silent) else self._drift
        # If only one of the reads violates the schema, this is not noise: judge that read.
        usable = [read for read in again if read.response.status == bank.response.status]
        reads = [bank, *usable]
        bank = max(reads, key=lambda read: len(drift.breaches(operation, read, sandbox))) if usable else bank
        both = bank.response, bank.content, sandbox.response, sandbox.content
        contrast = AnswerDiff(self._between, header_names, makes=self._makes(bank.exchange))
        differences = self._without_replaced(contrast.answers(*both), bank, sandbox)
        differences = drift.mark(differences, operation, bank, sandbox)
        if self.against == "recording":
            # A violation that was already in the recording is not a change.
            differences = [difference for difference in differences if difference.kind != "drift"]
        schema = drift.schema(operation, bank, sandbox) if differences else None
        noise = Noise(
            bank.response, [read.response for read in reads if read is not bank], header_names, self.interface.things
        )
        unusable = len(again) - len(usable)
        counted, masked = [], []
        for raw in differences:
            if moved and not moved.done and raw.place and "/".join(map(str, raw.place)) == moved.member:
                raw = replace(raw, kind="state", means=None)
            difference = self._consequences.weigh(raw, bank, sandbox, schema)
            difference = self.ignoring.weigh(difference, _id(operation))
            # A member that no schema lists has no type that could be violated.
            breaks = difference.drift and difference.means != "unlisted-member"
            why = None if breaks else noise.reason(difference, self._between.twin)
            if why := why or self.ignoring.reason(difference, _id(operation)):
                masked.append((difference, why))
            else:
                counted.append(difference)
        remark = f"{unusable} of the repeated reads had a different status" if unusable else None
        verdict: Verdict = "differs" if counted else "same"
        if expected is not None and expected < 400 <= min(bank.response.status, sandbox.response.status):
            verdict = "refused"
        sides = bank.exchange, sandbox.exchange
        differing = tuple(counted), tuple(masked)
        return Compared(title, _id(operation), verdict, *sides, *differing, remark=remark, moved=moved)

    def _without_replaced(
        self, differences: list[Difference], bank: LoadedAnswer, sandbox: LoadedAnswer
    ) -> list[Difference]:
        """Return the differences without those that redaction causes: pseudonyms, and removed headers."""
        if self.redact is None or not any(
            difference.header or difference.kind in _OF_TEXTS for difference in differences
        ):
            return differences
        redacted = self.redact(bank.exchange)
        redacted_body = body.read(redacted.answer_body).value

        def is_replaced(difference: Difference) -> bool:
            if difference.header:
                lacks = self.is_redacted and self.against == "recording" and difference.kind != "header-extra"
                return lacks and redacted.answer_headers.get(difference.header) in (None, DROPPED)
            there = at_pointer(redacted_body, [*map(str, difference.bank_place)])
            here = at_pointer(sandbox.content.value, [*map(str, difference.place)])
            if difference.kind not in _OF_TEXTS or not there or not here:
                return False
            name = str(difference.bank_place[-1]) if difference.bank_place else ""
            texts = isinstance(there[0], str) and isinstance(here[0], str)
            return there == here or (texts and self._between.is_same(name, there[0], here[0], learn=False))

        return [difference for difference in differences if not is_replaced(difference)]


_OF_TEXTS = frozenset({"value", "format"})


def _id(operation: Operation | None) -> str | None:
    return operation.id if operation else None


def reason(error: Exception) -> str:
    """Return the reason, without any data of the exchange."""
    if isinstance(error, InvalidResponse):
        return "the bank's answer is not valid HTTP"
    if isinstance(error, BankError):
        reason = error.values.get("reason") or error.values.get("address")
        return f"{error.name}: {error.values.get('bank', 'the bank')}{f', {reason}' if reason else ''}"
    return str(error)
