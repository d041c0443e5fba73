"""Shows the Python that a rule or operation is compiled to."""

from collections.abc import Iterator, Mapping

from xs2a_sandbox.cassette import Interface, Operation, Rule
from xs2a_sandbox.cassette.handler import Handler
from xs2a_sandbox.cassette.inputs import ReaderSource, write_source
from xs2a_sandbox.cassette.model import answers
from xs2a_sandbox.cassette.requirement_source import RequirementSource
from xs2a_sandbox.cassette.schema_names import names_by_status, possible_names
from xs2a_sandbox.documents import Schemas


def show_compiled(
    entry: Operation | Rule, interface: Interface, schemas: Schemas, handlers: Mapping[str, Handler]
) -> str:
    """Return the code that checks a request, reads the inputs of the handler and writes the body of the answer."""
    return "\n\n\n".join(_parts(entry, interface, schemas, handlers)) + "\n"


def _parts(
    entry: Operation | Rule, interface: Interface, schemas: Schemas, handlers: Mapping[str, Handler]
) -> Iterator[str]:
    kind = "operation" if isinstance(entry, Operation) else "rule"
    yield f"# The {kind} {entry.id}, {entry.origin.place}"
    if entry.require:
        text = "# Whether the requirements are met. If not, they are checked again step by step."
        yield f"{text}\n{RequirementSource(entry.require).text}"
    behaviour = entry.behaviour
    if handler := handlers.get(behaviour.handler or ""):
        source = ReaderSource(behaviour.inputs, handler.inputs)
        yield f"# The inputs of the handler {handler.name}, except for computed ones\n{source.text}"
        for name in sorted(behaviour.inputs.keys() & handler.inputs.keys() - source.names):
            yield f"# The input {name}\n{write_source(name, behaviour.inputs[name])}"
    for pointer, answer in answers(entry):
        if answer.has_json:
            operation = entry if isinstance(entry, Operation) else interface.operations.get(entry.operation or "")
            # The schemas of several products fill in the same nulls.
            schema = next(iter(possible_names(answer.schema_name(names_by_status(entry, operation)), operation)), None)
            code = answer.writers.show("_".join(map(str, pointer)), schemas[schema] if schema else None)
            yield f"# The body of the answer\n{code}"
