"""Attaches the neutral handlers to recognised operations: where a request has the inputs, and what an answer shows."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from xs2a_sandbox.cassette.path_pattern import LITERAL, PARAMETER
from xs2a_sandbox.features.derive.expression_text import expression, literal
from xs2a_sandbox.features.importing.openapi import roles
from xs2a_sandbox.features.importing.openapi.recognition import (
    CONSENT,
    AccountReads,
    Creation,
    Described,
    access_of,
    entry_lists,
)
from xs2a_sandbox.features.importing.openapi.roles import Steps
from xs2a_sandbox.features.importing.openapi.state_names import find_nearest, match_states
from xs2a_sandbox.features.importing.openapi.templates import BodyTemplate, moment

_PAGES = frozenset("redirect sca authorise authorize authorisation authorization approval confirm".split())
_PERMISSIONS = {
    "balances": ("balance", "balances"),
    "entries": ("transaction", "transactions", "entries", "history"),
    "owner": ("party", "owner", "identity"),
    "beneficiaries": ("beneficiary", "beneficiaries"),
}
"""The words in an interface's permissions, by permission. Every consent can list accounts and show their details."""
_MADE_AT = frozenset("created creation update updated timestamp".split())
_SINCE = frozenset("from since start after".split())
_UNTIL = frozenset("to until end before".split())

Allows = Callable[[str | None, Any], bool]
Enumerated = Callable[[str | None, Steps], list[str]]


@dataclass(slots=True)
class Attachment:
    """What an operation gets in addition to its requirements. `things` are places of ids and states."""

    operation: str
    kind: str
    handler: str
    status: int
    body: Any
    input: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    shapes: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    payer: tuple[Steps, str] | None = None

    def write(self) -> dict[str, Any]:
        """Return the members of the operation."""
        respond: dict[str, Any] = {"status": self.status} if self.status != 200 else {}
        if self.headers:
            respond["headers"] = self.headers
        if self.body is not None:
            respond["body"] = self.body
        return {
            "handler": self.handler,
            **({"with": self.options} if self.options else {}),
            **({"input": self.input} if self.input else {}),
            "respond": respond or {"status": 200},
        }


@dataclass(frozen=True, slots=True)
class Attacher:
    """Makes attachments. `allows` says whether a schema allows a body, `enumerated` which words a member can have."""

    allows: Allows
    enumerated: Enumerated

    def of_creation(self, creation: Creation) -> Iterator[Attachment]:
        yield self._create_consent(creation) if creation.kind == CONSENT else self._initiate(creation)
        for purpose, one in creation.others.items():
            yield self._about(creation, purpose, one)

    def states(self, creation: Creation) -> dict[str, Any]:
        """Return the section `states` of the thing: the interface's words for the states of the domain."""
        offered: dict[str, None] = dict.fromkeys(self.enumerated(creation.create.answer_name, creation.status))
        for one in creation.others.values():
            for answer in one.answers[:1]:
                same = [steps for steps in roles.states(answer) if steps[-1] == creation.status[-1]]
                offered |= dict.fromkeys(word for steps in same for word in self.enumerated(one.answer_name, steps))
        return match_states(creation.kind, list(offered)) if offered else {}

    def _wire(self, creation: Creation, source: str) -> str:
        """Return the expression for a state. A state without a word is shown as the nearest one that has a word."""
        if nearest := find_nearest(self.states(creation)):
            table = ", ".join(f"{literal(state)}: {literal(near)}" for state, near in nearest.items())
            source = f"{{{table}}}[{source}] or {source}"
        return f"wire('{creation.kind}', {source})"

    def _template(self, name: str | None, body: Any) -> BodyTemplate:
        return BodyTemplate(deepcopy(body), lambda value: self.allows(name, value))

    def _create_consent(self, creation: Creation) -> Attachment:
        create = creation.create
        template = self._of_created(creation)
        access, last = list(self._access(create)), roles.last_days(create.whole_request)
        made: dict[str, Any] = {"access": access, "sent": "{{ body }}"}
        if last:
            made["valid_until"] = _day_in("body", last[0])
        options = {"status": {"named": "awaiting", "all": "awaiting"}}
        headers = self._location(create)
        return Attachment(
            create.operation.id,
            "consent",
            "consents.create",
            create.status,
            template.write(),
            made,
            options,
            headers=headers,
        )

    def _access(self, create: Described) -> Iterator[dict[str, Any]]:
        """Yield the entries of the input `access`. If the request names no account, the customer chooses."""
        named = []
        for steps, first in access_of(create):
            source = expression("body", steps)
            if isinstance(first, str):
                yield {"permissions": f"{{{{ {self._permissions(create, steps)} }}}}", "accounts": "chosen"}
                return
            granted = [right for right, words in _PERMISSIONS.items() if not roles.all_words(steps).isdisjoint(words)]
            named.append(source)
            yield {"permissions": ["list", "details", *granted], "accounts": f"{{{{ {source} }}}}"}
        nothing = f"{{{{ 'chosen' if not ({' or '.join(named)}) }}}}"
        yield {"permissions": ["list", "details", "balances", "entries"], "accounts": nothing}

    def _permissions(self, create: Described, steps: Steps) -> str:
        offered = self.enumerated(create.request_name, (*steps, 0))
        source, parts = expression("body", steps), ["['list', 'details']"]
        for right, meant in _PERMISSIONS.items():
            if saying := [word for word in offered if set(roles.words(word)) & set(meant)]:
                parts.append(f"(['{right}'] if {source} | select('in', {literal(saying)}) | list else [])")
        return " + ".join(parts) if offered else "['list', 'details', 'balances', 'entries']"

    def _initiate(self, creation: Creation) -> Attachment:
        create = creation.create
        request = create.whole_request
        money = next(one for one in roles.moneys(request) if 0 not in one.amount)
        amount = expression("body", money.amount)
        text = isinstance(roles.at(request, money.amount), str)
        part: dict[str, Any] = {
            "amount": {
                "amount": f"{{{{ {amount if text else f'{amount} | string'} }}}}",
                "currency": f"{{{{ {expression('body', money.currency)} }}}}",
            },
            "creditor": {"name": None, "account": {}},
        }
        debtor: dict[str, str] = {}
        payer: tuple[Steps, str] | None = None
        for steps, value in roles.leaves(request):
            if 0 in steps:
                continue
            kind, side = roles.account_number(steps, value), roles.party(steps)
            if kind and side == "creditor":
                part["creditor"]["account"].setdefault(kind, f"{{{{ {expression('body', steps)} }}}}")
            elif kind and side == "debtor" and not debtor:
                debtor[kind] = f"{{{{ {expression('body', steps)} }}}}"
                payer = (steps, kind)
            elif side == "creditor" and roles.is_name(steps) and part["creditor"]["name"] is None:
                part["creditor"]["name"] = f"{{{{ {expression('body', steps)} }}}}"
        if part["creditor"]["name"] is None:
            del part["creditor"]["name"]
        if texts := [steps for steps in roles.remittances(request) if 0 not in steps]:
            part["remittance"] = {"text": f"{{{{ {expression('body', texts[0])} }}}}"}
        made: dict[str, Any] = {
            **service(create),
            **({"debtor": debtor} if debtor else {}),
            "parts": [part],
            "sent": "{{ body }}",
        }
        for steps, value in roles.leaves(request):
            if roles.is_day(value) and 0 not in steps and "execution" in roles.words(steps[-1]):
                made.setdefault("execute_on", _day_in("body", steps))
        template = self._of_created(creation)
        return Attachment(
            create.operation.id,
            "payment",
            "payments.initiate",
            create.status,
            template.write(),
            made,
            {"payer": "chosen", **self._executed(creation)},
            headers=self._location(create),
            payer=payer,
        )

    def _executed(self, creation: Creation) -> dict[str, str]:
        """Return the state of executed payments, if the interface has no word for the default."""
        words = self.states(creation)
        return {"executed": "ACSC"} if "ACSP" not in words and "ACSC" in words else {}

    def _of_created(self, creation: Creation) -> BodyTemplate:
        """Return the answer to the creation: its id, its state, its links, and what the request has sent."""
        template = self._template(creation.create.answer_name, creation.answer)
        template.say(creation.id, "result.id")
        template.say(creation.status, self._wire(creation, "result.status"))
        for steps, value in roles.leaves(creation.answer):
            own = roles.all_words(steps[-2:])
            if not isinstance(value, str) or not ("/" in value or "href" in own or "link" in own or "url" in own):
                continue
            if own & _PAGES and "status" not in own:
                template.say(steps, "session.url ~ '/sca/' ~ result.authorisation.page if result.authorisation.page")
            elif "self" in own:
                template.say(steps, "session.url ~ result.self" if "://" in value else "result.self")
        template.echo(self._template(creation.create.request_name, creation.create.whole_request), "body", is_sent=True)
        self._say_times(template)
        return template

    def _about(self, creation: Creation, purpose: str, one: Described) -> Attachment:
        thing = creation.kind
        parameter = next(
            segment.text
            for segment in one.operation.pattern.segments[len(creation.create.operation.pattern.segments) :]
            if segment.kind == PARAMETER
        )
        place = expression("path", (parameter,))
        made: dict[str, Any] = {thing: f"{{{{ {place} }}}}", **(service(creation.create) if thing != CONSENT else {})}
        if purpose == "delete":
            handler = "consents.delete" if thing == CONSENT else "payments.cancel"
            options = {} if thing == CONSENT else {"at_once": ["RCVD", "PDNG", "ACTC"], "authorised": []}
            template = self._template(one.answer_name, one.answers[0]) if one.answers else None
            return Attachment(
                one.operation.id, thing, handler, one.status, template.write() if template else None, made, options
            )
        handler = "consents.read" if thing == CONSENT else "payments.read"
        body = next(
            answer for answer in one.answers if any(steps[-1] == creation.status[-1] for steps in roles.states(answer))
        )
        template = self._template(one.answer_name, body)
        state = "result.consent.status" if thing == CONSENT else "result.payment.status"
        template.say(
            next(steps for steps in roles.states(body) if steps[-1] == creation.status[-1]), self._wire(creation, state)
        )
        for steps in roles.ids(body):
            if steps[-1] == creation.id[-1]:
                template.say(steps, place)
                break
        sent = self._template(creation.create.request_name, creation.create.whole_request)
        template.echo(sent, f"state.{thing}s[{place} | lower].sent", is_sent=False)
        self._say_times(template)
        return Attachment(one.operation.id, thing, handler, one.status, template.write(), made)

    def _say_times(self, template: BodyTemplate) -> None:
        for steps, value in roles.leaves(template.body):
            if roles.is_day(value) and 0 not in steps and _MADE_AT & set(roles.words(steps[-1])):
                template.say(steps, moment(value))

    def _location(self, create: Described) -> dict[str, str]:
        answer = create.operation.success
        named = [name for name in (answer.headers if answer else ()) if name.lower() == "location"]
        return dict.fromkeys(named, "{{ result.self }}")

    def of_accounts(self, accounts: AccountReads) -> Iterator[Attachment]:
        one = accounts.list
        template = self._template(one.answer_name, accounts.answer)
        self._say_account(template, (*accounts.items, 0), accounts, "it")
        template.listed[accounts.items] = ("result.accounts", "account")
        body = template.write()
        shapes = {"account": template.write_shape(accounts.items)}
        shows_balances = any(money.is_of_balance for money in roles.moneys(accounts.answer))
        asked = {"with_balances": True} if shows_balances else {}
        yield Attachment(one.operation.id, "account", "accounts.list", one.status, body, dict(asked), shapes=shapes)
        for purpose, (other, answer) in accounts.others.items():
            made = {"account": f"{{{{ {self._account_of(accounts, other)} }}}}"}
            match purpose:
                case "read":
                    yield self._read_account(accounts, other, answer, {**made, **asked})
                case "balances":
                    yield self._balances(accounts, other, answer, made)
                case "transactions":
                    yield self._transactions(accounts, other, answer, made)

    def _account_of(self, accounts: AccountReads, one: Described) -> str:
        segments = one.operation.pattern.segments[len(accounts.list.operation.pattern.segments) :]
        return expression("path", (next(segment.text for segment in segments if segment.kind == PARAMETER),))

    def _read_account(self, accounts: AccountReads, one: Described, answer: Any, made: dict[str, Any]) -> Attachment:
        template = self._template(one.answer_name, answer)
        listed = next((steps for steps, entries in roles.lists(answer) if entries and roles.ids(entries[0])), None)
        base = (*listed, 0) if listed is not None else ()
        self._say_account(template, base, accounts, "result.account")
        return Attachment(one.operation.id, "account", "accounts.read", one.status, template.write(), made)

    def _say_account(self, template: BodyTemplate, base: Steps, accounts: AccountReads, root: str) -> None:
        """Use expressions for the members of the account that is at `base` in the body."""
        account = roles.at(template.body, base)
        for steps in account_ids(account, accounts)[:1]:
            template.say((*base, *steps), f"{root}.id")
        for steps, value in roles.leaves(account):
            place = (*base, *steps)
            own = roles.words(steps[-1])
            kind = roles.account_number(steps, value)
            if kind:
                template.say(place, f"{root}.iban" if kind == "iban" else f"{root}.bban or {root}.iban")
            elif roles.is_currency(steps, value):
                template.say(place, f"{root}.currency")
            elif "owner" in own or "holder" in own:
                template.say(place, f"{root}.owner_name or {root}.name")
            elif roles.is_name(steps) and isinstance(value, str):
                template.say(place, f"{root}.display_name or {root}.name")
            elif own[-1:] == ("product",) and isinstance(value, str):
                template.say(place, f"{root}.product")
        for money in roles.moneys(account):
            template.said[(*base, *money.currency)] = f"{root}.balances[0].amount.currency"
            template.said.pop((*base, *money.amount), None)
            template.say_number((*base, *money.amount), f"{root}.balances[0].amount.amount")

    def _balances(self, accounts: AccountReads, one: Described, answer: Any, made: dict[str, Any]) -> Attachment:
        template = self._template(one.answer_name, answer)
        listed = next((steps for steps, entries in roles.lists(answer) if entries and roles.moneys(entries[0])), None)
        base: Steps = (*listed, 0) if listed is not None else ()
        root = "it" if listed is not None else "result.balances[0]"
        entry = roles.at(template.body, base)
        money = next(iter(sorted(roles.moneys(entry), key=lambda one: len(one.amount))))
        self._say_money(template, base, money, f"{root}.amount")
        has_types = False
        for steps, value in roles.leaves(entry):
            own = roles.words(steps[-1])
            if own and own[-1] == "type" and {"ITAV", "CLBD"} & set(self.enumerated(one.answer_name, (*base, *steps))):
                template.say((*base, *steps), f"{root}.type")
                has_types = True
            elif roles.is_day(value) and len(steps) == 1:
                template.say_day((*base, *steps), f"({root}.reference_date or today())")
        self._say_reference(template, accounts, "result.account")
        shapes = {}
        if listed is not None:
            template.listed[listed] = ("result.balances" if has_types else "result.balances[:1]", "balance")
        body = template.write()
        if listed is not None:
            shapes["balance"] = template.write_shape(listed)
        return Attachment(one.operation.id, "balance", "accounts.balances", one.status, body, made, shapes=shapes)

    def _say_reference(self, template: BodyTemplate, accounts: AccountReads, root: str) -> None:
        """Use expressions for the account that an answer names outside of its lists, or by its id in each entry."""
        wanted = {steps[-1] for steps in account_ids(roles.at(accounts.answer, (*accounts.items, 0)), accounts)[:1]}
        for steps, value in roles.leaves(template.body):
            if steps in template.said or not steps:
                continue
            if 0 not in steps and (kind := roles.account_number(steps, value)) and roles.party(steps) is None:
                template.say(steps, f"{root}.{kind}")
            elif steps[-1] in wanted and isinstance(value, str) and len(roles.words(steps[-1])) > 1:
                template.say(steps, expression("input", ("account",)))

    def _say_money(self, template: BodyTemplate, base: Steps, money: roles.Money, root: str) -> None:
        """Use expressions for an amount: unsigned next to a member for the direction, otherwise negative for debits."""
        amount, entry = (*base, *money.amount), roles.at(template.body, base)
        directions = [steps for steps, value in roles.leaves(entry) if _is_direction(value)]
        source = f"{root}.amount"
        if directions:
            words = _directions(roles.at(entry, directions[0]))
            template.say(
                (*base, *directions[0]), f"{literal(words[0])} if {source}[:1] == '-' else {literal(words[1])}"
            )
            source = f"{source} | replace('-', '')"
        template.say_number(amount, source)
        template.say((*base, *money.currency), f"{root}.currency")

    def _transactions(self, accounts: AccountReads, one: Described, answer: Any, made: dict[str, Any]) -> Attachment:
        template = self._template(one.answer_name, answer)
        shapes: dict[str, Any] = {}
        lists = entry_lists(answer)
        has_pending = False
        for steps, entry in lists:
            is_pending = "pending" in roles.all_words(steps[-1:])
            self._say_entry(template, (*steps, 0), entry)
            source = "result.pending" if is_pending else "result.booked"
            has_pending = has_pending or is_pending
            template.listed[steps] = (source, "pending-entry" if is_pending else "entry")
        self._say_reference(template, accounts, "result.account")
        body = template.write()
        for steps, (_, shape) in template.listed.items():
            shapes[shape] = template.write_shape(steps)
        made = {**made, "lists": "all", **_period(one)}
        options = {"lists": {"all": ["booked", *(["pending"] if has_pending else [])]}}
        return Attachment(
            one.operation.id, "transaction", "accounts.transactions", one.status, body, made, options, shapes=shapes
        )

    def _say_entry(self, template: BodyTemplate, base: Steps, entry: Any) -> None:
        money = next(one for one in roles.moneys(entry) if 0 not in one.amount and not one.is_of_balance)
        self._say_money(template, base, money, "it.amount")
        for steps in roles.ids(entry)[:1]:
            template.say((*base, *steps), "it.id")
        texts = [steps for steps in roles.remittances(entry) if 0 not in steps]
        for steps, value in roles.leaves(entry):
            place, own, side = (*base, *steps), roles.words(steps[-1]), roles.party(steps)
            if 0 in steps or place in template.said:
                continue
            if kind := roles.account_number(steps, value):
                if side:
                    number = f"it.{side}_account.iban"
                    template.say(place, number if kind == "iban" else f"it.{side}_account.bban or {number}")
            elif side and roles.is_name(steps):
                template.say(place, f"it.{side}_name or none")
            elif roles.is_day(value) and "value" in own:
                template.say_day(place, "it.value_on")
            elif roles.is_day(value):
                template.say_day(place, "(it.booked_on or today())")
            elif texts and steps == texts[0]:
                template.say(place, "it.remittance or none")


def account_ids(account: Any, accounts: AccountReads) -> list[Steps]:
    """Return the members that can be the id of an account. The one that is named like the path parameter is first."""
    found = roles.ids(account) or [
        steps for steps, value in roles.leaves(account) if roles.account_number(steps, value) == "iban"
    ]
    parameters = {roles.words(one.operation.pattern.segments[-1].text) for one, _ in accounts.others.values()}
    parameters |= {roles.words(name) for one, _ in accounts.others.values() for name in one.operation.pattern.names}
    return sorted(found, key=lambda steps: roles.words(steps[-1]) not in parameters)


def service(create: Described) -> dict[str, str]:
    """Return service and product of payments: the last parameters, or else the last word, of the path."""
    segments = create.operation.pattern.segments
    said = [f"{{{{ {expression('path', (one.text,))} }}}}" for one in segments if one.kind == PARAMETER]
    name = next(one.text for one in reversed(segments) if one.kind == LITERAL)
    return {"service": said[-2] if len(said) > 1 else name, "product": said[-1] if said else name}


def _is_direction(value: Any) -> bool:
    return isinstance(value, str) and value.lower() in ("credit", "debit", "crdt", "dbit")


def _directions(example: str) -> tuple[str, str]:
    """Return the words for debit and credit in the spelling of the example."""
    pair = ("debit", "credit") if example.lower() in ("credit", "debit") else ("dbit", "crdt")
    if example.isupper():
        return pair[0].upper(), pair[1].upper()
    return (pair[0].capitalize(), pair[1].capitalize()) if example[0].isupper() else pair


def _day_in(root: str, steps: Steps) -> str:
    """Return the expression for the day of a date or a time."""
    place = expression(root, steps)
    return f"{{{{ {place}[:10] if {place} }}}}"


def _period(one: Described) -> dict[str, str]:
    """Return the inputs for the first and the last day, if query parameters have them."""
    found: dict[str, str] = {}
    for parameter in one.operation.parameters:
        own = set(roles.words(parameter.name))
        if parameter.place != "query" or not own & {"date", "time", "datetime", "day", "since", "until", "booking"}:
            continue
        for input, meant in (("date_from", _SINCE), ("date_to", _UNTIL)):
            if own & meant:
                found.setdefault(input, _day_in("query", (parameter.name,)))
    return found
