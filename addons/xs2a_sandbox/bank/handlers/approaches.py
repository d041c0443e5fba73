"""Starts authorisations and chooses their approach: redirect, OAuth, embedded or decoupled."""

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
from xs2a_sandbox.cassette.dialect.authorisation import ON_PAGES, SECTION
from xs2a_sandbox.cassette.handler import Option, deeds
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

REDIRECT, EMBEDDED, DECOUPLED, OAUTH = "redirect", "embedded", "decoupled", "oauth"
APPROACHES = (REDIRECT, EMBEDDED, DECOUPLED, OAUTH)

APPROACH_OPTIONS = {
    "sca": Option(
        "The approach if the request states no preference, or contradictory ones.",
        {"enum": list(APPROACHES)},
        section=SECTION,
        default=REDIRECT,
    ),
    "expires_after": Option(
        "The number of seconds after which an unfinished authorisation fails.",
        {"type": "integer", "minimum": 0},
        section=SECTION,
        default=86400,
    ),
    "decides_after": Option(
        "The number of seconds after which the customer's app approves a decoupled authorisation by itself; null "
        "for never.",
        {"type": ["integer", "null"], "minimum": 0},
        section=SECTION,
    ),
    "confirmation": Option(
        "Whether the app has to send a confirmation code after a redirect.",
        {"type": "boolean"},
        section=SECTION,
        default=False,
    ),
}
"""Options for the start of an authorisation, in the section `authorisation`. Options of a handler override them."""
HABITS = {
    "approaches": Option(
        "The approaches that the bank offers, regardless of the app's preference.",
        {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"enum": list(APPROACHES)}},
        section=SECTION,
        default=APPROACHES,
    ),
    "attempts": Option(
        "The number of wrong passwords and codes after which the authorisation fails.",
        {"type": "integer", "minimum": 1},
        section=SECTION,
        default=3,
    ),
    "without_method": Option(
        "What happens after the right password of a customer without a method. The authorisation becomes exempted "
        "or finalised, and its resource is authorised; or the error is `method-unknown`, and the authorisation "
        "fails.",
        {"enum": ["exempted", "finalised", "refused"]},
        section=SECTION,
        default="exempted",
        choices={"refused": deeds("", "method-unknown")},
    ),
    "encrypted_passwords": Option(
        "Whether the bank accepts every encrypted password as right. The sandbox has no key to decrypt it.",
        {"type": "boolean"},
        section=SECTION,
        default=False,
    ),
    "authorisation_ids": replace(form("authorisations"), section=SECTION),
    "code_expires_after": Option(
        "With OAuth: the number of seconds during which the app can exchange the customer's code for a token.",
        {"type": "integer", "minimum": 0},
        section=SECTION,
        default=60,
    ),
}
"""The other options in the section. They apply to the whole life of an authorisation."""
DEFAULTS: Mapping[str, Any] = {name: option.default for name, option in (APPROACH_OPTIONS | HABITS).items()}
WHETHER_APART = {
    "apart": Option(
        "Whether the app can choose to start the authorisation itself (`prefers_explicit`). If false, that input is "
        "ignored.",
        {"type": "boolean"},
        default=True,
    )
}
"""Options of handlers that create resources to authorise."""
RESULT = "id status approach self page redirect_uri methods chosen_method next"
"""The members of `result`."""
START, START_IDENTIFIED, START_AUTHENTICATED = "start", "start-identified", "start-authenticated"
"""The ways to start an authorisation separately: without data, with the customer's id, or also with the password."""
BEGUN = " ".join(("approach next authorisation", *(f"authorisation.{name}" for name in RESULT.split())))
"""The members of `start_implicit`."""
NOTHING_BEGUN: dict[str, Any] = {"approach": None, "next": [], "authorisation": None}
APART = (CUSTOMER, PREFERS_DECOUPLED, PREFERS_REDIRECT)
"""The inputs of `start_explicit`."""
BEGINNING = (*APART, REDIRECT_URI, NOK_REDIRECT_URI)
"""The inputs of `begin`."""
WITH_RESOURCE = (*BEGINNING, PREFERS_EXPLICIT)
"""The inputs of `begin_with_resource`."""


def begin_with_resource(
    call: Call, family: Family, id: str, resource: Mapping[str, Any]
) -> tuple[str, Document] | None:
    """Start the authorisation of a new resource, unless the TPP wants to start it or several customers must sign."""
    explicit = read_wish(call, PREFERS_EXPLICIT) and call.options.get("apart", True)
    if explicit or family.name not in call.authorising.of or find_required_signers(call, family, resource):
        return None
    return begin(call, family, id, implicit=True)


def start_implicit(call: Call, family: Family, id: str, resource: Document, path: str) -> dict[str, Any]:
    """Return how a new resource at `path` is authorised: by an authorisation created with it, or by a separate one.

    `next` are the possible next steps; empty if nobody can sign.
    """
    signable = can_sign(family, resource)
    pair = begin_with_resource(call, family, id, resource) if signable else None
    if pair:
        authorisation = result(call, *pair, f"{path}/authorisations/{pair[0]}")
        return {"approach": authorisation["approach"], "next": authorisation["next"], "authorisation": authorisation}
    return {**_start_explicit(call, family, resource, signable), "authorisation": None}


def start_explicit(call: Call, family: Family, id: str) -> dict[str, Any]:
    """Return the approach of a resource with a separate authorisation, and in `next` the step that starts it.

    A payment without enough money has an approach too, because the response that creates it must not reveal that.
    """
    resource = call.state.get(family.collection, id) or {}
    return _start_explicit(call, family, resource, can_sign(family, resource))


def _start_explicit(call: Call, family: Family, resource: Mapping[str, Any], signable: bool) -> dict[str, Any]:
    if family.name not in call.authorising.of or not (signable or resource.get("unfunded")):
        return {"approach": None, "next": []}
    psu_id = call.take("customer")
    psu = call.state.get("psus", psu_id) if psu_id else None
    approach = approach_of(call, options_of(call, family), psu)
    step = START
    if approach == EMBEDDED and psu:
        step = START_AUTHENTICATED
    elif approach not in ON_PAGES and not psu:
        step = START_IDENTIFIED
    return {"approach": approach, "next": [step] if signable else []}


def begin(call: Call, family: Family, id: str, *, implicit: bool) -> tuple[str, Document]:
    """Start an authorisation of the resource. It replaces an unused authorisation that was created with the resource.

    Raises BankError `credentials-invalid`, or `internal` if the dialect does not let anybody authorise the resource.
    """
    if family.name not in call.authorising.of:
        raise BankError("internal", reason=f"the dialect's section {SECTION} does not name a {family.name} under `of`")
    psu_id = call.take("customer")
    psu = customer(call, family, id, psu_id) if psu_id else None
    options = options_of(call, family)
    approach = approach_of(call, options, psu)
    status = SCA.after(NONE, "start, customer known" if psu else "start") or ""
    authorisation: Document = {
        "sequence": call.next_number(),
        "family": family.name,
        "resource": id,
        "approach": approach,
        "status": status,
        "created_at": call.now(),
        "psuId": psu_id if psu else None,
        "attempts": 0,
        "implicit": implicit,
        "expires": call.clock.text(options["expires_after"]),
        "ok": call.take("redirect_uri"),
        "nok": call.take("nok_redirect_uri"),
        "code": call.new_secret() if options["confirmation"] else None,
        "nonce": call.new_secret(),
    }
    resource = call.state.get(family.collection, id) or {}
    listed = resource.get(family.listed, ())
    unused = [other for other in listed if is_superseded(call, other)]
    kept = [other for other in listed if other not in unused]
    for other in unused:
        call.state.delete(AUTHORISATIONS, other)  # otherwise it would expire and reject the resource
    if authorisation["ok"] is None:
        authorisation["ok"], authorisation["nok"] = resource.get("redirect_uri"), resource.get("nok_redirect_uri")
    authorisation_id = new_id(call, AUTHORISATIONS, options, "authorisation_ids")
    call.state.put(AUTHORISATIONS, authorisation_id, authorisation)
    call.state.put(family.collection, id, {**resource, family.listed: [*kept, authorisation_id]})
    if approach == DECOUPLED and psu:
        authorisation = push(call, authorisation_id, authorisation)
    return authorisation_id, authorisation


def options_of(call: Call, family: Family) -> Mapping[str, Any]:
    """Return the options for authorising the family. Options of the call override those of the dialect."""
    return {**DEFAULTS, **call.authorising.options(family.name), **call.options}


def habit(call: Call, authorisation: Mapping[str, Any], name: str) -> Any:
    """Return the value of one of the HABITS for this authorisation."""
    return options_of(call, FAMILIES[authorisation["family"]])[name]


def approach_of(call: Call, options: Mapping[str, Any], psu: Mapping[str, Any] | None) -> str:
    """Return the approach that the TPP prefers, if the customer can use it.

    Without a preference, or with two, it is the dialect's default.
    """
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
    """Return the approach if bank and customer support it, otherwise the first that both support, or the bank's first.

    OAuth counts as a redirect.
    """
    ours = options["approaches"]
    theirs = (psu or {}).get("approaches") or ()
    able = [approach for approach in theirs if approach in ours] or ours
    if approach == REDIRECT and approach not in able and OAUTH in able:
        return OAUTH
    return approach if approach in able else str(able[0])


def customer(call: Call, family: Family, id: str, psu_id: str) -> Document:
    """Return the customer. Raises BankError `credentials-invalid` if it is unknown or may not sign."""
    psu = call.state.get("psus", psu_id)
    resource = call.state.get(family.collection, id) or {}
    if psu is None or psu_id not in holders(call, family, resource):
        raise BankError("credentials-invalid", left=None)
    return psu


def push(call: Call, id: str, authorisation: Document) -> Document:
    """Ask the customer's app, which decides automatically after a while if the control interface does not."""
    after = options_of(call, FAMILIES[authorisation["family"]])["decides_after"]
    if after is None:
        return apply_event(call, id, authorisation, "begin", decides=None)
    decides = call.clock.after(after)
    return apply_event(call, id, authorisation, "begin", decides=decides.isoformat())


def is_superseded(call: Call, id: str) -> bool:
    """Return whether the authorisation was created with its resource and has not been used."""
    other = call.state.get(AUTHORISATIONS, id)
    if other is None or not other["implicit"] or other.get("used"):
        return False
    return other["status"] in ("begun", "identified")


def methods_of(call: Call, authorisation: Mapping[str, Any]) -> list[dict[str, Any]]:
    psu_id = authorisation.get("psuId")
    psu = call.state.get("psus", psu_id) if psu_id else None
    return list(psu.get("methods") or []) if psu else []


def result(call: Call, id: str, authorisation: Document, path: str) -> dict[str, Any]:
    """Return the current authorisation. `next` are the possible next steps."""
    status, method = authorisation["status"], authorisation.get("method")
    methods = methods_of(call, authorisation)
    chosen = [one for one in methods if one["id"] == method]
    return {
        "id": id,
        "status": status,
        "approach": authorisation["approach"],
        "self": path,
        "page": page_of(call, authorisation),
        "redirect_uri": authorisation["ok"],
        "methods": methods if status == "authenticated" else None,
        "chosen_method": chosen[0] if chosen and status == "challenged" else None,
        "next": _next(authorisation),
    }


def page_of(call: Call, authorisation: Mapping[str, Any]) -> str:
    """Return the address of the customer's page, relative to the session's /sca/; empty if the dialect has none."""
    family, id = FAMILIES[authorisation["family"]], authorisation["resource"]
    authorised = call.authorising.of.get(family.name)
    if authorised is None or authorised.page is None:
        return ""
    return authorised.page.fill(id, call.state.get(family.collection, id) or {})


def _next(authorisation: Mapping[str, Any]) -> list[str]:
    status, approach = authorisation["status"], authorisation["approach"]
    if status == "unconfirmed":
        return ["confirm"]
    if approach in ON_PAGES and status in ("begun", "identified", "deciding"):
        return [approach]
    return _NEXT.get((approach, status), [])


_NEXT = {
    (EMBEDDED, "begun"): ["identify"],
    (EMBEDDED, "identified"): ["authenticate"],
    (EMBEDDED, "authenticated"): ["choose-method"],
    (EMBEDDED, "challenged"): ["answer-challenge"],
    (DECOUPLED, "begun"): ["identify"],
}
