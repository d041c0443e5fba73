"""The page behind a link: its steps, the effects of its buttons, and how a visit ends (spec 2.1, 2.9)."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from xs2a_sandbox.bank.domain.accounts import number_of, with_id
from xs2a_sandbox.bank.domain.balances import covers
from xs2a_sandbox.bank.domain.signing import Family, exempt, fail, holders, status_invalid, succeed
from xs2a_sandbox.bank.handlers.approaches import habit, methods_of
from xs2a_sandbox.bank.handlers.authorisations import authenticate, check_otp, check_password, choose_method
from xs2a_sandbox.bank.handlers.token import new_code
from xs2a_sandbox.bank.sca_pages import authorization_request
from xs2a_sandbox.bank.sca_pages.html import PRIVATE, Page
from xs2a_sandbox.bank.sca_pages.return_address import asking, list_registered, return_address
from xs2a_sandbox.bank.sca_pages.summary import accounts_of, summary_of
from xs2a_sandbox.bank.sca_pages.visit import (
    ACCOUNTS,
    APPROVE,
    ENDED,
    LOGIN,
    METHOD,
    Form,
    LinkedPage,
    Visit,
    arrive,
    destination,
    read_form,
)
from xs2a_sandbox.bank.sca_pages.words import Words
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.messages import redirect

ENDINGS = ("decline", "cancel", "timeout", "error")
_DECISIONS = ("approve", "decline", "timeout", "error")
_METHODS = ("GET", "HEAD", "POST")
_AUTHORISED = "authorised"
"""The state of a consent in the test data."""

Reply = Page | Response


def serve(call: Call, own: Words) -> Reply:
    """Answer a request for a page. `own` are the texts of the bank. Raises BankError."""
    if call.request.method not in _METHODS:
        raise BankError("method-not-offered", method=call.request.method, allow=", ".join(_METHODS))
    endpoint = call.authorising.endpoint
    if endpoint and call.segments[1:] == endpoint.path:
        return authorization_request.lead_on(call, endpoint)
    form, to = read_form(call), destination(call)
    decision = call.query.get("decide")
    if decision is not None and decision not in _DECISIONS:
        raise BankError("format-error", expected=f"decide must be one of {', '.join(_DECISIONS)}")
    if to.unfunded:
        return _turn_away(call, to, own, at_once=decision is not None)
    visit = arrive(call, to, form, own)
    step = visit.step
    if step == ENDED:
        return _over(visit)
    if not form:
        return _step(visit) if decision is None else _decide(visit, decision)
    if (ending := _field(form, "end")) in ENDINGS:
        return _end(visit, ending)
    if _field(form, "step") != step:
        return _again(visit)
    return _ACTIONS[step](visit, form)


# -- steps


def _step(visit: Visit, problem: str = "", *, field: str = "", error: BankError | None = None, typed: str = "") -> Page:
    """Return the page of the visit's current step. `problem` is the mistake in the form, in the field `field`."""
    authorisation = visit.authorisation
    psu_id = authorisation.get("psuId") or ""
    psu = visit.call.state.get("psus", psu_id) or {}
    values = {
        **_common(visit),
        "hidden": {"authorisation": visit.id, "nonce": authorisation["nonce"], "step": visit.step},
        "step": visit.step,
        "steps": visit.steps,
        "problem": problem,
        "field": field,
        "left": habit(visit.call, authorisation, "attempts") - authorisation["attempts"]
        if authorisation["attempts"]
        else None,
        "customer": _name(visit, psu_id),
        "typed": typed or psu_id,
        "customers": [(customer, _name(visit, customer)) for customer in visit.customers],
        "signed": [_name(visit, signer) for signer in visit.signed if signer],
        "accounts": accounts_of(visit.call, visit.offered, visit.words) if visit.step == ACCOUNTS else [],
        "is_payer": visit.lacks_payer,
        "methods": [
            {"id": method["id"], "name": method.get("name") or method["id"], "type": method.get("type") or ""}
            for method in methods_of(visit.call, authorisation)
        ],
        "method": authorisation.get("method"),
        "otp": psu.get("otp"),
    }
    return Page("step", values, error, list_registered(authorisation), visit.words)


def _log_in(visit: Visit, form: Form) -> Reply:
    """Log in. If the user clicked on a customer, the sandbox fills in the password."""
    psu_id, password = _field(form, "customer"), ""
    if psu_id:
        password = (visit.call.state.get("psus", psu_id) or {}).get("password", "")
    else:
        psu_id, password = _field(form, "psuId").strip(), _field(form, "password")
        if not psu_id or not password:
            missing = "psuId" if not psu_id else "password"
            return _step(visit, visit.words("credentials_missing"), field=missing, typed=psu_id)
    allowed = holders(visit.call, visit.family, visit.resource)
    if psu_id in allowed and psu_id not in visit.customers:
        return _step(visit, visit.words("signed_already"), field="psuId", typed=psu_id)
    try:
        identified = check_password(visit.call, visit.id, visit.authorisation, psu_id, password)
        if methods_of(visit.call, identified):
            identified = authenticate(visit.call, visit.id, visit.authorisation, psu_id, password)
    except BankError as error:
        if error.name != "credentials-invalid":
            raise
        return _show_mistake(visit, error, visit.words("credentials_wrong"), "psuId", psu_id)
    visit.note(**identified, signed_in=True)
    return _again(visit)


def _choose_accounts(visit: Visit, form: Form) -> Reply:
    resource = visit.resource
    numbers = {id: number_of(with_id(id, visit.call.state.get("accounts", id) or {})) for id in visit.offered}
    chosen = [id for id, number in numbers.items() if {id, number} & {*form.get("account", ())}]
    if visit.lacks_payer:
        return _choose_payer(visit, chosen[:1])
    if not chosen:
        return _step(visit, visit.words("account_missing"), field="account-1")
    if visit.authorisation["psuId"] not in holders(visit.call, visit.family, {**resource, "accounts": chosen}):
        return _step(visit, visit.words("account_foreign"), field="account-1")
    visit.note(accounts=chosen)
    return _again(visit)


def _choose_payer(visit: Visit, chosen: list[str]) -> Reply:
    if not chosen:
        return _step(visit, visit.words("payer_missing"), field="account-1")
    if not covers(visit.call, chosen[0], visit.resource):
        return _step(visit, visit.words("payer_poor"), field="account-1")
    visit.note(accounts=chosen)
    return _again(visit)


def _choose_method(visit: Visit, form: Form) -> Reply:
    method = _field(form, "method")
    if method not in [offered["id"] for offered in methods_of(visit.call, visit.authorisation)]:
        return _step(visit, visit.words("method_missing"), field="method-1")
    choose_method(visit.call, visit.id, visit.authorisation, method)
    return _again(visit)


def _confirm(visit: Visit, form: Form) -> Reply:
    if methods_of(visit.call, visit.authorisation):
        otp = _field(form, "otp").strip()
        if not otp:
            return _step(visit, visit.words("otp_missing"), field="otp")
        try:
            check_otp(visit.call, visit.id, visit.authorisation, otp)
        except BankError as error:
            if error.name != "credentials-invalid":
                raise
            return _show_mistake(visit, error, visit.words("otp_wrong"), "otp")
    return _approve(visit)


_ACTIONS: dict[str, Callable[[Visit, Form], Reply]] = {
    LOGIN: _log_in,
    ACCOUNTS: _choose_accounts,
    METHOD: _choose_method,
    APPROVE: _confirm,
}


def _show_mistake(visit: Visit, error: BankError, text: str, field: str, typed: str = "") -> Reply:
    """Show the mistake. It has been counted; if it was the last allowed one, the authorisation has ended."""
    if visit.step != ENDED:
        return _step(visit, text, field=field, error=error, typed=typed)
    visit.note(ending="attempts")
    return _leave(visit)


# -- endings


def _decide(visit: Visit, decision: str) -> Reply:
    """Take all steps at once, for tests without a browser."""
    if decision != "approve":
        fail(visit.call, visit.id, visit.authorisation)
        visit.note(ending=decision)
        return _leave(visit)
    if not visit.authorisation.get("signed_in"):
        visit.note(psuId=next(iter(visit.customers), None))
    return _approve(visit)


def _approve(visit: Visit) -> Reply:
    authorisation = visit.authorisation
    chosen = authorisation.get("accounts")
    if visit.lacks_payer:
        chosen = chosen or [id for id in visit.offered if covers(visit.call, id, visit.resource)][:1]
        if not chosen:
            return _end(visit, "funds")
    if chosen and (visit.may_choose or visit.lacks_payer):
        visit.call.state.put(visit.family.collection, visit.resource_id, visit.with_accounts(chosen))
    spared = authorisation["status"] == "deciding" and not methods_of(visit.call, authorisation)
    exempted = spared and habit(visit.call, authorisation, "without_method") == "exempted"
    end = exempt if exempted and not authorisation["code"] else succeed
    ended = end(visit.call, visit.id, authorisation)
    if ended["status"] == "failed":
        return _leave(visit) if ended["ending"] != "error" else _build_final_page(visit, "failed")
    visit.note(ending="approve")
    return _leave(visit)


def _end(visit: Visit, ending: str) -> Reply:
    """End with a technical failure. It is shown on a page, as a bank would do, and the browser is not redirected."""
    fail(visit.call, visit.id, visit.authorisation)
    visit.note(ending=ending)
    return _build_final_page(visit, "failed") if ending == "error" else _leave(visit)


def _leave(visit: Visit) -> Reply:
    authorisation = visit.authorisation
    good = authorisation["status"] != "failed"
    code = authorisation["code"] if authorisation["status"] == "unconfirmed" else None
    if good and authorisation.get("oauth"):
        code = new_code(visit.call, visit.id, authorisation)
    url = return_address(authorisation, good=good, code=code, name=visit.call.authorising.code)
    return redirect(url, *PRIVATE) if url else _build_final_page(visit, authorisation["ending"], code=code)


def _turn_away(call: Call, to: LinkedPage, own: Words, *, at_once: bool) -> Reply:
    """Turn the customer away because the account cannot cover the payment.

    The state does not change yet: the first read of the payment rejects it.
    """
    addresses = {"ok": to.resource.get("redirect_uri"), "nok": to.resource.get("nok_redirect_uri"), "status": "failed"}
    back = return_address(addresses, good=False)
    if back and at_once:
        return redirect(back, *PRIVATE)
    values = {"subject": summary_of(call, to.family, to.resource, own), "family": to.family.name}
    return Page("end", {**_ending(addresses, "funds"), **values, **_told(call, to.family, to.resource)}, words=own)


def _over(visit: Visit) -> Page:
    """Return the page for a link that has been used or has expired."""
    authorisation = visit.authorisation
    if authorisation.get("abandoned"):
        raise status_invalid(visit.family.machine.name, visit.resource_id, visit.resource)
    expired = (
        "ending" not in authorisation
        and authorisation["status"] == "failed"
        and authorisation["attempts"] < habit(visit.call, authorisation, "attempts")
        and datetime.fromisoformat(authorisation["expires"]) <= visit.call.clock.now()
    )
    error = status_invalid("authorisation", visit.id, authorisation)
    return _build_final_page(visit, "expired" if expired else "used", error=error)


def _build_final_page(visit: Visit, outcome: str, *, code: str | None = None, error: BankError | None = None) -> Page:
    told = _told(visit.call, visit.family, visit.resource, visit.authorisation)
    return Page(
        "end",
        {**_common(visit), **_ending(visit.authorisation, outcome, code), **told},
        error,
        words=visit.words,
    )


def _ending(authorisation: Mapping[str, Any], outcome: str, code: str | None = None) -> dict[str, Any]:
    """Return the values of the last page.

    `unusable` is true if the app registered addresses, but a browser may not be sent to any of them.
    """
    good = authorisation["status"] != "failed"
    return {
        "outcome": outcome,
        "good": good,
        "code": code,
        "back": return_address(authorisation, good=good),
        "unusable": bool(authorisation["ok"] or authorisation["nok"]) and not list_registered(authorisation),
    }


def _told(
    call: Call, family: Family, resource: Mapping[str, Any], authorisation: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the states in the words of the interface. `rejected` is true if the resource is known to be rejected."""
    return {
        "status": call.states.word("authorisation", authorisation["status"]) if authorisation else None,
        "state": call.states.word(family.machine.name, resource.get("status", _AUTHORISED)),
        "rejected": resource.get("status") == "RJCT",
    }


def _again(visit: Visit) -> Response:
    """Redirect to the current step with GET, so that a reload does not send the form again."""
    return redirect(visit.link, *PRIVATE)


def _common(visit: Visit) -> dict[str, Any]:
    resource = visit.resource
    if chosen := visit.authorisation.get("accounts"):
        resource = visit.with_accounts(chosen)
    return {
        "subject": summary_of(visit.call, visit.family, resource, visit.words),
        "app": asking(visit.authorisation),
        "family": visit.family.name,
    }


def _name(visit: Visit, psu_id: str) -> str:
    return (visit.call.state.get("psus", psu_id) or {}).get("name") or psu_id


def _field(form: Form, name: str) -> str:
    return form.get(name, [""])[0]
