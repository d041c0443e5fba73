"""Authorisations of payments, cancellations, consents and signing baskets: redirect, embedded, decoupled (spec 4.3)."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from xs2a_sandbox.bank.domain.lifecycle import SCA
from xs2a_sandbox.bank.domain.signing import (
    AUTHORISATIONS,
    FAMILIES,
    Family,
    active_basket,
    apply_event,
    can_sign,
    exempt,
    fail,
    find_required_signers,
    holders,
    status_invalid,
    status_of,
    succeed,
)
from xs2a_sandbox.bank.handlers import baskets, consents, mandates, payments
from xs2a_sandbox.bank.handlers.approaches import (
    APPROACH_OPTIONS,
    BEGINNING,
    DECOUPLED,
    EMBEDDED,
    HABITS,
    RESULT,
    begin,
    customer,
    habit,
    is_superseded,
    methods_of,
    options_of,
    pick_approach,
    push,
    result,
)
from xs2a_sandbox.bank.handlers.inputs import (
    AUTHORISATION,
    BASKET,
    CONFIRMATION_CODE,
    CONSENT,
    CREDENTIALS,
    CUSTOMER,
    ENCRYPTED_PASSWORD,
    MANDATE,
    METHOD,
    OTP,
    PASSWORD,
    PAYMENT,
    PRODUCT,
    SERVICE,
)
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Input, Option, deeds, handler
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

LOADERS: dict[str, Callable[[Call], tuple[str, Document]]] = {
    "consent": lambda call: consents.find_consent(call, call.need("consent")),
    "payment": payments.find_payment,
    "cancellation": payments.find_payment,
    "basket": baskets.find_basket,
    "mandate": mandates.find_mandate,
}
"""The function for each family that finds the resource of a request and its id, or raises BankError."""


_BY_FAMILY = {
    "consent": deeds("", "consent-unknown"),
    "payment": deeds("", "payment-unknown"),
    "cancellation": deeds("", "payment-unknown"),
    "basket": deeds("", "basket-unknown"),
    "mandate": deeds("", "mandate-unknown"),
}
FAMILY = {
    "family": Option(
        "The kind of resource that is authorised.", {"enum": list(_BY_FAMILY)}, required=True, choices=_BY_FAMILY
    )
}
_OF_FAMILY = (CONSENT, PAYMENT, SERVICE, PRODUCT, BASKET, MANDATE)
"""The inputs that name the resource to authorise."""
_AUTHENTICATE = (CREDENTIALS, PASSWORD, ENCRYPTED_PASSWORD)
_STEPS = (_AUTHENTICATE, (METHOD,), (OTP,), (CONFIRMATION_CODE,))
"""The inputs of each step. Any one of them in a request means this step."""
_OF_STEPS = tuple(input for step in _STEPS for input in step)

type Step = tuple[Input, ...]


@handler(
    "authorisations.start",
    takes=(*_OF_FAMILY, *BEGINNING, *_OF_STEPS),
    raises="credentials-invalid format-error resource-blocked service-invalid status-invalid",
    returns=RESULT,
    options=FAMILY | {name: replace(option, in_rules=True) for name, option in (APPROACH_OPTIONS | HABITS).items()},
)
def start(call: Call) -> dict[str, Any]:
    """Start an authorisation, and take its first step if the request contains one.

    `next` has the steps that can follow.
    """
    family = FAMILIES[call.options["family"]]
    id, resource = LOADERS[family.name](call)
    check_startable(call, family, id, resource)
    steps = _steps(call)
    authorisation_id, authorisation = begin(call, family, id, implicit=False)
    if steps:
        authorisation = _update(call, authorisation_id, authorisation, steps)
    return result(call, authorisation_id, authorisation, f"{call.self_path}/{authorisation_id}")


@handler("authorisations.list", takes=_OF_FAMILY, returns="ids", options=FAMILY)
def list_ids(call: Call) -> dict[str, Any]:
    """List the ids of all authorisations of a resource."""
    family = FAMILIES[call.options["family"]]
    _, resource = LOADERS[family.name](call)
    return {"ids": list(resource.get(family.listed, ()))}


@handler(
    "authorisations.read",
    takes=(*_OF_FAMILY, AUTHORISATION.needed),
    raises="authorisation-unknown",
    returns=RESULT,
    options=FAMILY,
)
def read(call: Call) -> dict[str, Any]:
    """Read an authorisation."""
    id, authorisation = _find_addressed(call)
    return result(call, id, authorisation, call.self_path)


@handler(
    "authorisations.update",
    takes=(*_OF_FAMILY, AUTHORISATION.needed, CUSTOMER, *_OF_STEPS),
    raises="authorisation-unknown credentials-invalid format-error method-unknown resource-blocked service-invalid "
    "status-invalid",
    returns=RESULT,
    options=FAMILY | {name: replace(option, in_rules=True) for name, option in APPROACH_OPTIONS.items()},
)
def update(call: Call) -> dict[str, Any]:
    """Take the next step of an authorisation.

    Every wrong password, code or one-time password counts; the last of `attempts` ends the authorisation.
    """
    id, authorisation = _find_addressed(call)
    if authorisation["status"] in SCA.final:
        raise status_invalid("authorisation", id, authorisation)
    family, resource_id = FAMILIES[authorisation["family"]], authorisation["resource"]
    check_signable(call, family, resource_id, call.state.get(family.collection, resource_id) or {})
    return result(call, id, _update(call, id, authorisation, _steps(call)), call.self_path)


def check_signable(call: Call, family: Family, id: str, resource: Document) -> None:
    """Raise BankError if nobody can sign, because of the state of the resource or of its basket."""
    if not can_sign(family, resource):
        unfunded = status_of(resource) == "RCVD" and "unfunded" in resource
        raise status_invalid(family.machine.name, id, resource, unfunded=unfunded)
    if family.name != "basket" and active_basket(call, resource):
        raise BankError("resource-blocked", id=id)


def check_startable(call: Call, family: Family, id: str, resource: Document) -> None:
    """Raise BankError if the resource cannot be authorised any more, or need not be."""
    check_signable(call, family, id, resource)
    for other in resource.get(family.listed, ()):
        earlier = call.state.get(AUTHORISATIONS, other)
        if earlier is None or is_superseded(call, other) or earlier["status"] in SCA.final:
            continue
        if len(find_required_signers(call, family, resource)) < 2:
            raise status_invalid("authorisation", other, earlier)


def check_password(call: Call, id: str, authorisation: Document, psu_id: str, password: str) -> Document:
    """Return the authorisation with its customer.

    A wrong password counts as an attempt and raises `credentials-invalid`.
    """
    identified = _of_customer(call, id, authorisation, psu_id)
    if not _is_same((call.state.get("psus", psu_id) or {})["password"], password):
        raise reject_attempt(call, id, authorisation)
    return identified


def _of_customer(call: Call, id: str, authorisation: Document, psu_id: str) -> Document:
    """Return the authorisation with its customer.

    A wrong customer counts as an attempt and raises `credentials-invalid`.
    """
    family = FAMILIES[authorisation["family"]]
    resource = call.state.get(family.collection, authorisation["resource"]) or {}
    if call.state.get("psus", psu_id) is None or psu_id not in holders(call, family, resource):
        raise reject_attempt(call, id, authorisation)
    return {**authorisation, "psuId": psu_id, "attempts": 0}


def authenticate(call: Call, id: str, authorisation: Document, psu_id: str, password: str) -> Document:
    """Check the password and go to the next step. A wrong one counts as an attempt and raises `credentials-invalid`."""
    return _authenticate(call, id, check_password(call, id, authorisation, psu_id, password))


def _authenticate(call: Call, id: str, identified: Document) -> Document:
    """Go to the step that fits the number of the customer's methods.

    If the bank refuses customers without a method, fails the authorisation and raises BankError `method-unknown`.
    """
    methods = methods_of(call, identified)
    if not methods:
        if (end := habit(call, identified, "without_method")) == "refused":
            fail(call, id, identified)
            raise BankError("method-unknown", keep=True, path=_place(call, _AUTHENTICATE), id="")
        return exempt(call, id, identified) if end == "exempted" else succeed(call, id, identified)
    if len(methods) == 1:
        method = methods[0]["id"]
        return apply_event(call, id, identified, "authenticate, one method", method=method)
    return apply_event(call, id, identified, "authenticate, several methods")


def reject_attempt(call: Call, id: str, authorisation: Document) -> BankError:
    """Count the attempt and return the error. The last allowed attempt fails the authorisation."""
    attempts, most = authorisation["attempts"] + 1, habit(call, authorisation, "attempts")
    authorisation = {**authorisation, "attempts": attempts}
    call.state.put(AUTHORISATIONS, id, authorisation)
    if attempts >= most:
        fail(call, id, authorisation)
    return BankError("credentials-invalid", keep=True, left=max(most - attempts, 0))


def choose_method(call: Call, id: str, authorisation: Document, method: str) -> Document:
    if SCA.after(authorisation["status"], "choose method") is None:
        raise status_invalid("authorisation", id, authorisation)
    if method not in [own_method["id"] for own_method in methods_of(call, authorisation)]:
        raise BankError("method-unknown", path=call.pointer_of("method"), id=method)
    return apply_event(call, id, authorisation, "choose method", method=method)


def check_otp(call: Call, id: str, authorisation: Document, otp: str) -> None:
    """Check the one-time password. A wrong one counts as an attempt and raises BankError `credentials-invalid`."""
    if authorisation["status"] != "challenged":
        raise status_invalid("authorisation", id, authorisation)
    psu = call.state.get("psus", authorisation["psuId"]) or {}
    if not _is_same(psu.get("otp", ""), otp):
        raise reject_attempt(call, id, authorisation)


def _update(call: Call, id: str, authorisation: Document, steps: Sequence[Step]) -> Document:
    if len(steps) > 1:
        names = " and ".join(_name(call, step) for step in steps)
        raise BankError("format-error", path=_place(call, steps[1]), expected=f"one step at a time, not {names}")
    step = next(iter(steps), None)
    if step == (CONFIRMATION_CODE,):
        return _confirm(call, id, authorisation, call.take("confirmation_code"))
    if authorisation["status"] == "unconfirmed":
        raise status_invalid("authorisation", id, authorisation)
    if step is None:
        return _identify(call, id, authorisation)
    if (approach := authorisation["approach"]) != EMBEDDED:
        raise _of_other_approach(call, step, approach)
    if step == (METHOD,):
        return choose_method(call, id, authorisation, call.take("method"))
    if step == (OTP,):
        check_otp(call, id, authorisation, call.take("otp"))
        return succeed(call, id, authorisation)
    psu_id = call.take("customer") or authorisation["psuId"]
    if not psu_id:
        text = f"{call.place_of('customer')} is missing; it must say whose password this is"
        raise BankError("format-error", path=call.pointer_of("customer"), expected=text)
    if SCA.after(authorisation["status"], "authenticate, one method") is None:
        raise status_invalid("authorisation", id, authorisation)
    psu, options = call.state.get("psus", psu_id), options_of(call, FAMILIES[authorisation["family"]])
    if (approach := pick_approach(psu, EMBEDDED, options)) != EMBEDDED:
        raise _of_other_approach(call, step, approach)
    password = call.take("password")
    if password is not None:
        return authenticate(call, id, authorisation, psu_id, password)
    if not habit(call, authorisation, "encrypted_passwords") or not call.take("encrypted_password"):
        raise BankError("format-error", path=call.pointer_of("password"), expected="the password is missing")
    return _authenticate(call, id, _of_customer(call, id, authorisation, psu_id))


def _steps(call: Call) -> list[Step]:
    """Return the requested steps."""
    return [step for step in _STEPS if any(call.take(input.name) for input in step)]


def _name(call: Call, step: Step) -> str:
    return call.name_of(_naming(call, step).name)


def _place(call: Call, step: Step) -> str | None:
    return call.pointer_of(_naming(call, step).name)


def _naming(call: Call, step: Step) -> Input:
    """Return the input that names the step in errors: the first one that the dialect's requests contain."""
    return next((input for input in step if input.name in call.inputs), step[0])


def _of_other_approach(call: Call, step: Step, approach: str) -> BankError:
    return BankError("service-invalid", path=_place(call, step), approach=approach, step=_name(call, step))


def _identify(call: Call, id: str, authorisation: Document) -> Document:
    psu_id = call.take("customer")
    if not psu_id:
        steps = ", ".join(_name(call, step) for step in _STEPS)
        raise BankError("format-error", expected=f"an update needs one of {steps} or {call.place_of('customer')}")
    family = FAMILIES[authorisation["family"]]
    psu = customer(call, family, authorisation["resource"], psu_id)
    approach = pick_approach(psu, authorisation["approach"], options_of(call, family))
    authorisation = apply_event(call, id, authorisation, "identify", psuId=psu_id, approach=approach, used=True)
    return push(call, id, authorisation) if authorisation["approach"] == DECOUPLED else authorisation


def _confirm(call: Call, id: str, authorisation: Document, code: str) -> Document:
    if SCA.after(authorisation["status"], "confirm") is None:
        raise status_invalid("authorisation", id, authorisation)
    right = _is_same(authorisation["code"] or "", code)
    return succeed(call, id, authorisation) if right else fail(call, id, authorisation)


def _find_addressed(call: Call) -> tuple[str, Document]:
    family = FAMILIES[call.options["family"]]
    _, resource = LOADERS[family.name](call)
    id = call.need("authorisation")
    kept = as_kept(id)
    authorisation = call.state.get(AUTHORISATIONS, kept) if kept in resource.get(family.listed, ()) else None
    if authorisation is None:
        raise BankError("authorisation-unknown", id=id)
    return kept, authorisation


def _is_same(kept: str, sent: str) -> bool:
    return secrets.compare_digest(str(kept).encode(), str(sent).encode())
