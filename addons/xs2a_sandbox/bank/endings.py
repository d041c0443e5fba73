"""The errors that an operation can return, as its cassette and its handler declare."""

from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.cassette import Interface, Operation, Rule
from xs2a_sandbox.cassette.handler import options_of

ALWAYS = ("body-too-large", "busy", "format-error", "internal", "timeout")
"""The errors that every operation can return."""


def errors_of(interface: Interface, operation: Operation) -> set[str]:
    """Return the names of the operation's errors, including those of its rules, that the interface defines."""
    errors = {*ALWAYS, *operation.otherwise.values()}
    errors |= {step.error or "media-type" for step in operation.require.steps if step.schema}
    errors |= {step.error for step in operation.require.steps if step.error}
    owners: list[Operation | Rule] = [operation, *(rule for rule in interface.rules if rule.operation == operation.id)]
    for by in owners:
        behaviour = by.behaviour
        if handler := collect_handlers().get(behaviour.handler or ""):
            options = options_of(by, operation)
            usual = interface.authorisation.options(options.get("family", ""))
            errors |= handler.with_options({**usual, **options}).raises
        answers = behaviour.respond or (operation.behaviour.respond if behaviour.handler else ())
        errors |= {answer.error for answer in (*answers, *behaviour.sequence) if answer.error}
    return errors & interface.errors.keys()
