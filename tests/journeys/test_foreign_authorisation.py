"""A bank of another family, defined only in YAML: its own pages, parameters and names, and an authorisation endpoint
that uses claims.

Its authorisations are started only by effects.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from tests.contract import facts
from tests.support.engine_client import Answer, Client, build
from tests.support.visitor import OTPS, Visitor, transaction
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.authoring.lint import check
from xs2a_sandbox.features.pytest.in_process import LoopThread
from xs2a_sandbox.features.pytest.sandbox import Blueprint, Sandbox

BANK = """\
    cassette: 1
    authorisation:
      attempts: 2
      code: proof
      of:
        consent:
          page: "access?intent={id}"
          rows:
            - {label: Purpose, text: "{{ resource.purpose }}"}
            - {label: Contract, text: "{{ resource.contract }}"}
        payment: {page: "pay/order?order={id}&branch={office}", sca: oauth, confirmation: true}
      scopes:
        payments: {paths: [pay]}
      endpoint:
        path: oauth/start
        pkce: optional
        scope: optional
        finds:
          consent: "{{ query.claims[7:] if query.claims[:7] == 'intent:' }}"
          payment: "{{ query.claims[6:] if query.claims[:6] == 'order:' }}"
        otherwise: claims must name an intent or an order
    every_error: {body: {reason: "{{ error.text }}"}}
    operations:
      - id: intent
        method: POST
        path: /access
        let: {id: "{{ body.id }}"}
        effects:
          - set: "state.consents[let.id]"
            to:
              status: awaiting
              accounts: ["{{ body.iban }}"]
              purpose: Bookkeeping
              contract: "{{ body.contract }}"
          - {do: begin-authorisation, with: {family: consent, id: "{{ let.id }}", sca: "{{ body.sca }}"}, as: begun}
        respond: {status: 201, body: {page: "{{ session.url }}/sca/{{ let.begun.page }}"}}
      - id: order
        method: POST
        path: /pay
        let: {id: "{{ body.id }}"}
        effects:
          - set: "state.payments[let.id]"
            to:
              kind: single
              status: RCVD
              office: web
              amount: "{{ body.amount }}"
              parts:
                - {amount: "{{ body.amount }}", creditor: {name: Bookshop, account: {iban: DE65999777660000001000}}}
              debtor: null
          - {do: begin-authorisation, with: {family: payment, id: "{{ let.id }}", sca: "{{ body.sca }}"}, as: begun}
        respond: {status: 201, body: {page: "{{ session.url }}/sca/{{ let.begun.page }}"}}
      - id: order-state
        method: GET
        path: /pay/{id}
        let: {order: "{{ state.payments[path.id] }}"}
        respond: {body: {state: "{{ let.order.status }}", from: "{{ let.order.debtor.account }}"}}
      - id: token
        method: POST
        path: /token
        handler: token.issue
        with: {expires_in: 60, grants: [authorization_code]}
        respond: {nulls: drop, body: {access_token: "{{ result.token }}", scope: "{{ result.scope }}"}}
    errors:
      token-request-invalid: {status: 400, code: bad, text: "{{ expected }}"}
      grant-invalid: {status: 400, code: bad, text: "{{ expected }}"}
      grant-unsupported: {status: 400, code: bad, text: "one of {{ offered }}"}
      scope-invalid: {status: 400, code: bad, text: "{{ expected }}"}
      token-client-unknown: {status: 401, code: bad, text: "{{ expected }}"}
      credentials-invalid: {status: 401, code: bad, text: wrong}
      consent-unknown: {status: 404, code: bad, text: "no intent {{ id }}"}
      payment-unknown: {status: 404, code: bad, text: "no order {{ id }}"}
    """
OWN = [iban for iban, account in facts.accounts().items() if account["psuId"] == "anna"]
BACK = "https://app.example/back"
QUERY = {"response_type": "code", "client_id": "demo-tpp", "redirect_uri": BACK, "state": "7"}
AMOUNT = {"currency": "EUR", "amount": "12.50"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    dialect = tmp_path / "cassettes" / "foreign"
    dialect.mkdir(parents=True)
    (dialect / "bank.yaml").write_text(dedent(BANK))
    return tmp_path


@pytest.fixture
def bank(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.chdir(folder)
    return Client(build(Settings(state="memory:", confdir=folder, dialect="foreign")))


def local(answer: Answer) -> str:
    parts = urlsplit(answer.json()["page"])
    return f"{parts.path}?{parts.query}"


def intent(bank: Client, sca: str = "redirect") -> Visitor:
    made = bank.post("/access", json={"id": "i 1", "iban": OWN[0], "sca": sca})
    assert made.status == 201, made.body
    return Visitor(bank, local(made))


def order(bank: Client, sca: str = "redirect", **amount: str) -> Visitor:
    made = bank.post("/pay", json={"id": "o1", "amount": {**AMOUNT, **amount}, "sca": sca})
    assert made.status == 201, made.body
    return Visitor(bank, local(made), "/pay/o1")


def endpoint(bank: Client, claims: str, **more: str) -> Answer:
    return bank.get(f"/sca/oauth/start?{urlencode({**QUERY, 'claims': claims, **more})}", headers={})


def brought(answer: Answer) -> dict[str, str]:
    assert answer.status == 303, answer.body
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


def exchange(bank: Client, **form: str) -> Answer:
    body = {"grant_type": "authorization_code", "redirect_uri": BACK, "client_id": "demo-tpp", **form}
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return bank.post("/token", body=urlencode(body).encode(), headers=headers)


def row(page: str, label: str) -> list[str]:
    found: list[str] = re.findall(rf"<dt>{label}</dt>\s*<dd>(.*?)</dd>", page)
    return found


def test_lint_finds_no_problems(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    problems = check(Settings(state="memory:", confdir=folder, dialect="foreign"))
    assert [problem.text for problem in problems] == []


def test_a_page_has_its_own_address_and_rows(bank: Client) -> None:
    visit = intent(bank)
    assert visit.link == "/sca/access?intent=i%201"
    visit.open()
    assert row(visit.page, "Purpose") == ["Bookkeeping"]
    assert not any(row(visit.page, label) for label in ("Contract", "Until", "How often"))
    visit.send(customer="anna")
    assert visit.send(otp=OTPS["anna"]).status == 200
    assert visit.title == "Approved"
    assert (transaction(bank).get("consents", "i 1") or {})["status"] == "authorised"


def test_a_test_can_approve_a_consent_that_no_operation_starts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    own = Sandbox(Blueprint.read(Settings(state="memory:", confdir=folder, dialect="foreign")), LoopThread())
    own.state.put("consents", "i1", {"status": "awaiting", "accounts": [OWN[0]]})
    assert own.approve("i1") == "authorised"


@pytest.mark.parametrize("link", ["/sca/consents?consent_id=1", "/sca/authorize", "/sca/access/1", "/sca"])
def test_pages_of_other_banks_are_not_found(bank: Client, link: str) -> None:
    assert bank.get(link).status == 404


@pytest.mark.parametrize(
    ("link", "status"), [("order=o1", 400), ("order=o1&branch=desk", 404), ("order=o2&branch=web", 404)]
)
def test_a_link_must_contain_all_parameters_of_its_page(bank: Client, link: str, status: int) -> None:
    order(bank)
    assert bank.get(f"/sca/pay/order?{link}").status == status


def test_the_section_sets_the_number_of_attempts(bank: Client) -> None:
    visit = intent(bank)
    visit.open()
    visit.send(psuId="anna", password="wrong")
    assert "1 attempt left" in visit.page
    visit.send(psuId="anna", password="wrong")
    assert visit.title == "Locked after too many attempts"


# -- choosing the account for a payment


def test_the_customer_chooses_the_account(bank: Client) -> None:
    visit = order(bank)
    visit.open()
    assert row(visit.page, "From") == ["The account that you choose"]
    visit.send(customer="anna")
    assert visit.step == "accounts"
    assert set(re.findall(r'type="radio"[^>]* value="(\w+)"', visit.page)) >= set(OWN)
    assert visit.send(account=None, follow=False).status == 200
    assert "Choose an account." in visit.page
    visit.send(account=OWN[1])
    assert OWN[1] in row(visit.page, "From")[0].replace(" ", "")
    visit.send(otp=OTPS["anna"])
    state = transaction(bank).get("payments", "o1") or {}
    assert state["debtor"] == {"account": OWN[1]}


def test_an_account_without_enough_money_is_refused(bank: Client) -> None:
    visit = order(bank, amount="999999.00")
    visit.log_in()
    visit.send(account=OWN[0])
    assert "does not have enough money" in visit.page
    assert visit.open(decide="approve").status == 200
    assert visit.title == "There is not enough money"
    assert bank.get(visit.resource).json() == {"state": "RJCT", "from": None}


@pytest.mark.parametrize("sca", ["redirect", "decoupled"])
def test_without_a_choice_an_account_of_the_customer_is_used(bank: Client, sca: str) -> None:
    visit = order(bank, sca)
    if sca == "redirect":
        assert visit.open(decide="approve").status == 200
        assert bank.get(visit.resource).json()["from"] is not None
    else:
        (id,) = transaction(bank).own("authorisations")
        bank.engine.use(admin_token="admin")
        headers = {"Authorization": "Bearer admin"}
        assert bank.post(f"/_sandbox/sca/{id}", json={"decide": "approve"}, headers=headers).status == 200
        assert bank.get(visit.resource).json()["from"] in facts.accounts()
        assert bank.get(visit.resource).json()["state"] == "ACSP"


def test_the_confirmation_code_has_the_parameter_name_of_the_dialect(bank: Client) -> None:
    order(bank)
    (id,) = transaction(bank).own("authorisations")
    state = transaction(bank)
    state.put("authorisations", id, {**(state.get("authorisations", id) or {}), "ok": BACK})
    assert state.commit()
    assert brought(bank.get("/sca/pay/order?order=o1&branch=web&decide=approve")).keys() == {"proof"}


# -- OAuth


def code(bank: Client, claims: str, **more: str) -> str:
    lead = endpoint(bank, claims, **more)
    assert lead.status == 303, lead.body
    link = lead.headers["location"]
    assert link.startswith("../")
    back = brought(bank.get(f"/sca/{link.removeprefix('../')}&decide=approve"))
    assert back.keys() == {"code", "state"}
    return back["code"]


def test_a_claim_opens_the_page_without_a_proof_of_possession(bank: Client) -> None:
    order(bank, "oauth")
    given = exchange(bank, code=code(bank, "order:o1", scope="payments"))
    assert (given.status, given.json()["scope"]) == (200, "payments")
    token = transaction(bank).get("tokens", given.json()["access_token"]) or {}
    assert (token["family"], token["resource"]) == ("payment", "o1")


def test_the_scope_is_optional(bank: Client) -> None:
    intent(bank, "oauth")
    given = exchange(bank, code=code(bank, "intent:i 1"))
    assert (given.status, given.json().keys()) == (200, {"access_token"})


VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("challenge", "form", "reason"),
    [
        ({"code_challenge": CHALLENGE, "code_challenge_method": "S256"}, {"code_verifier": VERIFIER}, None),
        ({"code_challenge": CHALLENGE, "code_challenge_method": "S256"}, {}, "code_verifier is required"),
        ({"code_challenge": CHALLENGE, "code_challenge_method": "S256"}, {"code_verifier": "x"}, "does not match"),
        ({}, {"code_verifier": VERIFIER}, "had no code_challenge"),
    ],
)
def test_a_challenge_must_be_answered(
    bank: Client, challenge: Mapping[str, str], form: Mapping[str, str], reason: str | None
) -> None:
    order(bank, "oauth")
    answer = exchange(bank, code=code(bank, "order:o1", **challenge), **form)
    error: Any = answer.json()
    assert answer.status == (400 if reason else 200)
    assert reason is None or reason in error["reason"]


def test_an_unknown_claim_is_an_error_in_the_words_of_the_bank(bank: Client) -> None:
    answer = brought(endpoint(bank, "order:none"))
    assert (answer["error"], answer["error_description"]) == ("invalid_scope", "claims must name an intent or an order")
    order(bank, "redirect")
    assert brought(endpoint(bank, "order:o1"))["error"] == "access_denied"
