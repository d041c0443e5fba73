"""The page behind `scaRedirect`: its steps, what its buttons do, and how a visit ends (spec 2.1, 2.9)."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from xs2a_sandbox.bank.domain.signing import exempt, fail, holders, status_of, succeed
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

PAGES = "sca"
"""The first segment of the path of these pages."""

ENDINGS = ("decline", "cancel", "timeout", "error")
_DECISIONS = ("approve", "decline", "timeout", "error")
_METHODS = ("GET", "HEAD", "POST")

Reply = Page | Response


def serve(call: Call, options: Mapping[str, Mapping[str, Any]], own: Words) -> Reply:
    """`options` are, by family, those of the operation that starts an authorisation, `own` the bank's words.

    Raises BankError.
    """
    if call.request.method not in _METHODS:
        raise BankError("method-not-offered", method=call.request.method, allow=", ".join(_METHODS))
    if call.segments[1:] == (authorization_request.ENDPOINT,):
        return authorization_request.lead_on(call)
    form, to = read_form(call), destination(call, options)
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
    """The page of the step that the visit is at; `problem` is what was wrong with what was sent, in which field."""
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
        "methods": [
            {"id": id, "name": method_entry.get("name") or id, "type": method_entry.get("authenticationType") or ""}
            for method_entry in methods_of(visit.call, authorisation)
            if (id := method_entry["authenticationMethodId"])
        ],
        "method": authorisation.get("method"),
        "otp": psu.get("otp"),
    }
    return Page("step", values, error, list_registered(authorisation), visit.words)


def _log_in(visit: Visit, form: Form) -> Reply:
    """Logs in: with one click the sandbox fills in the password of its customer."""
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
    visit.note(**identified, signedIn=True)
    return _again(visit)


def _choose_accounts(visit: Visit, form: Form) -> Reply:
    resource = visit.resource
    chosen = [iban for iban in visit.offered if iban in form.get("account", ())]
    if not chosen:
        return _step(visit, visit.words("account_missing"), field="account-1")
    if visit.authorisation["psuId"] not in holders(visit.call, visit.family, {**resource, "accounts": chosen}):
        return _step(visit, visit.words("account_foreign"), field="account-1")
    visit.note(accounts=chosen)
    return _again(visit)


def _choose_method(visit: Visit, form: Form) -> Reply:
    method = _field(form, "method")
    if method not in [offered["authenticationMethodId"] for offered in methods_of(visit.call, visit.authorisation)]:
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
    """It has been counted; the last one has ended the authorisation."""
    if visit.step != ENDED:
        return _step(visit, text, field=field, error=error, typed=typed)
    visit.note(ending="attempts")
    return _leave(visit)


# -- endings


def _decide(visit: Visit, decision: str) -> Reply:
    """Takes all steps at once, for tests without a browser."""
    if decision != "approve":
        fail(visit.call, visit.id, visit.authorisation)
        visit.note(ending=decision)
        return _leave(visit)
    if not visit.authorisation.get("signedIn"):
        visit.note(psuId=next(iter(visit.customers), None))
    return _approve(visit)


def _approve(visit: Visit) -> Reply:
    authorisation = visit.authorisation
    chosen = authorisation.get("accounts")
    if chosen and visit.may_choose:
        visit.call.state.put(visit.family.collection, visit.resource_id, visit.limit_consent(chosen))
    spared = authorisation["scaStatus"] == "started" and not methods_of(visit.call, authorisation)
    exempted = spared and habit(visit.call, authorisation, "without_method") == "exempted"
    end = exempt if exempted and not authorisation["code"] else succeed
    ended = end(visit.call, visit.id, authorisation)
    if ended["scaStatus"] == "failed":
        return _leave(visit) if ended["ending"] != "error" else _build_final_page(visit, "failed")
    visit.note(ending="approve")
    return _leave(visit)


def _end(visit: Visit, ending: str) -> Reply:
    """A technical failure shows itself, as a bank's would; the browser goes nowhere by itself."""
    fail(visit.call, visit.id, visit.authorisation)
    visit.note(ending=ending)
    return _build_final_page(visit, "failed") if ending == "error" else _leave(visit)


def _leave(visit: Visit) -> Reply:
    authorisation = visit.authorisation
    good = authorisation["scaStatus"] != "failed"
    code = authorisation["code"] if authorisation["scaStatus"] == "unconfirmed" else None
    if good and authorisation.get("oauth"):
        code = new_code(visit.call, visit.id, authorisation)
    url = return_address(authorisation, good=good, code=code)
    return redirect(url, *PRIVATE) if url else _build_final_page(visit, authorisation["ending"], code=code)


def _turn_away(call: Call, to: LinkedPage, own: Words, *, at_once: bool) -> Reply:
    """The account cannot cover the payment. That changes nothing: the first read of the payment rejects it."""
    addresses = {"ok": to.resource["redirectUri"], "nok": to.resource["nokRedirectUri"], "scaStatus": "failed"}
    back = return_address(addresses, good=False)
    if back and at_once:
        return redirect(back, *PRIVATE)
    values = {"subject": summary_of(call, to.family, to.resource, own), "family": to.family.name, "status": None}
    return Page("end", {**_ending(addresses, "funds"), **values, "state": to.resource["transactionStatus"]}, words=own)


def _over(visit: Visit) -> Page:
    """The link has been used, or is too old."""
    authorisation = visit.authorisation
    if authorisation.get("abandoned"):
        raise BankError("status-invalid", id=visit.resource_id, status=status_of(visit.family, visit.resource))
    expired = (
        "ending" not in authorisation
        and authorisation["scaStatus"] == "failed"
        and authorisation["attempts"] < habit(visit.call, authorisation, "attempts")
        and datetime.fromisoformat(authorisation["expires"]) <= visit.call.clock.now()
    )
    error = BankError("status-invalid", id=visit.id, status=authorisation["scaStatus"])
    return _build_final_page(visit, "expired" if expired else "used", error=error)


def _build_final_page(visit: Visit, outcome: str, *, code: str | None = None, error: BankError | None = None) -> Page:
    state = visit.resource.get(visit.family.status, "valid")
    return Page(
        "end",
        {**_common(visit), **_ending(visit.authorisation, outcome, code), "state": state},
        error,
        words=visit.words,
    )


def _ending(authorisation: Mapping[str, Any], outcome: str, code: str | None = None) -> dict[str, Any]:
    """The values of the last page; `unusable` where the app registered addresses, and none that browsers may go to."""
    good = authorisation["scaStatus"] != "failed"
    return {
        "outcome": outcome,
        "good": good,
        "code": code,
        "back": return_address(authorisation, good=good),
        "unusable": bool(authorisation["ok"] or authorisation["nok"]) and not list_registered(authorisation),
        "status": authorisation["scaStatus"],
    }


def _again(visit: Visit) -> Response:
    """Leads to where the visit now is, with GET: reloading it sends nothing twice."""
    return redirect(visit.link, *PRIVATE)


def _common(visit: Visit) -> dict[str, Any]:
    resource = visit.resource
    if chosen := visit.authorisation.get("accounts"):
        resource = visit.limit_consent(chosen)
    return {
        "subject": summary_of(visit.call, visit.family, resource, visit.words),
        "app": asking(visit.authorisation),
        "family": visit.family.name,
    }


def _name(visit: Visit, psu_id: str) -> str:
    return (visit.call.state.get("psus", psu_id) or {}).get("name") or psu_id


def _field(form: Form, name: str) -> str:
    return form.get(name, [""])[0]
