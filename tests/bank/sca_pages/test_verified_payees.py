"""The payment user's page shows a payee name that does not match the account. The user decides."""

import re
from html import unescape
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client
from tests.support.visitor import OTPS, Visitor, a_payment, path

ESELSOHR, NOBODY = "AT359850700040087109", "AT611904300234573201"
CLOSE = "The name is slightly different: the account belongs to Buchhandlung Eselsohr."
WRONG = "The name does not match the account. If you approve, the money may go to somebody else."
UNCHECKED = "The name could not be checked."
KINDS = {
    "Buchhandlung Eselohr": (ESELSOHR, CLOSE, False),
    "Berta Bauer": (ESELSOHR, WRONG, False),
    "Buchhandlung Eselsohr": (NOBODY, UNCHECKED, True),
}


def payment(client: Client, name: str, iban: str = ESELSOHR, product: str = bodies.SEPA, **more: Any) -> Visitor:
    return a_payment(client, product, creditorName=name, creditorAccount={"iban": iban}, **more)


def doubts(page: str) -> list[str]:
    found = re.findall(r'<div class="doubts.*?</div>', page, re.DOTALL)
    return [unescape(re.sub(r"<.*?>", "", text)) for box in found for text in re.findall(r"<p>.*?</p>", box)]


@pytest.mark.parametrize("product", bodies.SINGLE[:2])
@pytest.mark.parametrize("name", KINDS)
def test_each_result_is_shown_and_can_be_approved(client: Client, name: str, product: str) -> None:
    iban, text, is_mild = KINDS[name]
    visit = payment(client, name, iban, product)
    for shown in (visit.open(), visit.send(customer="anna")):
        assert shown.status == 200
        assert doubts(visit.page) == [text]
        assert ('class="doubts mild"' in visit.page) == is_mild
    assert visit.step == "approve"
    assert visit.send(otp=OTPS["anna"], follow=False).status == 303
    assert visit.status == "ACSP"


def test_a_match_is_not_mentioned(client: Client) -> None:
    visit = payment(client, "BUCHHANDLUNG ESELSOHR")
    visit.open()
    assert doubts(visit.page) == []


def test_a_decided_payment_is_shown_without_the_result(client: Client) -> None:
    visit = payment(client, "Berta Bauer", headers={})
    visit.open(decide="decline")
    assert "Berta Bauer" in visit.page
    assert doubts(visit.page) == []


def test_a_bulk_lists_the_doubtful_payees(client: Client) -> None:
    names = ["Buchhandlung Eselsohr", "Berta Bauer"]
    visit = a_payment(client, bodies.BULK, creditorIban=[ESELSOHR, ESELSOHR], creditorName=names)
    visit.open()
    assert doubts(visit.page) == [f"Berta Bauer: {WRONG}"]


def test_a_long_list_is_shortened(client: Client) -> None:
    count = 25
    more = {"creditorIban": [ESELSOHR] * count, "creditorName": ["Berta"] * count, "amount": ["1.00"] * count}
    more |= {"amountCurrency": ["EUR"] * count, "e2eIdentification": ["E"] * count}
    more |= dict.fromkeys(("remittanceInformationUnstructured", "remittanceInformationStructured"))
    body = bodies.payment(bodies.BULK) | more
    made = client.post(f"/v1/{bodies.BULK}", json=body).json()
    visit = Visitor(client, path(made["_Left"]["scaRedirect"]["href"]))
    visit.open()
    assert len(doubts(visit.page)) == 21
    assert doubts(visit.page)[-1] == "and 5 more"


def test_the_result_is_shown_in_german(client: Client) -> None:
    link = payment(client, "Buchhandlung Eselohr").link
    page = client.get(link, headers={"Accept-Language": "de-AT"}).body.decode()
    assert doubts(page) == ["Der Name weicht leicht ab: Das Konto gehört Buchhandlung Eselsohr."]


def test_a_cancellation_shows_no_result(client: Client) -> None:
    later = payment(client, "Berta Bauer", requestedExecutionDate=facts.today(5))
    later.open(decide="approve")
    client.delete(later.resource)
    answer = client.post(f"{later.resource}/cancellation-authorisations")
    visit = Visitor(client, path(answer.json()["_links"]["scaRedirect"]["href"]))
    visit.open()
    assert "Berta Bauer" in visit.page
    assert doubts(visit.page) == []
