"""The app's tests, as its developer would write them: they know the bank's usual answers, and no fault.

xs2a-sandbox campaign --dialect berlin-group-1.3 -- pytest check_household.py
"""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from household import IBANS, BankApi, Household

URL = os.environ["XS2A_SANDBOX_URL"]


def approve(link: str) -> None:
    """Approve on the bank's page, as the customer does."""
    parts, bank = urlsplit(link), urlsplit(URL)
    page = parts._replace(scheme=bank.scheme, netloc=bank.netloc, query=f"{parts.query}&decide=approve")
    requests.get(page.geturl(), timeout=10, allow_redirects=False)


@pytest.fixture
def household() -> Iterator[Household]:
    folder = Path(os.environ["XS2A_SANDBOX_RUN_DIR"])
    household = Household(BankApi(URL, approve), folder, os.environ.get("HOUSEHOLD_BUGS", ""))
    yield household
    household.save()


def test_the_rent_is_paid(household: Household) -> None:
    assert household.pay("RENT-2026-11", "712.50") in ("ACSP", "ACSC", "ACCC", "unknown")


def test_all_accounts_are_read(household: Household) -> None:
    household.connect()

    assert household.sync() == []
    assert len({place.split()[0] for place in household.data["entries"]}) == len(IBANS)
