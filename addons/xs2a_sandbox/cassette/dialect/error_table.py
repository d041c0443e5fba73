"""The table of errors: which operations and rules raise each error, and which errors a dialect must define."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette import reader
from xs2a_sandbox.cassette.answers import Action
from xs2a_sandbox.cassette.dialect.references import check_known
from xs2a_sandbox.cassette.handler import Handler
from xs2a_sandbox.cassette.model import ErrorAnswer, Operation, Pointer, Rule, SourcePlace, answers
from xs2a_sandbox.documents import Schemas, yaml_reader
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import Problem, Unreadable

ENGINE_ERRORS = frozenset(
    "bank-down bank-garbled bank-late bank-loop bank-not-configured bank-private bank-unreachable body-too-large busy "
    "format-error headers-too-large internal media-type method-not-offered not-recorded path-unknown "
    "recording-failed sequence-exhausted session-invalid target-too-long timeout".split()
)
"""Errors that the engine itself raises, and errors that bundled cases use for every bank."""

CHECK_ERRORS = frozenset(
    "access-exceeded access-missing certificate-blocked certificate-expired certificate-invalid certificate-missing "
    "certificate-revoked digest-wrong role-invalid sessions-not-supported signature-invalid signature-malformed "
    "signature-missing token-expired token-invalid token-key-wrong token-proof-invalid token-unknown "
    "token-unproven".split()
)
"""Errors of the setting `checks`. A dialect that does not define them uses those of the bundled dialect."""


@cache
def default_errors() -> Mapping[str, ErrorAnswer]:
    """Return the errors of the bundled dialect, the default for errors that a dialect does not define."""
    file = bundled("cassettes") / "xs2a-1.84" / "errors.yaml"
    problems: list[Problem] = []
    cassette = reader.parse(yaml_reader.read(file), Schemas([bundled("schemas")]), problems)
    if problems:
        raise Unreadable(problems)
    return {error.name: error for error in cassette.errors}


def check(
    errors: Mapping[str, ErrorAnswer],
    operations: Mapping[str, Operation],
    rules: Sequence[Rule],
    handlers: Mapping[str, Handler],
    gone: Mapping[str, SourcePlace],
) -> Iterator[Problem]:
    """Yield problems with the error table: errors that handlers raise and the table lacks, and unknown names."""
    raised = set(ENGINE_ERRORS | CHECK_ERRORS)
    raisers: dict[str, dict[str, None]] = {}
    everybody: list[Operation | Rule] = [*operations.values(), *rules]
    for by in everybody:
        raising = _find_raising(by, handlers)
        raised |= {answer.error for _, answer in answers(by) if answer.error}
        raised |= set(by.otherwise.values()) if isinstance(by, Operation) else set()
        raised |= {step.error for step in (by.require.steps if by.require else ()) if step.error}
        for at, name, raises in raising:
            raised |= raises
            for taken in sorted(raises & gone.keys() - errors.keys()):
                raisers.setdefault(taken, {})[name] = None
            if lacking := sorted(raises - errors.keys() - ENGINE_ERRORS - CHECK_ERRORS - gone.keys()):
                text = f"the cassettes do not define the errors that {name} raises: {', '.join(lacking)}"
                yield by.origin.problem("incomplete", text, at)
    for taken, names in raisers.items():
        who = f"{', '.join(names)} raise" if len(names) > 1 else f"{next(iter(names))} raises"
        yield gone[taken].problem("extends", f"this removes the error {taken}, which {who}")
    elsewhere = frozenset().union(*(handler.errors for handler in handlers.values()))
    for error in errors.values():
        if error.name not in raised | elsewhere and (hint := did_you_mean(error.name, raised - errors.keys())):
            text = f"nothing raises the error {error.name!r}{hint}"
            yield error.origin.problem("unknown-error", text, key=True)
        for key, by_operation in (("status", error.statuses), ("code", error.codes), ("number", error.numbers)):
            for id in sorted(by_operation.keys() - {"default"} - gone.keys()):
                yield from check_known(error.origin, "unknown-operation", id, operations, key, id, key=True)


def _find_raising(
    by: Operation | Rule, handlers: Mapping[str, Handler]
) -> Iterator[tuple[Pointer, str, frozenset[str]]]:
    """Yield the place, the name and the possible errors of the handler and of each action."""
    if own := handlers.get(by.behaviour.handler or ""):
        yield ("handler",), own.name, own.with_options(by.behaviour.options or {}).raises
    for number, effect in enumerate(by.behaviour.effects):
        if isinstance(effect, Action) and (own := handlers.get(effect.name)):
            yield ("effects", number, "do"), own.name, own.with_options(effect.written).raises
