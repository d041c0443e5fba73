"""With the check `certificate`, a TPP can register only addresses of the domains in its certificate."""

import pytest

from tests.callbacks.test_berlin_group import CONSENT
from tests.support.certificates import ca, der, issued
from tests.support.engine_client import Client, speaking
from xs2a_sandbox.bank import Bank, Banks
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.state import MemoryStore
from xs2a_sandbox.tpp.trust_service import Trust


def bank(*checks: str) -> Client:
    known = speaking("berlin-group-1.3")
    real = RealBank(checks=checks)
    banks = Banks(Bank(known.interface, known.schemas, real, trust=lambda: Trust((ca().certificate,))))
    return Client(Engine(Parts(banks, MemoryStore(), known.parts.testdata, limits=known.parts.limits)))


@pytest.mark.parametrize(
    ("uri", "support"),
    [
        ("https://tpp.example/notify", "true"),
        ("https://www.tpp.example:8443/notify", "true"),
        ("https://TPP.example", "true"),
        ("https://othertpp.example/notify", "false"),
        ("https://tpp.example.org/notify", "false"),
        ("https://example/notify", "false"),
        ("http://127.0.0.1/notify", "false"),
        ("tpp.example", "false"),
    ],
)
def test_the_address_must_belong_to_a_domain_of_the_certificate(uri: str, support: str) -> None:
    shown = (der(issued(host="tpp.example")),)
    headers = {"TPP-Notification-URI": uri}
    answer = bank("certificate").post("/v1/consents", json=CONSENT, headers=headers, certificates=shown)
    assert (answer.status, answer.headers["aspsp-notification-support"]) == (201, support)
    assert ("aspsp-notification-content" in answer.headers) is (support == "true")
    free = bank().post("/v1/consents", json=CONSENT, headers=headers, certificates=shown)
    assert free.headers["aspsp-notification-support"] == "true"
