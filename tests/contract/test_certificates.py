"""Client certificates through every door that supports them:

TLS, tunnels of the proxy, and a header of a proxy in front.
"""

import asyncio
import ssl
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlencode

import pytest
from msgspec import structs

from tests.contract import bodies, facts
from tests.contract.conftest import Sandbox
from tests.contract.control import Control
from tests.contract.doors import BANK, DOORS, MITMPROXY, Answer, Bank, InProcess, Pairs, Send, Wire
from tests.support.certificates import particulars
from tests.support.roads import direct_door
from xs2a_sandbox.doors.client_header import ClientHeader
from xs2a_sandbox.features.certificates.mistakes import MISTAKES
from xs2a_sandbox.features.certificates.specimens import MAKERS, Order, Presented, as_ordered
from xs2a_sandbox.tpp import certificate, key_files
from xs2a_sandbox.tpp.trust_service import Provider, TrustService

spec = pytest.mark.spec
CARRYING = [door for door in DOORS if "tls" in door or door in ("direct", "process")]
carrying = pytest.mark.parametrize("bank", CARRYING, indirect=True)
in_process = pytest.mark.parametrize("bank", ["process"], indirect=True)
HEADER = "X-SSL-Client-Cert"
NOBODY = Presented(())

type As = Callable[[Presented], Bank]


@pytest.fixture(scope="session")
def service(sandbox: Sandbox) -> TrustService:
    return TrustService(Path(sandbox.addresses.ca_file).parent)


@pytest.fixture
def order(service: TrustService) -> Order:
    """The parameters of a valid TPP certificate."""
    now = datetime.now(UTC).replace(microsecond=0)
    return Order(particulars(organisation_identifier="PSDAT-FMA-777"), service.ca(now), "ec", now)


@pytest.fixture
def behind(sandbox: Sandbox) -> Iterator[str]:
    """Return the base URL of a door that accepts the header only from this machine."""
    header = ClientHeader.of(HEADER, [ip_network("127.0.0.1")])
    door = direct_door(sandbox.engine.answer, client_header=header)
    asyncio.run_coroutine_threadsafe(door.start(), sandbox.loop).result(20)
    yield f"http://127.0.0.1:{door.port}"
    asyncio.run_coroutine_threadsafe(door.drain(1), sandbox.loop).result(20)


@pytest.fixture
def showing(bank: Bank, sandbox: Sandbox, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[As]:
    """Return a client that uses these certificates at the test's door."""
    wires: list[Wire] = []

    def as_tpp(one: Presented) -> Bank:
        if bank.door == "process":
            return replace(bank, send=_in_process(sandbox, one))
        if bank.door == "direct":
            wires.append(wire := Wire(request.getfixturevalue("behind")))
            return replace(bank, send=_with_header(wire, one))
        context = ssl.create_default_context(cafile=sandbox.addresses.ca_file)
        if one.issued:
            key_files.write_pem(tmp_path / "shown.pem", one.issued, one.above())
            context.load_cert_chain(tmp_path / "shown.pem")
        addresses = bank.addresses
        through_proxy = bank.door == "tls-proxy"
        wire = Wire(
            f"https://{BANK}" if through_proxy else addresses.tls,
            proxy=addresses.proxy if through_proxy else None,
            trust=context,
        )
        wires.append(wire)
        return replace(bank, send=wire)

    yield as_tpp
    for wire in wires:
        wire.close()


@pytest.fixture
def strictly(bank: Bank, control: Control, senders: dict[str, Send], sandbox: Sandbox) -> Control:
    """Control a session that checks only certificates. For the door with the header, control it in process too."""
    if bank.door == "direct":
        sandbox.engine.use(admin_token="in-process")
        control = Control(bank, senders["process"], sandbox.engine.parts.admin_token)
    control.ask("PUT", "checks", {"profile": "documented", "checks": ["certificate"]})
    return control


def _in_process(sandbox: Sandbox, one: Presented) -> Send:
    return InProcess(lambda asked: sandbox.engine.answer(structs.replace(asked, certificates=one.chain)), sandbox.loop)


def _with_header(wire: Wire, one: Presented) -> Send:
    def send(method: str, target: str, headers: Pairs, body: bytes, *, user: str | None = None) -> Answer:
        fields = [(HEADER, b64encode(one.chain[0]).decode())] if one.chain else []
        return wire(method, target, [*headers, *fields], body, user=user)

    return send


def refusal(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json()["tppMessages"][0]["code"]


def accounts(bank: Bank) -> Answer:
    return bank.get("/v1/accounts", consent=facts.consent())


@spec("reading-strict-certificate")
@carrying
def test_a_valid_certificate_is_accepted_and_a_missing_one_is_refused(
    showing: As, strictly: Control, order: Order
) -> None:
    assert accounts(showing(as_ordered(order))).status == 200
    assert refusal(accounts(showing(NOBODY))) == (401, "CERTIFICATE_MISSING")


@spec("reading-strict-token-bound")
@carrying
def test_a_bound_token_is_valid_only_with_its_certificate(showing: As, strictly: Control, order: Order) -> None:
    strictly.ask("PUT", "checks", {"checks": ["token"]})
    own, other = as_ordered(order), as_ordered(order)
    thumbprint = urlsafe_b64encode(sha256(own.chain[0]).digest()).decode().rstrip("=")
    token = {"client": "demo-tpp", "expires": "2999-01-01T00:00:00+01:00", "cnf": {"x5t#S256": thumbprint}}
    strictly.ask("PUT", "state/tokens/bound", token)

    def ask(one: Presented) -> Answer:
        headers = {"Authorization": "Bearer bound"}
        return showing(one).get("/v1/accounts", consent=facts.consent(), headers=headers)

    assert ask(own).status == 200
    assert [refusal(ask(one)) for one in (other, NOBODY)] == [(401, "TOKEN_INVALID")] * 2
    assert thumbprint in ask(other).json()["tppMessages"][0]["text"]


def as_client(bank: Bank, id: str, path: str = "/as/token.oauth2", **form: str) -> Answer:
    fields = {"grant_type": "client_credentials", "client_id": id, "client_secret": "its secret", **form}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "X-Request-ID": None}
    return bank.post(path, content=urlencode(fields).encode(), headers=headers, check=False)


@spec("reading-strict-certificate-client")
@carrying
@pytest.mark.parametrize("id", ["an-app", "PSDAT-FMA-777"])
def test_a_client_must_use_the_certificate_of_its_tpp(showing: As, strictly: Control, order: Order, id: str) -> None:
    said = {} if id.startswith("PSD") else {"organizationIdentifier": "PSDAT-FMA-777"}
    strictly.ask("PUT", f"state/clients/{id}", {"secret": "its secret", "name": "An app", **said})
    own, other = showing(as_ordered(order)), showing(as_ordered(order.change(organisation_identifier="PSDAT-FMA-2")))
    token = as_client(own, id).json()["access_token"]
    refused = as_client(other, id)
    assert (refused.status, refused.json()["error"]) == (401, "invalid_client")
    text = f"the client certificate belongs to PSDAT-FMA-2, the client_id {id} to PSDAT-FMA-777"
    assert refused.json()["error_description"] == text

    headers = {"Authorization": f"Bearer {token}"}
    assert own.get("/v1/accounts", consent=facts.consent(), headers=headers).status == 200
    refused = other.get("/v1/accounts", consent=facts.consent(), headers=headers)
    assert refusal(refused) == (401, "TOKEN_INVALID")
    assert "PSDAT-FMA-2" in refused.error["text"]
    assert as_client(other, "demo-tpp", client_secret="kletterrose").status == 200, "registered for no TPP"


@spec("reading-strict-certificate-role")
@carrying
def test_the_operation_determines_the_required_role(showing: As, strictly: Control, order: Order) -> None:
    bank = showing(as_ordered(order.change(roles=particulars(roles=("PISP",)).roles)))
    assert refusal(accounts(bank)) == (401, "ROLE_INVALID")
    assert bank.post("/v1/payments/sepa-credit-transfers", json=bodies.payment("sepa-credit-transfers")).status == 200


@spec("reading-strict-certificate-status")
@carrying
def test_a_certificate_expires_by_the_clock_of_the_session(showing: As, strictly: Control, order: Order) -> None:
    bank = showing(MAKERS["expires-tomorrow"](order))
    assert accounts(bank).status == 200
    strictly.move("48h")
    assert refusal(accounts(bank)) == (401, "CERTIFICATE_EXPIRED")


@spec("reading-strict-certificate-status")
@carrying
def test_revocation_and_blocking_apply_immediately(
    showing: As, strictly: Control, order: Order, service: TrustService
) -> None:
    order, one = order.change(organisation_identifier="PSDAT-FMA-778"), as_ordered(order)
    service.register("PSDAT-FMA-778", Provider("My TPP"))
    bank, blocked = showing(one), showing(as_ordered(order))
    assert (accounts(bank).status, accounts(blocked).status) == (200, 200)
    service.revoke(certificate.read(one.chain[0]), datetime.now(UTC))
    service.register("PSDAT-FMA-778", Provider("My TPP", is_blocked=True))
    assert refusal(accounts(bank)) == (401, "CERTIFICATE_REVOKED")
    assert refusal(accounts(blocked)) == (401, "CERTIFICATE_BLOCKED")


@spec("reading-strict-certificate")
@in_process
@pytest.mark.parametrize("name", MISTAKES)
def test_every_certificate_of_the_zoo(
    showing: As, strictly: Control, order: Order, service: TrustService, name: str
) -> None:
    wrong, identifier = MISTAKES[name], f"PSDAT-FMA-{name}"
    order = order.change(organisation_identifier=identifier)
    one = MAKERS[name](order)
    service.register(identifier, Provider("My TPP", wrong.standing == "blocked"))
    if wrong.standing == "revoked":
        service.revoke(certificate.read(one.chain[0]), datetime.now(UTC))
    if name == "expires-tomorrow":
        strictly.move("48h")
    assert refusal(accounts(showing(one))) == (401, wrong.error.upper().replace("-", "_"))


@spec("reading-strict-certificate-rotation")
@carrying
def test_certificates_can_overlap_during_rotation(showing: As, strictly: Control, order: Order) -> None:
    soon = order.change(not_after=order.now + timedelta(days=3))
    later = order.change(not_before=order.now + timedelta(days=1), not_after=order.now + timedelta(days=47))
    old, new = showing(as_ordered(soon)), showing(as_ordered(later))
    assert accounts(old).status == 200
    assert refusal(accounts(new)) == (401, "CERTIFICATE_INVALID"), "not valid yet"
    strictly.move("48h")
    assert (accounts(old).status, accounts(new).status) == (200, 200)
    strictly.move("48h")
    assert refusal(accounts(old)) == (401, "CERTIFICATE_EXPIRED")
    assert accounts(new).status == 200


@spec("reading-strict-certificate")
@pytest.mark.parametrize("bank", [door for door in DOORS if "tls" not in door], indirect=True)
def test_strict_requires_no_certificate_at_doors_without_tls(bank: Bank, control: Control) -> None:
    control.ask("PUT", "checks", {"profile": "strict", "checks": []})
    assert refusal(accounts(bank)) == (401, "TOKEN_UNKNOWN")


@spec("reading-strict-certificate")
@pytest.mark.parametrize("bank", [door for door in DOORS if "tls" in door], indirect=True)
def test_strict_requires_a_certificate_at_doors_with_tls(showing: As, control: Control) -> None:
    control.ask("PUT", "checks", {"profile": "strict", "checks": []})
    assert refusal(accounts(showing(NOBODY))) == (401, "CERTIFICATE_MISSING")


@spec("reading-strict-certificate-tpp")
@carrying
def test_resources_of_another_tpp_are_unknown(showing: As, strictly: Control, order: Order) -> None:
    one, other = showing(as_ordered(order)), showing(as_ordered(order.change(organisation_identifier="PSDAT-FMA-2")))
    consent = one.post("/v1/consents", json=bodies.consent()).json()["consentId"]
    payment = one.post("/v1/payments/sepa-credit-transfers", json=bodies.payment("sepa-credit-transfers")).json()
    path = f"/v1/payments/sepa-credit-transfers/{payment['paymentId']}/status"
    assert [one.get(f"/v1/consents/{consent}").status, one.get(path).status] == [200, 200]
    assert refusal(other.get(f"/v1/consents/{consent}")) == (403, "CONSENT_UNKNOWN")
    assert refusal(other.get("/v1/accounts", consent=consent)) == (403, "CONSENT_UNKNOWN")
    assert refusal(other.get(path)) == (404, "RESOURCE_UNKNOWN")
    renewed = showing(as_ordered(order))
    assert renewed.get("/v1/accounts", consent=consent).status == 200, "another certificate of the same TPP"


@in_process
def test_certificates_are_not_parsed_by_default(showing: As, order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "read", lambda der: pytest.fail("the certificate was parsed"))
    assert accounts(showing(as_ordered(order))).status == 200


def test_all_ways_over_tls_are_tested() -> None:
    assert {door for door in CARRYING if door.startswith(MITMPROXY)} == {"mitmproxy-tls", "mitmproxy-tls-proxy"}
