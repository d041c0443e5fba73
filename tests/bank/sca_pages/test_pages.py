"""The page behind `scaRedirect`, in process: every step and every outcome."""

import asyncio
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.contract import facts
from tests.support.engine_client import Answer, Client, an_engine
from tests.support.rehearsal import authorising
from tests.support.visitor import (
    ANNAS,
    FAMILIES,
    NOK,
    OK,
    OTPS,
    OWN,
    Visitor,
    a_consent,
    a_payment,
    authorisations,
    change,
    freeze,
    transaction,
)
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state.session import SESSION_FAULTS

# -- steps


def test_the_progress_bar_has_the_same_steps_on_every_page(client: Client) -> None:
    (iban, *_) = [iban for iban, one in facts.accounts().items() if one["psuId"] == "zuzana"]
    visit = a_consent(client, iban)
    bars = [_bar(visit.open()), _bar(visit.send(customer="zuzana")), _bar(visit.send(method="chip-zuzana"))]
    assert visit.step == "approve"
    assert bars == [bars[0]] * 3
    assert len(bars[0]) == 3


def _bar(page: Answer) -> list[str]:
    (bar,) = re.findall(r'<ol class="progress">(.*?)</ol>', page.body.decode(), re.DOTALL)
    return re.findall(r"<span>(.+?)</span>", bar)


def test_every_step_of_a_consent(client: Client) -> None:
    zuzanas = [iban for iban, one in facts.accounts().items() if one["psuId"] == "zuzana"]
    visit = a_consent(client, *zuzanas)

    visit.open()
    assert (visit.answer.status, visit.step, visit.title) == (200, "login", "Access to your accounts")
    assert "tpp.example" in visit.page
    assert "4 times a day" in visit.page
    assert visit.sca_status == ["started"]
    assert visit.send(customer="zuzana").status == 200
    assert visit.step == "accounts"
    visit.send(account=zuzanas[1:])
    assert visit.step == "method"
    visit.send(method="chip-zuzana")
    assert visit.step == "approve"
    assert "Kartenleser" in visit.page
    assert OTPS["zuzana"] in visit.page
    assert visit.status == "received"
    visit.send(otp=OTPS["zuzana"])
    assert (visit.answer.status, visit.answer.headers["location"]) == (303, OK)
    assert visit.status == "valid"
    access = client.get(visit.resource).json()["access"]
    for kind in ("accounts", "balances", "transactions"):
        assert [one["iban"] for one in access[kind]] == zuzanas[1:]
    (authorisation,) = authorisations(client).values()
    assert authorisation["method"] == "chip-zuzana"
    assert (authorisation["status"], authorisation["psuId"]) == ("done", "zuzana")


def test_log_in_with_psu_id_and_password(client: Client) -> None:
    visit = a_payment(client)

    visit.open()
    visit.send(psuId=" anna ", password=facts.testdata()["psus"]["anna"]["password"])

    assert visit.step == "approve"


def test_a_customer_without_methods_only_approves(client: Client) -> None:
    visit = a_payment(client, debtor=OWN["felix"], amount="1.00")

    visit.log_in("felix")
    assert visit.step == "approve"
    assert visit.sca_status == ["started"]
    assert 'name="otp"' not in visit.page
    visit.send()

    assert visit.answer.headers["location"] == OK
    assert visit.sca_status == ["exempted"]
    assert visit.status == "ACSP"


def test_approve(client: Client, family: str) -> None:
    make, approved, _ = FAMILIES[family]
    visit = make(client)

    visit.log_in()
    if visit.step == "accounts":
        visit.send(account=ANNAS)
    visit.send(otp=OTPS["anna"])

    assert visit.answer.headers["location"] == OK
    assert visit.status == approved


@pytest.mark.parametrize("signed_in", [False, True])
@pytest.mark.parametrize("ending", ["decline", "cancel", "timeout"])
def test_negative_outcomes(client: Client, family: str, ending: str, signed_in: bool) -> None:
    make, _, refused = FAMILIES[family]
    visit = make(client)

    visit.log_in() if signed_in else visit.open()
    visit.send(end=ending)

    assert (visit.answer.status, visit.answer.headers["location"]) == (303, NOK)
    assert visit.status == refused
    assert visit.sca_status[-1] == "failed"


def test_a_technical_failure_is_shown(client: Client, family: str) -> None:
    make, _, refused = FAMILIES[family]
    visit = make(client)

    visit.open()
    visit.send(end="error")

    assert (visit.answer.status, visit.title) == (200, "Something went wrong at the bank")
    assert f'href="{NOK}"' in visit.page
    assert visit.status == refused


# -- mistakes


def test_the_third_wrong_password_ends_the_authorisation(client: Client) -> None:
    visit = a_payment(client)
    visit.open()

    for left in ("2 attempts left", "1 attempt left"):
        visit.send(psuId="anna", password="wrong")
        assert visit.answer.status == 401
        assert 'role="alert"' in visit.page
        assert left in visit.page
        assert 'value="anna"' in visit.page
    visit.send(psuId="anna", password="wrong")

    assert visit.answer.headers["location"] == NOK
    assert visit.status == "RJCT"


def test_the_third_wrong_one_time_password_ends_the_authorisation(client: Client) -> None:
    visit = a_payment(client)
    visit.log_in()

    for left in ("2 attempts left", "1 attempt left"):
        visit.send(otp="wrong")
        assert (visit.answer.status, visit.step) == (401, "approve")
        assert left in visit.page
    visit.send(otp="wrong")

    assert visit.answer.headers["location"] == NOK
    assert visit.sca_status == ["failed"]


@pytest.mark.parametrize(
    ("psu", "fields"),
    [
        ("", {"psuId": "anna", "password": ""}),
        ("", {"psuId": "", "password": "x"}),
        ("", {}),
        ("anna", {}),
        ("anna", {"account": ["AT699880000020411880"]}),
        ("anna accounts", {"otp": "  "}),
        ("zuzana", {"method": "sms-anna"}),
        ("zuzana", {}),
    ],
)
def test_missing_input_does_not_count_as_an_attempt(client: Client, psu: str, fields: dict[str, Any]) -> None:
    visit = a_consent(client) if "zuzana" not in psu else a_payment(client, debtor=OWN["zuzana"])
    visit.open()
    if psu:
        visit.send(customer=psu.split()[0])
    if "accounts" in psu:
        visit.send(account=ANNAS)
    step = visit.step

    visit.send(**fields)

    assert (visit.answer.status, visit.step) == (200, step)
    assert 'role="alert"' in visit.page
    assert 'aria-invalid="true"' in visit.page
    assert "left." not in visit.page


def test_other_customers_may_not_sign(client: Client) -> None:
    visit = a_payment(client)
    visit.open()
    assert 'value="lukas"' not in visit.page

    assert visit.send(customer="lukas").status == 401
    assert visit.send(customer="nobody").status == 401


def test_accounts_of_other_customers_cannot_be_shared(client: Client) -> None:
    visit = a_consent(client, ANNAS[0], OWN["lukas"])
    visit.log_in()

    visit.send(account=OWN["lukas"])

    assert "yours" in visit.page
    assert visit.step == "accounts"


def test_a_form_of_an_earlier_step_changes_nothing(client: Client) -> None:
    visit = a_payment(client)
    visit.log_in()
    before = authorisations(client)

    visit.send(step="login", customer="anna")

    assert visit.step == "approve"
    assert authorisations(client) == before


# -- decide


@pytest.mark.parametrize(
    ("decision", "title"),
    [("approve", "Approved"), ("decline", "Declined"), ("timeout", "Timed out"), ("error", "Failed")],
)
def test_decide_without_a_registered_address(client: Client, decision: str, title: str) -> None:
    visit = a_consent(client, headers={})

    assert visit.open(decide=decision).status == 200
    assert visit.title == title
    assert "registered no address" in visit.page


def test_decide_for_each_signatory(client: Client) -> None:
    change(client, "accounts", ANNAS[0], signatories=["anna", "lukas"])
    visit = a_payment(client)

    assert visit.open(decide="approve").status == 303
    assert visit.status == "PATC"
    assert visit.open(decide="approve").status == 303
    assert visit.status == "ACSP"
    assert {one["psuId"] for one in authorisations(client).values()} == {"anna", "lukas"}


def test_two_simultaneous_decisions_have_one_winner(client: Client) -> None:
    visit = a_payment(client)

    async def both() -> list[Answer]:
        sent = (client.send("GET", f"{visit.link}&decide={decision}") for decision in ("approve", "decline"))
        return list(await asyncio.gather(*sent))

    assert sorted(answer.status for answer in asyncio.run(both())) == [303, 409]


# -- confirmation code


def test_the_browser_takes_the_confirmation_code_back_to_the_app(client: Client) -> None:
    visit = a_payment(client)
    (id,) = authorisations(client)
    change(client, "authorisations", id, code="c0de&more")

    visit.log_in()
    visit.send(otp=OTPS["anna"])

    parts = urlsplit(visit.answer.headers["location"])
    assert parse_qs(parts.query) == {"state": ["1"], "x": ["ü"], "confirmationCode": ["c0de&more"]}
    assert parts.fragment == "top"
    assert (visit.status, visit.sca_status) == ("RCVD", ["unconfirmed"])
    visit.open()
    assert (visit.answer.status, visit.title) == (409, "This link has been used")
    assert "c0de" not in visit.page


def test_the_confirmation_code_of_a_customer_without_methods(client: Client) -> None:
    visit = a_payment(client, debtor=OWN["felix"], amount="1.00", headers={})
    (id,) = authorisations(client)
    change(client, "authorisations", id, code="c0de")

    visit.open(decide="approve")

    assert visit.sca_status == ["unconfirmed"]
    assert "c0de" in visit.page


EVIL = "\"><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}'&amp;"


def test_everything_is_escaped(client: Client) -> None:
    change(client, "accounts", ANNAS[0], product=EVIL, name=EVIL)
    change(client, "psus", "anna", name=EVIL, methods=[{"id": EVIL, "name": EVIL}] * 2)
    visit = a_consent(client)
    other = a_payment(client, creditorName=EVIL, remittanceInformationUnstructured=EVIL)
    for id in authorisations(client):
        change(client, "authorisations", id, ok=EVIL, nok=f"https://x.example/{EVIL}")

    def pages() -> Iterator[str]:
        for one in (visit, other):
            one.open()
            yield one.page
            one.send(psuId=EVIL, password="x")
            yield one.page
            one.send(customer="anna")
            yield one.page
        visit.send(account=ANNAS)
        yield visit.page
        visit.send(end="error")
        yield visit.page
        yield Visitor(client, "/sca/consents?" + urlencode({"consent_id": EVIL})).open().body.decode()

    for page in pages():
        assert "<script" not in page
        assert "<img" not in page
        assert "49" not in page.replace("4988", "")[page.index("<main") :] or "{{ 7*7 }}" in unescape(page)


# -- doors, sessions, settings


def test_sessions(client: Client) -> None:
    inside = a_payment(client.named("ci-42"))
    assert inside.link.startswith("/s/ci-42/sca/payments?")
    browser = Visitor(client, inside.link)

    browser.log_in()
    assert browser.send(otp=OTPS["anna"]).headers["location"] == OK
    assert inside.status == "ACSP"
    assert client.get(inside.link.removeprefix("/s/ci-42")).status == 404


def test_the_dialect_determines_the_lifetime_of_a_page(tmp_path: Path) -> None:
    client = Client(an_engine(layers=authorising(tmp_path, of={"consent": {"expires_after": 60}})))
    visit = Visitor(client, f"/sca/consents?consent_id={facts.consent()}")

    visit.open()
    freeze(client, seconds=90)

    visit.open()
    assert visit.title == "This link has expired"


def test_busy_is_shown_as_a_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    visit = a_payment(client)

    def refuse(*given: Any) -> None:
        raise BankError("busy")

    monkeypatch.setattr("xs2a_sandbox.bank.sca_pages.pages.serve", refuse)
    assert visit.open().status == 503


@pytest.mark.parametrize(("ending", "status"), [("decline", 303), ("timeout", 303), ("error", 200)])
def test_a_fault_overrides_the_decision_of_the_customer(client: Client, ending: str, status: int) -> None:
    visit = a_consent(client)
    state = transaction(client)
    SESSION_FAULTS.keep(state, [{"id": "fault-1", "sca": ending, "seen": 0, "hits": 0}])
    assert state.commit()

    answer = visit.open(decide="approve")

    assert answer.status == status
    assert visit.sca_status == ["failed"]
