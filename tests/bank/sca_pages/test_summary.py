"""The summary of the request that the payment user sees."""

import pytest

from tests.contract import bodies
from tests.support.engine_client import Client
from tests.support.visitor import a_basket, a_payment


def test_summary_of_a_payment(client: Client) -> None:
    visit = a_payment(client, amount="1234.50", remittanceInformationUnstructured="Rent & heating")

    visit.open()

    for text in ("1,234.50 EUR", "Berta Bauer", "AT45 9880 0000 1020 4711", "RF-2210", "Rent &amp; heating"):
        assert text in visit.page


@pytest.mark.parametrize(
    ("product", "texts"),
    [
        (bodies.INSTANT, ["Within seconds"]),
        (bodies.BULK, ["11.75 EUR", "10.50 EUR to Berta Bauer", "1.25 EUR to Cafe Central"]),
        (bodies.PERIODIC, ["Standing order", "from "]),
        (bodies.CROSS_BORDER, ["Cross-border credit transfer"]),
    ],
)
def test_summary_of_every_product(client: Client, product: str, texts: list[str]) -> None:
    visit = a_payment(client, product)

    visit.open()

    assert visit.answer.status == 200
    assert not [text for text in texts if text not in visit.page]


def test_summary_of_a_basket(client: Client) -> None:
    visit = a_basket(client)

    visit.open()

    assert visit.title == "Sign 3 orders together"
    assert visit.page.count("10.50 EUR") == 2
    assert "Sparkonto Eichhörnchen" in visit.page
