"""One visit of the payment user to our pages: what the link names, which authorisation it is, which step comes next."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
    """Reads the state anew whenever it is asked. `link` is the query that leads here again, `words` are the bank's."""

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
        """The steps that come, or have been. Before somebody logs in it is supposed to be the first who may sign."""
        psu = self.authorisation.get("psuId") or next(iter(self.customers), None)
        several = len(methods_of(self.call, {"psuId": psu})) > 1
        is_later = self._is_open_consent and lets_choose(self.resource) and not self.authorisation.get("signed_in")
        chooses = self.may_choose or is_later or (self.lacks_payer and len(accounts_of(self.call, psu)) > 1)
        return [LOGIN, *([ACCOUNTS] if chooses else []), *([METHOD] if several else []), APPROVE]

    @property
    def may_choose(self) -> bool:
        """Tells if the customer chooses accounts: what a consent covers is settled once somebody has signed."""
        return (self._is_open_consent or self.lacks_payer) and len(self.offered) > 1

    @property
    def lacks_payer(self) -> bool:
        """Tells if it is a payment whose customer chooses the account that pays."""
        return lacks_payer(self.family, self.resource)

    @property
    def _is_open_consent(self) -> bool:
        return self.family.name == "consent" and self.resource.get("status") == "awaiting" and not self.signed

    @property
    def offered(self) -> list[str]:
        """The accounts that a consent may cover; where it names none, those of the customer who has logged in.

        Of a payment the accounts that may pay it.
        """
        resource, psu = self.resource, self.authorisation.get("psuId")
        if self.lacks_payer:
            return accounts_of(self.call, psu)
        if lets_choose(resource) and psu and self.authorisation.get("signed_in"):
            return of_signers(resource, self.call.state.all("accounts"), [psu])
        return list(resource["accounts"])

    def with_accounts(self, ids: list[str]) -> Document:
        """The consent for just these accounts, or the payment from the first of them."""
        if self.family.name in ("payment", "mandate"):
            return with_payer(self.resource, ids[0])
        payers = {id: card["account"] for id, card in self.call.state.all("cards").items()}
        return limit(self.resource, ids, payers)

    @property
    def signed(self) -> list[str]:
        return list(self.resource.get(self.family.signed, ()))

    @property
    def customers(self) -> list[str]:
        """The customers who may sign and have not; the one whom the app has named comes first."""
        everybody = holders(self.call, self.family, self.resource)
        left = [psu for psu in everybody if psu not in self.signed] or everybody
        return sorted(left, key=lambda psu: psu != self.authorisation.get("psuId"))


@dataclass(frozen=True, slots=True)
class LinkedPage:
    """The page that a link leads to; `link` is the query that leads there again."""

    family: Family
    id: str
    resource: Document
    link: str

    @property
    def unfunded(self) -> bool:
        """Tells if there is nothing to authorise because the money does not suffice."""
        return bool(self.resource.get("unfunded")) and self.resource["status"] in ("RCVD", "RJCT")


def destination(call: Call) -> LinkedPage:
    """Raises BankError."""
    pages = [(name, page) for name, one in call.authorising.of.items() if (page := one.page)]
    found = next(((FAMILIES[name], page) for name, page in pages if page.path == call.segments[1:]), None)
    if found is None:
        raise BankError("path-unknown", id=call.self_path)
    family, parameters = found[0], found[1].parameters
    for parameter in parameters:
        if not call.query.get(parameter):
            raise BankError("format-error", expected=f"the link is not complete: it lacks {parameter}")
    # The wishes of an app, and where it wants the browser back, do not come with a browser.
    spoken = call.request.headers.get("accept-language")
    call.request = replace(call.request, headers=Headers([("Accept-Language", spoken)] if spoken else []))
    call.options = {"sca": REDIRECT}
    id, resource = _find(call, family, {word: call.query[parameter] for parameter, word in parameters.items()})
    link = "?" + urlencode({parameter: call.query[parameter] for parameter in parameters})
    return LinkedPage(family, id, resource, link)


def _find(call: Call, family: Family, named: Mapping[str, str]) -> tuple[str, Document]:
    """The resource with this id whose members are these, and its id as it is kept. Raises BankError."""
    id = as_kept(named[ID])
    resource = find_consent(call, named[ID])[1] if family.name == "consent" else call.state.get(family.collection, id)
    members = ((word, value) for word, value in named.items() if word != ID)
    if resource is None or any(to_text(resource.get(word)) != value for word, value in members):
        raise BankError("path-unknown" if family.name == "login" else unknown_error(family), id=named[ID])
    return id, resource


def arrive(call: Call, to: LinkedPage, form: Form, own: Words) -> Visit:
    """Raises BankError."""
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
    """Raises BankError where there is nothing left for the payment user to decide."""
    if not _is_valid(call, family, resource):
        check_signable(call, family, id, resource)


def read_form(call: Call) -> Form:
    """The fields of a form that was sent; none where the link was only opened. Raises BankError."""
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
    """The newest that waits for the customer; a new one where there is none yet, or somebody else has yet to sign."""
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
    """A consent that is valid without anybody's signature: the page works, and changes nothing."""
    valid = family.name == "consent" and status_of(resource) == "authorised"
    return valid and not resource.get(family.signed)


def _not_ours() -> BankError:
    return BankError(
        "format-error", expected="this form was not sent from the page behind the link; open the link again"
    )
