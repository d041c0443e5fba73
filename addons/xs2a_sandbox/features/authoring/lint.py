"""Checks cassettes, schemas and test data without requests: their form, and by trying them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from xs2a_sandbox.bank import TestData, loading, testdata
from xs2a_sandbox.bank.domain.documents import entry_ids
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.bank.testdata import Overlay, overlay
from xs2a_sandbox.bundled import QUIRKS, SCENARIOS, bundled
from xs2a_sandbox.cassette import Interface, Operation, Rule
from xs2a_sandbox.cassette.body_faults import BODY_FAULTS
from xs2a_sandbox.cassette.dialect.layer_files import TESTDATA
from xs2a_sandbox.cassette.evaluation.expressions import chains
from xs2a_sandbox.cassette.matchers import Constraint
from xs2a_sandbox.cassette.model import answers
from xs2a_sandbox.cassette.things import Act
from xs2a_sandbox.config import Settings
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import Problem
from xs2a_sandbox.features.authoring import lint_answers
from xs2a_sandbox.features.authoring.examples import Example, Trial, trials
from xs2a_sandbox.features.authoring.lint_answers import describe_failure, dry_run, mismatch
from xs2a_sandbox.features.authoring.lint_authorisation import check_beginnings
from xs2a_sandbox.features.authoring.lint_bodies import check_bodies
from xs2a_sandbox.features.authoring.lint_members import Members, expressions
from xs2a_sandbox.recording import replay


def new_problems(before: Sequence[Problem], after: Sequence[Problem]) -> list[Problem]:
    # Compare places, because texts may quote answers with ids and dates that differ each time.
    places = {(p.file, p.line, p.column, p.code) for p in before}
    return [p for p in after if (p.file, p.line, p.column, p.code) not in places]


def refusal(problems: Sequence[Problem], file: Path, interface: Interface) -> str:
    """Describe why the case in `file` is not kept, and what to do."""
    return "\n".join(["nothing written:", *_lines(problems, file, interface)])


def _lines(problems: Sequence[Problem], file: Path, interface: Interface) -> Iterator[str]:
    own = [p for p in problems if p.file.resolve() == file.resolve()]
    others = [p for p in problems if p not in own]
    for document in others:
        yield f"  {document.place}: this example of {_owner(document, interface)} would fail: {document.text}"
    if others:
        yield "choose a PATH or a query that does not match these requests, or give those rules a higher priority"
    for document in own:
        yield f"  the case's own example would fail: {document.text}"
    if own:
        yield "choose a request that the operation accepts; check it with `xs2a-sandbox explain METHOD PATH`"


def _owner(problem: Problem, interface: Interface) -> str:
    """Return the id of the rule or operation that contains the problem."""
    entries: list[Operation | Rule] = [*interface.operations.values(), *interface.rules]
    lines = {
        entry.origin.document.line(entry.origin.pointer): entry.id
        for entry in entries
        if entry.origin.document.file == problem.file
    }
    above = [line for line in lines if line <= problem.line]
    return lines[max(above)] if above else "another rule"


WHERE = "where"


def check_parameters(by: Rule | Operation, operation: Operation | None) -> Iterator[Problem]:
    """Yield problems with path parameters. `operation` is the entry itself, or the one that a rule names."""
    if operation and isinstance(by, Rule):
        yield from _values(by, operation)
    pattern = operation.pattern if operation else by.pattern
    if pattern is None:
        return
    for pointer, text in expressions(by):
        read = {keys[0] for root, keys in chains(text) if root == "path" and keys}
        for name in sorted(key for key in read if isinstance(key, str) and key not in pattern.names):
            lacking = f"the path {pattern.text} has no parameter {name}{_hint([name], pattern.names)}"
            yield by.origin.problem(WHERE, lacking, pointer)


def _values(rule: Rule, operation: Operation) -> Iterator[Problem]:
    listing = [c for c in rule.constraints if c.place.part == "where" and c.values]
    if not listing or any(all(_goes_with(c, alternative) for c in listing) for alternative in operation.where):
        return
    for constraint in listing:
        if not any(_goes_with(constraint, alternative) for alternative in operation.where):
            name, values = constraint.place.name, sorted(constraint.values or ())
            taken = {
                v
                for alternative in operation.where
                for c in alternative
                if c.place == constraint.place
                for v in sorted(c.values or ())
            }
            never = f"in {operation.id} the parameter {name} is never {' or '.join(values)}{_hint(values, taken)}"
            yield rule.origin.problem(WHERE, never, ("match", "where", name))
            return
    together = " and ".join(f"{c.place.name} {' or '.join(sorted(c.values or ()))}" for c in listing)
    yield rule.origin.problem(WHERE, f"{operation.id} never has {together} together", ("match", "where"))


def _goes_with(constraint: Constraint, alternative: Collection[Constraint]) -> bool:
    """Return whether the operation accepts one of the values in the rule."""
    others = [other for other in alternative if other.place == constraint.place]
    return any(all(other.fits((value,)) for other in others) for value in constraint.values or ())


def _hint(words: Collection[str], names: Collection[str]) -> str:
    near = next((hint for word in words if (hint := did_you_mean(word, names))), "")
    return near or (f"; there are {', '.join(sorted(names))}" if names else "")


UNUSED_TESTDATA = "unused-testdata"


def find_unused(over: Overlay, interface: Interface) -> list[Problem]:
    """Return problems with test data that nothing uses.

    Bundled data are skipped, because the user cannot change them.
    """
    problems = [
        document.problem((name, id), UNUSED_TESTDATA, f"this removes nothing: there is no {id} in {name}", key=True)
        for document, name, id in over.idle
    ]
    for collection, id, text, below in (*_customers(over), *_payments(over, interface), *_entries(over)):
        origin = over.origins[collection, id]
        if not origin.file.resolve().is_relative_to(bundled("cassettes")):
            problems.append(origin.problem((collection, id, *below), UNUSED_TESTDATA, text, key=not below))
    return problems


type _Idle = Iterator[tuple[str, str, str, tuple[str | int, ...]]]
"""Collection, id, the mistake, and the place below the entry."""


def _customers(over: Overlay) -> _Idle:
    accounts = over.collections.get("accounts", {}).values()
    busy = {psu for account in accounts for psu in (account["psuId"], *account.get("signatories", ()))}
    for id in over.collections.get("psus", {}).keys() - busy:
        yield "psus", id, f"the customer {id} has no account and cannot sign for one", ()


def _payments(over: Overlay, interface: Interface) -> _Idle:
    reading = [one for one in interface.operations.values() if one.does and one.does == Act("read", "payment")]
    for id, payment in over.collections.get("payments", {}).items():
        service, product = payment["service"], payment["product"]
        own = {"service": service, "product": product}
        if not any(_takes(operation, own) for operation in reading):
            yield "payments", id, f"no operation reads {service} of the product {product}", ("product",)


def _takes(operation: Operation, values: Mapping[str, str]) -> bool:
    """Return whether the operation accepts these values as its path parameters."""
    return any(
        all(c.fits((values[c.place.name],)) for c in alternative if c.place.name in values)
        for alternative in operation.where
    )


def _entries(over: Overlay) -> _Idle:
    """Yield entries with the same id in different lists of an account, because an entry is requested only by its id."""
    for account_id, account in over.collections.get("accounts", {}).items():
        seen: Counter[str] = Counter()
        for place, id in entry_ids(account):
            seen[id] += 1
            if seen[id] > 1:
                yield (
                    "accounts",
                    account_id,
                    f"another entry of this account also has the id {id}; change one of them",
                    place,
                )


def check(
    settings: Settings, paths: Sequence[Path] = (), warn: Callable[[str], None] = lambda line: None
) -> list[Problem]:
    """Return all problems in the configured files, and in `paths` layered on top of them.

    Nothing is tried before all files are readable. Calls `warn` for recorded rules that another layer replaces, which
    may be intended.
    """
    read = [loading.read(settings, paths, real) for real in settings.real_banks()]
    for line in dict.fromkeys(
        line for cassettes in read if cassettes.interface for line in replay.find_replaced(cassettes.interface)
    ):
        warn(line)
    return check_files(settings, read)


def check_files(settings: Settings, read: Sequence[loading.LoadedFiles]) -> list[Problem]:
    """Return all problems in the files of these banks."""
    problems = [problem for cassettes in read for problem in _of_bank(settings, cassettes)]
    return sorted(dict.fromkeys(problems), key=lambda p: (str(p.file), p.line, p.column))


def _of_bank(settings: Settings, files: loading.LoadedFiles) -> list[Problem]:
    interface, schemas, data = files.interface, files.schemas, files.testdata
    if files.problems or interface is None or data is None:
        return files.problems
    problems = [*find_unused(overlay(files.data), interface), *check_beginnings(interface)]
    # This dialect need not use what another one names.
    others = (*interface.foundation, bundled("cassettes"))
    problems += [p for p in interface.unused if not any(p.file.resolve().is_relative_to(other) for other in others)]
    owners: list[Operation | Rule] = [*interface.operations.values(), *interface.rules]
    for by in owners:
        problems += lint_answers.check_fixed(by, interface, schemas)
        problems += dry_run(by, interface, schemas, data, settings.clock)
        problems += check_bodies(by, None if isinstance(by, Operation) else _operation(by, interface), schemas)
    members = Members(interface, collect_handlers(), data.collections)
    problems += members.check_lets()
    problems += members.check_authorisation()
    problems += members.check_callbacks()
    for by in owners:
        operation = by if isinstance(by, Operation) else interface.operations.get(by.operation or "")
        # A later layer may restrict an operation more than a rule below it expects.
        if operation is None or _layer(operation, files) <= _layer(by, files):
            problems += check_parameters(by, operation)
        problems += members.check(by)
    for made_for, tried in _testdata(files, data):
        for trial in trials(
            interface, schemas, made_for, clock=settings.clock, static_data=settings.static_data, tried=tried
        ):
            problems += _of_trial(trial, files, interface)
    return problems


def _testdata(files: loading.LoadedFiles, data: TestData) -> Iterator[tuple[TestData, Callable[[Example], bool]]]:
    """Yield test data with the examples that are written for them: the dialect's own for those of the dialect.

    Examples of bundled scenarios and quirks need the bundled test data, and are skipped with others.
    """
    (folder,), *_ = files.layers
    dialect = loading.testdata_of(folder, files.interface.foundation if files.interface else ())
    is_usual = _are_same(files.data, [bundled("cassettes") / TESTDATA])
    yield data, lambda entry: _layer(entry.owner, files) > 0 and (is_usual or not _is_bundled(entry.owner))
    if files.interface and files.interface.quirks:  # quirks make the dialect answer differently on purpose
        return
    theirs = data if _are_same(files.data, [dialect]) else testdata.load([dialect])
    yield theirs, lambda entry: _layer(entry.owner, files) <= 0


def _are_same(files: Sequence[Path], others: Sequence[Path]) -> bool:
    return [file.read_bytes() for file in files] == [file.read_bytes() for file in others]


def _operation(rule: Rule, interface: Interface) -> Operation | None:
    """Return the operation of the rule: the one that it names, or one with the same method and path."""
    if rule.operation or rule.pattern is None:
        return interface.operations.get(rule.operation or "")
    same = (
        operation for operation in interface.operations.values() if operation.pattern.segments == rule.pattern.segments
    )
    return next((operation for operation in same if rule.methods == {operation.method}), None)


def _of_trial(trial: Trial, files: loading.LoadedFiles, interface: Interface) -> Iterator[Problem]:
    owner, place = trial.entry.owner, ("examples", trial.entry.number)
    by = interface.entry(trial.exchange.rule) if trial.exchange and trial.exchange.rule else None
    for source, reason in trial.mismatches:
        at_text = (by and mismatch(by, source, reason)) or mismatch(owner, source, reason)
        yield at_text or owner.origin.problem("template", describe_failure(source, reason), place)
    if trial.failure:
        yield owner.origin.problem("template", f"the answer to this example cannot be created: {trial.failure}", place)
        return
    # Later layers are meant to win.
    is_overruled = by is not None and _layer(by, files) > _layer(owner, files)
    if owner.behaviour.bank or is_overruled:
        return
    for complaint in trial.complaints:
        yield owner.origin.problem("example", complaint, place)
    # Real banks with quirks and faulty content violate their own schemas.
    if interface.quirks or _has_spoiled_content(trial, interface):
        return
    if by and trial.response and (wrong := lint_answers.complaint(trial.response, by, interface, files.schemas)):
        yield owner.origin.problem("answer-schema", f"the answer to this example is invalid: {wrong}", place)


def _has_spoiled_content(trial: Trial, interface: Interface) -> bool:
    """Return whether a rule has changed the answer's content with a fault."""
    exchange = trial.exchange
    ids = (exchange.rule, *exchange.amended) if exchange else ()
    rules = [rule for id in ids if id and (rule := interface.entry(id))]
    faults = {answer.fault for rule in rules for _, answer in answers(rule)}
    faults |= {rule.behaviour.amend.fault for rule in rules if rule.behaviour.amend}
    return not faults.isdisjoint(BODY_FAULTS)


def _is_bundled(owner: Operation | Rule) -> bool:
    """Return whether the owner belongs to a bundled scenario or quirk."""
    file = owner.origin.document.file
    return any(file.is_relative_to(bundled("cassettes") / folder) for folder in (SCENARIOS, QUIRKS))


def _layer(by: Operation | Rule, files: loading.LoadedFiles) -> int:
    """Return the number of the layer of `by`. Dialects that are extended have numbers below 0."""
    return files.interface.layers.get(by.id, 0) if files.interface else 0
