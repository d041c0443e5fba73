"""Everything that can be found wrong before a request comes: in what is written, and when it is tried."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from xs2a_sandbox import answer_schema, assembly, parameter
from xs2a_sandbox.bundled import SCENARIOS, bundled
from xs2a_sandbox.cassette import Operation, Rule
from xs2a_sandbox.config import Settings
from xs2a_sandbox.dry_run import computed, dry_run, mismatch
from xs2a_sandbox.errors import Problem
from xs2a_sandbox.interface import Interface
from xs2a_sandbox.testdata import overlay
from xs2a_sandbox.trial import Trial, trials
from xs2a_sandbox.unused import unused


def check(settings: Settings, paths: Sequence[Path] = ()) -> list[Problem]:
    """Of the configured files, and of `paths` laid over them. Nothing is tried before all of it can be read."""
    found = [p for real in settings.real_banks() for p in _of_bank(settings, assembly.read(settings, paths, real))]
    return sorted(dict.fromkeys(found), key=lambda p: (str(p.file), p.line, p.column))


def _of_bank(settings: Settings, files: assembly.Files) -> list[Problem]:
    interface, schemas, data = files.interface, files.schemas, files.testdata
    if files.problems or interface is None or data is None:
        return files.problems
    found = unused(overlay(files.data), interface)
    owners: list[Operation | Rule] = [*interface.operations.values(), *interface.rules]
    for by in owners:
        found += answer_schema.check_fixed(by, interface, schemas)
        found += dry_run(by, interface, schemas, data, settings.clock)
    for rule in interface.rules:
        named = interface.operations.get(rule.operation or "")
        # A later layer may let an operation take less than a rule below it was written for.
        if named is None or _layer(named, files) <= _layer(rule, files):
            found += parameter.check(rule, named)
    usual = [file.read_bytes() for file in files.data] == [(bundled("cassettes") / assembly.TESTDATA).read_bytes()]
    for trial in trials(interface, schemas, data, clock=settings.clock, static_data=settings.static_data):
        found += _of_trial(trial, files, interface, usual)
    return found


def _of_trial(trial: Trial, files: assembly.Files, interface: Interface, usual: bool) -> Iterator[Problem]:
    """`usual`: the test data are those that the dialect's examples are made for."""
    owner, place = trial.entry.owner, ("examples", trial.entry.number)
    by = interface.named(trial.exchange.rule) if trial.exchange and trial.exchange.rule else None
    for source, reason in trial.mismatches:
        at_text = (by and mismatch(by, source, reason)) or mismatch(owner, source, reason)
        yield at_text or owner.origin.problem("template", computed(source, reason), place)
    if trial.failure:
        yield owner.origin.problem("template", f"the answer to this cannot be written: {trial.failure}", place)
        return
    if owner.behaviour.bank or _is_overruled(owner, by, files) or not (usual or _is_own(owner, files)):
        return
    for complaint in trial.complaints:
        yield owner.origin.problem("example", complaint, place)
    if by and trial.response and (wrong := answer_schema.complaint(trial.response, by, interface, files.schemas)):
        yield owner.origin.problem("answer-schema", f"in the answer to this, {wrong}", place)


def _is_overruled(owner: Operation | Rule, by: Operation | Rule | None, files: assembly.Files) -> bool:
    """Later layers are meant to win."""
    return by is not None and _layer(by, files) > _layer(owner, files)


def _is_own(owner: Operation | Rule, files: assembly.Files) -> bool:
    """Neither of the dialect nor of a bundled scenario."""
    return _layer(owner, files) > 0 and not owner.origin.document.file.is_relative_to(bundled("cassettes") / SCENARIOS)


def _layer(by: Operation | Rule, files: assembly.Files) -> int:
    file = by.origin.document.file
    return max(n for n, layer in enumerate(files.layers) if any(file.is_relative_to(path) for path in layer))
