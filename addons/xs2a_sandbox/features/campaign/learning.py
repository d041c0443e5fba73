"""The runs without a fault: what the app usually does, and how many runs fit next to each other."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from xs2a_sandbox.bank.domain.documents import frequency_of
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign.bank import SandboxAddresses, Sandboxes
from xs2a_sandbox.features.campaign.case import Learned
from xs2a_sandbox.features.campaign.command import Command, Ended
from xs2a_sandbox.features.campaign.run import Observed, RunSession
from xs2a_sandbox.journal.journal import COUNT

_MOST_PER_CORE = 4
_RUNS_IN_JOURNAL = 4
"""How many times each of the parallel runs must fit into the journal of a sandbox that they share."""


type Begin = Callable[[SandboxAddresses, str, Command], RunSession]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is known before the first fault. `command` is to be run for each, `jobs` is the number of parallel runs."""

    learned: Learned
    command: Command
    jobs: int
    warnings: tuple[str, ...]

    @property
    def approvals(self) -> int:
        """The number of approvals by customers."""
        return self.learned.first.approvals


@contextmanager
def learning(sandboxes: Sandboxes, begin: Begin, command: Command, jobs: int | None) -> Iterator[Lesson]:
    """Run the command twice in one session, and next to the second run once in another.

    If forks of a warm process behave like the command, they replace it within the context. Without a number of `jobs`,
    it is as many as keep the processor cores busy, if runs do not affect each other. Raises UserMistake if the command
    cannot be learned from.
    """
    warm = command.warm_up()
    try:
        lesson = _learn_warm(sandboxes, begin, replace(command, warm=warm), jobs) if warm else None
        yield lesson or _learn(sandboxes, begin, command, jobs)
    finally:
        if warm:
            warm.stop()


def learn_one(sandboxes: Sandboxes, begin: Begin, command: Command) -> Lesson:
    """Learn for a single fault, for which nothing needs to be quick."""
    return _learn(sandboxes, begin, command, 1)


def _learn_warm(sandboxes: Sandboxes, begin: Begin, command: Command, jobs: int | None) -> Lesson | None:
    """Return the lesson, or None if forks do not behave like runs of the command."""
    try:
        lesson = _learn(sandboxes, begin, command, jobs)
    except UserMistake:
        return None
    return None if lesson.warnings else lesson


def _learn(sandboxes: Sandboxes, begin: Begin, command: Command, jobs: int | None) -> Lesson:
    with sandboxes.borrow() as sandbox, begin(sandbox, "0", command) as session, ThreadPoolExecutor(1) as beside:
        first = session.run()
        _check(first)
        for call in first.seen.calls:
            _ = call.whole, call.consent  # while the sandbox has them
        frequency = _frequency(session, first)
        if command.warm and not command.warm.load():
            raise UserMistake("the libraries of the command cannot be loaded before a fork")
        other = beside.submit(_run_beside, sandbox, begin, command) if jobs is None or command.warm else None
        try:
            second = session.run()
        except KeyboardInterrupt:
            session.stop.set()  # so that the run beside it ends, too
            raise
        warnings = list(_warn(second))
        beside_it = other.result() if other else None
        if beside_it and (trouble := _differs(first, beside_it)):
            warnings.append(trouble)
            jobs = 1
    if jobs is None:
        jobs = count_jobs(second.ended if command.warm else first.ended)
        if sandboxes.are_shared:
            jobs = min(jobs, max(1, COUNT // (_RUNS_IN_JOURNAL * len(first.seen.calls))))
    return Lesson(Learned(first, second, frequency, beside_it), command, jobs, tuple(warnings))


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


def _warn(second: Observed) -> Iterator[str]:
    if second.ended.status:
        text = f"run twice in a row the command ends with status {second.ended.status}"
        yield f"{text}, so that nothing is said about the next run after a fault"


def _frequency(session: RunSession, first: Observed) -> int | None:
    """Return the lowest number of uses per day among the consents that were used."""
    used = {id for call in first.seen.calls if (id := call.consent)}
    consents = session.client.collection("consents")
    allowed = (frequency_of(consents[id]) for id in used & consents.keys())
    return min(filter(None, allowed), default=None)


def _run_beside(sandbox: SandboxAddresses, begin: Begin, command: Command) -> Observed:
    with begin(sandbox, "beside", command) as session:
        return session.run()


def _differs(first: Observed, beside: Observed) -> str | None:
    """Return a warning if a run in another session, while a run is going on, does not behave like the first run."""
    if beside.ended.status == 0 and beside.seen.counts.keys() == first.seen.counts.keys():
        return None
    how = f"ends with status {beside.ended.status}" if beside.ended.status else "makes other calls"
    return (
        f"run twice at the same time, in separate sessions, the command {how}, so the campaign does one run at a time: "
        "let the app keep its data in XS2A_SANDBOX_RUN_DIR, and use no fixed port"
    )


def count_jobs(usual: Ended) -> int:
    """Return how many runs keep the cores busy."""
    share = max(0.01, usual.processor_seconds) / usual.seconds
    return round(count_cores() * min(_MOST_PER_CORE, max(1.0, 1 / share)))


def count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
