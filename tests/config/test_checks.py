"""The checks of a profile, and those that are named."""

from pathlib import Path

import pytest

from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.config.checks import CHECK_NAMES, NONE, Checks
from xs2a_sandbox.config.real_bank import BankHost
from xs2a_sandbox.config.settings import load_settings
from xs2a_sandbox.errors import ConfigError

ALL = frozenset(CHECK_NAMES)


def test_each_bank_has_its_own() -> None:
    strict = RealBank("https://a.example", hosts=(BankHost("a"),), profile="strict")
    lenient = RealBank("https://b.example", hosts=(BankHost("b"),), profile="documented", checks=())
    settings = Settings(confdir=Path("/nowhere"), checks=("rights",), banks=(strict, lenient))
    assert [bank.judged_by for bank in settings.real_banks()] == [
        Checks(ALL, strict=True),
        NONE,
        Checks(frozenset(["rights"])),
    ]


@pytest.mark.parametrize(("name", "value"), [("checks", "tokne"), ("checks", "all"), ("profile", "lenient")])
def test_a_check_that_there_is_not(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load_settings({name: value})


def test_strict_leaves_nothing_to_warn_of() -> None:
    with pytest.raises(ConfigError, match="strict already refuses everything that checks: warn would report"):
        load_settings({"profile": "strict", "checks": ("warn",)})
