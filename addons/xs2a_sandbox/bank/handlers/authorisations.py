"""Authorisations of payments, cancellations, consents and signing baskets: redirect, embedded, decoupled (spec 4.3)."""

import secrets
from collections.abc import Callable, Mapping
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
    status_of,
    succeed,
)
from xs2a_sandbox.bank.handlers import baskets, consents, payments
from xs2a_sandbox.bank.handlers.approaches import (
    APPROACH_OPTIONS,
    BEGINNING,
    DECOUPLED,
    EMBEDDED,
    HABITS,
    PAGE,
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
from xs2a_sandbox.bank.handlers.inputs import AUTHORISATION, BASKET, CONSENT, CUSTOMER, PAYMENT, PRODUCT, SERVICE
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Option, deeds, handler
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

LOADERS: dict[str, Callable[[Call], tuple[str, Document]]] = {
    "consent": lambda call: consents.find_consent(call, call.need("consent")),
    "payment": payments.find_payment,
    "cancellation": payments.find_payment,
    "basket": baskets.find_basket,
    "login": lambda call: _login(call),
}
"""By family, what gives the resource that a request names, with its id. They raise BankError where there is none."""


def _login(call: Call) -> tuple[str, Document]:
    id = call.path["loginId"]
    login = call.state.get("logins", as_kept(id))
    if login is None:
        raise BankError("path-unknown", id=id)
    return as_kept(id), login


_BY_FAMILY = {
    "consent": deeds("", "consent-unknown"),
    "payment": deeds("", "payment-unknown"),
    "cancellation": deeds("", "payment-unknown"),
    "basket": deeds("", "basket-unknown"),
}
FAMILY = {"family": Option("What is authorised.", {"enum": list(_BY_FAMILY)}, required=True, choices=_BY_FAMILY)}
_OF_FAMILY = (CONSENT, PAYMENT, SERVICE, PRODUCT, BASKET)
"""What names that which is authorised: a consent, a payment or a basket."""
_STEPS = ("psuData", "authenticationMethodId", "scaAuthenticationData", "confirmationCode")
_STEP = " ".join(f"body/{name}" for name in _STEPS)


@handler(
    "authorisations.start",
    takes=(*_OF_FAMILY, *BEGINNING),
    reads=_STEP,
    raises="credentials-invalid format-error resource-blocked service-invalid status-invalid",
    returns=RESULT,
    options=FAMILY
    | PAGE
    | {name: replace(option, required=True) for name, option in APPROACH_OPTIONS.items()}
    | HABITS,
)
def start(call: Call) -> dict[str, Any]:
    """A new authorisation, with its first step if the body holds one; `next` names the steps that can follow."""
    family = FAMILIES[call.options["family"]]
    id, resource = LOADERS[family.name](call)
    check_startable(call, family, id, resource)
    body = call.body if call.request.body.strip() else {}
    authorisation_id, authorisation = begin(call, family, id, implicit=False)
    if _steps(body):
        authorisation = _update(call, authorisation_id, authorisation, body)
    return result(call, authorisation_id, authorisation, f"{call.self_path}/{authorisation_id}")


@handler("authorisations.list", takes=_OF_FAMILY, returns="authorisationIds", options=FAMILY)
def list_ids(call: Call) -> dict[str, Any]:
    """The ids of all authorisations of a resource."""
    family = FAMILIES[call.options["family"]]
    _, resource = LOADERS[family.name](call)
    return {"authorisationIds": list(resource.get(family.listed, ()))}


@handler(
    "authorisations.read",
    takes=(*_OF_FAMILY, AUTHORISATION.needed),
    raises="authorisation-unknown",
    returns=RESULT,
    options=FAMILY | PAGE,
)
def read(call: Call) -> dict[str, Any]:
    """An authorisation as it is now."""
    id, authorisation = _find_addressed(call)
    return result(call, id, authorisation, call.self_path)


@handler(
    "authorisations.update",
    takes=(*_OF_FAMILY, AUTHORISATION.needed, CUSTOMER),
    reads=_STEP,
    raises="authorisation-unknown credentials-invalid format-error method-unknown resource-blocked service-invalid "
    "status-invalid",
    returns=RESULT,
    options=FAMILY | PAGE | APPROACH_OPTIONS,
)
def update(call: Call) -> dict[str, Any]:
    """The next step. A wrong password, code or one-time password counts, and the last of `attempts` fails for good."""
    id, authorisation = _find_addressed(call)
    if authorisation["scaStatus"] in SCA.final:
        raise BankError("status-invalid", id=id, status=authorisation["scaStatus"])
    family, resource_id = FAMILIES[authorisation["family"]], authorisation["resource"]
    check_signable(call, family, resource_id, call.state.get(family.collection, resource_id) or {})
    body = call.body if call.request.body.strip() else {}
    return result(call, id, _update(call, id, authorisation, body), call.self_path)


def check_signable(call: Call, family: Family, id: str, resource: Document) -> None:
    """Raises BankError where its state, or a basket it is in, lets nobody sign."""
    if not can_sign(family, resource):
        status = status_of(family, resource)
        raise BankError("status-invalid", id=id, status=status, unfunded=status == "RCVD" and "unfunded" in resource)
    if family.name != "basket" and active_basket(call, resource):
        raise BankError("resource-blocked", id=id)


def check_startable(call: Call, family: Family, id: str, resource: Document) -> None:
    """Raises BankError where the resource cannot, or need not, be authorised any more."""
    check_signable(call, family, id, resource)
    for other in resource.get(family.listed, ()):
        earlier = call.state.get(AUTHORISATIONS, other)
        if earlier is None or is_superseded(call, other) or earlier["scaStatus"] in SCA.final:
            continue
        if len(find_required_signers(call, family, resource)) < 2:
            raise BankError("status-invalid", id=other, status=earlier["scaStatus"])


def check_password(call: Call, id: str, authorisation: Document, psu_id: str, password: str) -> Document:
    """The authorisation with its customer known. Raises BankError `credentials-invalid`, which counts."""
    identified = _of_customer(call, id, authorisation, psu_id)
    if not _is_same((call.state.get("psus", psu_id) or {})["password"], password):
        raise reject_attempt(call, id, authorisation)
    return identified


def _of_customer(call: Call, id: str, authorisation: Document, psu_id: str) -> Document:
    """Raises BankError `credentials-invalid`, which counts, for one who may not sign."""
    family = FAMILIES[authorisation["family"]]
    resource = call.state.get(family.collection, authorisation["resource"]) or {}
    if call.state.get("psus", psu_id) is None or psu_id not in holders(call, family, resource):
        raise reject_attempt(call, id, authorisation)
    return {**authorisation, "psuId": psu_id, "attempts": 0}


def authenticate(call: Call, id: str, authorisation: Document, psu_id: str, password: str) -> Document:
    """Moves on by the number of the customer's methods. Raises BankError `credentials-invalid`, which counts."""
    return _authenticate(call, id, check_password(call, id, authorisation, psu_id, password))


def _authenticate(call: Call, id: str, identified: Document) -> Document:
    """Raises BankError `method-unknown`, after which it has failed, where that is what customers without one get."""
    methods = methods_of(call, identified)
    if not methods:
        if (end := habit(call, identified, "without_method")) == "refused":
            fail(call, id, identified)
            raise BankError("method-unknown", keep=True, path="/psuData", id="")
        return exempt(call, id, identified) if end == "exempted" else succeed(call, id, identified)
    if len(methods) == 1:
        method = methods[0]["authenticationMethodId"]
        return apply_event(call, id, identified, "authenticate, one method", method=method)
    return apply_event(call, id, identified, "authenticate, several methods")


def reject_attempt(call: Call, id: str, authorisation: Document) -> BankError:
    """The attempt is kept although the answer is an error; the last ends the authorisation."""
    attempts, most = authorisation["attempts"] + 1, habit(call, authorisation, "attempts")
    authorisation = {**authorisation, "attempts": attempts}
    call.state.put(AUTHORISATIONS, id, authorisation)
    if attempts >= most:
        fail(call, id, authorisation)
    return BankError("credentials-invalid", keep=True, left=max(most - attempts, 0))


def choose_method(call: Call, id: str, authorisation: Document, method: str) -> Document:
    if SCA.after(authorisation["scaStatus"], "choose method") is None:
        raise BankError("status-invalid", id=id, status=authorisation["scaStatus"])
    if method not in [own_method["authenticationMethodId"] for own_method in methods_of(call, authorisation)]:
        raise BankError("method-unknown", path="/authenticationMethodId", id=method)
    return apply_event(call, id, authorisation, "choose method", method=method)


def check_otp(call: Call, id: str, authorisation: Document, otp: str) -> None:
    """Raises BankError `credentials-invalid`, which counts."""
    if authorisation["scaStatus"] != "scaMethodSelected":
        raise BankError("status-invalid", id=id, status=authorisation["scaStatus"])
    psu = call.state.get("psus", authorisation["psuId"]) or {}
    if not _is_same(psu.get("otp", ""), otp):
        raise reject_attempt(call, id, authorisation)


def _update(call: Call, id: str, authorisation: Document, body: Mapping[str, Any]) -> Document:
    steps = _steps(body)
    if len(steps) > 1:
        raise BankError("format-error", path=f"/{steps[1]}", expected=f"one step at a time, not {' and '.join(steps)}")
    if steps == ["confirmationCode"]:
        return _confirm(call, id, authorisation, body["confirmationCode"])
    if authorisation["scaStatus"] == "unconfirmed":
        raise BankError("status-invalid", id=id, status="unconfirmed")
    if not steps:
        return _identify(call, id, authorisation)
    if authorisation["approach"] != EMBEDDED:
        raise BankError("service-invalid", path=f"/{steps[0]}", approach=authorisation["approach"], step=steps[0])
    if steps == ["authenticationMethodId"]:
        return choose_method(call, id, authorisation, body["authenticationMethodId"])
    if steps == ["scaAuthenticationData"]:
        check_otp(call, id, authorisation, body["scaAuthenticationData"])
        return succeed(call, id, authorisation)
    psu_id = call.take("customer") or authorisation["psuId"]
    if not psu_id:
        text = f"{call.place_of('customer')} is missing; it must say whose password this is"
        raise BankError("format-error", path=call.pointer_of("customer"), expected=text)
    if SCA.after(authorisation["scaStatus"], "authenticate, one method") is None:
        raise BankError("status-invalid", id=id, status=authorisation["scaStatus"])
    psu, options = call.state.get("psus", psu_id), options_of(call, FAMILIES[authorisation["family"]])
    if (approach := pick_approach(psu, EMBEDDED, options)) != EMBEDDED:
        raise BankError("service-invalid", path="/psuData", approach=approach, step="psuData")
    password = body["psuData"].get("password")
    if password is not None:
        return authenticate(call, id, authorisation, psu_id, password)
    if not habit(call, authorisation, "encrypted_passwords") or not body["psuData"].get("encryptedPassword"):
        raise BankError("format-error", path="/psuData/password", expected="the password is missing")
    return _authenticate(call, id, _of_customer(call, id, authorisation, psu_id))


def _steps(body: Mapping[str, Any]) -> list[str]:
    """The names of the steps that the body asks for."""
    return [name for name in _STEPS if body.get(name)]


def _identify(call: Call, id: str, authorisation: Document) -> Document:
    psu_id = call.take("customer")
    if not psu_id:
        text = f"an update needs one of {', '.join(_STEPS)} or {call.place_of('customer')}"
        raise BankError("format-error", expected=text)
    family = FAMILIES[authorisation["family"]]
    psu = customer(call, family, authorisation["resource"], psu_id)
    approach = pick_approach(psu, authorisation["approach"], options_of(call, family))
    authorisation = apply_event(call, id, authorisation, "identify", psuId=psu_id, approach=approach, used=True)
    return push(call, id, authorisation) if authorisation["approach"] == DECOUPLED else authorisation


def _confirm(call: Call, id: str, authorisation: Document, code: str) -> Document:
    if SCA.after(authorisation["scaStatus"], "confirm") is None:
        raise BankError("status-invalid", id=id, status=authorisation["scaStatus"])
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
