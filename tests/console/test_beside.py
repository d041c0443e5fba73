"""Two exchanges field by field."""

import re
from typing import Any

import pytest

from tests.console.browser import ACCOUNT, Browser
from xs2a_sandbox.features.console.beside import Field, Value, fields


def compared(one: Any, other: Any) -> list[Field]:
    messages = [{"body": one}, {"body": other}]
    return fields(messages, messages)


def differing(one: Any, other: Any) -> dict[str, tuple[Value | None, Value | None]]:
    return {field.place: (field.first, field.second) for field in compared(one, other) if field.differs}


def test_a_member_has_its_path_and_both_values() -> None:
    one = {"accounts": [{"iban": "A", "balance": 1}, {"iban": "B"}], "name": None}
    other = {"accounts": [{"iban": "A", "balance": 2}, {"iban": "B"}], "name": False}
    assert differing(one, other) == {
        "/accounts/0/balance": (Value("1"), Value("2")),
        "/name": (Value("null"), Value("false")),
    }
    assert [field.place for field in compared(one, other) if not field.differs] == [
        "/accounts/0/iban",
        "/accounts/1/iban",
    ]


def test_a_list_that_one_of_them_lacks_is_one_field() -> None:
    booked = [{"amount": str(number)} for number in range(300)]
    ((place, (one, other)),) = differing({"booked": booked}, {}).items()
    assert (place, other) == ("/booked", None)
    assert one is not None
    assert one.summary == "300 entries"
    assert '"amount": "299"' in one.text


def test_a_longer_list_has_its_last_entries_as_fields() -> None:
    assert differing([1], [1, {"a": 2}]) == {"/1": (None, Value('{\n  "a": 2\n}', "1 member"))}


@pytest.mark.parametrize(
    ("one", "other", "values"),
    [
        ([], {}, (Value("[]"), Value("{}"))),
        ([], None, (Value("[]"), Value("null"))),
        ("", "a" * 500, (Value(""), Value("a" * 500, "500 characters"))),
        (1, "1", (Value("1"), Value("1"))),
    ],
)
def test_values_of_two_kinds_differ(one: Any, other: Any, values: tuple[Value, Value]) -> None:
    assert differing(one, other) == {"body": values}


def test_they_may_differ_in_what_is_hidden() -> None:
    hidden = {"authorization": "…"}
    (field,) = fields([hidden, hidden], [{"authorization": "Bearer a"}, {"authorization": "Bearer b"}])
    assert field.differs
    assert field.differs_unseen


def test_two_are_told_apart_field_by_field_even_where_it_is_hidden(browser: Browser) -> None:
    for currency, token in (("EUR", "sesame-one"), ("USD", "sesame-two")):
        body = {"accounts": [{"iban": ACCOUNT, "currency": currency}]}
        browser.app_asks("POST", "/v1/consents?a=b", json=body, headers={"Authorization": f"Bearer {token}"})
    page = browser.page("/_sandbox/console/beside?one=1&other=2")
    request = page.partition("fields differ")[2]
    row = '<th scope="row">/accounts/0/currency</th>' + "".join(
        f'<td data-label="No. {number}"><code>{currency}</code></td>' for number, currency in ((1, "EUR"), (2, "USD"))
    )
    assert row in request
    assert re.search(r'scope="row">authorization</th>.*what is hidden differs', page)
    assert "sesame" not in page
    assert '<th scope="row">?a</th><td><code>b</code></td>' in page.partition("the same<")[2]


@pytest.mark.parametrize(("query", "status"), [("", 404), ("?one=1&other=9", 404), ("?one=1&other=two", 400)])
def test_what_cannot_be_laid_beside_is_said(browser: Browser, query: str, status: int) -> None:
    browser.app_asks("GET", "/v1/accounts")
    assert 'role="alert"' in browser.page(f"/_sandbox/console/beside{query}", status=status)
