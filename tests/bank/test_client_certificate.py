"""Client certificates: when they are required, and what they cannot access. See also tests/contract."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache

import pytest

from tests.contract import facts
from tests.support.certificates import ca, der, issued
from tests.support.engine_client import Answer, Client, bundled_engine
from xs2a_sandbox.bank import Bank, Banks
from xs2a_sandbox.bank.client_certificate import trust_nobody
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.checks import Profile
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.state import MemoryStore
from xs2a_sandbox.tpp.trust_service import Trust

OWN, OTHER = "PSDAT-FMA-123456", "PSDAT-FMA-2"
FORM = {"Content-Type": "application/x-www-form-urlencoded", "X-Request-ID": None}
ADMIN = {"Authorization": "Bearer admin"}


@cache
def certificates(organisation: str = OWN) -> tuple[bytes, ...]:
    return (der(issued(organisation_identifier=organisation)),)


def bank(*checks: str, profile: Profile = "documented", trust: Callable[[], Trust] | None = None) -> Client:
    """Return a bank with these checks. It trusts the CA of the tests by default."""
    known = bundled_engine()
    real = RealBank(checks=checks, profile=profile)
    believed = trust or (lambda: Trust((ca().certificate,)))
    banks = Banks(Bank(known.interface, known.schemas, real, trust=believed))
    engine = Engine(Parts(banks, MemoryStore(), known.parts.testdata, limits=known.parts.limits))
    engine.use(admin_token="admin")
    return Client(engine)


def status(client: Client, shown: tuple[bytes, ...] | None, **headers: str) -> Answer:
    path = f"/v1/consents/{facts.consent()}/status"
    return client.get(path, headers=headers, certificates=shown)


@pytest.mark.parametrize(
    ("checks", "profile", "shown", "code"),
    [
        ((), "documented", (), None),
        (("certificate",), "documented", None, "CERTIFICATE_MISSING"),
        (("certificate",), "documented", (), "CERTIFICATE_MISSING"),
        ((), "strict", None, "TOKEN_UNKNOWN"),
        ((), "strict", (), "CERTIFICATE_MISSING"),
    ],
)
def test_certificates_are_required_by_the_check_or_the_profile(
    checks: tuple[str, ...], profile: Profile, shown: tuple[bytes, ...] | None, code: str | None
) -> None:
    answer = status(bank(*checks, profile=profile), shown)
    assert (answer.error["code"] if answer.status >= 400 else None) == code


def test_a_certificate_is_parsed_only_if_it_is_checked() -> None:
    assert status(bank(), (b"nonsense",)).status == 200
    assert status(bank("certificate"), (b"nonsense",)).error["code"] == "CERTIFICATE_INVALID"
    assert status(bank("certificate"), certificates()).status == 200


def test_without_a_trusted_ca_no_certificate_is_valid() -> None:
    refused = status(bank("certificate", trust=trust_nobody), certificates())
    assert "not trusted here" in refused.error["text"]


def test_a_warning_refuses_nobody() -> None:
    answer = status(bank("warn"), ())
    assert (answer.status, answer.headers["x-sandbox-strict"][:24]) == (200, "401 CERTIFICATE_MISSING:")


@pytest.mark.parametrize(
    ("client", "said", "shown", "is_refused"),
    [
        ("an-app", {}, OWN, False),
        ("an-app", {"organizationIdentifier": OWN}, OWN, False),
        ("an-app", {"organizationIdentifier": OWN}, OTHER, True),
        (OWN, {}, OWN, False),
        (OWN, {}, OTHER, True),
        (OWN, {"organizationIdentifier": OTHER}, OTHER, False),
        ("PSDAT", {}, OTHER, False),
    ],
)
def test_a_client_belongs_to_one_tpp(client: str, said: dict[str, str], shown: str, is_refused: bool) -> None:
    one = bank("certificate", "token")
    kept = {"secret": "s", "name": "An app", **said}
    assert one.request("PUT", f"/_sandbox/state/clients/{client}", headers=ADMIN, json=kept).status == 201
    token = {"client": client, "expires": datetime(2999, 1, 1, tzinfo=UTC).isoformat()}
    assert one.request("PUT", "/_sandbox/state/tokens/t1", headers=ADMIN, json=token).status == 201

    body = f"grant_type=client_credentials&client_id={client}".encode()
    grant = one.post("/as/token.oauth2", headers=FORM, body=body, certificates=certificates(shown))
    assert (grant.status, grant.json().get("error")) == ((401, "invalid_client") if is_refused else (200, None))
    used = status(one, certificates(shown), Authorization="Bearer t1")
    assert (used.status, used.status == 401 and used.error["code"]) == (
        (401, "TOKEN_INVALID") if is_refused else (200, False)
    )


def test_requests_without_a_client_are_refused_by_the_token_endpoint() -> None:
    one = bank("certificate")
    for body in (b"", b"client_id=%FF", b"a=1&a=2"):
        answer = one.post("/as/token.oauth2", headers=FORM, body=body, certificates=certificates())
        assert answer.json()["error"] == "invalid_request"
