"""The addresses to which the payment user's browser is redirected, and those to which it never is."""

import pytest

from tests.contract import facts
from tests.support.engine_client import Client
from tests.support.visitor import NOK, OK, Visitor, a_payment, authorisations, change
from xs2a_sandbox.bank.sca_pages.return_address import asking, list_registered, return_address


@pytest.mark.parametrize("address", ["javascript:alert(1)", " javascript:alert(1)", "//evil.example/x", "nonsense"])
@pytest.mark.parametrize("decision", ["approve", "decline"])
def test_unsafe_addresses_in_the_state_are_ignored(client: Client, address: str, decision: str) -> None:
    visit = a_payment(client, headers={})
    (id,) = authorisations(client)
    change(client, "authorisations", id, ok=address)

    visit.open()
    assert "form-action 'self';" in visit.answer.headers["content-security-policy"]
    visit.open(decide=decision)

    assert visit.answer.status == 200
    assert "none that a browser may be sent to" in visit.page
    assert "href=" not in visit.page


@pytest.mark.parametrize(
    ("address", "location", "source"),
    [
        ("http://localhost:3000/cb", "http://localhost:3000/cb", "http:"),
        ("http://[::1]:3000/cb", "http://[::1]:3000/cb", "http:"),
        ("com.example.app:/cb", "com.example.app:/cb", "com.example.app:"),
        ("myapp://done?a=1", "myapp://done?a=1", "myapp:"),
        ("https://tpp.example/%22%3E%3Cscript%3E'", "https://tpp.example/%22%3E%3Cscript%3E'", "https:"),
    ],
)
def test_safe_addresses_are_used(client: Client, address: str, location: str, source: str) -> None:
    visit = a_payment(client, headers={"TPP-Redirect-URI": address})

    visit.open()
    assert f" {source}" in visit.answer.headers["content-security-policy"].partition("form-action")[2]
    assert visit.send(end="decline").headers["location"] == location


def test_parameters_of_the_link_do_not_change_the_address(client: Client) -> None:
    visit = a_payment(client)
    visit.link = visit.link.partition("&redirectBackUrl")[0] + "&redirectBackUrl=https://evil.example/"

    answer = client.get(f"{visit.link}&decide=approve", headers={"TPP-Redirect-URI": "https://evil.example/"})

    assert answer.headers["location"] == OK


def test_the_browser_cannot_register_an_address(client: Client) -> None:
    visit = Visitor(client, f"/sca/consents?consent_id={facts.consent()}&redirectBackUrl=https://evil.example/")
    evil = {"TPP-Redirect-URI": "https://evil.example/", "TPP-Nok-Redirect-URI": "https://evil.example/"}

    answer = client.get(f"{visit.link}&decide=decline", headers=evil | {"PSU-ID": "lukas"})

    assert answer.status == 200
    assert "evil.example" not in answer.body.decode()


def test_the_address_for_success_is_also_the_default_for_failure(client: Client) -> None:
    visit = a_payment(client, headers={"TPP-Redirect-URI": OK})

    assert visit.open(decide="decline").headers["location"] == OK


def test_an_authorisation_has_its_own_addresses(client: Client) -> None:
    visit = a_payment(client)
    client.post(f"{visit.resource}/authorisations", headers={"TPP-Redirect-URI": "https://other.example/"})

    assert visit.open(decide="approve").headers["location"] == "https://other.example/"


BOTH = {"ok": OK, "nok": NOK}


@pytest.mark.parametrize(
    ("authorisation", "good", "expected"),
    [
        (BOTH, True, OK),
        (BOTH, False, NOK),
        ({"ok": OK, "nok": None}, False, OK),
        ({"ok": None, "nok": NOK}, True, None),
        ({"ok": None, "nok": None}, False, None),
        ({"ok": OK, "nok": "javascript:x"}, False, None),
    ],
)
def test_each_outcome_has_its_address(authorisation: dict[str, str | None], good: bool, expected: str | None) -> None:
    assert return_address(authorisation, good=good) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://x.example/", "https://x.example/?confirmationCode=c%26d"),
        ("https://x.example/?", "https://x.example/?confirmationCode=c%26d"),
        ("https://x.example/?a=1&", "https://x.example/?a=1&confirmationCode=c%26d"),
        ("https://x.example/?a=1#top", "https://x.example/?a=1&confirmationCode=c%26d#top"),
    ],
)
def test_the_code_is_added_to_the_query_before_the_fragment(address: str, expected: str) -> None:
    assert return_address({"ok": address}, good=True, code="c&d", name="confirmationCode") == expected


def test_the_page_names_the_host_or_the_scheme_of_the_app() -> None:
    assert list_registered(BOTH) == (OK, NOK)
    assert list_registered({"ok": "data:x", "nok": NOK}) == (NOK,)
    assert [asking({"ok": address}) for address in (OK, "my-app://done", "data:x", None)] == [
        "tpp.example",
        "my-app",
        None,
        None,
    ]
