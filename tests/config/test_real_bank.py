from pathlib import Path
from urllib.parse import urlsplit

import pytest

from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.real_bank import BANKS, BankHost
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.target import split_target

URL = "https://api.bank.example/psd2"


def one(directory: Path, **entry) -> RealBank:
    (bank,) = BANKS.read([{"url": URL, **entry}], directory)
    return bank


def test_what_is_left_out_is_safe(tmp_path):
    bank = one(tmp_path)
    assert bank == RealBank(URL)
    assert (bank.private, bank.tls_strict, bank.tls_minimum, bank.keep_host) == (False, True, "1.2", False)


def test_a_host_may_be_asked_somewhere_else(tmp_path):
    login = {"host": "Login.Bank.Example:8443", "url": "https://login-test.bank.example/oauth/"}
    bank = one(tmp_path, hosts=["api.bank.example", login])
    assert bank.hosts == (
        BankHost("api.bank.example"),
        BankHost("login.bank.example:8443", "https://login-test.bank.example/oauth"),
    )
    assert bank.urls == (URL, "https://login-test.bank.example/oauth")

    def destination_of(url: str) -> str:
        place = urlsplit(url)
        host, port = place.hostname or "", place.port
        request = Request("GET", place.path, host=host, port=port, scheme=place.scheme, door="proxy")
        destination = bank.at(request).destination(request, place.path)
        return f"{destination.url} {destination.sent}"

    assert destination_of("https://login.bank.example:8443/a") == "https://login-test.bank.example/oauth /oauth/a"
    assert destination_of("https://login-test.bank.example/oauth/a") == "https://login-test.bank.example/oauth /oauth/a"
    assert destination_of("https://api.bank.example/psd2/a") == f"{URL} /psd2/a"


def test_every_key(tmp_path):
    for name in ("qwac.pem", "qwac.key", "ca.pem"):
        (tmp_path / name).touch()
    (tmp_path / "more").mkdir()
    bank = one(
        tmp_path,
        hosts=["API.Bank.Example", "[::1]"],
        mode="record",
        modes={"/v1": "spy", "/v1/payments": "simulate"},
        dialect="plain-1.0",
        cassettes=["more"],
        client_cert="qwac.pem",
        client_key="qwac.key",
        client_key_password="a secret\n",
        ca="ca.pem",
        tls_minimum="1.3",
        tls_strict=False,
        private=True,
        keep_host=True,
        rewrite_links=False,
        connect_timeout="500ms",
        read_timeout="2s",
        total_timeout="1m",
    )
    assert bank == RealBank(
        URL,
        hosts=(BankHost("api.bank.example"), BankHost("::1")),
        mode="record",
        modes=(("/v1/payments", "simulate"), ("/v1", "spy")),
        dialect="plain-1.0",
        cassettes=(tmp_path / "more",),
        client_cert=tmp_path / "qwac.pem",
        client_key=tmp_path / "qwac.key",
        client_key_password="a secret\n",
        ca=tmp_path / "ca.pem",
        tls_minimum="1.3",
        tls_strict=False,
        private=True,
        keep_host=True,
        rewrite_links=False,
        connect_timeout=0.5,
        read_timeout=2.0,
        total_timeout=60.0,
    )
    assert "a secret" not in repr(bank)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"url": "ftp://x"}, "banks[0].url must be a URL such as"),
        ({"hosts": ["a b"]}, "banks[0].hosts must be host names"),
        ({"mode": "spi"}, "banks[0].mode must be one of simulate, spy, record, compare"),
        ({"modes": {"v1": "spy"}}, "banks[0].modes must be a mapping from the start of a path"),
        ({"client_cert": "nowhere.pem"}, "banks[0].client_cert must be a file that exists"),
        ({"client_key_password": "x"}, "banks[0]: client_key needs a client_cert"),
        ({"tls_minimum": "1.1"}, "banks[0].tls_minimum must be 1.2 or 1.3"),
        ({"read_timeout": "0s"}, "banks[0].read_timeout must be a duration"),
        ({"read_timeout": "soon"}, "banks[0].read_timeout must be a duration"),
    ],
)
def test_mistakes_name_the_key_and_not_what_may_be_secret(tmp_path, entry, said):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        one(tmp_path, **entry)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("/v1/accounts", "spy"),
        ("/v1/payments", "record"),
        ("/v1/payments/sepa-credit-transfers", "record"),
        ("/v1/paymentsx", "spy"),
        ("/v1/payments/closed/x", "simulate"),
    ],
)
def test_the_longest_beginning_says_the_mode(path, mode):
    bank = RealBank(URL, mode="spy", modes=(("/v1/payments/closed", "simulate"), ("/v1/payments", "record")))
    assert bank.mode_of(split_target(path).segments) == mode


def test_a_bank_without_a_url_is_only_simulated():
    assert RealBank(mode="record").mode_of(("v1", "accounts")) == "simulate"
    assert not RealBank(mode="record").can_be_asked
    assert not RealBank(URL, mode="simulate").can_be_asked
    assert RealBank(URL, mode="simulate", modes=(("/v1", "spy"),)).can_be_asked
