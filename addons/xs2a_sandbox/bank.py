"""The bank: a call answered by its rules and operations, and errors in the dialect's words."""

from collections.abc import Sequence

from xs2a_sandbox import requirement
from xs2a_sandbox.answer import JSON, Answer, choose, render_headers, with_content_type, write
from xs2a_sandbox.call import Call
from xs2a_sandbox.cassette import Behaviour, Operation, Rule
from xs2a_sandbox.environment import to_text
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.expression import render
from xs2a_sandbox.handlers import HANDLERS
from xs2a_sandbox.index import Found, candidates
from xs2a_sandbox.interface import Interface
from xs2a_sandbox.messages import Response, to_json
from xs2a_sandbox.nearest import nearest
from xs2a_sandbox.sca_page import show_trouble
from xs2a_sandbox.schema import Schemas
from xs2a_sandbox.session import DEFAULT

_SEQUENCES = "_sequences"


class Outcome:
    """What is known of a request by the time it is answered, for the headers and the log."""

    __slots__ = ("delay", "rule", "session", "source", "warnings")

    def __init__(self) -> None:
        self.session = DEFAULT
        self.source = "sandbox"
        self.rule: str | None = None
        self.delay = 0.0
        self.warnings: Sequence[str] = ()


class Bank:
    """Says what the interface says. With `diagnose` an unknown path is answered with what came nearest."""

    def __init__(self, interface: Interface, schemas: Schemas, *, diagnose: bool) -> None:
        self.interface = interface
        self.schemas = schemas
        self._diagnose = diagnose

    def answer(self, call: Call, found: Found, outcome: Outcome) -> Response:
        """By the first rule that fits, else by the operation. Raises BankError."""
        operation = found.operation
        refused: BankError | None = None
        checked = False
        if operation:
            call.operation, call.path = operation.id, found.parameters
        scope = None
        for rule, parameters in candidates(found, lambda path: lambda place: call.values(place, path)):
            if rule.methods and call.request.method not in rule.methods:
                continue
            if operation and not checked and not rule.skips_requirements:
                checked, refused = True, self._refusal(operation, call)
            if refused and not rule.skips_requirements:
                continue
            if not all(c.fits(call.values(c.place, parameters)) for c in rule.constraints):
                continue
            scope = scope or call.scope()
            if rule.when and not rule.when(scope | {"path": parameters}):
                continue
            call.path = parameters
            if rule.require:
                requirement.check(rule.require, call, self.schemas)
            outcome.rule = rule.id
            return self._perform(call, rule.behaviour, operation, outcome, rule)
        if operation is None:
            raise self._unmatched(call, found)
        if not checked:
            refused = self._refusal(operation, call)
        if refused:
            raise refused
        outcome.rule = operation.id
        return self._perform(call, operation.behaviour, operation, outcome)

    def _refusal(self, operation: Operation, call: Call) -> BankError | None:
        try:
            requirement.check(operation.require, call, self.schemas)
        except BankError as error:
            return error
        return None

    def _perform(
        self, call: Call, behaviour: Behaviour, operation: Operation | None, outcome: Outcome, rule: Rule | None = None
    ) -> Response:
        outcome.source = "handler" if behaviour.handler else "rule"
        default = operation.behaviour if operation else behaviour
        call.options = behaviour.options if behaviour.options is not None else (default.options or {})
        scope = call.scope()
        if behaviour.bank:
            raise BankError("bank-not-configured")
        answers = behaviour.respond
        if behaviour.handler:
            scope["result"] = HANDLERS[behaviour.handler](call)
            answers = answers or default.respond
        answer = self._next(call, behaviour, rule) if behaviour.sequence and rule else choose(answers, scope)
        names = behaviour.answers or default.answers or {}
        outcome.delay = answer.delay.seconds() if answer.delay else 0.0
        for effect in behaviour.effects:
            effect.apply(call.state, scope)
        try:
            return write(answer, self.interface.every_answer.headers, scope, names, self.schemas)
        except BankError as error:
            if not answer.error:
                raise
            # The cassette's own words: what they change, and their turn in a sequence, are kept.
            return self.say(error, call)

    def _next(self, call: Call, behaviour: Behaviour, rule: Rule) -> Answer:
        """The sequence's turn is counted in the transaction of the answer itself."""
        key = "|".join([rule.id, *(f"{name}={value}" for name, value in sorted(call.path.items()))])
        given = int((call.state.get(_SEQUENCES, key) or {"given": 0})["given"])
        count = len(behaviour.sequence)
        if given >= count and behaviour.on_exhausted == "fail":
            raise BankError("sequence-exhausted", id=rule.id, count=count)
        call.state.put(_SEQUENCES, key, {"given": given + 1})
        position = given % count if behaviour.on_exhausted == "restart" else min(given, count - 1)
        return behaviour.sequence[position]

    def _unmatched(self, call: Call, found: Found) -> BankError:
        if found.unfit:
            return BankError(found.unfit, id=call.self_path)
        if found.methods:
            offered = ", ".join(sorted(set(found.methods)))
            return BankError("method-not-offered", method=call.request.method, allow=offered)
        return BankError("path-unknown", id=call.self_path)

    def say(self, error: BankError, call: Call) -> Response:
        """The error as the dialect's table says it."""
        known = self.interface.errors[error.name]
        scope = call.scope()
        scope["error"] = {
            "name": error.name,
            "status": known.status,
            "code": known.code,
            "number": known.numbers.get(call.operation or "") or known.numbers["default"],
            "text": to_text(render(known.text, {**error.values, "path": error.path})),
            "path": error.path,
        }
        every = self.interface.every_error
        body = render(every.body if known.body is None else known.body, scope)
        if error.name == "path-unknown" and self._diagnose and isinstance(body, dict):
            body = {**body, "sandbox": self._diagnosis(error, call)}
        headers = render_headers((*every.headers, *known.headers, *self.interface.every_answer.headers), scope)
        if "allow" in error.values:
            headers.append(("Allow", error.values["allow"]))
        return Response(known.status, with_content_type(headers, JSON), to_json(body))

    def _diagnosis(self, error: BankError, call: Call) -> dict[str, object]:
        hint = error.values.get("hint") or "no operation and no rule has this path; these come nearest"
        return {"message": hint, "nearest": nearest(self.interface, call.request.method, call.segments)}

    def show(self, error: BankError, call: Call) -> Response:
        """The error as a page."""
        known = self.interface.errors[error.name]
        text = to_text(render(known.text, {**error.values, "path": error.path}))
        page = show_trouble(error.name, text, known.status)
        return page.with_headers(("Allow", error.values["allow"])) if "allow" in error.values else page
