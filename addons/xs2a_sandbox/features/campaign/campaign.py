"""A whole campaign: learns, plans, runs each fault in a separate session, judges, and keeps the results."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from xs2a_sandbox.bank.loading import read_quirks
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.config.known_banks import known_banks
from xs2a_sandbox.config.readers import seconds as read_seconds
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign import bank, judge
from xs2a_sandbox.features.campaign.atlas import AtlasBank, name_runs, plan_atlas
from xs2a_sandbox.features.campaign.bank import SandboxAddresses, Sandboxes
from xs2a_sandbox.features.campaign.case import Case, Learned
from xs2a_sandbox.features.campaign.command import Command, Stopped
from xs2a_sandbox.features.campaign.judge import AppFinding
from xs2a_sandbox.features.campaign.learning import Begin, Lesson, count_cores, learn_one, learning
from xs2a_sandbox.features.campaign.left_out import BUDGET, UNREACHED, SkippedFault, group_left_out
from xs2a_sandbox.features.campaign.order import ENVIRONMENT, QUIRKS, PlannedFault, refuses_by_request
from xs2a_sandbox.features.campaign.plan import Plan, choose_faults, plan
from xs2a_sandbox.features.campaign.run import Observed, RunSession
from xs2a_sandbox.features.campaign.shown import Declared
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault
from xs2a_sandbox.wording import say_count, say_span

_LEAST_SECONDS, _MOST_SECONDS = 30.0, 600.0
_PAUSE = 1.0
"""Seconds between two checks whether the campaign should stop."""
_LONGER = 10
"""The time limit of a run, as a multiple of the fault-free run."""
_SESSION = "campaign-{}"


@dataclass(frozen=True, slots=True)
class RunExchanges:
    """The exchanges of a run and of the next one in the journal of the sandbox.

    `first` and `last` are numbers, `after` is that of the first exchange of the next run. `fault` is the number of the
    exchange with the fault, and `call` its method and path, if one call has it. `time` is that of the first exchange:
    when the sandbox starts again, it also starts to count again.
    """

    session: str
    first: int
    last: int
    time: str
    fault: int | None = None
    after: int | None = None
    call: str = ""


@dataclass(frozen=True, slots=True)
class FaultResult:
    """The result of a fault. `statuses` are the exit statuses of its run and of the next one."""

    fault: InjectedFault
    order: Mapping[str, Any]
    findings: tuple[AppFinding, ...] = ()
    statuses: tuple[int | None, ...] = ()
    seconds: float = 0.0
    is_reached: bool = True
    exchanges: RunExchanges | None = None


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a campaign in the order of their points, and the faults that were left out.

    `again` is the beginning of the campaign's command, for repeating a single result. `banks` are those of the atlas,
    if the campaign was about them.
    """

    command: str
    calls: Mapping[str, int]
    results: tuple[FaultResult, ...]
    left_out: tuple[SkippedFault, ...]
    seconds: float
    warnings: tuple[str, ...] = ()
    again: tuple[str, ...] = ("xs2a-sandbox", "campaign")
    banks: tuple[AtlasBank, ...] = ()

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

    It tries the faults that contain a word to `choose`, or all of them; with `atlas`, only quirks and banks.

    The bank is the sandbox at `url`, or a new one for each of the `jobs`, started with `flags`, in a folder in
    `scratch`. Without a number of `jobs`, it is as many as keep the processor cores busy. The campaign ends after
    `budget` seconds, a run after `timeout`; a `slow` answer takes that long. `declared` are the kinds of texts that the
    app shows.
    """

    command: Command
    interface: Interface
    scratch: Path
    flags: Sequence[str] = ()
    url: str | None = None
    confdir: Path = field(default_factory=Path)
    jobs: int | None = None
    budget: float | None = None
    timeout: float | None = None
    slow: str = "2s"
    choose: Sequence[str] = ()
    atlas: bool = False
    declared: Declared = ()
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
        with (
            self._sandboxes() as sandboxes,
            learning(sandboxes, self._begin(self.timeout or _MOST_SECONDS), self.command, self.jobs) as lesson,
        ):
            usual = lesson.learned.first.seen
            # A sandbox that runs already keeps the quirks that it was started with.
            quirks = read_quirks() if self.url is None else {}
            banks: tuple[AtlasBank, ...] = ()
            if self.atlas:
                made, banks = plan_atlas(self.interface, usual, quirks, known_banks())
            else:
                days = sorted(judge.dated_days(lesson.learned))
                made = plan(self.interface, usual, lesson.approvals, self.slow, quirks, days)
            made = replace(made, faults=choose_faults(made.faults, tuple(name_runs(self.choose, banks))))
            there = kept.begin(made)
            todo = [planned for planned in made.faults if planned.fault not in there]
            calls, operations = say_count(len(usual.calls), "call"), say_count(len(usual.counts), "operation")
            text = f"{calls} of {operations}, {say_count(len(made.faults), 'fault')}"
            text += f", {len(there)} of them tried before" if there else ""
            self.note(f"{text}; about {say_span(_estimate(todo, lesson, sandboxes))}")
            results = {**there, **self._try_all(sandboxes, lesson, todo, kept, started)}
        return self._results(lesson, made, results, started, banks)

    def run_one(self, fault: InjectedFault, order: Mapping[str, Any]) -> Results:
        """Run a single fault, regardless of the plan. Raises UserMistake."""
        quirks = read_quirks() if QUIRKS in order else {}
        is_avoidable = any(refuses_by_request(quirks[name]) for name in order.get(QUIRKS, ()) if name in quirks)
        started, planned = time.monotonic(), PlannedFault(fault, order, is_avoidable=is_avoidable)
        with self._sandboxes() as sandboxes:
            lesson = learn_one(sandboxes, self._begin(self.timeout or _MOST_SECONDS), self.command)
            result = self._try(sandboxes, lesson, planned, 1)
        return self._results(lesson, Plan([planned]), {fault: result}, started)

    def _results(
        self,
        lesson: Lesson,
        made: Plan,
        results: Mapping[InjectedFault, FaultResult],
        started: float,
        banks: tuple[AtlasBank, ...] = (),
    ) -> Results:
        tried = [results[planned.fault] for planned in made.faults if planned.fault in results]
        left_out = list(made.left_out)
        left_out += [SkippedFault(result.fault, UNREACHED) for result in tried if not result.is_reached]
        left_out += [SkippedFault(planned.fault, BUDGET) for planned in made.faults if planned.fault not in results]
        reached = tuple(result for result in tried if result.is_reached)
        if not reached:
            why = (
                "; ".join(group.sentence for group in group_left_out(left_out))
                or "none is possible for the requests of COMMAND"
            )
            raise UserMistake(f"the campaign tried no fault: {why}")
        return Results(
            str(self.command),
            lesson.learned.first.seen.counts,
            tuple(sorted(reached, key=_place_in(lesson.learned))),
            tuple(left_out),
            time.monotonic() - started,
            lesson.warnings,
            banks=banks,
        )

    # -- trying

    def _try_all(
        self,
        sandboxes: Sandboxes,
        lesson: Lesson,
        todo: Sequence[PlannedFault],
        kept: KeptResults,
        started: float,
    ) -> dict[InjectedFault, FaultResult]:
        results: dict[InjectedFault, FaultResult] = {}
        lock, began = threading.Lock(), time.monotonic()

        def work(number: int, planned: PlannedFault) -> None:
            if self.budget is not None and time.monotonic() - started > self.budget:
                return
            try:
                result = self._try(sandboxes, lesson, planned, number)
            except Stopped:
                return
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

        executor = ThreadPoolExecutor(lesson.jobs)
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

    def _try(self, sandboxes: Sandboxes, lesson: Lesson, planned: PlannedFault, number: int) -> FaultResult:
        fault, learned = planned.fault, lesson.learned
        limit = self.timeout or max(_LEAST_SECONDS, _LONGER * learned.first.ended.seconds + 2 * read_seconds(self.slow))
        if fault.operation is None:
            return self._try_all_the_time(sandboxes, lesson, planned, number, limit)
        with sandboxes.borrow() as sandbox, self._begin(limit)(sandbox, str(number), lesson.command) as session:
            most_calls = judge.allow_all_calls(learned)
            run = session.run(fault, planned.order, most_calls)
            if not run.hits:
                return FaultResult(fault, planned.order, is_reached=False)
            findings = judge.findings(Case(learned, fault, run))
            session.lift()
            after = session.run(most_calls=most_calls)
            findings += [
                finding for finding in judge.findings(Case(learned, fault, run, after)) if finding not in findings
            ]
            return _result(planned, findings, session.name, run, after)

    def _try_all_the_time(
        self, sandboxes: Sandboxes, lesson: Lesson, planned: PlannedFault, number: int, limit: float
    ) -> FaultResult:
        """Run with a fault that is there all the time, so there is no run without it afterwards.

        If the app stores entries, it runs a second time with the fault, because only that shows what it stores twice.
        """
        confdir = self.scratch / f"bank-{number}"
        quirks = [word for name in planned.order.get(QUIRKS, ()) for word in ("--quirk", name)]
        variables = {**lesson.command.variables, **planned.order.get(ENVIRONMENT, {})}
        command, most_calls = replace(lesson.command, variables=variables), judge.allow_all_calls(lesson.learned)
        with (
            bank.of_its_own(confdir, (*self.flags, *quirks)) if quirks else sandboxes.borrow() as sandbox,
            self._begin(limit)(sandbox, str(number), command) as session,
        ):
            run = session.run(planned.fault, None, most_calls)
            is_twice = run.ended.status == 0 and lesson.learned.storage.copies
            again = session.run(planned.fault, None, most_calls) if is_twice else None
            findings = judge.findings(Case(lesson.learned, planned.fault, run, None, again, planned.is_avoidable))
            return _result(planned, findings, session.name, run, None)

    def _begin(self, limit: float) -> Begin:
        """Return a function that makes a session whose runs take at most that long."""

        def begin(sandbox: SandboxAddresses, name: str, command: Command) -> RunSession:
            folder = self.scratch / f"run-{name}"
            return RunSession(
                sandbox, _SESSION.format(name), command, limit, folder, self._index, self.declared, self._stop
            )

        return begin

    def _sandboxes(self) -> Sandboxes:
        """Return the sandboxes for the jobs. Raises UserMistake."""
        return Sandboxes(self.scratch, self.flags, self.url, self.confdir)


def _estimate(todo: Sequence[PlannedFault], lesson: Lesson, sandboxes: Sandboxes) -> float:
    """Return about how many seconds it takes to try these faults. Starting a sandbox keeps a core busy."""
    whole = sum(planned.fault.operation is None for planned in todo)
    runs = (2 * len(todo) - whole) * lesson.learned.second.ended.seconds
    return whole * sandboxes.start_seconds / min(lesson.jobs, count_cores()) + runs / lesson.jobs


def _result(
    planned: PlannedFault, findings: Sequence[AppFinding], session: str, run: Observed, after: Observed | None
) -> FaultResult:
    statuses = (run.ended.status, after.ended.status if after else None)
    seconds = run.ended.seconds + (after.ended.seconds if after else 0.0)
    exchanges = _exchanges(planned.fault, session, run, after)
    return FaultResult(planned.fault, planned.order, tuple(findings), statuses, seconds, exchanges=exchanges)


def _exchanges(fault: InjectedFault, session: str, run: Observed, after: Observed | None) -> RunExchanges | None:
    later = after.seen.calls if after else ()
    calls = [*run.seen.calls, *later]
    if not calls:
        return None
    same = list(run.seen.of(fault.operation or ""))
    hit = same[fault.call - 1] if fault.call and fault.call <= len(same) else None
    return RunExchanges(
        session,
        calls[0].number,
        calls[-1].number,
        calls[0].time,
        hit.number if hit else None,
        later[0].number if later else None,
        f"{hit.method} {hit.path}" if hit else "",
    )


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
