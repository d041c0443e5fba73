"""The bank: a call answered by its rules and operations, and errors in the dialect's words."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from heapq import merge
from typing import Any
from urllib.parse import urlsplit

from xs2a_sandbox.bank import admission, client_certificate, owners, presented_token, repeated_requests
from xs2a_sandbox.bank.client_certificate import ReadTrust, trust_nobody
from xs2a_sandbox.bank.handlers.approaches import LOGIN
from xs2a_sandbox.bank.handlers.table import ACTIONS, HANDLERS
from xs2a_sandbox.bank.sca_pages.html import show_trouble
from xs2a_sandbox.bank.sca_pages.words import Words, words
from xs2a_sandbox.cassette import Call, Interface, Operation, Rule
from xs2a_sandbox.cassette.answers import (
    JSON,
    Action,
    Answer,
    choose,
    render_headers,
    with_content_type,
    without_nulls,
    write,
)
from xs2a_sandbox.cassette.decide import Candidate, Decision, decide
from xs2a_sandbox.cassette.evaluation.expressions import Scope, render
from xs2a_sandbox.cassette.evaluation.values import to_text
from xs2a_sandbox.cassette.index import Index, Lookup, Parameters, candidates
from xs2a_sandbox.cassette.model import Behaviour
from xs2a_sandbox.cassette.schema_names import fill_name, names_by_status
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.checks import NONE
from xs2a_sandbox.config.real_bank import stranger
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.errors import BankError, Refused, StoreUnavailable
from xs2a_sandbox.explain.explanation import Reply, diagnosis
from xs2a_sandbox.http import Request, Response, to_json
from xs2a_sandbox.http.messages import OwnRefusal
from xs2a_sandbox.http.origin import host_of
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.http.target import Target, split_target
from xs2a_sandbox.recording.replay import Replay
from xs2a_sandbox.state.session import DEFAULT, session_name

_SEQUENCES = "_sequences"
STRICT = "X-Sandbox-Strict"
"""The header that says what checks which only warn would have refused."""
SIMULATED = RealBank()


class Outcome:
    """All that is known of a request by the time it is answered, for the headers and the log.

    With `simulated` the sandbox answers it whatever the mode; `in_browser` the payment user sees the answer; `beside`
    is told it in mode compare; rules that are `amending` it change it. `personal`: real people's data may be in it.
    `reason` is why it failed, where the answer itself does not say it to programs; `ignored` says what of it means
    nothing in its mode. Of one that `is_watched` the call
    notes what its answer is made of.
    """

    __slots__ = (
        "amending",
        "bank",
        "beside",
        "call",
        "delay",
        "error",
        "ignored",
        "in_browser",
        "is_watched",
        "journaled",
        "logged",
        "personal",
        "reason",
        "rule",
        "session",
        "simulated",
        "source",
        "warnings",
    )

    def __init__(self, bank: "Bank") -> None:
        self.bank = bank
        self.call: Call | None = None
        self.session = DEFAULT
        self.source = "sandbox"
        self.rule: str | None = None
        self.amending: tuple[tuple[Rule, Parameters], ...] = ()
        self.error: str | None = None
        self.ignored: str | None = None
        self.reason: str | None = None
        self.delay = 0.0
        self.warnings: Sequence[str] = ()
        self.journaled = True
        self.logged = True
        self.in_browser = self.is_watched = False
        self.simulated = False
        self.personal = True
        self.beside: Callable[[Response], Awaitable[None]] | None = None

    @property
    def objections(self) -> tuple[str, ...]:
        """The refusals of a stricter bank, in its words."""
        if self.call is None or not self.call.objections:
            return ()
        table, operation = self.bank.interface.errors, self.call.operation
        refusals = (f"{table[e.name].status(operation)} {self.bank.reason(e, operation)}" for e in self.call.objections)
        return tuple(dict.fromkeys(refusals))

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Headers that name who has answered, and what a stricter bank would have refused."""
        rule = (("X-Sandbox-Rule", self.rule),) if self.rule else ()
        amended = (("X-Sandbox-Amended", ", ".join(self.amended)),) if self.amending else ()
        # Apps take the list apart at its semicolons.
        text = "; ".join(text.replace("; ", ", ") for text in self.objections).encode("ascii", "replace").decode()
        objections = ((STRICT, "".join(c if c.isprintable() else "?" for c in text)),) if text else ()
        return (("X-Sandbox-Source", self.source), *rule, *amended, *objections)

    @property
    def amended(self) -> tuple[str, ...]:
        """The ids of the rules that have changed the answer, in their order."""
        return tuple(rule.id for rule, _ in reversed(self.amending))


class Bank:
    """Says what the interface says, in place of the `real` one.

    `base_path` is the only path before `/v1` that is the bank's, if not empty; `replay` is there where rules are
    recorded ones. With `diagnose` an unknown path is answered with what came nearest; client certificates are judged by
    `trust`.
    """

    def __init__(
        self,
        interface: Interface,
        schemas: Schemas,
        real: RealBank = SIMULATED,
        *,
        base_path: str = "",
        replay: Replay | None = None,
        diagnose: bool = True,
        trust: ReadTrust = trust_nobody,
    ) -> None:
        self.schemas = schemas
        self.real = real
        self.checks = real.judged_by
        self._replay = replay
        self.replays_personal = any(rule.tape and rule.tape.redacted for rule in interface.rules)
        """True where apps ask for recorded rules with real people's data."""
        self.sca_options: dict[str, Mapping[str, Any]] = {
            options["family"]: options
            for operation in interface.operations.values()
            if operation.behaviour.handler == "authorisations.start" and (options := operation.behaviour.options)
        }
        if consents := self.sca_options.get("consent"):
            self.sca_options["login"] = {**consents, **LOGIN}
        self._use(interface)
        self._base = split_target(base_path).segments
        self._base_skips = (len(self._base), 0) if self._base else (0,)
        urls = (real.url, *(rule.tape.bank for rule in interface.rules if rule.tape))
        self._prefixes = {split_target(urlsplit(url).path).segments for url in urls if url} - {()}
        self._diagnose = diagnose
        self._admit = partial(admission.check, signatures=interface.signatures, trust=trust)

    def _use(self, interface: Interface) -> None:
        self.interface = interface
        self._index = Index(interface)
        self._positions = {rule.id: position for position, rule in enumerate(interface.rules)}

    def saying(self, interface: Interface) -> "Bank":
        """The same bank, with more rules than it has."""
        other = copy(self)
        other._use(interface)
        return other

    @property
    def is_personal(self) -> bool:
        """Says whether real people's data may be in what it is asked, and in what it answers."""
        return self.real.can_be_asked or self.replays_personal

    @property
    def replays(self) -> bool:
        """Says whether rules are recorded ones, asked by other ids than were recorded."""
        return self._replay is not None

    def find(self, method: str, segments: tuple[str, ...]) -> Lookup:
        """All that a path leads to. Raises BankError for one that does not begin as it must."""
        if segments[: len(self._base)] != self._base:
            text = f"every path begins with /{'/'.join(self._base)} (base_path, in xs2a-sandbox.yaml)"
            raise BankError("path-unknown", id="/" + "/".join(segments), hint=text)
        return self._find(method, segments, self._skips(segments))

    def _find(self, method: str, segments: tuple[str, ...], skips: Sequence[int]) -> Lookup:
        """All that the path leads to, and rules for it without as many first segments as one of `skips`."""
        lookup = self._index.find(method, segments[skips[0] :])
        for skip in skips[1:]:
            other = self._index.find(method, segments[skip:])
            if not lookup.is_known:
                lookup = other
            elif other.rules != lookup.rules:
                lookup = lookup._replace(rules=(*lookup.rules, *other.rules))
        return lookup

    def _skips(self, segments: tuple[str, ...]) -> Sequence[int]:
        """The numbers of segments in front that rules may not know: `base_path`, and those of the real bank's URL."""
        if not self._prefixes:
            return self._base_skips
        # An app may use the bank's whole path, of which recorded rules know only what follows its URL.
        return [*self._base_skips, *(len(prefix) for prefix in self._prefixes if segments[: len(prefix)] == prefix)]

    def decide(self, call: Call, lookup: Lookup) -> Decision:
        """Decides who answers the call: the first rule that fits, else the operation."""
        admit = self._admit if call.checks is not NONE else None
        return decide(lookup, self._candidates(call, lookup), call, self.schemas, self.interface.silent, admit)

    def answer_unless_real(self, call: Call, lookup: Lookup, outcome: Outcome) -> Response | None:
        """None where it is the real bank's to say: `outcome` knows the rule that wants it so. Raises BankError."""
        return self.perform_unless_real(self.decide(call, lookup), call, outcome)

    def perform_unless_real(self, decision: Decision, call: Call, outcome: Outcome) -> Response | None:
        """The answer that was decided; None as for `answer_unless_real`. Raises BankError."""
        if not decision.is_left_to_bank:
            return self.perform(decision, call, outcome)
        outcome.rule = decision.rule.id if decision.rule else None
        return None

    def perform(self, decision: Decision, call: Call, outcome: Outcome) -> Response:
        """The answer that was decided. Raises BankError, and what a condition could not be computed for."""
        by = decision.rule or decision.operation
        outcome.amending = decision.amendments
        if decision.error or by is None:
            raise decision.error or ValueError("a decision for nobody without an error")
        outcome.rule = by.id
        if by.behaviour.bank:
            raise BankError("bank-not-configured")
        is_once = call.checks is not NONE and repeated_requests.is_checked(call, by.behaviour.handler)
        if is_once and (earlier := repeated_requests.earlier(call)):
            outcome.source = "handler"
            return self.amend(earlier, call, outcome)
        response = self._respond(by, decision.operation, call, outcome)
        if is_once:
            repeated_requests.keep(call, response)
        if self._replay and decision.rule and decision.rule.tape:
            response = self._replay.finish(response, decision.rule, call)
        return self.amend(response, call, outcome)

    def amend(self, response: Response, call: Call, outcome: Outcome) -> Response:
        """The answer with what rules change of it, the strongest last. Raises InvalidResponse, ExpressionError."""
        if not outcome.amending:
            return response
        scope, warn = call.scope(), call.warnings.append
        for rule, parameters in reversed(outcome.amending):
            if amendment := rule.behaviour.amend:
                if amendment.instead:
                    response = self._write(amendment.instead, {}, {**scope, "path": parameters}, call, outcome)
                response = amendment.apply(response, {**scope, "path": parameters}, warn)
                if amendment.delay:
                    outcome.delay = amendment.delay.seconds()
        return response

    def by_rule(self, call: Call, outcome: Outcome) -> Response | None:
        """The answer of a rule at a path of the sandbox's own pages: a recorded bank may have had pages there, too.

        None where no rule fits, or where it is the real bank's to say: then `outcome` knows the rule.
        """
        lookup = self.find_before_page(call.request.method, call.segments)
        return self.answer_unless_real(call, lookup, outcome) if lookup else None

    def find_before_page(self, method: str, segments: tuple[str, ...]) -> Lookup | None:
        """The rules that may come before a page of the sandbox itself; None where there can be none."""
        lookup = self._index.find(method, segments)
        return None if lookup.operation or not (lookup.rules or self._replay) else lookup

    def _candidates(self, call: Call, lookup: Lookup) -> Iterable[Candidate]:
        """The rules that may fit, strongest first, each with the call as it looks at it."""
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
        recorded = call.had_it_been(seen, Target(near.segments, target.query))
        replaying = (
            (rule, path, recorded)
            for rule, path in candidates(near, lambda path: lambda place: recorded.values(place, path))
            if rule.tape
        )
        others = (candidate for candidate in plain if not candidate[0].tape)
        return merge(others, replaying, key=lambda candidate: self._positions[candidate[0].id])

    def _respond(self, by: Rule | Operation, operation: Operation | None, call: Call, outcome: Outcome) -> Response:
        behaviour = by.behaviour
        outcome.source = "handler" if behaviour.handler else "rule"
        default = operation.behaviour if operation else behaviour
        call.options = behaviour.options if behaviour.options is not None else (default.options or {})
        scope = call.scope()
        answers = behaviour.respond
        if behaviour.handler:
            handler = HANDLERS[behaviour.handler]
            call.options = {**handler.defaults, **call.options}
            scope["result"] = handler(call)
            if call.checks is not NONE:
                owner = {"client": presented_token.client_of(call), "tpp": client_certificate.tpp_of(call)}
                owners.keep(call, scope["result"], owner)
            answers = answers or default.respond
        if let := (*default.let, *behaviour.let) if answers is default.respond else behaviour.let:
            scope["let"] = {}
            for name, value in let:
                scope["let"][name] = render(value, scope)
        answer = self._next(call, by.id, behaviour) if behaviour.sequence else choose(answers, scope)
        names = names_by_status(by, operation)
        if call.path and any("{" in name for name in names.values()):
            names = {status: fill_name(name, call.path) for status, name in names.items()}
        outcome.delay = answer.delay.seconds() if answer.delay else 0.0
        for effect in behaviour.effects:
            if isinstance(effect, Action):
                _act(effect, call, scope)
            else:
                effect.apply(call.state, scope)
        return self._write(answer, names, scope, call, outcome)

    def _write(self, answer: Answer, names: Mapping[str, str], scope: Scope, call: Call, outcome: Outcome) -> Response:
        """The answer as it is sent, which may be an error of the table."""
        try:
            return write(answer, self.interface.every_answer.headers, scope, names, self.schemas)
        except BankError as error:
            if not answer.error:
                raise
            # The cassette's own words: what they change, and their turn in a sequence, are kept.
            outcome.error = error.name
            return self.say(error, call)

    def _next(self, call: Call, id: str, behaviour: Behaviour) -> Answer:
        """The sequence's turn is counted in the transaction of the answer itself."""
        key = "|".join([id, *(f"{name}={value}" for name, value in sorted(call.path.items()))])
        turn = int((call.state.get(_SEQUENCES, key) or {"given": 0})["given"])
        count = len(behaviour.sequence)
        if turn >= count and behaviour.on_exhausted == "fail":
            raise BankError("sequence-exhausted", id=id, count=count)
        call.state.put(_SEQUENCES, key, {"given": turn + 1})
        position = turn % count if behaviour.on_exhausted == "restart" else min(turn, count - 1)
        return behaviour.sequence[position]

    def say(self, error: BankError, call: Call) -> Response:
        """The error as the dialect's table says it."""
        entry = self.interface.errors[error.name]
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
        headers = render_headers((*every.headers, *entry.headers, *self.interface.every_answer.headers), scope)
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
        """The body of an error: its `own`, or that of every error."""
        every = self.interface.every_error
        body = render(every.body if own is None else own, scope)
        if every.nulls == "drop":
            return without_nulls(body)
        if every.nulls == "fill" and every.schema and own is None:
            return self.schemas[every.schema].fill(body)
        return body

    def say_refusal(self, refusal: OwnRefusal, call: Call) -> Response:
        """The refusal of something before any bank is asked, in the form that errors have here."""
        if refusal.error:
            said = self.say(refusal.error, call)
            names = {name.lower() for name, _ in said.headers}
            return said.with_headers(*(pair for pair in refusal.headers if pair[0].lower() not in names))
        words = {"code": refusal.code, "number": refusal.number, "text": refusal.text}
        scope = call.scope() | {"error": {"name": None, "status": refusal.status, "path": None, **words}}
        return Response(refusal.status, refusal.headers, to_json(self._error_body(None, scope)))

    def _diagnosis(self, error: BankError, call: Call) -> dict[str, object]:
        if call.segments[:1] == (ROOT,):
            # Nobody wants a case for a page of the sandbox.
            return {"message": error.values.get("hint")}
        return diagnosis(self.interface, self.schemas, call, error.values.get("hint"))

    def text(self, error: BankError) -> str:
        """The text of the error, in the dialect's words."""
        text = to_text(render(self.interface.errors[error.name].text, {**error.values, "path": error.path}))
        # Whoever wishes for an error need not name what it is about, which leaves a gap between two words.
        return " ".join(text.split()) if any(value in ("", None) for value in error.values.values()) else text

    def reason(self, error: BankError, operation: str | None = None) -> str:
        """The error in a few words, for the log."""
        return f"{self.interface.errors[error.name].code(operation)}: {self.text(error)}"

    def words(self, call: Call) -> Words:
        """The words of the payment user's pages, in the language of the browser."""
        return words(self.interface.sca_pages, ", ".join(call.request.headers.all("Accept-Language")))

    def show(self, error: BankError, call: Call) -> Response:
        """The error as a page."""
        entry = self.interface.errors[error.name]
        page = show_trouble(error.name, self.text(error), entry.status(call.operation), self.words(call))
        return page.with_headers(("Allow", error.values["allow"])) if "allow" in error.values else page


def _act(action: Action, call: Call, scope: Scope) -> None:
    """Does what the action is called, and names what comes of it. Raises BankError."""
    if action.when and not action.when(scope):
        result = None
    else:
        run = ACTIONS[action.name]
        before, call.options = call.options, {**run.defaults, **render(action.options, scope)}
        result = run(call)
        call.options = before
    if action.result:
        scope["let"] = {**scope.get("let", {}), action.result: result}


def attempted(decision: Decision, call: Call, outcome: Outcome) -> Reply:
    """The answer that was decided; `call` must not be committed afterwards."""
    try:
        return Reply(outcome.bank.perform(decision, call, outcome).status)
    except (BankError, StoreUnavailable) as error:
        refused = error if isinstance(error, BankError) else BankError("busy")
        reply = refusal(refused, outcome)
        return replace(reply, status=outcome.bank.amend(outcome.bank.say(refused, call), call, outcome).status)
    except Exception as error:
        return refusal(BankError("internal", reason=str(error)), outcome)


def refusal(error: BankError | Refused, outcome: Outcome) -> Reply:
    """The error as the bank of this request says it, or the sandbox itself."""
    if isinstance(error, Refused):
        return Reply(error.status, error.error, str(error))
    bank, operation = outcome.bank, outcome.call.operation if outcome.call else None
    return Reply(bank.interface.errors[error.name].status(operation), error.name, bank.text(error))


class Banks:
    """`named` have hosts of their own; `default` is there for all other requests."""

    def __init__(self, default: Bank, with_hosts: Sequence[Bank] = ()) -> None:
        self.default = default
        self.all = (*with_hosts, default)
        self.are_personal = any(bank.is_personal for bank in self.all)
        """True where real people's data may be in what any of them is asked."""
        self.heed_request_ids = any(bank.interface.heeds_request_ids for bank in self.all)
        self._by_host = {host_of(entry): bank for bank in self.all for entry in bank.real.host_names}
        # Longest first: of banks at one host each is the one whose path the request goes on from.
        self._real = sorted((bank for bank in self.all if bank.real.url), key=lambda bank: -len(_path(bank)))

    def bank_of(self, request: Request) -> Bank:
        """Finds the bank by the host that the request names; at the proxy that may be the one of the bank's own URL."""
        return self._by_host.get(request.host.lower()) or self._at(request) or self.default

    def choose(self, request: Request) -> Bank:
        """Finds the bank that is meant. Raises BankError, at the proxy, for a host that is no bank's."""
        bank = self.bank_of(request)
        if bank is self.default and request.door == "proxy" and request.host.lower() not in self._by_host:
            # Where everything is to be recorded, nothing is made up for hosts that nobody has named.
            unnamed = bank.real.url is None and bank.real.mode == "record"
            if unnamed or (bank.real.hosts and not bank.real.at(request).is_named_by(request)):
                raise self.stranger(request)
        return bank

    def is_for_nobody(self, request: Request, bank: Bank) -> bool:
        """Says whether a request at the proxy, to which the sandbox alone has no answer, is for none that are asked."""
        return request.door == "proxy" and bank.real.url is None and bank.real.mode not in (None, "simulate")

    def stranger(self, request: Request) -> BankError:
        """The error for a request at the proxy that is for none of them."""
        return stranger(request, *(bank.real for bank in self.all))

    def _at(self, request: Request) -> Bank | None:
        if request.door != "proxy" or not self._real:
            return None
        there = [bank for bank in self._real if bank.real.at(request).is_named_by(request)]
        return next((bank for bank in there if request.target.startswith(_path(bank))), there[-1] if there else None)


def _path(bank: Bank) -> str:
    return urlsplit(bank.real.url or "").path + "/"
