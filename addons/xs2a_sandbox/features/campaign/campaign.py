"""A whole campaign: learns, plans, runs each fault in a session of its own, judges, and keeps the results."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Queue
from typing import Protocol

from xs2a_sandbox.bank.domain.documents import frequency_of
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.config.readers import seconds as read_seconds
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign import bank, judge
from xs2a_sandbox.features.campaign.command import Command, Stopped
from xs2a_sandbox.features.campaign.judge import AppFinding, Case, Learned
from xs2a_sandbox.features.campaign.plan import BUDGET, UNREACHED, Plan, PlannedFault, plan
from xs2a_sandbox.features.campaign.run import Observed, RunSession
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault
from xs2a_sandbox.wording import say_count

_LEAST_SECONDS, _MOST_SECONDS = 30.0, 600.0
_PAUSE = 1.0
"""Seconds between two checks whether the campaign should stop."""
_LONGER = 10
"""The time limit of a run, as a multiple of the fault-free run."""
_SESSION = "campaign-{}"


@dataclass(frozen=True, slots=True)
class FaultResult:
    """The result of a fault. `statuses` are the exit statuses of its run and of the next one."""

    fault: InjectedFault
    order: Mapping[str, object] | None
    findings: tuple[AppFinding, ...] = ()
    statuses: tuple[int | None, ...] = ()
    seconds: float = 0.0
    is_reached: bool = True


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a campaign in the order of their points, and the numbers of faults left out by reason.

    `again` is the beginning of the campaign's command, for repeating a single result.
    """

    command: str
    calls: Mapping[str, int]
    results: tuple[FaultResult, ...]
    left_out: Mapping[str, int]
    seconds: float
    warnings: tuple[str, ...] = ()
    again: tuple[str, ...] = ("xs2a-sandbox", "campaign")

    @property
    def findings(self) -> list[FaultResult]:
        return [result for result in self.results if result.findings]


class KeptResults(Protocol):
    """Keeps results, so that an interrupted campaign can be resumed."""

    def begin(self, plan: Plan) -> dict[InjectedFault, FaultResult]:
        """Return the existing results for this plan."""
        ...

    def add(self, result: FaultResult) -> None: ...


@dataclass(frozen=True, slots=True)
class CampaignState:
    """The state of a campaign after its `last` result; `left` is an estimate of the seconds that remain."""

    done: int
    of: int
    with_findings: int
    left: float
    last: FaultResult


@dataclass(slots=True)
class Campaign:
    """Runs a `command` against a bank.

    The bank is the sandbox at `url`, or a new one for each of the `jobs`, started with `flags`, in a folder in
    `scratch`. The campaign ends after `budget` seconds, a run after `timeout`; a `slow` answer takes that long.
    """

    command: Command
    interface: Interface
    scratch: Path
    flags: Sequence[str] = ()
    url: str | None = None
    confdir: Path = field(default_factory=Path)
    jobs: int = 1
    budget: float | None = None
    timeout: float | None = None
    slow: str = "2s"
    choose: Callable[[Sequence[PlannedFault]], list[PlannedFault]] = list
    tell: Callable[[CampaignState], None] = lambda state: None
    note: Callable[[str], None] = lambda text: None
    _stop: threading.Event = field(default_factory=threading.Event)
    _index: Index = field(init=False)

    def __post_init__(self) -> None:
        self._index = Index(self.interface)

    def run(self, kept: KeptResults) -> Results:
        """Run the campaign.

        Raises UserMistake if the command fails without a fault, calls no bank, or no fault is possible.
        """
        started = time.monotonic()
        with self._sandboxes() as sandboxes:
            learned, approvals = self._learn(sandboxes[0])
            usual = learned.first.seen
            made = plan(self.interface, usual, approvals, self.slow, with_quirks=self.url is None)
            made = replace(made, faults=_choose(made.faults, self.choose))
            there = kept.begin(made)
            todo = [planned for planned in made.faults if planned.fault not in there]
            calls, operations = say_count(len(usual.calls), "call"), say_count(len(usual.counts), "operation")
            text = f"{calls} of {operations}, {say_count(len(made.faults), 'fault')}"
            self.note(text + (f", {len(there)} of them tried before" if there else ""))
            results = {**there, **self._try_all(sandboxes, learned, todo, kept, started)}
        return self._results(learned, made, results, started)

    def run_one(self, fault: InjectedFault, order: Mapping[str, object] | None) -> Results:
        """Run a single fault, regardless of the plan. Raises UserMistake."""
        started, planned = time.monotonic(), PlannedFault(fault, order)
        with self._sandboxes() as sandboxes:
            learned, _ = self._learn(sandboxes[0])
            result = self._try(sandboxes[0], learned, planned, 1)
        return self._results(learned, Plan([planned]), {fault: result}, started)

    def _results(
        self, learned: Learned, made: Plan, results: Mapping[InjectedFault, FaultResult], started: float
    ) -> Results:
        tried = [results[planned.fault] for planned in made.faults if planned.fault in results]
        left_out = Counter(made.left_out)
        left_out[UNREACHED] += sum(not result.is_reached for result in tried)
        left_out[BUDGET] += len(made.faults) - len(tried)
        reached = tuple(result for result in tried if result.is_reached)
        if not reached:
            raise UserMistake("the campaign tried no fault: " + _why_nothing(left_out))
        warnings = []
        if not learned.passes_again:
            text = f"run twice in a row the command ends with status {learned.second.ended.status}"
            warnings.append(f"{text}, so that nothing is said about the next run after a fault")
        return Results(
            str(self.command),
            learned.first.seen.counts,
            tuple(sorted(reached, key=_place_in(learned))),
            {why: count for why, count in left_out.items() if count},
            time.monotonic() - started,
            tuple(warnings),
        )

    # -- learning

    def _learn(self, sandbox: bank.SandboxAddresses) -> tuple[Learned, int]:
        """Return the fault-free run, twice in one session, and the number of approvals by customers.

        Raises UserMistake.
        """
        limit = self.timeout or _MOST_SECONDS
        with self._session(sandbox, 0, limit) as session:
            first = session.run()
            _check(first)
            for call in first.seen.calls:
                _ = call.whole  # while the journal has it
            frequency = _frequency(session, first)
            second = session.run()
        return Learned(first, second, frequency), first.approvals

    # -- trying

    def _try_all(
        self,
        sandboxes: Sequence[bank.SandboxAddresses],
        learned: Learned,
        todo: Sequence[PlannedFault],
        kept: KeptResults,
        started: float,
    ) -> dict[InjectedFault, FaultResult]:
        results: dict[InjectedFault, FaultResult] = {}
        lock, began, free = threading.Lock(), time.monotonic(), Queue[bank.SandboxAddresses]()
        for sandbox in sandboxes:
            free.put(sandbox)

        def work(number: int, planned: PlannedFault) -> None:
            if self.budget is not None and time.monotonic() - started > self.budget:
                return
            sandbox = free.get()
            try:
                result = self._try(sandbox, learned, planned, number)
            except Stopped:
                return
            finally:
                free.put(sandbox)
            with lock:
                results[planned.fault] = result
                kept.add(result)
                left = (time.monotonic() - began) / len(results) * (len(todo) - len(results))
                if self.budget is not None:
                    left = min(left, max(0.0, self.budget - (time.monotonic() - started)))
                self.tell(
                    CampaignState(
                        len(results),
                        len(todo),
                        sum(bool(tried.findings) for tried in results.values()),
                        left,
                        result,
                    )
                )

        executor = ThreadPoolExecutor(self.jobs)
        try:
            waiting: set[Future[None]] = {
                executor.submit(work, number, planned) for number, planned in enumerate(todo, 1)
            }
            while waiting:
                # A ^C just before the wait is noticed at the next check.
                done, waiting = wait(waiting, _PAUSE, FIRST_EXCEPTION)
                for future in done:
                    future.result()
        except KeyboardInterrupt:
            self._stop.set()
            raise
        finally:
            executor.shutdown(cancel_futures=True)
        return results

    def _try(self, sandbox: bank.SandboxAddresses, learned: Learned, planned: PlannedFault, number: int) -> FaultResult:
        fault = planned.fault
        limit = self.timeout or max(_LEAST_SECONDS, _LONGER * learned.first.ended.seconds + 2 * read_seconds(self.slow))
        if planned.order is None:
            return self._try_quirk(learned, planned, number, limit)
        with self._session(sandbox, number, limit) as session:
            run = session.run(fault, planned.order)
            if not run.hits:
                return FaultResult(fault, planned.order, is_reached=False)
            findings = judge.findings(Case(learned, fault, run))
            session.lift()
            after = session.run()
            findings += [
                finding for finding in judge.findings(Case(learned, fault, run, after)) if finding not in findings
            ]
        return _result(planned, findings, run, after)

    def _try_quirk(self, learned: Learned, planned: PlannedFault, number: int, limit: float) -> FaultResult:
        """Run with a bank that has the quirk all the time, so there is no run without it afterwards."""
        confdir = self.scratch / f"bank-{number}"
        with (
            bank.of_its_own(confdir, (*self.flags, "--quirk", planned.fault.name)) as sandbox,
            self._session(sandbox, number, limit) as session,
        ):
            run = session.run(planned.fault)
            findings = judge.findings(Case(learned, planned.fault, run))
        return _result(planned, findings, run, None)

    def _session(self, sandbox: bank.SandboxAddresses, number: int, limit: float) -> RunSession:
        folder = self.scratch / f"run-{number}"
        return RunSession(sandbox, _SESSION.format(number), self.command, limit, folder, self._index, self._stop)

    @contextmanager
    def _sandboxes(self) -> Iterator[list[bank.SandboxAddresses]]:
        """Provide a sandbox for each job. Raises UserMistake."""
        if self.url is not None:
            yield [bank.that_runs(self.url, self.confdir)] * self.jobs
            return
        with ExitStack() as begun:
            sandboxes: list[bank.SandboxAddresses] = []
            for number in range(self.jobs):
                confdir = self.scratch / f"bank-of-job-{number}"
                sandboxes.append(begun.enter_context(bank.of_its_own(confdir, self.flags)))
            yield sandboxes


def _choose(
    faults: list[PlannedFault], choose: Callable[[Sequence[PlannedFault]], list[PlannedFault]]
) -> list[PlannedFault]:
    """Choose among the faults. Raises UserMistake if none is chosen although there are some."""
    chosen = choose(faults)
    if faults and not chosen:
        names = "; ".join(str(planned.fault) for planned in faults if planned.fault.operation is not None)[:200]
        raise UserMistake(f"--choose matches none of the {len(faults)} faults, which are: {names} …")
    return chosen


def _check(first: Observed) -> None:
    """Check that a fault-free run can be learned from. Raises UserMistake."""
    output = f"\n{first.ended.output.strip()}" if first.ended.output.strip() else ""
    if first.ended.hung:
        raise UserMistake(
            f"the command does not end within {first.ended.seconds:.0f} s, even without a fault; see --timeout{output}"
        )
    if first.ended.status:
        raise UserMistake(
            f"the command fails without a fault, with status {first.ended.status}; fix that first{output}"
        )
    if not first.seen.calls:
        text = "the command did not call the bank: let it read the address in XS2A_SANDBOX_URL, or set a variable of"
        raise UserMistake(f"{text} its own with --env NAME={{url}}{output}")
    if first.seen.is_cut:
        raise UserMistake("the command makes more calls than the journal of the sandbox holds: run fewer tests")


def _frequency(session: RunSession, first: Observed) -> int | None:
    """Return the lowest number of uses per day among the consents that were used."""
    used = {id for call in first.seen.calls if (id := call.consent)}
    consents = session.client.collection("consents")
    return min((frequency_of(consents[id]) for id in used & consents.keys()), default=None)


def _result(
    planned: PlannedFault, findings: Sequence[AppFinding], run: Observed, after: Observed | None
) -> FaultResult:
    statuses = (run.ended.status, after.ended.status if after else None)
    seconds = run.ended.seconds + (after.ended.seconds if after else 0.0)
    return FaultResult(planned.fault, planned.order, tuple(findings), statuses, seconds)


def _place_in(learned: Learned) -> Callable[[FaultResult], tuple[int, int, str, bool]]:
    """Return a sort key for results by the order of their points, quirks and endings of SCA last."""
    operations = {operation: place for place, operation in enumerate(learned.first.seen.counts)}

    def place(result: FaultResult) -> tuple[int, int, str, bool]:
        fault = result.fault
        return (
            operations.get(fault.operation or "", len(operations)),
            fault.call or 0,
            fault.name,
            fault.phase == "after",
        )

    return place


def _why_nothing(left_out: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {why}" for why, count in sorted(left_out.items()) if count) or "there is nothing to try"
