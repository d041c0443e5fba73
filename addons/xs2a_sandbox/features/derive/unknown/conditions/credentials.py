"""Names of customers, and the secrets that belong to them, such as passwords and codes."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, permutations, product
from string import digits
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, literal
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, source_of
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.redaction.allowlist import is_secret
from xs2a_sandbox.redaction.values import DROPPED

_SECRETS = "our_secrets"
"""The collection with the secrets that each name was let in with."""
_ABOUT_FORM = (400, 422)
"""Statuses of errors about the form of a member, but also about a secret with such a name as `otp`."""
_CODE = re.compile(r"\d{4,8}")
_CUSTOMER = re.compile("psu|user|customer|login")
"""Words in the names of headers and members with the name of a customer."""
_DEVICE = re.compile("add?res|agent|device|port|accept|http|geo|date|ip$")
"""Words in the names of those about the customer's device."""


def names_customer(member: str) -> bool:
    """Return whether a header or member has such a name that its value can be that of a customer."""
    name = member.lower()
    return bool(_CUSTOMER.search(name)) and not _DEVICE.search(name)


def conditions_on_secrets(
    scopes: ExchangeScopes, operation: LearnedOperation, wanted: Sequence[SeenExchange], others: Sequence[SeenExchange]
) -> Iterator[Condition]:
    """A known name with another secret, or a secret that the bank has refused.

    Unknown names are let in with any other secret, because the recording does not show all. The name is in the same
    request, or in an earlier one about the same thing.
    """
    lookups = scopes.lookups[operation]
    rows = (lookup for lookup in lookups if lookup.rows and lookup.place[0] != "form")
    if any(one.at(lookup.place) is not None for lookup in rows for one in wanted):
        return
    is_about_form = all(one.status in _ABOUT_FORM for one in wanted)
    if not is_about_form and not any(
        one.status in (200, 401, 403) or (one.document is None and one.text) for one in wanted
    ):
        return
    ids = {lookup.place for lookup in lookups if not lookup.rows}
    ids |= {place for place, _ in scopes.secondary[operation]}
    pages = " ".join(page.text for page in scopes.world.operation_of if "<form" in page.text)
    for one in wanted:
        # A value that a page offers or that the bank has told is not a name.
        offered = {
            place
            for place, value in one.slots()
            if str(value) in scopes.told or f'name="{place[-1]}" value="{value}"' in pages
        }
        values: dict[Place, Any] = {
            place: value
            for place, value in one.slots()
            if place not in ids | offered | scopes.nonces
            if not isinstance(value, Mapping | list) and not any(isinstance(step, int) for step in place)
            if place[0] != "headers" or place[1] not in scopes.app_headers or names_customer(str(place[1]))
        }
        in_path = {place: value for place, value in one.values() if place[0] == "path" and place not in ids}
        near = [pair for pair in permutations(values, 2) if len(pair[0]) == 2 or pair[0][:-1] == pair[1][:-1]]
        # The address of a page names the app, not the customer.
        near = [(place, name) for place, name in near if (place[0], name[0]) != ("form", "query")]
        pairs = [*((place, name) for name in in_path for place in values), *near]
        pairs.sort(key=lambda pair: pair[1][0] not in ("path", pair[0][0]))
        earlier = dict(_find_earlier_names(scopes, operation, one))
        values |= in_path
        # Requests of other operations name the customer, too, but neither secret nor decision.
        alike = {operation, *(of for other, of in scopes.world.operation_of.items() if other.number == one.like)}
        told = {place for place, value in values.items() if scopes.world.users.get(str(value), set()) - alike}
        pairs = [(place, name) for place, name in pairs if name in told and place not in told] or pairs
        fields = [place for place in values if place[0] in ("form", "body") and place not in told]
        pairs += [(place, name) for name in earlier for place in fields]
        # A login in an earlier request tells more than a decision next to the secret.
        pairs.sort(key=lambda pair: not names_customer(str(pair[1][-1])))
        values |= earlier
        for place, name in pairs:
            if is_about_form and not (is_secret(str(place[-1])) and names_customer(str(name[-1]))):
                continue
            both = [(_read(scopes, other, name), other.at(place)) for other in others]
            shown = [pair for pair in both if all(isinstance(text, str) and text for text in pair)]
            if name not in earlier and any(named and not secret for named, secret in both):
                # A decision, which may come without more.
                continue
            names, secrets = dict(shown), {secret for _, secret in shown}
            is_repeated = len(names) == 1 or len(shown) > len(names) or _is_named(one, place)
            is_one_to_one = len(names) == len(set(shown)) == len(secrets) and is_repeated
            good, value = names.get(values[name]), values[place]
            if not is_one_to_one or not isinstance(good, str) or not value or good in (value, DROPPED):
                continue
            if not date_form(values[name]) and not date_form(value):
                known = " or ".join(
                    f"{_source_of_name(name)} == {literal(owner)} and {source_of(place)} != {literal(secret)}"
                    for owner, secret in sorted(names.items())
                )
                refused = {one.at(place) for one in wanted if names.get(_read(scopes, one, name))} - secrets
                if texts := sorted(one for one in refused if isinstance(one, str) and one not in ("", DROPPED)):
                    known += f" or {source_of(place)} in {literal(texts)}"
                known += _write_length(place, secrets, texts)
                source = f"{known} or {other_secret(name, place, find_attempt(scopes, operation))}"
                if name in earlier:
                    source = f"{source_of(place)} is not none and ({source})"
                yield Condition(source, 44, "credentials", place, owner=name)


def _write_length(place: Place, codes: Collection[Any], refused: Collection[str]) -> str:
    """Return the condition that a code has not as many digits as all accepted ones, if a refused one has not."""
    lengths = {len(code) for code in codes if isinstance(code, str) and _CODE.fullmatch(code)}
    if len(lengths) != 1 or not all(isinstance(code, str) and _CODE.fullmatch(code) for code in codes):
        return ""
    (length,) = lengths
    has_other = any(code.isdecimal() and len(code) != length for code in refused)
    sent = source_of(place)
    return f" or {sent} and ({sent} | string | length) != {length}" if has_other else ""


def conditions_on_codes(
    scopes: ExchangeScopes, operation: LearnedOperation, wanted: Sequence[SeenExchange], others: Sequence[SeenExchange]
) -> Iterator[Condition]:
    """A code that looks like a mistake for the one that all accepted requests have, and that no answer has told.

    Banks for tests often have one code for all customers; where they have not, another customer's is quite different. A
    redacted recording does not show codes.
    """
    ids = {lookup.place for lookup in scopes.lookups[operation]} | {place for place, _ in scopes.secondary[operation]}
    refused = [one for one in wanted if one.status >= 400]
    for place, good in others[0].slots() if others and refused and not scopes.is_redacted else ():
        if place[0] not in ("body", "form") or place in ids | scopes.nonces or not isinstance(good, str):
            continue
        is_code = _CODE.fullmatch(good) and all(one.at(place) == good for one in others)
        wrong = [value for one in refused if isinstance(value := one.at(place), str)]
        if is_code and wrong and all(value != good and len(value) == len(good) for value in wrong):
            sent, mistakes = source_of(place), literal(_match_mistakes(good))
            source = f"{sent} is string and {sent} != {literal(good)} and ({sent} | matches({mistakes}))"
            if all(re.fullmatch(_match_mistakes(good), value) for value in wrong):
                yield Condition(source, 46, "credentials", place)


def _match_mistakes(code: str) -> str:
    """Return the pattern for the code with one or two other digits, and for one digit again and again."""
    pairs = combinations(range(len(code)), 2)
    near = ("".join("." if at in pair else digit for at, digit in enumerate(code)) for pair in pairs)
    return f"^({'|'.join((*near, *(f'{digit}+' for digit in digits)))})$"


def _find_earlier_names(
    scopes: ExchangeScopes, operation: LearnedOperation, one: SeenExchange
) -> Iterator[tuple[Place, str]]:
    """Yield what earlier requests about the things in this one said, and could be the customer's name.

    What the bank has told, such as the id of a method, names no customer.
    """
    for root, lookup in product(("headers", "sent", "entered"), scopes.lookups[operation]):
        said = scopes.value(f"let.{lookup.name}.{root}", one, after=False)
        for place, value in leaves(said) if isinstance(said, Mapping) else ():
            if not isinstance(value, str):
                continue
            is_customer = names_customer(str(place[-1]))
            if value not in scopes.told if root == "entered" else is_customer:
                yield ("let", lookup.name, root, *place), value


def _is_named(one: SeenExchange, place: Place) -> bool:
    """Return whether the answer names a member as the wrong one, such as `password`."""
    return any(str(place[-1]) in re.findall(r"\w+", str(value)) for _, value in leaves(one.document))


def _read(scopes: ExchangeScopes, one: SeenExchange, place: Place) -> Any:
    return scopes.value(_source_of_name(place), one, after=False) if place[0] == "let" else one.at(place)


def _source_of_name(place: Place) -> str:
    """Return the expression for a name: a header of an earlier request counts if this one has none."""
    own = f"{source_of(place[2:])} or " if place[0] == "let" and place[2] == "headers" else ""
    return f"({own}{source_of(place)})" if own else source_of(place)


def conditions_on_customers(
    scopes: ExchangeScopes, operation: LearnedOperation, wanted: Sequence[SeenExchange], others: Sequence[SeenExchange]
) -> Iterator[Condition]:
    """The name of the customer, whom a header of this request or of an earlier one names, tells the answers apart.

    Some customers can choose how they sign, and others cannot.
    """
    every = (place for one in (*wanted, *others) for place, _ in _find_earlier_names(scopes, operation, one))
    for place in dict.fromkeys(every):
        mine, theirs = ({_read(scopes, one, place) for one in ones} for ones in (wanted, others))
        if place[2] == "headers" and None not in mine and mine.isdisjoint(theirs):
            yield Condition(f"{_source_of_name(place)} in {literal(sorted(mine))}", 30, "customer", place)


def other_secret(name: Place, place: Place, attempt: str) -> str:
    """Return the condition that a name came with another secret before.

    If the customer sends another secret for the same thing, the first one was a mistake. If a request names no thing,
    the first one was a mistake if it came only once.
    """
    known, sent = _known(name, place), source_of(place)
    is_settled = f"{known}.times > 1"
    if attempt:
        is_settled = f"({known}.sent_for != {attempt} if {attempt} else {is_settled})"
    return f"({known}.secret or {sent}) != {sent} and {is_settled}"


def store_secret(condition: Condition, ok: str, attempt: str) -> dict[str, Any]:
    """Return the effect that keeps the secret of a name, how often it came, and the thing for which it was sent."""
    name, secret = _source_of_name(condition.owner), source_of(condition.place)
    known = _known(condition.owner, condition.place)
    times = braced(f"({known}.times or 0) + 1 if {known}.secret == {secret} else 1")
    kept, when = {"secret": braced(secret), "times": times}, ok
    if attempt:
        kept["sent_for"] = braced(attempt)
        # Another secret for the same thing counts even if it comes too late: the thing is decided on by mistake.
        when = f"({ok} and (not {known} or not {attempt}) or {attempt} and {known}.sent_for == {attempt})"
    return {"set": known, "to": kept, "when": f"{when} and {name} and {secret}"}


def find_attempt(scopes: ExchangeScopes, operation: LearnedOperation) -> str:
    """Return the expression for what a secret is sent for, such as the id of a consent, or an empty text."""
    things = [lookup for lookup in scopes.lookups[operation] if not lookup.rows and not lookup.owned]
    in_path = [lookup for lookup in things if lookup.place[0] == "path"][-1:]
    for lookup in in_path or [lookup for lookup in things if lookup.place[0] in ("query", "form")]:
        return f"let.{lookup.name}.id"
    hidden = {place for one in operation.seen for place, _ in one.slots() if place[0] == "form"} & set(scopes.nonces)
    return source_of(min(hidden)) if hidden else ""


def _known(name: Place, place: Place) -> str:
    """Return the expression for what is known of the secret that a name has at a place."""
    return f"state.{_SECRETS}[{_source_of_name(name)} ~ {literal(f' {place[-1]}')}]"
