"""Answers calls by rules and operations, and writes errors as the dialect defines them."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from heapq import merge
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import structs

from xs2a_sandbox.bank import admission, client_certificate, owners, presented_token, repeated_requests
from xs2a_sandbox.bank.answer import Answer, Source
from xs2a_sandbox.bank.client_certificate import ReadTrust, trust_nobody
from xs2a_sandbox.bank.handlers import token
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.bank.sca_pages.html import show_trouble
from xs2a_sandbox.bank.sca_pages.words import Words, words
from xs2a_sandbox.cassette import Call, Interface, Operation, Rule
from xs2a_sandbox.cassette.answers import (
    JSON,
    Action,
    ResponseTemplate,
    add_headers,
    choose,
    render_headers,
    with_content_type,
    without_nulls,
    write,
)
from xs2a_sandbox.cassette.decide import Amendments, Candidate, Decision, decide
from xs2a_sandbox.cassette.dialect.error_table import ENGINE_ERRORS
from xs2a_sandbox.cassette.evaluation.expressions import Scope, render
from xs2a_sandbox.cassette.evaluation.values import to_text
from xs2a_sandbox.cassette.index import Index, Lookup, candidates
from xs2a_sandbox.cassette.model import Behaviour
from xs2a_sandbox.cassette.schema_names import fill_name, names_by_status
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.checks import NONE
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.explain.explanation import diagnosis
from xs2a_sandbox.http import Response, to_json
from xs2a_sandbox.http.messages import OwnRefusal
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.http.target import Target, split_target
from xs2a_sandbox.state.session import session_name

if TYPE_CHECKING:
    from xs2a_sandbox.recording.replay import Replay

_SEQUENCES = "_sequences"
_OWN_ERRORS = ENGINE_ERRORS - {"format-error"}  # requirements and handlers raise it, too
SIMULATED = RealBank()


class _Said(msgspec.Struct, frozen=True):
    """A response that is not an Answer yet. `error` is the name of the error if the response is one of the table."""

    response: Response
    error: str | None = None
    delay: float = 0.0


class Bank:
    """Answers for the interface instead of the `real` bank.

    `base_path`, if not empty, is the only path before `/v1` that belongs to the bank. `replay` is set if rules are
    recorded. With `diagnose` the answer to an unknown path names the nearest known one. `trust` decides which client
    certificates are trusted.
    """

    def __init__(
        self,
        interface: Interface,
        schemas: Schemas,
        real: RealBank = SIMULATED,
        *,
        base_path: str = "",
        replay: "Replay | None" = None,
        diagnose: bool = True,
        trust: ReadTrust = trust_nobody,
    ) -> None:
        self.schemas = schemas
        self.real = real
        self.checks = real.judged_by
        self._replay = replay
        self.replays_personal = any(rule.tape and rule.tape.redacted for rule in interface.rules)
        """True if apps may get recorded data of real people."""
        self._use(interface)
        self._base = split_target(base_path).segments
        self._base_skips = (len(self._base), 0) if self._base else (0,)
        urls = (real.url, *(rule.tape.bank for rule in interface.rules if rule.tape))
        self._prefixes = {split_target(urlsplit(url).path).segments for url in urls if url} - {()}
        self._diagnose = diagnose
        self._admit = partial(
            admission.check,
            signatures=interface.signatures,
            trust=trust,
            schemas=schemas,
            issues_tokens=token.are_issued(interface.operations.values()),
        )

    def _use(self, interface: Interface) -> None:
        self.interface = interface
        self._index = Index(interface)
        self._positions = {(rule.id, rule.operation): position for position, rule in enumerate(interface.rules)}

    def with_interface(self, interface: Interface) -> "Bank":
        """Return a copy of the bank with a larger interface."""
        other = copy(self)
        other._use(interface)
        return other

    @property
    def is_personal(self) -> bool:
        """Whether requests and answers may contain data of real people."""
        return self.real.can_be_asked or self.replays_personal

    def find(self, method: str, segments: tuple[str, ...]) -> Lookup:
        """Look the path up. Raises BankError if it does not start with `base_path`."""
        if segments[: len(self._base)] != self._base:
            text = f"all paths of the bank start with /{'/'.join(self._base)} (base_path in xs2a-sandbox.yaml)"
            raise BankError("path-unknown", id="/" + "/".join(segments), hint=text)
        return self._find(method, segments, self._skips(segments))

    def _find(self, method: str, segments: tuple[str, ...], skips: Sequence[int]) -> Lookup:
        """Look the path up once for each number in `skips`, without that many leading segments."""
        lookup = self._index.find(method, segments[skips[0] :])
        for skip in skips[1:]:
            other = self._index.find(method, segments[skip:])
            if not lookup.is_known:
                lookup = other
            elif other.rules != lookup.rules:
                lookup = lookup._replace(rules=(*lookup.rules, *other.rules))
        return lookup

    def _skips(self, segments: tuple[str, ...]) -> Sequence[int]:
        """Return how many leading segments to skip: those of `base_path`, and those of the real bank's URL."""
        if not self._prefixes:
            return self._base_skips
        # An app may use the bank's whole path, but recorded rules know only the part after the bank's URL.
        return [*self._base_skips, *(len(prefix) for prefix in self._prefixes if segments[: len(prefix)] == prefix)]

    def glance(self, method: str, segments: tuple[str, ...]) -> Lookup:
        """Look the path up like `find`, but never raise."""
        return self._index.find(method, segments)

    def prepare(self, call: Call, lookup: Lookup) -> None:
        """Let the call read the inputs of its operation."""
        call.path, call.lets, call.shapes = lookup.parameters, self.interface.lets, self.interface.shapes
        if lookup.operation:
            call.inputs = lookup.operation.behaviour.inputs or call.inputs

    def decide(self, call: Call, lookup: Lookup) -> Decision:
        """Find the entry that answers the call: the first rule that matches, otherwise the operation."""
        call.lets, call.shapes = self.interface.lets, self.interface.shapes
        admit = self._admit if call.checks is not NONE else None
        return decide(lookup, self._candidates(call, lookup), call, self.schemas, self.interface.silent, admit)

    def answer(self, decision: Decision, call: Call, *, in_browser: bool = False) -> Answer:
        """Carry out the decision. On an error, state changes are discarded, unless the error keeps them.

        With `in_browser` errors are shown as pages. Raises the exception if a condition could not be computed.
        """
        by = decision.rule or decision.operation
        if decision.error or by is None:
            if isinstance(decision.error, BankError):
                return self.refuse(decision.error, call, amendments=decision.amendments, in_browser=in_browser)
            raise decision.error or ValueError("a decision for nobody without an error")
        source: Source = "handler" if by.behaviour.handler else "rule"
        try:
            if by.behaviour.bank:
                raise BankError("bank-not-configured")
            said = self._amend(self._once(by, decision, call), call, decision.amendments)
        except BankError as refusal:
            return self.refuse(refusal, call, source, by.id, decision.amendments, in_browser=in_browser)
        except Exception as failure:
            failure.add_note(f"in {by.id}")
            raise
        return Answer(
            said.response,
            source,
            by.id,
            said.error,
            amended=_names(decision.amendments),
            warnings=call.warnings,
            objections=self.objections(call),
            delay=said.delay,
            call=call,
            is_repeatable=self._replay is None,
        )

    def refuse(
        self,
        error: BankError,
        call: Call,
        source: Source = "sandbox",
        rule: str | None = None,
        amendments: Amendments = (),
        *,
        in_browser: bool = False,
    ) -> Answer:
        """Return the error as an answer. State changes of the call are discarded, unless the error keeps them."""
        if not error.keep:
            call.state.discard()
        if error.name in _OWN_ERRORS or in_browser:
            amendments = ()
        if error.name in _OWN_ERRORS or rule is None:
            source, rule = "sandbox", None
        said = _Said(self.show(error, call) if in_browser else self.say(error, call), error.name)
        reason = None if said.response.body and not in_browser else self.reason(error, call.operation)
        said = self._amend(said, call, amendments)
        return Answer(
            said.response,
            source,
            rule,
            said.error,
            error.with_traceback(None),  # the traceback would keep all frames alive
            reason,
            _names(amendments),
            call.warnings,
            self.objections(call),
            said.delay,
            call,
        )

    def objections(self, call: Call) -> tuple[str, ...]:
        """Return the errors of a stricter bank, in its words."""
        if not call.objections:
            return ()
        table, operation = self.interface.errors, call.operation
        refusals = (f"{table[e.name].status(operation)} {self.reason(e, operation)}" for e in call.objections)
        return tuple(dict.fromkeys(refusals))

    def _once(self, by: Rule | Operation, decision: Decision, call: Call) -> _Said:
        """Return the response of the rule or operation, or the earlier response if the request is a repetition.

        Raises BankError.
        """
        is_once = call.checks is not NONE and repeated_requests.is_checked(call, by.behaviour.handler)
        if is_once and (earlier := repeated_requests.find_earlier(call)):
            return _Said(earlier)
        said = self._respond(by, decision, call)
        if is_once:
            repeated_requests.keep(call, said.response)
        if self._replay and decision.rule and decision.rule.tape:
            return structs.replace(said, response=self._replay.finish(said.response, decision.rule, call))
        return said

    def _amend(self, said: _Said, call: Call, amendments: Amendments) -> _Said:
        """Apply all amendments to the response, the strongest last. Raises InvalidResponse, ExpressionError."""
        if not amendments:
            return said
        scope, warn = call.scope(), call.warnings.append
        for rule, parameters in reversed(amendments):
            if amendment := rule.behaviour.amend:
                scope = call.with_path(scope, parameters)
                if amendment.instead:
                    instead = self._write(amendment.instead, {}, scope, call)
                    said = structs.replace(said, response=instead.response, error=instead.error or said.error)
                said = structs.replace(said, response=amendment.apply(said.response, scope, warn))
                if amendment.delay:
                    said = structs.replace(said, delay=amendment.delay.seconds())
        return said

    def find_before_page(self, method: str, segments: tuple[str, ...]) -> Lookup | None:
        """Return the rules that can override a page of the sandbox, or None if there are none."""
        lookup = self._index.find(method, segments)
        return None if lookup.operation or not (lookup.rules or self._replay) else lookup

    def _candidates(self, call: Call, lookup: Lookup) -> Iterable[Candidate]:
        """Return the rules that may match, strongest first, each with the call as the rule sees it."""
        if self._replay is None and not lookup.rules:
            return ()
        plain: Iterable[Candidate] = (
            (rule, path, call) for rule, path in candidates(lookup, lambda path: lambda place: call.values(place, path))
        )
        if self._replay is None:
            return plain
        segments = session_name(call.request, split_target(call.request.target).segments)[1]
        seen = self._replay.as_recorded(call, len(segments))
        if seen is None:
            return plain
        target = split_target(seen.target)
        near = self._find(call.request.method, target.segments, self._skips(segments))
        recorded = call.with_request(seen, Target(near.segments, target.query))
        replaying = (
            (rule, path, recorded)
            for rule, path in candidates(near, lambda path: lambda place: recorded.values(place, path))
            if rule.tape
        )
        others = (candidate for candidate in plain if not candidate[0].tape)
        return merge(others, replaying, key=lambda candidate: self._positions[candidate[0].id, candidate[0].operation])

    def _respond(self, by: Rule | Operation, decision: Decision, call: Call) -> _Said:
        behaviour, operation = by.behaviour, decision.operation
        default = operation.behaviour if operation else behaviour
        call.options = behaviour.options if behaviour.options is not None else (default.options or {})
        call.inputs = behaviour.inputs or call.inputs
        scope = call.scope()
        answers = behaviour.respond
        if behaviour.handler:
            handler = collect_handlers()[behaviour.handler]
            call.options = {**handler.defaults, **call.options}
            scope["result"] = handler(call)
            for rule, parameters in reversed(decision.amendments):
                if rule.behaviour.amend and (change := rule.behaviour.amend.result):
                    amending = call.with_path(scope, parameters)
                    scope["result"] = change.apply(scope["result"], amending, call.warnings.append)
            answers = answers or default.respond
        lets = behaviour.let
        if answers is default.respond and behaviour is not default:
            lets = (*default.let, *lets)
        for name, value in lets:
            scope["let"][name] = render(value, scope)
        answer = self._next(call, by.id, behaviour) if behaviour.sequence else choose(answers, scope)
        names = names_by_status(by, operation)
        if call.path and "{" in "".join(names.values()):
            names = {status: fill_name(name, call.path) for status, name in names.items()}
        delay = answer.delay.seconds() if answer.delay else 0.0
        for effect in behaviour.effects:
            if isinstance(effect, Action):
                _act(effect, call, scope)
            else:
                effect.apply(call.state, scope)
        if call.checks is not NONE and call.state.is_changed:
            owners.keep(call, {"client": presented_token.client_of(call), "tpp": client_certificate.tpp_of(call)})
        return self._write(answer, names, scope, call, delay)

    def _write(
        self, template: ResponseTemplate, names: Mapping[str, str], scope: Scope, call: Call, delay: float = 0.0
    ) -> _Said:
        """Render the answer, which may be an error of the table."""
        try:
            return _Said(write(template, self.interface.every_answer.headers, scope, names, self.schemas), None, delay)
        except BankError as error:
            if not template.error:
                raise
            # The cassette asked for this error: keep its effects and its turn in a sequence.
            return _Said(self.say(error, call), error.name, delay)

    def _next(self, call: Call, id: str, behaviour: Behaviour) -> ResponseTemplate:
        """Return the next answer of a sequence. The turn is counted in the same transaction as the answer."""
        key = "|".join([id, *(f"{name}={value}" for name, value in sorted(call.path.items()))])
        turn = int((call.state.get(_SEQUENCES, key) or {"given": 0})["given"])
        count = len(behaviour.sequence)
        if turn >= count and behaviour.on_exhausted == "fail":
            raise BankError("sequence-exhausted", id=id, count=count)
        call.state.put(_SEQUENCES, key, {"given": turn + 1})
        position = turn % count if behaviour.on_exhausted == "restart" else min(turn, count - 1)
        return behaviour.sequence[position]

    def say(self, error: BankError, call: Call) -> Response:
        """Return the error as the dialect's table defines it."""
        entry = self.interface.errors[error.name]
        call.lets, call.shapes = self.interface.lets, self.interface.shapes
        scope = call.scope()
        scope["error"] = {
            "name": error.name,
            "status": entry.status(call.operation),
            "code": entry.code(call.operation),
            "number": entry.number(call.operation),
            "text": self.text(error),
            "path": error.path,
        }
        every = self.interface.every_error
        headers = render_headers(
            add_headers((*every.headers, *entry.headers), self.interface.every_answer.headers), scope
        )
        if "allow" in error.values:
            headers.append(("Allow", error.values["allow"]))
        if entry.empty:
            return Response(entry.status(call.operation), tuple(headers))
        body = self._error_body(entry.body, scope)
        if error.name in ("path-unknown", "not-recorded") and self._diagnose and isinstance(body, dict):
            body = {**body, "sandbox": self._diagnosis(error, call)}
        elif "signature" in error.values and self._diagnose and isinstance(body, dict):
            body = {**body, "sandbox": {"signature": error.values["signature"]}}
        return Response(entry.status(call.operation), with_content_type(headers, JSON), to_json(body))

    def _error_body(self, own: Any, scope: Scope) -> Any:
        """Render the body of an error: `own`, or the body that all errors share."""
        every = self.interface.every_error
        body = render(every.body if own is None else own, scope)
        if every.nulls == "drop":
            return without_nulls(body)
        if every.nulls == "fill" and every.schema and own is None:
            return self.schemas[every.schema].fill(body)
        return body

    def say_refusal(self, refusal: OwnRefusal, call: Call) -> Response:
        """Return the response for a request that was rejected before it reached a bank: an error in the bank's form."""
        if refusal.error:
            said = self.say(refusal.error, call)
            names = {name.lower() for name, _ in said.headers}
            return said.with_headers(*(pair for pair in refusal.headers if pair[0].lower() not in names))
        words = {"code": refusal.code, "number": refusal.number, "text": refusal.text}
        call.lets, call.shapes = self.interface.lets, self.interface.shapes
        scope = call.scope() | {"error": {"name": None, "status": refusal.status, "path": None, **words}}
        return Response(refusal.status, refusal.headers, to_json(self._error_body(None, scope)))

    def _diagnosis(self, error: BankError, call: Call) -> dict[str, object]:
        if call.segments[:1] == (ROOT,):
            # This is a page of the sandbox, so give no hint about adding a case.
            return {"message": error.values.get("hint")}
        return diagnosis(self.interface, self.schemas, call, error.values.get("hint"))

    def text(self, error: BankError) -> str:
        """Return the text of the error, in the dialect's words."""
        values = {**error.values, "path": error.path, "wire": self.interface.states.word}
        text = to_text(render(self.interface.errors[error.name].text, values))
        # A test can ask for an error without its values. Remove the gaps that this leaves between words.
        return " ".join(text.split()) if any(value in ("", None) for value in error.values.values()) else text

    def reason(self, error: BankError, operation: str | None = None) -> str:
        """Return the error in a few words, for the log."""
        return f"{self.interface.errors[error.name].code(operation)}: {self.text(error)}"

    def words(self, call: Call) -> Words:
        """Return the texts of the payment user's pages, in the language of the browser."""
        return words(self.interface.sca_pages, ", ".join(call.request.headers.all("Accept-Language")))

    def show(self, error: BankError, call: Call) -> Response:
        """Return the error as a page."""
        entry = self.interface.errors[error.name]
        page = show_trouble(error.name, self.text(error), entry.status(call.operation), self.words(call))
        return page.with_headers(("Allow", error.values["allow"])) if "allow" in error.values else page


def _act(action: Action, call: Call, scope: Scope) -> None:
    """Run the action and store its result under its name. Raises BankError."""
    if action.when and not action.when(scope):
        result = None
    else:
        run = collect_handlers()[action.name]
        before, call.options = call.options, {**run.defaults, **render(action.options, scope)}
        result = run(call)
        call.options = before
    if action.result:
        scope["let"][action.result] = result


def _names(amendments: Amendments) -> tuple[str, ...]:
    """Return the ids of the rules that changed the answer, in order."""
    return tuple([rule.id for rule, _ in reversed(amendments)]) if amendments else ()
