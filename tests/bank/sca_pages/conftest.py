"""Fixtures for the tests of the payment user's pages: a client, and each family of resources to approve."""

import pytest

from tests.support.engine_client import Client, an_engine
from tests.support.visitor import FAMILIES


@pytest.fixture
def client() -> Client:
    return Client(an_engine())


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return request.param
