"""How an authorisation begins, and by which approach: redirect, OAuth, embedded or decoupled."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from xs2a_sandbox.bank.domain.lifecycle import NONE, SCA
from xs2a_sandbox.bank.domain.signing import (
    AUTHORISATIONS,
    FAMILIES,
    Family,
    apply_event,
    can_sign,
    find_required_signers,
    holders,
)
from xs2a_sandbox.bank.handlers.ids import form, new_id
from xs2a_sandbox.bank.handlers.inputs import (
    CUSTOMER,
    NOK_REDIRECT_URI,
    PREFERS_DECOUPLED,
    PREFERS_EXPLICIT,
    PREFERS_REDIRECT,
    REDIRECT_URI,
    read_wish,
)
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Option, deeds
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

REDIRECT, EMBEDDED, DECOUPLED, OAUTH = "redirect", "embedded", "decoupled", "oauth"
APPROACHES = (REDIRECT, EMBEDDED, DECOUPLED, OAUTH)
ON_PAGES = (REDIRECT, OAUTH)
"""The approaches that send the customer to the bank's pages."""


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
HABITS = {
    "approaches": Option(
        "The approaches that there are, whatever anybody wishes.",
        {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"enum": list(APPROACHES)}},
        shared=True,
        default=APPROACHES,
    ),
    "attempts": Option(
        "How many wrong passwords and codes there may be, the last of which fails the authorisation.",
        {"type": "integer", "minimum": 1},
        shared=True,
        default=3,
    ),
    "without_method": Option(
        "How the right password of a customer without a method ends: the authorisation is exempted or finalised and "
        "the resource goes on, or it is refused as `method-unknown` and has failed.",
        {"enum": ["exempted", "finalised", "refused"]},
        shared=True,
        default="exempted",
        choices={"refused": deeds("", "method-unknown")},
    ),
    "encrypted_passwords": Option(
        "An `encryptedPassword` is taken for right, whatever it is: nobody here has the key to it.",
        {"type": "boolean"},
        shared=True,
        default=False,
    ),
    "authorisation_ids": replace(form("authorisations"), shared=True),
    "code_expires_after": Option(
        "By OAuth: seconds until the code that a customer brings back can no longer be exchanged for a token.",
        {"type": "integer", "minimum": 0},
        shared=True,
        default=60,
    ),
}
"""Options of the operation that starts an authorisation, which count for all that happens to it."""
WHETHER_APART = {
    "apart": Option(
        "The TPP may want to start the authorisation itself (`prefers_explicit`); else that is not heeded.",
        {"type": "boolean"},
        default=True,
    )
}
"""Options of handlers that create what is authorised."""
PAGE = {
    "page": Option(
        "The address of the customer's page, relative to the session's /sca/; `{resource}` is the id of what is "
        "authorised, other words in braces are path parameters.",
        {"type": "string"},
        template=frozenset({"resource"}),
    )
}
RESULT = "authorisationId scaStatus approach self page redirectUri scaMethods chosenScaMethod next"
"""The members of `result`."""
BEGUN = " ".join(("approach next authorisation", *(f"authorisation.{name}" for name in RESULT.split())))
"""The members of `start_implicit`."""
NOTHING_BEGUN: dict[str, Any] = {"approach": None, "next": [], "authorisation": None}
LOGIN = {
    "family": "login",
    "sca": OAUTH,
    "approaches": [OAUTH],
    "page": "logins?login_id={resource}",
    "confirmation": False,
    "without_method": "finalised",
}
"""How a login differs from the authorisation of a consent: nothing else has been asked of the bank yet."""
APART = (CUSTOMER, PREFERS_DECOUPLED, PREFERS_REDIRECT)
"""What `start_explicit` takes."""
BEGINNING = (*APART, REDIRECT_URI, NOK_REDIRECT_URI)
"""What `begin` takes."""
WITH_RESOURCE = (*BEGINNING, PREFERS_EXPLICIT)
"""What `begin_with_resource` takes."""


def begin_with_resource(call: Call, family: Family, id: str) -> tuple[str, Document] | None:
    """Begins the authorisation of a new resource, unless the TPP, or several signatories, want it apart."""
    explicit = read_wish(call, PREFERS_EXPLICIT) and call.options.get("apart", True)
    resource = call.state.get(family.collection, id)
    offered_here = family.name in call.sca
    if resource and offered_here and not explicit and not find_required_signers(call, family, resource):
        return begin(call, family, id, implicit=True)
    return None


def start_implicit(call: Call, family: Family, id: str, path: str) -> dict[str, Any]:
    """The way in which a new resource at `path` is authorised: by an authorisation that begins with it, or apart.

    `next` names the steps that can follow, by the Berlin Group's names of their links; none where nobody can sign.
    """
    resource = call.state.get(family.collection, id) or {}
    pair = begin_with_resource(call, family, id) if can_sign(family, resource) else None
    if pair:
        authorisation = result(call, *pair, f"{path}/authorisations/{pair[0]}")
        return {"approach": authorisation["approach"], "next": authorisation["next"], "authorisation": authorisation}
    return {**start_explicit(call, family, id), "authorisation": None}


def start_explicit(call: Call, family: Family, id: str) -> dict[str, Any]:
    """The approach of a resource that is authorised apart, and `next`, the link with which that starts.

    A payment that its account does not cover has an approach too, but no link: what is created does not tell.
    """
    resource = call.state.get(family.collection, id) or {}
    signable = can_sign(family, resource)
    if family.name not in call.sca or not (signable or resource.get("unfunded")):
        return {"approach": None, "next": []}
    psu = call.state.get("psus", call.take("customer") or "")
    approach = approach_of(call, options_of(call, family), psu)
    start = "startAuthorisation"
    if approach == EMBEDDED and psu:
        start += "WithPsuAuthentication"
    elif approach not in ON_PAGES and not psu:
        start += "WithPsuIdentification"
    return {"approach": name_for_tpp(approach), "next": [start] if signable else []}


def begin(call: Call, family: Family, id: str, *, implicit: bool) -> tuple[str, Document]:
    """A new authorisation of the resource; one that was begun with the resource itself and not used gives way."""
    psu_id = call.take("customer")
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
        "ok": call.take("redirect_uri"),
        "nok": call.take("nok_redirect_uri"),
        "code": call.new_secret() if options["confirmation"] else None,
        "nonce": call.new_secret(),
    }
    resource = call.state.get(family.collection, id) or {}
    unused = [other for other in resource.get(family.listed, ()) if is_superseded(call, other)]
    kept = [other for other in resource.get(family.listed, ()) if other not in unused]
    for other in unused:
        call.state.delete(AUTHORISATIONS, other)  # it must not run out, and take the resource with it
    if authorisation["ok"] is None:
        authorisation["ok"], authorisation["nok"] = resource.get("redirectUri"), resource.get("nokRedirectUri")
    authorisation_id = new_id(call, AUTHORISATIONS, options, "authorisation_ids")
    call.state.put(AUTHORISATIONS, authorisation_id, authorisation)
    call.state.put(family.collection, id, {**resource, family.listed: [*kept, authorisation_id]})
    if approach == DECOUPLED and psu:
        authorisation = push(call, authorisation_id, authorisation)
    return authorisation_id, authorisation


def options_of(call: Call, family: Family) -> Mapping[str, Any]:
    """The options of the operation that starts an authorisation, wherever it begins; the call's own are stronger."""
    return {**call.sca.get(family.name, {}), **call.options}


def habit(call: Call, authorisation: Mapping[str, Any], name: str) -> Any:
    """The value of one of the HABITS for this authorisation."""
    return options_of(call, FAMILIES[authorisation["family"]]).get(name, HABITS[name].default)


def approach_of(call: Call, options: Mapping[str, Any], psu: Mapping[str, Any] | None) -> str:
    """The approach that the TPP prefers, if the customer can do it; the dialect's own where it has no wish, or two."""
    redirect, decoupled = read_wish(call, PREFERS_REDIRECT), read_wish(call, PREFERS_DECOUPLED)
    approach: str = options["sca"]
    if redirect and not decoupled:
        approach = approach if approach in ON_PAGES else REDIRECT
    elif decoupled and not redirect:
        approach = DECOUPLED
    elif redirect is False:
        approach = EMBEDDED
    return pick_approach(psu, approach, options)


def pick_approach(psu: Mapping[str, Any] | None, approach: str, options: Mapping[str, Any]) -> str:
    """The approach, if bank and customer can do it, else the first that both can, or the bank's first.

    OAuth is a redirect as well.
    """
    ours = options.get("approaches", HABITS["approaches"].default)
    able = [approach for approach in (psu or {}).get("approaches") or ours if approach in ours] or ours
    if approach == REDIRECT and approach not in able and OAUTH in able:
        return OAUTH
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
        return apply_event(call, id, authorisation, "begin", decides=None)
    decides = call.clock.after(after)
    return apply_event(call, id, authorisation, "begin", decides=decides.isoformat())


def is_superseded(call: Call, id: str) -> bool:
    """Tells if it was begun with its resource and nobody has used it."""
    other = call.state.get(AUTHORISATIONS, id)
    if other is None or not other["implicit"] or other.get("used"):
        return False
    return other["scaStatus"] in ("received", "psuIdentified")


def methods_of(call: Call, authorisation: Mapping[str, Any]) -> list[dict[str, Any]]:
    psu = call.state.get("psus", authorisation.get("psuId") or "") or {}
    return list(psu.get("methods") or [])


def result(call: Call, id: str, authorisation: Document, path: str) -> dict[str, Any]:
    """`next` names the steps that can follow, by the Berlin Group's names of their links."""
    status, approach = authorisation["scaStatus"], authorisation["approach"]
    methods = methods_of(call, authorisation)
    method = authorisation.get("method")
    return {
        "authorisationId": id,
        "scaStatus": status,
        "approach": name_for_tpp(approach),
        "self": path,
        "page": page_of(call, authorisation),
        "redirectUri": authorisation["ok"],
        "scaMethods": methods if status == "psuAuthenticated" else None,
        "chosenScaMethod": next(
            (candidate for candidate in methods if candidate["authenticationMethodId"] == method), None
        )
        if status == "scaMethodSelected"
        else None,
        "next": _next(call, authorisation),
    }


def name_for_tpp(approach: str) -> str:
    """The approach as the TPP is told of it: OAuth counts as redirect."""
    return (REDIRECT if approach == OAUTH else approach).upper()


def page_of(call: Call, authorisation: Mapping[str, Any]) -> str:
    """The address of the customer's page, relative to the session's /sca/."""
    family, id = FAMILIES[authorisation["family"]], authorisation["resource"]
    resource = call.state.get(family.collection, id) or {}
    kind: dict[str, Any] = {name: resource[name] for name in ("service", "product") if name in resource}
    template: str = options_of(call, family).get("page", "")
    return template.format_map(defaultdict(lambda: str(id), {**kind, **call.path, "resource": id}))


def _next(call: Call, authorisation: Mapping[str, Any]) -> list[str]:
    status, approach = authorisation["scaStatus"], authorisation["approach"]
    if status == "unconfirmed":
        return ["confirmation"]
    if approach in ON_PAGES and status in ("received", "psuIdentified", "started"):
        return ["scaOAuth" if approach == OAUTH else "scaRedirect"]
    return _NEXT.get((approach, status), [])


_NEXT = {
    (EMBEDDED, "received"): ["updatePsuIdentification"],
    (EMBEDDED, "psuIdentified"): ["updatePsuAuthentication"],
    (EMBEDDED, "psuAuthenticated"): ["selectAuthenticationMethod"],
    (EMBEDDED, "scaMethodSelected"): ["authoriseTransaction"],
    (DECOUPLED, "received"): ["updatePsuIdentification"],
}
