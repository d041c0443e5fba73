"""Who must sign what, and what becomes of a resource once its authorisations succeed or fail."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from xs2a_sandbox.bank.domain.access import of_signers
from xs2a_sandbox.bank.domain.lifecycle import BASKET, CONSENT, EXECUTED, LOGIN, MANDATE, OVER, PAYMENT, SCA, Machine
from xs2a_sandbox.bank.domain.schedule import first_day
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document
from xs2a_sandbox.state.faults import next_sca_ending

AUTHORISATIONS = "authorisations"
MOVING = "_moving"
"""The collection that names the payments which move money: the others are not looked at."""


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of thing that is authorised; `listed` is the member of its document that lists its authorisations."""

    name: str
    collection: str
    machine: Machine
    listed: str = AUTHORISATIONS

    @property
    def signed(self) -> str:
        """The member that lists who has signed."""
        return f"{self.listed}_signed_by"


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
    """The name of the error for one that is not there."""
    return f"{family.collection.removesuffix('s')}-unknown"


def status_of(document: Mapping[str, Any]) -> str:
    """The status; a consent of the test data has its role for one."""
    return str(document.get("status") or document["role"])


def status_invalid(thing: str, id: str, document: Mapping[str, Any], **values: Any) -> BankError:
    """The error for a thing whose status does not let it be."""
    return BankError("status-invalid", thing=thing, id=id, status=status_of(document), **values)


def active_basket(call: Call, member: Mapping[str, Any]) -> str | None:
    """The basket that holds this payment or consent and waits to be authorised."""
    id: str | None = member.get("basket")
    basket = call.state.get("baskets", id) if id else None
    return id if basket and basket["status"] not in BASKET.final else None


def can_sign(family: Family, resource: Mapping[str, Any]) -> bool:
    """Tells if the state lets anybody sign. The SCA of a preconfigured consent works and changes nothing."""
    status = status_of(resource)
    event = "cancellation authorised" if family.name == "cancellation" else "authorised by all"
    if family.machine.after(status, event) is None:
        return status == "authorised" and "role" in resource and family.name == "consent"
    return not resource.get("unfunded")


def due(authorisation: Mapping[str, Any]) -> datetime | None:
    """The instant of what happens next by itself: the customer's app decides, or the time is over.

    None where nothing does, as for one that rests while its resource is in an active basket.
    """
    if authorisation["status"] in SCA.final or authorisation.get("rests"):
        return None
    ends, decides = datetime.fromisoformat(authorisation["expires"]), _decides(authorisation)
    return min(ends, decides) if decides else ends


def happen(call: Call, id: str, authorisation: Document) -> None:
    """Decides, or fails, as is due: a decision counts until the time is over, and while there is something to sign."""
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
    """Lets the authorisations of a member of a new basket rest: they neither decide nor run out."""
    for id, authorisation in open_authorisations(call, member):
        call.state.put(AUTHORISATIONS, id, {**authorisation, "rests": call.clock.now().isoformat()})


def _resume(call: Call, basket: Mapping[str, Any]) -> None:
    """Gives the members' own authorisations the time back that they have rested."""
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
    """Its authorisations that have not ended, with their ids."""
    for id in resource.get(AUTHORISATIONS, ()):
        authorisation = call.state.get(AUTHORISATIONS, id)
        if authorisation is not None and authorisation["status"] not in SCA.final:
            yield id, authorisation


def succeed(call: Call, id: str, authorisation: Document) -> Document:
    """The customer has approved: `done` with its effects, or `unconfirmed`.

    A code is only asked for after a redirect: no other approach can hand it to the TPP. Raises BankError.
    """
    family = FAMILIES[authorisation["family"]]
    if active_basket(call, call.state.get(family.collection, authorisation["resource"]) or {}):
        raise BankError("resource-blocked", id=authorisation["resource"])
    if ending := next_sca_ending(call.state):
        return fail(call, id, {**authorisation, "ending": ending})
    confirmed = authorisation["status"] == "unconfirmed"
    if authorisation.get("code") and authorisation["approach"] == "redirect" and not confirmed:
        return apply_event(call, id, authorisation, "succeed, to be confirmed")
    authorisation = apply_event(call, id, authorisation, "confirm" if confirmed else "succeed")
    _sign(call, family, authorisation["resource"], authorisation.get("psuId"))
    return authorisation


def exempt(call: Call, id: str, authorisation: Document) -> Document:
    """Nothing but the password is asked of this PSU."""
    if ending := next_sca_ending(call.state):
        return fail(call, id, {**authorisation, "ending": ending})
    authorisation = apply_event(call, id, authorisation, "authenticate, no method")
    family = FAMILIES[authorisation["family"]]
    _sign(call, family, authorisation["resource"], authorisation.get("psuId"))
    return authorisation


def fail(call: Call, id: str, authorisation: Document) -> Document:
    """Declined, timed out, broken, or tried too often. A cancellation that fails changes nothing."""
    authorisation = apply_event(call, id, authorisation, "fail")
    family = FAMILIES[authorisation["family"]]
    if family.name != "cancellation":
        move(call, family, authorisation["resource"], "refused")
    return authorisation


def abandon(call: Call, resource: Mapping[str, Any]) -> None:
    """Ends the open authorisations of what was deleted, and rejects the basket that it was the last member of."""
    for id, authorisation in list(open_authorisations(call, resource)):
        apply_event(call, id, authorisation, "fail", abandoned=True)
    basket_id = active_basket(call, resource)
    basket = call.state.get("baskets", basket_id) if basket_id else None
    if basket_id and basket and not any(can_sign(other, member) for other, _, member in members(call, basket)):
        move(call, FAMILIES["basket"], basket_id, "refused")
        abandon(call, basket)


def apply_event(call: Call, id: str, authorisation: Document, event: str, **changes: Any) -> Document:
    """Raises BankError `status-invalid` where the event cannot happen."""
    to = SCA.after(authorisation["status"], event)
    if to is None:
        raise status_invalid("authorisation", id, authorisation)
    authorisation = {**authorisation, **changes, "status": to}
    call.state.put(AUTHORISATIONS, id, authorisation)
    return authorisation


def holders(call: Call, family: Family, resource: Mapping[str, Any]) -> list[str]:
    """The customers who may sign, in the order of the accounts; all, where it is for those of whoever signs it."""
    if lacks_payer(family, resource):
        return list(dict.fromkeys(psu for one in call.state.all("accounts") for psu in _signatories(call, one)))
    if family.name == "login" or (family.name == "consent" and not resource["accounts"]):
        return list(call.state.all("psus"))
    return list(
        dict.fromkeys(psu for one in accounts_behind(call, family, resource) for psu in _signatories(call, one))
    )


def find_required_signers(call: Call, family: Family, resource: Mapping[str, Any]) -> set[str]:
    """The customers who must all sign: those of accounts with several signatories. Empty: one holder is enough.

    Nobody signs a basket for the holders of somebody else's accounts.
    """
    if family.name == "basket":
        parts = [(other, member) for other, _, member in members(call, resource)]
        settled = [part for part in parts if accounts_behind(call, *part)]
        return {psu for part in settled for psu in find_required_signers(call, *part) or holders(call, *part)}
    groups = (_signatories(call, one) for one in accounts_behind(call, family, resource))
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
    """The id of the account that pays, None as long as nobody has chosen one."""
    return (payment.get("debtor") or {}).get("account")


def lacks_payer(family: Family, resource: Mapping[str, Any]) -> bool:
    """Tells if the customer still has to choose the account that pays."""
    return family.name in ("payment", "mandate") and payer_of(resource) is None


def accounts_of(call: Call, psu: str | None) -> list[str]:
    """The accounts that the customer may sign for."""
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
    """Lets happen what happens once everybody has signed."""
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
    """The event that everybody's signature is. A standing order whose last day is over has nothing left to execute."""
    if family.name != "payment":
        return "authorised by all"
    today = call.clock.today()
    first = first_day({**resource, "authorised_on": today.isoformat()})
    if first is None:
        return "refused"
    return "authorised by all, for later" if first > today else "authorised by all"


def move(call: Call, family: Family, id: str, event: str) -> bool:
    """Tells if the event could happen; if not, all stays as it is."""
    resource = call.state.get(family.collection, id)
    to = family.machine.after(status_of(resource), event) if resource else None
    if not resource or not to:
        return False
    today = call.clock.today().isoformat()
    changed = {**resource, "status": to}
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
    """A new recurring consent ends its customers' older ones, except for those that are permanent."""
    newest = call.state.get("consents", id)
    if newest is None or not newest.get("recurring") or newest.get("ends_older") is False:
        return
    customers = _customers(call, newest)
    for other, consent in call.state.all("consents").items():
        if other == id or consent.get("permanent") or not consent.get("recurring"):
            continue
        if not customers & _customers(call, consent):
            continue
        if to := CONSENT.after(status_of(consent), "newer recurring consent"):
            call.state.put("consents", other, {**consent, "status": to})


def _customers(call: Call, consent: Mapping[str, Any]) -> set[str]:
    """The customers who have signed; of a consent of the test data the holders of its accounts."""
    if "role" in consent:
        return set(holders(call, FAMILIES["consent"], consent))
    return {psu for psu in consent.get(FAMILIES["consent"].signed, ()) if psu}
