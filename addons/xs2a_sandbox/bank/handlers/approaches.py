"""How an authorisation begins, and by which approach: redirect, embedded or decoupled."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.bank.handlers.lifecycle import NONE, SCA
from xs2a_sandbox.bank.handlers.signing import (
    AUTHORISATIONS,
    FAMILIES,
    Family,
    holders,
    moved,
    needed,
)
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Option
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

REDIRECT, EMBEDDED, DECOUPLED = "redirect", "embedded", "decoupled"
APPROACHES = (REDIRECT, EMBEDDED, DECOUPLED)


APPROACH_OPTIONS = {
    "sca": Option(
        "The approach where nobody has a wish, or the wishes contradict each other.",
        {"enum": list(APPROACHES)},
        shared=True,
    ),
    "expires_after": Option(
        "Seconds until an authorisation that nobody finishes has failed.",
        {"type": "integer", "minimum": 0},
        shared=True,
    ),
    "decides_after": Option(
        "Seconds until the customer's app confirms a decoupled one by itself, null for never.",
        {"type": ["integer", "null"], "minimum": 0},
        shared=True,
    ),
    "confirmation": Option("After a redirect the TPP has to confirm with a code.", {"type": "boolean"}, shared=True),
}
"""Options of the operation that starts an authorisation; another handler's own are stronger."""
BEGINNING = (
    "headers.psu-id headers.tpp-decoupled-preferred headers.tpp-nok-redirect-uri headers.tpp-redirect-preferred "
    "headers.tpp-redirect-uri"
)
"""The parts of a request that `begin` reads."""
WITH_RESOURCE = f"{BEGINNING} headers.tpp-explicit-authorisation-preferred"
"""The parts of a request that `begin_with_resource` reads."""


def begin_with_resource(call: Call, family: Family, id: str) -> tuple[str, Document] | None:
    """Begins the authorisation of a new resource, unless the TPP, or several signatories, want it apart."""
    explicit = call.headers.get("tpp-explicit-authorisation-preferred", "").lower() == "true"
    resource = call.state.get(family.collection, id)
    offered_here = family.name in call.sca
    if resource and offered_here and not explicit and not needed(call, family, resource):
        return begin(call, family, id, implicit=True)
    return None


def begin(call: Call, family: Family, id: str, *, implicit: bool) -> tuple[str, Document]:
    """A new authorisation of the resource; one that was begun with the resource itself and not used gives way."""
    psu_id = call.headers.get("psu-id")
    psu = customer(call, family, id, psu_id) if psu_id else None
    options = options_of(call, family)
    approach = approach_of(call, options, psu)
    status = SCA.after(NONE, "start with PSU-ID" if psu else "start") or ""
    authorisation: Document = {
        "sequence": call.next_number(),
        "family": family.name,
        "resource": id,
        "approach": approach,
        "scaStatus": status,
        "psuId": psu_id if psu else None,
        "attempts": 0,
        "implicit": implicit,
        "expires": call.clock.after(options["expires_after"]).isoformat(),
        "ok": call.headers.get("tpp-redirect-uri"),
        "nok": call.headers.get("tpp-nok-redirect-uri"),
        "code": call.new_secret() if options["confirmation"] else None,
        "nonce": call.new_secret(),
    }
    resource = call.state.get(family.collection, id) or {}
    unused = [other for other in resource.get(family.listed, ()) if gives_way(call, other)]
    kept = [other for other in resource.get(family.listed, ()) if other not in unused]
    for other in unused:
        call.state.delete(AUTHORISATIONS, other)  # it must not run out, and take the resource with it
    if authorisation["ok"] is None:
        authorisation["ok"], authorisation["nok"] = resource.get("redirectUri"), resource.get("nokRedirectUri")
    authorisation_id = call.new_id()
    call.state.put(AUTHORISATIONS, authorisation_id, authorisation)
    call.state.put(family.collection, id, {**resource, family.listed: [*kept, authorisation_id]})
    if approach == DECOUPLED and psu:
        authorisation = push(call, authorisation_id, authorisation)
    return authorisation_id, authorisation


def options_of(call: Call, family: Family) -> Mapping[str, Any]:
    """The options of the operation that starts an authorisation, wherever it begins; the call's own are stronger."""
    return {**call.sca.get(family.name, {}), **call.options}


def approach_of(call: Call, options: Mapping[str, Any], psu: Mapping[str, Any] | None) -> str:
    """The approach that the TPP prefers, if the customer can do it; the dialect's own where it has no wish, or two."""
    redirect = call.headers.get("tpp-redirect-preferred", "").lower()
    decoupled = call.headers.get("tpp-decoupled-preferred", "").lower()
    approach: str = options["sca"]
    if redirect == "true" and decoupled != "true":
        approach = REDIRECT
    elif decoupled == "true" and redirect != "true":
        approach = DECOUPLED
    elif redirect == "false":
        approach = EMBEDDED
    return offered(psu, approach)


def offered(psu: Mapping[str, Any] | None, approach: str) -> str:
    """The approach, if the customer can do it, else the first that they can."""
    able = (psu or {}).get("approaches") or APPROACHES
    return approach if approach in able else str(able[0])


def customer(call: Call, family: Family, id: str, psu_id: str) -> Document:
    """Raises BankError `credentials-invalid` where the customer is unknown or may not sign."""
    psu = call.state.get("psus", psu_id)
    resource = call.state.get(family.collection, id) or {}
    if psu is None or psu_id not in holders(call, family, resource):
        raise BankError("credentials-invalid", left=None)
    return psu


def push(call: Call, id: str, authorisation: Document) -> Document:
    """Asks in the customer's app, which answers by itself after a while unless the control interface decides before."""
    after = options_of(call, FAMILIES[authorisation["family"]])["decides_after"]
    if after is None:
        return moved(call, id, authorisation, "begin", decides=None)
    decides = call.clock.after(after)
    return moved(call, id, authorisation, "begin", decides=decides.isoformat())


def gives_way(call: Call, id: str) -> bool:
    """Tells if it was begun with its resource and nobody has used it."""
    other = call.state.get(AUTHORISATIONS, id)
    if other is None or not other["implicit"] or other.get("used"):
        return False
    return other["scaStatus"] in ("received", "psuIdentified")
