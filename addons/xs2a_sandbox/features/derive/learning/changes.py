"""Changes operations of a documented dialect so that they answer like the recorded bank."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from xs2a_sandbox.cassette import Operation
from xs2a_sandbox.cassette.evaluation.expressions import chains
from xs2a_sandbox.cassette.handler import Handler
from xs2a_sandbox.cassette.inputs import InputPlace
from xs2a_sandbox.cassette.model import Requirement
from xs2a_sandbox.cassette.recognition import product_parameter
from xs2a_sandbox.compare.states import reported_state
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.json_pointer import at_pointer, parse_pointer
from xs2a_sandbox.documents.yaml_writer import write_exactly
from xs2a_sandbox.features.derive.learning.answer_template import Sample, Template, Usual, last_members, learn_text
from xs2a_sandbox.features.derive.learning.courses import StateSequences
from xs2a_sandbox.features.derive.learning.plain_template import expand
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange
from xs2a_sandbox.features.derive.recorded_answer import write_answer
from xs2a_sandbox.http.body import Content
from xs2a_sandbox.http.origin import Origin
from xs2a_sandbox.http.target import split_target

DATA = frozenset({"account", "balance", "entry"})
"""Things that are the bank's data, not from requests. Answers that contain them keep the documented shape."""
_WHOLE = re.compile(r"\{\{ (result(?:\.\w+)*) \}\}")
_KEPT = "sent"
"""The member of a stored payment with the original request."""
_ROOTS = {"where": "path", "query": "query", "headers": "headers", "body": "body"}
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(slots=True)
class OperationChange:
    """A change of an operation, with the exchanges that show it, and what could not be learned from them.

    `hidden` are the requirements to write in place of those that the rehearsal uses, because redaction hides whether
    requests met them; None if these are the same.
    """

    value: dict[str, Any] = field(default_factory=dict)
    hidden: Any = None
    places: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def written_value(made: OperationChange) -> dict[str, Any]:
    """Return the change as it is written into the dialect."""
    if made.hidden is None:
        return made.value
    return {key: value for key, value in {**made.value, "require": made.hidden}.items() if value != {}}


def change(
    operation: Operation,
    exchanges: Sequence[RecognisedExchange],
    makers: Mapping[str, RecognisedExchange],
    handlers: Mapping[str, Handler],
    courses: StateSequences,
    schemas: Schemas,
    shapes: Mapping[str, Any] = {},
) -> OperationChange:
    """Return the change of an operation by its `exchanges`.

    `makers` created ids, by id. `shapes` belong to the dialect.
    """
    made = OperationChange(places=[exchange.place for exchange in exchanges])
    succeeded = [exchange for exchange in exchanges if exchange.succeeded]
    paths = Counter(exchange.path for exchange in exchanges)
    (path, _), *others = paths.most_common()
    if path != operation.pattern.text:
        made.value["path"] = path
    made.unknown += [
        f"{operation.id} also has the path {other}; the dialect answers only {path}" for other, _ in others
    ]
    if products := _products(operation, succeeded):
        made.value["where"] = products
    if require := change_require(operation, succeeded, schemas):
        made.value["require"] = require
    if succeeded and (respond := _respond(operation, succeeded, makers, handlers, courses, made.unknown, shapes)):
        made.value["respond"] = respond
        made.value["answers"] = None
    return made


def _products(operation: Operation, exchanges: Sequence[RecognisedExchange]) -> Any:
    """Return the path parameters with products that the documented dialect does not have, or {} if there are none."""
    if (name := product_parameter(operation)) is None:
        return {}
    written = deepcopy(operation.origin.written.get("where", {}))
    alternatives = written if isinstance(written, list) else [written]
    changed = False
    for exchange in exchanges:
        product = exchange.parameters.get(name)
        fitting = [
            spec
            for spec, constraints in zip(alternatives, operation.where, strict=True)
            if all(c.fits((exchange.parameters[c.place.name],)) for c in constraints if c.place.name != name)
        ]
        for spec in fitting[:1]:
            offered = spec.get(name)
            listed = offered if isinstance(offered, list) else [offered]
            if product and isinstance(offered, list | str) and product not in listed:
                spec[name] = [*listed, product]
                changed = True
    return written if changed else {}


def change_require(
    operation: Operation,
    exchanges: Sequence[RecognisedExchange],
    schemas: Schemas,
    refused: Collection[str] = (),
) -> Any:
    """Return the requirements without those that answered requests did not meet, or {} if they met all.

    Requests do not show whether they met a condition on the token, the state or other things outside them. Such a
    condition is removed if its error is among the errors `refused`, which the dialect raises for answered requests.
    """
    written = deepcopy(operation.origin.written.get("require", {}))
    steps = written if isinstance(written, list) else [written]
    lifted = False
    for spec, step in zip(steps, operation.require.steps, strict=False):
        for constraint in step.constraints:
            part, name = constraint.place.part, constraint.place.name
            if all(constraint.fits(_values(exchange, part, name)) for exchange in exchanges):
                continue
            if (key := next((key for key in spec.get(part) or {} if key.lower() == name.lower()), None)) is not None:
                spec[part][key] = None
                lifted = True
            elif part == "headers":
                spec[part] = {**spec.get(part, {}), name: _WHATEVER}  # all requests must have it
                lifted = True
        if step.that and not _are_met(step, exchanges, refused):
            spec["that"] = None
            lifted = True
        schema = step.schema if "schema" in (spec.get("body") or {}) else None
        if schema and not all(_accepts(schema, exchange, step.optional, schemas) for exchange in exchanges):
            spec["body"] = None
            lifted = True
    if not lifted:
        return {}
    if isinstance(written, list):
        # Lists are replaced as a whole, so that removed requirements disappear.
        bare = [{key: _without_nulls(value) for key, value in spec.items() if value is not None} for spec in written]
        return [spec for spec in bare if spec.keys() - {"error", "values"}] or [{}]
    return {key: value for key, value in written.items() if value is None or _is_lifted(value)}


def _are_met(step: Requirement, exchanges: Sequence[RecognisedExchange], refused: Collection[str]) -> bool:
    """Return whether all requests meet the condition of a requirement."""
    shown = _IN_REQUESTS - ({"headers"} if any(exchange.entry.redactions for exchange in exchanges) else set())
    if step.that is None or {root for root, _ in chains(f"{{{{ {step.that_text} }}}}")} - shown:
        return step.error not in refused
    return all(step.that(exchange.sent.input_scope()) for exchange in exchanges)


_IN_REQUESTS = frozenset(("path", "query", "headers", "body"))
_WHATEVER = {"any": [{"absent": True}, {"exists": True}]}


def _without_nulls(value: Any) -> Any:
    return {key: member for key, member in value.items() if member is not None} if isinstance(value, dict) else value


def _is_lifted(value: Any) -> bool:
    return isinstance(value, dict) and any(item is None or item is _WHATEVER for item in value.values())


def _values(exchange: RecognisedExchange, part: str, name: str) -> Sequence[Any]:
    if part == "headers":
        return exchange.entry.headers.all(name)
    if part == "query":
        return [value for key, value in split_target(exchange.entry.target).query if key == name]
    return at_pointer(exchange.body, parse_pointer(name)) if exchange.entry.body else ()


def _accepts(name: str, exchange: RecognisedExchange, optional: bool, schemas: Schemas) -> bool:
    if not exchange.entry.body:
        return optional
    for parameter, value in exchange.parameters.items():
        name = name.replace(f"{{{parameter}}}", value)
    return name in schemas and exchange.body is not None and schemas[name].accepts(exchange.body)


# Answers


def _respond(
    operation: Operation,
    exchanges: Sequence[RecognisedExchange],
    makers: Mapping[str, RecognisedExchange],
    handlers: Mapping[str, Handler],
    courses: StateSequences,
    unknown: list[str],
    shapes: Mapping[str, Any],
) -> list[dict[str, Any]]:
    written = deepcopy(operation.origin.written.get("respond", {}))
    usual_answers = written if isinstance(written, list) else [written]
    by_status: defaultdict[int, list[RecognisedExchange]] = defaultdict(list)
    for exchange in exchanges:
        by_status[exchange.entry.status].append(exchange)
    if reads_data(operation):
        return _of_data(usual_answers, by_status, operation, unknown)
    usual_answers = expand(usual_answers, shapes)
    answers = []
    for number, spec in enumerate(usual_answers):
        status = spec.get("status", 200)
        left = [status for status in by_status if status not in {other.get("status", 200) for other in usual_answers}]
        if status not in by_status and left and (len(usual_answers) == 1 or number == len(usual_answers) - 1):
            status = max(left, key=lambda status: len(by_status[status]))
        if (group := by_status.pop(status, None)) is None:
            answers.append(spec)
            continue
        learned = _answer(operation, spec, group, makers, handlers, courses, unknown)
        answers.append({**({"when": spec["when"]} if "when" in spec else {}), **learned})
    unknown += [
        f"{operation.id} also answered {status} ({group[0].place}), for unknown reasons"
        for status, group in by_status.items()
    ]
    return answers


def reads_data(operation: Operation | None) -> bool:
    does = operation.does if operation else None
    return does is not None and does.reads and does.thing in DATA


def _of_data(
    usual: Sequence[dict[str, Any]],
    by_status: Mapping[int, Sequence[RecognisedExchange]],
    operation: Operation,
    unknown: list[str],
) -> list[dict[str, Any]]:
    """Return the documented shape of a bank's data, adapted to how the bank shows nulls."""
    if any(_shows_null(exchange.answer) for group in by_status.values() for exchange in group):
        if not any(spec.get("nulls") == "fill" for spec in usual):
            unknown.append(
                f"{operation.id} shows members that are null; the recording does not show which of them are "
                "always present"
            )
        return []
    return [{**spec, "nulls": "drop"} for spec in usual]


def _shows_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(member is None or _shows_null(member) for member in value.values())
    return isinstance(value, list) and any(map(_shows_null, value))


def _answer(
    operation: Operation,
    spec: Mapping[str, Any],
    exchanges: Sequence[RecognisedExchange],
    makers: Mapping[str, RecognisedExchange],
    handlers: Mapping[str, Handler],
    courses: StateSequences,
    unknown: list[str],
) -> dict[str, Any]:
    handler = handlers.get(operation.behaviour.handler or "")
    returns = handler.result if handler else {}
    samples = [_sample(exchange, operation, makers, returns, courses) for exchange in exchanges]
    answer: dict[str, Any] = {"status": exchanges[0].entry.status}
    if headers := _headers(spec.get("headers", {}), exchanges, samples):
        answer["headers"] = headers
    readable = [sample for exchange, sample in zip(exchanges, samples, strict=True) if exchange.answer is not None]
    if readable:
        things, members = exchanges[0].interface.things, _members(spec.get("body"), returns)
        usual = Usual(spec.get("body"), members, courses.words(operation.id), things)
        template = Template(readable, usual)
        answer["body"] = template.value
        unknown += [f"{operation.id}: {line}" for line in template.unknown]
    elif exchanges[0].entry.answer_body:
        unknown.append(f"{operation.id} has an answer that is not JSON ({exchanges[0].place})")
    return answer


def _members(body: Any, returns: Mapping[str, Any]) -> dict[str, str]:
    """Return the members of the handler's result by name, if it is shown as a whole."""
    whole = _WHOLE.fullmatch(body) if isinstance(body, str) else None
    if whole is None:
        return {}
    inner = returns.get(whole[1].removeprefix("result").strip("."), returns) or {}
    return {name: f"{whole[1]}.{name}" for name in inner}


def _sample(
    exchange: RecognisedExchange,
    operation: Operation,
    makers: Mapping[str, RecognisedExchange],
    returns: Mapping[str, Any],
    courses: StateSequences,
) -> Sample:
    ids = {value: f"path{_step(name)}" for name, value in exchange.parameters.items()}
    for thing, id in exchange.made.items():
        if operation.does and thing == operation.does.thing and "id" in returns:
            ids[id] = "result.id"
    for place, value in name_sent(exchange, "consent", "once"):
        ids.setdefault(value, expression_of(place))
    things = exchange.interface.things
    own = things.states | things.answered
    echoes: dict[tuple[str, str], str] = {}
    for place, id in name_sent(exchange, "payment"):
        if (maker := makers.get(id)) is not None:
            echoes |= dict(_echoes(maker.body, f"state.payments[{expression_of(place)}].{_KEPT}", own))
    echoes |= dict(_echoes(exchange.body, "body", own))
    state = reported_state(exchange.asked, Content("json", exchange.answer))
    meaning = courses.meaning(state.thing, state.state) if state else None
    return Sample(exchange.place, exchange.answer, ids, echoes, meaning, _origin(exchange))


def name_sent(exchange: RecognisedExchange, *inputs: str) -> Iterator[tuple[InputPlace, str]]:
    """Yield the texts that the request has at the places of these inputs."""
    for input in inputs:
        source = exchange.source(input)
        for alternative in source.alternatives if source else ():
            value = alternative.read(exchange.sent) if alternative.place else None
            if alternative.place and value and isinstance(value, str):
                yield alternative.place, value


def expression_of(place: InputPlace) -> str:
    part, name = place.part.part, place.part.name
    steps = parse_pointer(name) if part == "body" else (name,)
    return _ROOTS[part] + "".join(_quote(step) if part == "headers" else _step(str(step)) for step in steps)


def _origin(exchange: RecognisedExchange) -> str:
    return str(Origin.parse(exchange.entry.bank)) if exchange.entry.bank else ""


def _echoes(
    value: Any, expression: str, own: Collection[str], place: str = ""
) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield what was sent, by place and independently of it.

    `own` are the members with the bank's ids and states, which are left out.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _echoes(inner, expression + _step(key), own, f"{place}/{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _echoes(inner, f"{expression}[{number}]", own, f"{place}/{number}")
    elif value is not None and not isinstance(value, bool) and place.rpartition("/")[2] not in own:
        yield (last_members(place), write_exactly(value)), expression
        yield ("", write_exactly(value)), expression


def _step(name: str) -> str:
    return f".{name}" if _NAME.fullmatch(name) else _quote(name)


def _quote(name: Any) -> str:
    return "['" + str(name).replace("\\", "\\\\").replace("'", "\\'") + "']"


def _headers(
    usual: Mapping[str, Any], exchanges: Sequence[RecognisedExchange], samples: Sequence[Sample]
) -> dict[str, Any]:
    """Return the headers that all answers have, with the same text or the same ids in it."""
    kept = [write_answer(exchange.entry, {}).get("headers", {}) for exchange in exchanges]
    documented = {name.lower(): text for name, text in usual.items()}
    headers = {}
    for name in kept[0]:
        texts = {learn_text(own[name], sample) for own, sample in zip(kept, samples, strict=True) if name in own}
        if name.lower() == "content-type" and texts == {"application/json"}:
            continue
        has_expression = len(texts) == 1 and "{{" in next(iter(texts))
        if name.lower() in documented and "result." in str(documented[name.lower()]) and not has_expression:
            headers[name] = documented[name.lower()]
        elif len(texts) == 1 and all(name in own for own in kept):
            headers[name] = texts.pop()
    return headers
