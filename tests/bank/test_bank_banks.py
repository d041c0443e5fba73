import pytest

from tests.support.writing import SCHEMAS, engine
from xs2a_sandbox.bank import Bank, Banks
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.real_bank import BankHost, unknown_host
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Request


@pytest.fixture
def make(tmp_path):
    interface = engine(tmp_path).interface
    return lambda *hosts: Bank(interface, SCHEMAS, RealBank(hosts=tuple(map(BankHost, hosts))))


def at(host: str, door="proxy") -> Request:
    return Request("GET", "/v1/accounts", host=host, door=door)


@pytest.mark.parametrize("door", ["proxy", "tls", "direct", "process"])
def test_the_host_selects_the_bank(make, door):
    first, second, default = make("first.example", "Alias.Example"), make("second.example"), make()
    banks = Banks(default, [first, second])
    assert banks.choose(at("alias.example", door)) is first
    assert banks.choose(at("SECOND.example", door)) is second
    assert banks.choose(at("127.0.0.1", door)) is default


def test_if_all_banks_have_hosts_the_proxy_serves_only_these(make):
    banks = Banks(make("bank.example"), [make("first.example")])
    assert banks.choose(at("127.0.0.1", "direct")) is banks.default
    with pytest.raises(BankError) as caught:
        banks.choose(at("login.example"))
    assert caught.value.name == "path-unknown"
    assert "only bank.example, first.example is" in caught.value.values["hint"]
    assert "--forward-host login.example" in caught.value.values["hint"]


def test_the_error_for_an_unknown_host_names_the_option_that_allows_it():
    assert (
        "or forward its requests with --forward-host login.example" in unknown_host(at("login.example")).values["hint"]
    )
