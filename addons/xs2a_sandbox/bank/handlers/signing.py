"""Who must sign what, and what becomes of a resource once its authorisations succeed or fail."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from xs2a_sandbox.bank.handlers.lifecycle import BASKET, CONSENT, PAYMENT, SCA, Machine
from xs2a_sandbox.bank.handlers.schedule import executes_later, first_day
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

AUTHORISATIONS = "authorisations"
MOVING = "_moving"
"""The collection that names the payments which move money, or may by themselves: the others are not looked at."""

PUSHED = "_pushed"
"""By customer: the authorisations of consents and baskets that their app is about to answer, and when it will."""


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of thing that is authorised; `listed` is the member of its document that lists its authorisations."""

    name: str
    collection: str
    status: str
    machine: Machine
    listed: str = AUTHORISATIONS


FAMILIES = {
    family.name: family
    for family in (
        Family("consent", "consents", "consentStatus", CONSENT),
        Family("payment", "payments", "transactionStatus", PAYMENT),
        Family("cancellation", "payments", "transactionStatus", PAYMENT, "cancellationAuthorisations"),
        Family("basket", "baskets", "transactionStatus", BASKET),
    )
}


_BY_COLLECTION = {
    collection: [family for family in FAMILIES.values() if family.collection == collection]
    for collection in {family.collection for family in FAMILIES.values()}
}


def settle(call: Call, collection: str, id: str) -> Document | None:
    """The resource as it is now: authorisations that ran out or came due in the meantime have taken effect.

    While it is in an active basket its own authorisations rest.
    """
    resource = call.state.get(collection, id)
    if resource is None:
        return None
    if resource.get("basket"):
        if active_basket(call, resource):
            return resource
        resource = call.state.get(collection, id) or {}  # its basket may just have moved it
    if collection == "consents" and "psuId" in resource:
        _answer_due(call, resource["psuId"])  # a newer one may have ended it
        resource = call.state.get(collection, id) or {}
    waits = collection == "payments" and resource["transactionStatus"] == "ACTC"
    families = [family for family in _BY_COLLECTION[collection] if resource.get(family.listed)]
    if not families and not waits:
        return resource
    now = call.clock.now()
    for family in families:
        for one in resource[family.listed]:
            authorisation = call.state.get(AUTHORISATIONS, one)
            if authorisation is None or authorisation["scaStatus"] in SCA.final:
                continue
            if (due := authorisation.get("decides")) and datetime.fromisoformat(due) <= now:
                if collection != "payments":
                    _answer_due(call, authorisation["psuId"])
                    authorisation = call.state.get(AUTHORISATIONS, one) or {}
                if authorisation["scaStatus"] not in SCA.final:
                    succeed(call, one, authorisation, datetime.fromisoformat(due).date())
            elif (ends := datetime.fromisoformat(authorisation["expires"])) <= now:
                fail(call, one, authorisation, ends.date())
    resource = call.state.get(collection, id) or {}
    waits = collection == "payments" and resource["transactionStatus"] == "ACTC"
    if waits and (first := first_day(resource)) and first <= now.date():
        _move(call, FAMILIES["payment"], id, "its day comes", first)
    return call.state.get(collection, id)


def active_basket(call: Call, member: Mapping[str, Any]) -> str | None:
    """The basket that holds this payment or consent and waits to be authorised."""
    id: str | None = member.get("basket")
    basket = settle(call, "baskets", id) if id else None
    return id if basket and basket["transactionStatus"] not in BASKET.final else None


def note_push(call: Call, id: str, authorisation: Document, decides: datetime) -> None:
    """The customer's app has been asked, and will have answered by then."""
    if FAMILIES[authorisation["family"]].collection in ("consents", "baskets"):
        pushed = call.state.get(PUSHED, authorisation["psuId"]) or {}
        call.state.put(PUSHED, authorisation["psuId"], {**pushed, id: decides.isoformat()})


def _answer_due(call: Call, psu: str) -> None:
    """Settles them in the order of the answers: a newer recurring consent ends an older one, whichever is asked for."""
    pushed = call.state.get(PUSHED, psu)
    if not pushed:
        return
    now = call.clock.now()
    due = sorted((when, id) for id, text in pushed.items() if (when := datetime.fromisoformat(text)) <= now)
    if not due:
        return
    answered = {id for _, id in due}
    call.state.put(PUSHED, psu, {id: when for id, when in pushed.items() if id not in answered})
    for when, id in due:
        authorisation = call.state.get(AUTHORISATIONS, id)
        if authorisation is None or authorisation["scaStatus"] in SCA.final:
            continue
        resource = call.state.get(FAMILIES[authorisation["family"]].collection, authorisation["resource"])
        if resource and not active_basket(call, resource):
            succeed(call, id, authorisation, when.date())


def succeed(call: Call, id: str, authorisation: Document, day: date | None = None) -> Document:
    """The PSU has approved, today unless another day is given: `finalised` with its effects, or `unconfirmed`.

    A code is only asked for after a redirect: no other approach can hand it to the TPP. Raises BankError.
    """
    family = FAMILIES[authorisation["family"]]
    if active_basket(call, call.state.get(family.collection, authorisation["resource"]) or {}):
        raise BankError("resource-blocked", id=authorisation["resource"])
    confirmed = authorisation["scaStatus"] == "unconfirmed"
    if authorisation.get("code") and authorisation["approach"] == "redirect" and not confirmed:
        return moved(call, id, authorisation, "succeed, to be confirmed")
    authorisation = moved(call, id, authorisation, "confirm" if confirmed else "succeed")
    _sign(call, family, authorisation["resource"], authorisation.get("psuId"), day or call.clock.today())
    return authorisation


def exempt(call: Call, id: str, authorisation: Document) -> Document:
    """Nothing but the password is asked of this PSU."""
    authorisation = moved(call, id, authorisation, "authenticate, no method")
    family = FAMILIES[authorisation["family"]]
    _sign(call, family, authorisation["resource"], authorisation.get("psuId"), call.clock.today())
    return authorisation


def fail(call: Call, id: str, authorisation: Document, day: date | None = None) -> Document:
    """Declined, timed out, broken, or tried too often. A cancellation that fails changes nothing."""
    authorisation = moved(call, id, authorisation, "fail")
    family = FAMILIES[authorisation["family"]]
    if family.name != "cancellation":
        _move(call, family, authorisation["resource"], "refused", day or call.clock.today())
    return authorisation


def moved(call: Call, id: str, authorisation: Document, event: str, **changes: Any) -> Document:
    """Raises BankError `status-invalid` where the event cannot happen."""
    to = SCA.after(authorisation["scaStatus"], event)
    if to is None:
        raise BankError("status-invalid", id=id, status=authorisation["scaStatus"])
    authorisation = {**authorisation, **changes, "scaStatus": to}
    call.state.put(AUTHORISATIONS, id, authorisation)
    return authorisation


def holders(call: Call, family: Family, resource: Mapping[str, Any]) -> list[str]:
    """The customers who may sign, in the order of the accounts."""
    return list(dict.fromkeys(psu for iban in ibans(call, family, resource) for psu in _signatories(call, iban)))


def needed(call: Call, family: Family, resource: Mapping[str, Any]) -> set[str]:
    """The customers who must all sign: those of accounts with several signatories. Empty: one holder is enough.

    Nobody signs a basket for the holders of somebody else's accounts.
    """
    if family.name == "basket":
        parts = [(other, member) for other, _, member in members(call, resource)]
        return {psu for part in parts for psu in needed(call, *part) or holders(call, *part)}
    groups = (_signatories(call, iban) for iban in ibans(call, family, resource))
    return {psu for group in groups if len(group) > 1 for psu in group}


def ibans(call: Call, family: Family, resource: Mapping[str, Any]) -> list[str]:
    if family.name == "consent":
        return list(resource["accounts"])
    if family.name == "basket":
        return [iban for other, _, member in members(call, resource) for iban in ibans(call, other, member)]
    return [resource["debtorAccount"]["iban"]]


def members(call: Call, basket: Mapping[str, Any]) -> Iterable[tuple[Family, str, Document]]:
    for family, listed in ((FAMILIES["payment"], "payments"), (FAMILIES["consent"], "consents")):
        for id in basket.get(listed, ()):
            if (member := call.state.get(family.collection, id)) is not None:
                yield family, id, member


def _signatories(call: Call, iban: str) -> list[str]:
    account = call.state.get("accounts", iban)
    if account is None:
        return []
    return list(account.get("signatories") or [account["psuId"]])


def _sign(call: Call, family: Family, id: str, psu: str | None, day: date) -> None:
    resource = call.state.get(family.collection, id)
    if resource is None:
        return
    signed = f"{family.listed}SignedBy"
    resource = {**resource, signed: [*resource.get(signed, ()), psu]}
    call.state.put(family.collection, id, resource)
    if needed(call, family, resource) - set(resource[signed]):
        if family.name != "cancellation":
            _move(call, family, id, "authorised by some", day)
    elif family.name == "cancellation":
        _move(call, family, id, "cancellation authorised", day)
    else:
        _complete(call, family, id, psu, day)


def _complete(call: Call, family: Family, id: str, psu: str | None, day: date) -> None:
    """Everybody has signed."""
    resource = call.state.get(family.collection, id)
    if resource is None:
        return
    later = family.name == "payment" and executes_later(resource, day)
    has_moved = _move(call, family, id, "authorised by all, for later" if later else "authorised by all", day)
    if family.name == "consent" and has_moved:
        _end_older(call, id, psu)
    if family.name == "basket":
        for other, member, _ in members(call, resource):
            _complete(call, other, member, psu, day)


def _move(call: Call, family: Family, id: str, event: str, day: date) -> bool:
    """A state that the event does not touch stays: the SCA of a preconfigured consent works and changes nothing."""
    resource = call.state.get(family.collection, id)
    to = family.machine.after(resource.get(family.status, "valid"), event) if resource else None
    if resource and to:
        changed = {**resource, family.status: to}
        if family.name == "consent":
            changed["lastActionDate"] = day.isoformat()
        elif event.startswith("authorised by all") and family.collection == "payments":
            changed["authorised"] = day.isoformat()
            call.state.put(MOVING, id, {})
        elif to == "CANC":
            changed["cancelled"] = day.isoformat()
        call.state.put(family.collection, id, changed)
    return bool(to)


def _end_older(call: Call, id: str, psu: str | None) -> None:
    """A new recurring consent ends the same customer's older one."""
    if psu is None:
        return
    _answer_due(call, psu)  # those are older, although nobody has looked at them yet
    newest = call.state.get("consents", id)
    if newest is None or not newest["recurringIndicator"]:
        return
    call.state.put("consents", id, {**newest, "psuId": psu})
    for other, consent in call.state.all("consents").items():
        same = other != id and consent.get("psuId") == psu and consent["recurringIndicator"]
        if same and (to := CONSENT.after(consent.get("consentStatus", "valid"), "newer recurring consent")):
            call.state.put("consents", other, {**consent, "consentStatus": to})
