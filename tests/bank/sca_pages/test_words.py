"""The pages use the bank's wording and the browser's language."""

import re
from pathlib import Path

import pytest

from tests.support.engine_client import Client, an_engine
from tests.support.visitor import a_consent, a_payment
from tests.support.writing import write
from xs2a_sandbox.bank.sca_pages.words import choose_language, words
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect.sca_pages import bundled_pages
from xs2a_sandbox.cassette.model import ScaPages
from xs2a_sandbox.cassette.reader import cassette_schema

DIALECT = bundled("cassettes") / "xs2a-1.84"
TWO = ["AT459880000010204711", "AT449880000010204729"]
LAGO = """\
    cassette: 1
    sca_pages:
      name: Banca <del> Lago
      colours: {light: {accent: "#7a1f2b", on_accent: "#ffffff"}}
      languages: [it, de]
      texts:
        it: {approve: "<b>Autorizza</b>", logged_in: "Ciao, {name}"}
        de: {log_in_as: "Hinein als {name}"}
    """


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("en-GB,en;q=0.9", "en"),
        ("fr,de;q=0.4,en;q=0.3", "de"),
        ("en;q=0.2, de;q=0.7", "de"),
        ("de;q=0, en", "en"),
        ("fr", "en"),
        ("*", "en"),
        ("de;q=x,;;,q", "en"),
        ("DE-ch", "de"),
    ],
)
def test_the_language_follows_the_browser(header: str, language: str) -> None:
    assert words(accept_language=header).language == language


def test_a_regional_language_falls_back_to_another_region() -> None:
    assert choose_language("de-AT", ["en", "de-CH"]) == "de-CH"
    assert choose_language("de-AT", ["de", "de-AT"]) == "de-AT"


def test_every_german_text_exists_with_the_same_placeholders() -> None:
    texts = bundled_pages().texts
    assert texts["en"].keys() == texts["de"].keys()
    for name, text in texts["en"].items():
        assert set(re.findall(r"{(\w+)}", text)) == set(re.findall(r"{(\w+)}", texts["de"][name])), name
    assert len(texts["de"]["months"].split()) == 12


def test_editors_complete_the_names_of_all_texts() -> None:
    places = cassette_schema().document["properties"]["sca_pages"]["properties"]
    assert places["texts"]["additionalProperties"] == {"$ref": "#/$defs/sca-texts"}
    properties = cassette_schema().document["$defs"]["sca-texts"]["properties"]
    texts = {name: f"In English: {text}" for name, text in bundled_pages().texts["en"].items()}
    assert {name: one["description"] for name, one in properties.items()} == texts


def test_dates_and_amounts_have_the_local_format() -> None:
    amount = {"amount": "1234567.80", "currency": "EUR"}
    assert words(accept_language="de").day("2027-03-05") == "5. März 2027"
    assert words(accept_language="de").money(amount) == "1.234.567,80 EUR"
    assert words(accept_language="en").day("2027-03-05") == "5 March 2027"
    assert words(accept_language="en").money(amount) == "1,234,567.80 EUR"


def test_missing_texts_are_shown_in_english() -> None:
    own = words(ScaPages(texts={"it": {"approve": "Autorizza"}}), "it")
    assert (own.language, own("approve"), own("decline")) == ("it", "Autorizza", "Decline")


def test_a_german_browser_gets_a_german_page() -> None:
    client = Client(an_engine())
    visit = a_payment(client)
    page = client.request("GET", visit.link, headers={"Accept-Language": "de-AT"}).body.decode()
    assert '<html lang="de">' in page
    assert "Melden Sie sich an" in page
    assert "Log in" not in page
    trouble = client.request("GET", "/sca/consents?consent_id=nobody", headers={"Accept-Language": "de"}).body.decode()
    assert "Wir kennen diese Zustimmung nicht" in trouble


def test_the_bank_can_use_its_own_texts(tmp_path: Path) -> None:
    client = Client(an_engine(layers=[[write(tmp_path / "lago", {"a.yaml": LAGO})]]))
    visit = a_consent(client, *TWO)
    answer = client.request("GET", visit.link, headers={"Accept-Language": "fr"})
    page = answer.body.decode()
    assert '<html lang="it">' in page
    assert "Banca &lt;del&gt; Lago" in page
    assert "--accent:#7a1f2b" in page
    german = client.request("GET", visit.link, headers={"Accept-Language": "de"}).body.decode()
    assert "Hinein als " in german
    visit.open()
    visit.send(customer="anna")
    assert "Ciao, <strong>Anna" in visit.page
    visit.send(account=TWO)
    assert "&lt;b&gt;Autorizza&lt;/b&gt;" in visit.page


def test_the_one_time_password_is_filled_in() -> None:
    visit = a_payment(Client(an_engine()))
    visit.open()
    visit.send(customer="anna")
    assert re.search(r'name="otp" value="\d+"', visit.page)
