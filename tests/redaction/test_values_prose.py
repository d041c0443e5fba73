import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.turns import few
from xs2a_sandbox.redaction.rules import DEFAULT
from xs2a_sandbox.redaction.values import ValueRedactor, in_words, without_data

IBAN = "AT611904300234573201"


@pytest.fixture
def censor() -> ValueRedactor:
    censor = ValueRedactor(b"k" * 32, DEFAULT)
    censor.trust("https://api.bank.example:8443/psd2")
    return censor


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Cannot connect to host api.bank.example:8443 ssl:default [Connection reset by peer]",
        "the bank 127.0.0.1:40259 is too slow",
        "nothing listens at localhost:40259",
        "XS2A514E: request them without the proxy, as with NO_PROXY=127.0.0.1,localhost",
        "certificate is not valid for 'api.bank.example'",
        "it didn't answer within 30 s, and that's all",
        "status 400 at 2026-11-21T08:37:14Z, request 99391c7e-ad88-49ec-a2ad-99ddcb1f7721",
        "GET https://api.bank.example:8443/psd2/v1/consents failed",
    ],
)
def test_words_are_kept(censor: ValueRedactor, text: str) -> None:
    assert in_words(text, censor) == text


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (f"account {IBAN} unknown", IBAN),
        ("account AT61 1904 3002 3457 3201 unknown", "1904 3002"),
        ("mail to anna@example.com.", "anna@example"),
        ("call +43 664 1234567", "1234567"),
        ("from 10.1.2.3", "10.1.2.3"),
        ("Authorization: Bearer abc", "abc"),
        ("access_token=abc&x", "abc"),
        ('{"password": "abc"}', "abc"),
        ("GET /v1/accounts/abc?x=abc", "abc"),
        ("https://abc@x.example/abc", "abc"),
        ("key 2fa81bc0aa11ffee0", "2fa81bc0aa"),
    ],
)
def test_data_are_replaced(censor: ValueRedactor, text: str, data: str) -> None:
    assert data not in without_data(text, censor)


def test_quotations_are_replaced(censor: ValueRedactor) -> None:
    new = in_words("""Bad status line "Anna" b'Berta it"s' 'open Carla""", censor)
    assert not any(name in new for name in ("Anna", "Berta", "Carla"))
    assert new.startswith("Bad status line ")


def test_words_after_an_account_are_kept(censor: ValueRedactor) -> None:
    new = without_data("from AT61 1904 3002 3457 3201 only", censor)
    assert new == f"from {censor.value('AT61 1904 3002 3457 3201')} only"


def test_values_replaced_elsewhere_are_replaced(censor: ValueRedactor) -> None:
    made = censor.value("Gruenwald")
    assert without_data("Dear Gruenwald!", censor) == f"Dear {made.lower() if made.islower() else made}!"


@given(st.text(max_size=80))
def test_any_text_can_be_redacted(text: str) -> None:
    assert isinstance(in_words(text, ValueRedactor(b"k" * 32, DEFAULT)), str)


@pytest.mark.parametrize("part", few(["a", "1", "a1", "'", "@", "AT61 "], ["a", "@"]))
def test_a_long_text_is_redacted_quickly(censor: ValueRedactor, part: str) -> None:
    assert isinstance(in_words(part * (100_000 // len(part)), censor), str)
