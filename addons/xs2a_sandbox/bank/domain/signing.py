"""Who must sign what, and what happens to a resource when its authorisations succeed or fail."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from xs2a_sandbox.bank.domain.access import of_signers
from xs2a_sandbox.bank.domain.lifecycle import BASKET, CONSENT, EXECUTED, LOGIN, MANDATE, OVER, PAYMENT, SCA, Machine
from xs2a_sandbox.bank.domain.schedule import first_day
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document, Transaction, long_list
from xs2a_sandbox.state.faults import demand

AUTHORISATIONS = "authorisations"
MOVING = "_moving"
"""The collection of payments that move money. Only these are searched for bookings."""
_REPLACED = "newer recurring consent"
"""The event by which a consent ends when its customer has a newer one."""
_REPLACEABLE = "_replaceable"
"""The collection of lists, by customer, of consents to which that event can happen."""
_ANYBODY = ""
"""The name of the list for consents of the test data."""


@dataclass(frozen=True)
class Family:
    """A kind of thing that can be authorised. `listed` is the member of its document that lists the authorisations."""

    name: str
    collection: str
    machine: Machine
    listed: str = AUTHORISATIONS

    @cached_property
    def signed(self) -> str:
        """The member of the document that lists the signers."""
        return f"{self.listed}_signed_by"

    @cached_property
    def open_states(self) -> frozenset[str]:
        """The states in which it can be signed."""
        event = "cancellation authorised" if self.name == "cancellation" else "authorised by all"
        return frozenset(state for state in self.machine.states if self.machine.after(state, event))


FAMILIES = {
    family.name: family
    for family in (
        Family("consent", "consents", CONSENT),
        Family("payment", "payments", PAYMENT),
        Family("cancellation", "payments", PAYMENT, "cancellation_authorisations"),
        Family("basket", "baskets", BASKET),
        Family("mandate", "mandates", MANDATE),
        Family("login", "logins", LOGIN),
    )
}


def unknown_error(family: Family) -> str:
    """Return the name of the error for a thing that does not exist."""
    return f"{family.collection.removesuffix('s')}-unknown"


def status_of(document: Mapping[str, Any]) -> str:
    """Return the status. For a consent of the test data this is its role."""
    return str(document.get("status") or document["role"])


def in_state(call: Call, document: Document, status: str) -> Document:
    """Return the document in another state, with the time of this change."""
    return {**document, "status": status, "changed_at": call.now()}


def status_invalid(thing: str, id: str, document: Mapping[str, Any], **values: Any) -> BankError:
    """Return the error for a thing whose status does not allow the request."""
    return BankError("status-invalid", thing=thing, id=id, status=status_of(document), **values)


def active_basket(call: Call, member: Mapping[str, Any]) -> str | None:
    """Return the basket that contains this payment or consent and waits for authorisation."""
    id: str | None = member.get("basket")
    basket = call.state.get("baskets", id) if id else None
    return id if basket and basket["status"] not in BASKET.final else None


def can_sign(family: Family, resource: Mapping[str, Any]) -> bool:
    """Return whether the state allows signing and, for a payment, the account has enough money."""
    return is_open(family, resource) and not resource.get("unfunded")


def is_open(family: Family, resource: Mapping[str, Any]) -> bool:
    """Return whether the state allows signing. SCA of a preconfigured consent works, but changes nothing."""
    status = status_of(resource)
    return status in family.open_states or (status == "authorised" and "role" in resource and family.name == "consent")


def due(authorisation: Mapping[str, Any]) -> datetime | None:
    """Return when the authorisation changes by itself: the customer's app decides, or the time is over.

    None if it does not, such as for an authorisation that is paused while its resource is in an active basket.
    """
    if authorisation["status"] in SCA.final or authorisation.get("rests"):
        return None
    ends, decides = datetime.fromisoformat(authorisation["expires"]), _decides(authorisation)
    return min(ends, decides) if decides else ends


def happen(call: Call, id: str, authorisation: Document) -> None:
    """Apply the due decision, or fail the authorisation.

    A decision counts only until the time is over, and only if there is something to sign.
    """
    family, decides = FAMILIES[authorisation["family"]], _decides(authorisation)
    in_time = decides is not None and decides <= datetime.fromisoformat(authorisation["expires"])
    resource = call.state.get(family.collection, authorisation["resource"])
    if in_time and resource and can_sign(family, resource):
        succeed(call, id, authorisation)
    else:
        fail(call, id, authorisation)


def _decides(authorisation: Mapping[str, Any]) -> datetime | None:
    decides = authorisation.get("decides") if authorisation["status"] == "deciding" else None
    return datetime.fromisoformat(decides) if decides else None


def rest(call: Call, member: Mapping[str, Any]) -> None:
    """Pause the authorisations of a member of a new basket: they neither decide nor expire."""
    for id, authorisation in open_authorisations(call, member):
        call.state.put(AUTHORISATIONS, id, {**authorisation, "rests": call.clock.now().isoformat()})


def _resume(call: Call, basket: Mapping[str, Any]) -> None:
    """Resume the members' own authorisations, and extend them by the time they were paused."""
    for _, _, member in members(call, basket):
        for id, authorisation in open_authorisations(call, member):
            if since := authorisation.get("rests"):
                rested = (call.clock.now() - datetime.fromisoformat(since)).total_seconds()
                moments = {name: authorisation[name] for name in ("expires", "decides") if authorisation.get(name)}
                later = {name: seconds_after(moment, rested) for name, moment in moments.items()}
                call.state.put(AUTHORISATIONS, id, {**authorisation, **later, "rests": None})


def seconds_after(moment: str, seconds: float) -> str:
    return Clock(frozen=datetime.fromisoformat(moment)).after(seconds).isoformat()


def open_authorisations(call: Call, resource: Mapping[str, Any]) -> Iterable[tuple[str, Document]]:
    """Yield the open authorisations of a resource, with their ids."""
    for id in resource.get(AUTHORISATIONS, ()):
        authorisation = call.state.get(AUTHORISATIONS, id)
        if authorisation is not None and authorisation["status"] not in SCA.final:
            yield id, authorisation


def succeed(call: Call, id: str, authorisation: Document) -> Document:
    """Record the customer's approval: the state becomes `done`, with all effects, or `unconfirmed`.

    A code is needed only after a redirect, because no other approach can pass it to the TPP. Raises BankError.
    """
    family = FAMILIES[authorisation["family"]]
    if active_basket(call, call.state.get(family.collection, authorisation["resource"]) or {}):
        raise BankError("resource-blocked", id=authorisation["resource"])
    if ending := demand(call.state, "sca"):
        return fail(call, id, {**authorisation, "ending": ending})
    confirmed = authorisation["status"] == "unconfirmed"
    if authorisation.get("code") and authorisation["approach"] == "redirect" and not confirmed:
        return apply_event(call, id, authorisation, "succeed, to be confirmed")
    authorisation = apply_event(call, id, authorisation, "confirm" if confirmed else "succeed")
    _sign(call, family, authorisation["resource"], authorisation.get("psuId"))
    return authorisation


def exempt(call: Call, id: str, authorisation: Document) -> Document:
    """Finish the authorisation without a second factor, because this PSU needs only a password."""
    if ending := demand(call.state, "sca"):
        return fail(call, id, {**authorisation, "ending": ending})
    authorisation = apply_event(call, id, authorisation, "authenticate, no method")
    family = FAMILIES[authorisation["family"]]
    _sign(call, family, authorisation["resource"], authorisation.get("psuId"))
    return authorisation


def fail(call: Call, id: str, authorisation: Document) -> Document:
    """Fail the authorisation: declined, timed out, broken, or too many attempts.

    A failed cancellation changes nothing.
    """
    authorisation = apply_event(call, id, authorisation, "fail")
    family = FAMILIES[authorisation["family"]]
    if family.name != "cancellation":
        move(call, family, authorisation["resource"], "refused")
    return authorisation


def abandon(call: Call, resource: Mapping[str, Any]) -> None:
    """End the open authorisations of a deleted resource. Rejects its basket if nothing else in it can be signed."""
    for id, authorisation in list(open_authorisations(call, resource)):
        apply_event(call, id, authorisation, "fail", abandoned=True)
    basket_id = active_basket(call, resource)
    basket = call.state.get("baskets", basket_id) if basket_id else None
    if basket_id and basket and not any(can_sign(other, member) for other, _, member in members(call, basket)):
        move(call, FAMILIES["basket"], basket_id, "refused")
        abandon(call, basket)


def apply_event(call: Call, id: str, authorisation: Document, event: str, **changes: Any) -> Document:
    """Apply the event to the authorisation. Raises BankError `status-invalid` if it cannot happen."""
    to = SCA.after(authorisation["status"], event)
    if to is None:
        raise status_invalid("authorisation", id, authorisation)
    authorisation = {**authorisation, **changes, "status": to}
    call.state.put(AUTHORISATIONS, id, authorisation)
    return authorisation


def holders(call: Call, family: Family, resource: Mapping[str, Any]) -> list[str]:
    """Return the customers who may sign, in the order of the accounts.

    If no account is known yet, these are all customers who could choose one.
    """
    if lacks_payer(family, resource):
        return list(dict.fromkeys(psu for one in call.state.all("accounts") for psu in _signatories(call, one)))
    if family.name == "login" or (family.name == "consent" and not resource["accounts"]):
        return list(call.state.all("psus"))
    return list(
        dict.fromkeys(psu for one in accounts_behind(call, family, resource) for psu in _signatories(call, one))
    )


def find_required_signers(call: Call, family: Family, resource: Mapping[str, Any]) -> set[str]:
    """Return the customers who must all sign: the signatories of joint accounts. Empty if one holder is enough.

    In a basket nobody can sign for the holders of other accounts.
    """
    if family.name == "basket":
        parts = [(other, member) for other, _, member in members(call, resource)]
        settled = [part for part in parts if accounts_behind(call, *part)]
        return {psu for part in settled for psu in find_required_signers(call, *part) or holders(call, *part)}
    groups = [_signatories(call, one) for one in accounts_behind(call, family, resource)]
    return {psu for group in groups if len(group) > 1 for psu in group}


def accounts_behind(call: Call, family: Family, resource: Mapping[str, Any]) -> list[str]:
    if family.name == "login":
        return []
    if family.name == "consent":
        return list(resource["accounts"])
    if family.name == "basket":
        return [one for other, _, member in members(call, resource) for one in accounts_behind(call, other, member)]
    payer = payer_of(resource)
    return [payer] if payer else []


def payer_of(payment: Mapping[str, Any]) -> str | None:
    """Return the id of the account that pays, or None if nobody has chosen one yet."""
    return (payment.get("debtor") or {}).get("account")


def lacks_payer(family: Family, resource: Mapping[str, Any]) -> bool:
    """Return whether the customer still has to choose the account that pays."""
    return family.name in ("payment", "mandate") and payer_of(resource) is None


def accounts_of(call: Call, psu: str | None) -> list[str]:
    """Return the accounts for which the customer may sign."""
    return [one for one in call.state.all("accounts") if psu in _signatories(call, one)]


def with_payer(payment: Mapping[str, Any], account: str) -> Document:
    return {**payment, "debtor": {"account": account}}


def members(call: Call, basket: Mapping[str, Any]) -> Iterable[tuple[Family, str, Document]]:
    for family, listed in ((FAMILIES["payment"], "payments"), (FAMILIES["consent"], "consents")):
        for id in basket.get(listed, ()):
            if (member := call.state.get(family.collection, id)) is not None:
                yield family, id, member


def _signatories(call: Call, account_id: str) -> list[str]:
    account = call.state.get("accounts", account_id)
    if account is None:
        return []
    return list(account.get("signatories") or [account["psuId"]])


def _sign(call: Call, family: Family, id: str, psu: str | None) -> None:
    resource = call.state.get(family.collection, id)
    if resource is None:
        return
    if lacks_payer(family, resource) and (own := accounts_of(call, psu)):
        resource = with_payer(resource, own[0])
    resource = {**resource, family.signed: [*resource.get(family.signed, ()), psu]}
    call.state.put(family.collection, id, resource)
    if find_required_signers(call, family, resource) - set(resource[family.signed]):
        if family.name != "cancellation":
            move(call, family, id, "authorised by some")
    elif family.name == "cancellation":
        move(call, family, id, "cancellation authorised")
    else:
        complete(call, family, id, resource)


def complete(call: Call, family: Family, id: str, resource: Document) -> None:
    """Apply the consequences of the last signature."""
    if not move(call, family, id, _completion(call, family, resource)):
        return
    if family.name == "consent":
        consent = call.state.get("consents", id) or {}
        if not consent["accounts"]:
            accounts = call.state.all("accounts")
            signed = of_signers(consent, accounts, consent[family.signed])
            call.state.put("consents", id, {**consent, "accounts": signed})
        _end_older(call, id)
    if family.name == "basket":
        signers = set(resource[family.signed])
        for other, member_id, member in members(call, resource):
            signed = [psu for psu in holders(call, other, member) if psu in signers]
            if lacks_payer(other, member) and (own := [one for psu in signed for one in accounts_of(call, psu)]):
                member = with_payer(member, own[0])
            member = {**member, other.signed: signed}
            call.state.put(other.collection, member_id, member)
            complete(call, other, member_id, member)


def _completion(call: Call, family: Family, resource: Document) -> str:
    """Return the event for the last signature.

    A standing order whose last day is over has nothing left to execute.
    """
    if family.name != "payment":
        return "authorised by all"
    today = call.clock.today()
    first = first_day({**resource, "authorised_on": today.isoformat()})
    if first is None:
        return "refused"
    return "authorised by all, for later" if first > today else "authorised by all"


def move(call: Call, family: Family, id: str, event: str) -> bool:
    """Apply the event to the resource. Returns False, and changes nothing, if the event cannot happen."""
    resource = call.state.get(family.collection, id)
    to = family.machine.after(status_of(resource), event) if resource else None
    if not resource or not to:
        return False
    today = call.clock.today().isoformat()
    changed = in_state(call, resource, to)
    if family.name == "consent" and event != OVER:
        changed["last_action_on"] = today
        if event.startswith("authorised by all"):
            changed["authorised_at"] = call.clock.now().isoformat()
    elif event.startswith("authorised by all") and family.collection == "payments":
        changed |= {"authorised_on": today, "authorised_at": call.clock.now().isoformat()}
        call.state.put(MOVING, id, {})
    elif to == "CANC" and family.collection == "payments":
        changed["cancelled_on"] = today
    call.state.put(family.collection, id, changed)
    if to in ("CANC", "revoked"):
        abandon(call, changed)
    if to == "ACSP" and (following := EXECUTED.get(resource.get("executed", to))):
        return move(call, family, id, following)
    if family.name == "basket" and to in BASKET.final:
        _resume(call, changed)
    return True


def _end_older(call: Call, id: str) -> None:
    """End the customers' older recurring consents after a new one, except for permanent ones."""
    newest = call.state.get("consents", id)
    if newest is None or not newest.get("recurring") or newest.get("ends_older") is False:
        return
    customers = _customers(call, newest)
    for other, consent in _find_replaceable(call.state, customers).items():
        to = CONSENT.after(status_of(consent), _REPLACED)
        if to and other != id and customers & _customers(call, consent):
            call.state.put("consents", other, in_state(call, consent, to))
    _forget_replaced(call.state, customers)


def note_replaceable(state: Transaction) -> None:
    """Note the consents that a newer one may end under their customers, so that they need not be searched."""
    for id in state.written("consents"):
        before, now = state.before("consents", id), state.get("consents", id)
        for customer in sorted(_noted_under(now) - _noted_under(before)):
            long_list.add(state, _REPLACEABLE, customer, id)


def _find_replaceable(state: Transaction, customers: set[str]) -> dict[str, Document]:
    """Return at least the consents of these customers that a newer one may end."""
    ids = [id for id, consent in state.testdata().get("consents", {}).items() if _noted_under(consent)]
    for customer in (_ANYBODY, *sorted(customers)):
        ids += long_list.read(state, _REPLACEABLE, customer)
    ids += state.written("consents")  # not noted yet
    return {id: consent for id, consent in state.get_each("consents", ids).items() if _noted_under(consent)}


def _forget_replaced(state: Transaction, customers: set[str]) -> None:
    for customer in (_ANYBODY, *sorted(customers)):
        noted = long_list.read(state, _REPLACEABLE, customer)
        left = [id for id in noted if customer in _noted_under(state.get("consents", id))]
        if left != noted:
            long_list.replace(state, _REPLACEABLE, customer, left)


def _noted_under(consent: Mapping[str, Any] | None) -> set[str]:
    """Return the customers under whom the consent is noted; none if a newer consent does not end it."""
    if not consent or not consent.get("recurring") or consent.get("permanent"):
        return set()
    try:
        if not CONSENT.after(status_of(consent), _REPLACED):
            return set()
        # The holders of accounts may change.
        return {_ANYBODY} if "role" in consent else _signers(consent)
    except (LookupError, TypeError):
        return set()  # a user has written an invalid document


def _customers(call: Call, consent: Mapping[str, Any]) -> set[str]:
    """Return the customers who have signed. For a consent of the test data, these are the holders of its accounts."""
    return set(holders(call, FAMILIES["consent"], consent)) if "role" in consent else _signers(consent)


def _signers(consent: Mapping[str, Any]) -> set[str]:
    return {str(psu) for psu in consent.get(FAMILIES["consent"].signed, ()) if psu}
