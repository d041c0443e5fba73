"""One visit of the payment user: the resource of the link, the authorisation, and the next step."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode

from xs2a_sandbox.bank.domain.access import lets_choose, limit, of_signers
from xs2a_sandbox.bank.domain.lifecycle import SCA
from xs2a_sandbox.bank.domain.signing import (
    AUTHORISATIONS,
    FAMILIES,
    Family,
    accounts_of,
    apply_event,
    find_required_signers,
    holders,
    lacks_payer,
    status_invalid,
    status_of,
    unknown_error,
    with_payer,
)
from xs2a_sandbox.bank.handlers.approaches import REDIRECT, begin, is_superseded, methods_of
from xs2a_sandbox.bank.handlers.authorisations import check_signable, check_startable
from xs2a_sandbox.bank.handlers.consents import find_consent
from xs2a_sandbox.bank.sca_pages.words import Words, words
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.dialect.authorisation import ID, ON_PAGES
from xs2a_sandbox.cassette.evaluation.values import to_text
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Headers
from xs2a_sandbox.state import Document

_MOST_FIELDS = 1000
LOGIN, ACCOUNTS, METHOD, APPROVE, ENDED = "login", "accounts", "method", "approve", "ended"

Form = Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class Visit:
    """Reads the state again at every access.

    `link` is the query that returns to this page; `words` are the bank's texts.
    """

    call: Call
    family: Family
    resource_id: str
    id: str
    link: str
    words: Words = field(default_factory=words)

    @property
    def resource(self) -> Document:
        return self.call.state.get(self.family.collection, self.resource_id) or {}

    @property
    def authorisation(self) -> Document:
        return self.call.state.get(AUTHORISATIONS, self.id) or {}

    def note(self, **members: Any) -> None:
        self.call.state.put(AUTHORISATIONS, self.id, {**self.authorisation, **members})

    @property
    def step(self) -> str:
        authorisation = self.authorisation
        status = authorisation["status"]
        if status in SCA.final or status == "unconfirmed":
            return ENDED
        if not authorisation.get("signed_in"):
            return LOGIN
        if self.may_choose and "accounts" not in authorisation:
            return ACCOUNTS
        return METHOD if status == "authenticated" else APPROVE

    @property
    def steps(self) -> list[str]:
        """All steps, done or not. Before the login the first possible signer is assumed."""
        psu = self.authorisation.get("psuId") or next(iter(self.customers), None)
        several = len(methods_of(self.call, {"psuId": psu})) > 1
        is_later = self._is_open_consent and lets_choose(self.resource) and not self.authorisation.get("signed_in")
        chooses = self.may_choose or is_later or (self.lacks_payer and len(accounts_of(self.call, psu)) > 1)
        return [LOGIN, *([ACCOUNTS] if chooses else []), *([METHOD] if several else []), APPROVE]

    @property
    def may_choose(self) -> bool:
        """Whether the customer can choose accounts. After the first signature the accounts of a consent are fixed."""
        return (self._is_open_consent or self.lacks_payer) and len(self.offered) > 1

    @property
    def lacks_payer(self) -> bool:
        """Whether the customer has to choose the account that pays for this payment."""
        return lacks_payer(self.family, self.resource)

    @property
    def _is_open_consent(self) -> bool:
        return self.family.name == "consent" and self.resource.get("status") == "awaiting" and not self.signed

    @property
    def offered(self) -> list[str]:
        """The accounts that a consent may cover; if it names none, those of the logged-in customer.

        For a payment, the accounts that may pay it.
        """
        resource, psu = self.resource, self.authorisation.get("psuId")
        if self.lacks_payer:
            return accounts_of(self.call, psu)
        if lets_choose(resource) and psu and self.authorisation.get("signed_in"):
            return of_signers(resource, self.call.state.all("accounts"), [psu])
        return list(resource["accounts"])

    def with_accounts(self, ids: list[str]) -> Document:
        """Return the consent limited to these accounts, or the payment from the first of them."""
        if self.family.name in ("payment", "mandate"):
            return with_payer(self.resource, ids[0])
        payers = {id: card["account"] for id, card in self.call.state.all("cards").items()}
        return limit(self.resource, ids, payers)

    @property
    def signed(self) -> list[str]:
        return list(self.resource.get(self.family.signed, ()))

    @property
    def customers(self) -> list[str]:
        """The customers who may sign and have not yet. The customer named by the app is first."""
        everybody = holders(self.call, self.family, self.resource)
        left = [psu for psu in everybody if psu not in self.signed] or everybody
        return sorted(left, key=lambda psu: psu != self.authorisation.get("psuId"))


@dataclass(frozen=True, slots=True)
class LinkedPage:
    """The page that a link leads to. `link` is the query that leads there again."""

    family: Family
    id: str
    resource: Document
    link: str

    @property
    def unfunded(self) -> bool:
        """Whether authorisation is pointless because the account has too little money."""
        return bool(self.resource.get("unfunded")) and self.resource["status"] in ("RCVD", "RJCT")


def destination(call: Call) -> LinkedPage:
    """Return the page of the request's path and query. Raises BankError."""
    pages = [(name, page) for name, one in call.authorising.of.items() if (page := one.page)]
    found = next(((FAMILIES[name], page) for name, page in pages if page.path == call.segments[1:]), None)
    if found is None:
        raise BankError("path-unknown", id=call.self_path)
    family, parameters = found[0], found[1].parameters
    for parameter in parameters:
        if not call.query.get(parameter):
            raise BankError("format-error", expected=f"the link is incomplete: the parameter {parameter} is missing")
    # The browser does not repeat the app's headers, such as preferences and redirect addresses.
    spoken = call.request.headers.get("accept-language")
    call.replace_headers(Headers([("Accept-Language", spoken)] if spoken else []))
    call.options = {"sca": REDIRECT}
    id, resource = _find(call, family, {word: call.query[parameter] for parameter, word in parameters.items()})
    link = "?" + urlencode({parameter: call.query[parameter] for parameter in parameters})
    return LinkedPage(family, id, resource, link)


def _find(call: Call, family: Family, named: Mapping[str, str]) -> tuple[str, Document]:
    """Return the stored id and the resource with this id and these members. Raises BankError."""
    id = as_kept(named[ID])
    resource = find_consent(call, named[ID])[1] if family.name == "consent" else call.state.get(family.collection, id)
    members = ((word, value) for word, value in named.items() if word != ID)
    if resource is None or any(to_text(resource.get(word)) != value for word, value in members):
        raise BankError("path-unknown" if family.name == "login" else unknown_error(family), id=named[ID])
    return id, resource


def arrive(call: Call, to: LinkedPage, form: Form, own: Words) -> Visit:
    """Return the visit that the request starts or continues. Raises BankError."""
    if "authorisation" in form:
        id = _of_form(call, to.family, to.resource, form["authorisation"][0], form.get("nonce", [""])[0])
    else:
        id = _authorisation(call, to.family, to.id, to.resource)
    visit = Visit(call, to.family, to.id, id, to.link, own)
    if visit.step != ENDED:
        check_open(call, to.family, to.id, to.resource)
        if SCA.after(visit.authorisation["status"], "begin"):
            apply_event(call, id, visit.authorisation, "begin")
    return visit


def check_open(call: Call, family: Family, id: str, resource: Document) -> None:
    """Check that the payment user can still decide something. Raises BankError."""
    if not _is_valid(call, family, resource):
        check_signable(call, family, id, resource)


def read_form(call: Call) -> Form:
    """Return the fields of the submitted form, or nothing if the link was only opened. Raises BankError."""
    if call.request.method != "POST":
        return {}
    try:
        form = parse_qs(call.request.body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise _not_ours() from None
    if "authorisation" not in form:
        raise _not_ours()
    return form


def _authorisation(call: Call, family: Family, id: str, resource: Document) -> str:
    """Return the newest authorisation that waits for the customer.

    A new one if there is none or another signer is missing.
    """
    listed: list[tuple[str, Document]] = [
        (listed_id, call.state.get(AUTHORISATIONS, listed_id) or {}) for listed_id in resource.get(family.listed, ())
    ]
    for authorisation_id, authorisation in reversed(listed):
        status = authorisation["status"]
        if authorisation["approach"] in ON_PAGES and status not in SCA.final and status != "unconfirmed":
            return authorisation_id
    signed = set(resource.get(family.signed, ()))
    others = signed and find_required_signers(call, family, resource) - signed
    if listed and not others and not is_superseded(call, listed[-1][0]):
        authorisation_id, authorisation = listed[-1]
        if authorisation["status"] in SCA.final or authorisation["approach"] in ON_PAGES:
            return authorisation_id
        raise status_invalid("authorisation", authorisation_id, authorisation)
    if not _is_valid(call, family, resource):
        check_startable(call, family, id, resource)
    return begin(call, family, id, implicit=True)[0]


def _of_form(call: Call, family: Family, resource: Document, id: str, nonce: str) -> str:
    authorisation = call.state.get(AUTHORISATIONS, id) if id in resource.get(family.listed, ()) else None
    if authorisation is None or not secrets.compare_digest(authorisation["nonce"].encode(), nonce.encode()):
        raise _not_ours()
    return id


def _is_valid(call: Call, family: Family, resource: Document) -> bool:
    """Return whether the consent is valid without a signature. Its page works, but changes nothing."""
    valid = family.name == "consent" and status_of(resource) == "authorised"
    return valid and not resource.get(family.signed)


def _not_ours() -> BankError:
    return BankError(
        "format-error", expected="this form was not sent from the page behind the link; open the link again"
    )
