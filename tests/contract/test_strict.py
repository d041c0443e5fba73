"""The checks of real banks: rejected requests, and warnings."""

import base64
import hashlib
import json
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.contract.conftest import Sandbox
from tests.contract.control import Control
from tests.contract.doors import Answer, Bank, place
from tests.support.proofs import Prover
from tests.support.seals import seal, sealed, trusted
from xs2a_sandbox.tpp.issuing import Issued
from xs2a_sandbox.tpp.trust_service import TrustService

spec = pytest.mark.spec

HEADER = "x-sandbox-strict"


def checked(control: Control, *names: str, profile: str = "documented") -> None:
    control.ask("PUT", "checks", {"profile": profile, "checks": list(names)})


def authorised(bank: Bank, control: Control, **changes: Any) -> str:
    """Return an authorised consent for an account. `body` overrides its members."""
    body = bodies.consent(facts.untied()[0], **changes)
    created = bank.post("/v1/consents", json=body, headers=a_token(bank)).json()
    control.change("consents", created["consentId"], status="authorised")
    return str(created["consentId"])


def refusal(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json()["tppMessages"][0]["code"]


@spec("reading-strict-frequency")
def test_check_of_the_frequency(bank: Bank, control: Control) -> None:
    checked(control, "frequency")
    consent = authorised(bank, control, frequencyPerDay=1)
    alone = {"PSU-IP-Address": None}
    assert bank.get("/v1/accounts", consent=consent, headers=alone).status == 200
    refused = bank.get("/v1/accounts", consent=consent, headers=alone)
    assert refusal(refused) == (429, "ACCESS_EXCEEDED")
    assert bank.get("/v1/accounts", consent=consent).status == 200, "the customer is present"


@spec("reading-strict-one-off")
def test_a_one_off_consent_ends_when_it_is_used(bank: Bank, control: Control) -> None:
    checked(control, "one-off")
    consent = authorised(bank, control, recurringIndicator=False)
    assert bank.get("/v1/accounts", consent=consent).status == 200
    assert refusal(bank.get("/v1/accounts", consent=consent)) == (401, "CONSENT_EXPIRED")
    assert bank.get(f"/v1/consents/{consent}/status").json()["consentStatus"] == "expired"


@spec("reading-strict-rights")
@pytest.mark.parametrize(("right", "other"), [("balances", "transactions"), ("transactions", "balances")])
def test_check_of_rights(bank: Bank, control: Control, right: str, other: str) -> None:
    checked(control, "rights")
    iban = facts.untied()[0]
    consent = authorised(bank, control, access={right: [{"iban": iban}]})
    query = {"bookingStatus": "booked"}
    answers = {name: bank.get(f"/v1/accounts/{iban}/{name}", consent=consent, query=query) for name in (right, other)}
    assert answers[right].status == 200
    assert refusal(answers[other]) == (401, "CONSENT_INVALID")


@spec("reading-strict-rights")
def test_balances_are_omitted_without_permission(bank: Bank, control: Control) -> None:
    checked(control, "rights")
    consent = authorised(bank, control, access={"transactions": [{"iban": facts.untied()[0]}]})
    (account,) = bank.get("/v1/accounts", consent=consent, query={"withBalance": "true"}).json()["accounts"]
    assert not account.get("balances")


@spec("reading-strict-rights")
def test_consents_for_all_accounts_and_preconfigured_consents_give_all_permissions(
    bank: Bank, control: Control
) -> None:
    checked(control, "rights")
    everything = bank.post("/v1/consents", json=bodies.consent()).json()["consentId"]
    for consent in (everything, facts.consent()):
        for name in ("balances", "transactions?bookingStatus=both"):
            assert bank.get(f"/v1/accounts/{facts.covered()}/{name}", consent=consent).status == 200


def digest(algorithm: str, body: bytes) -> str:
    digest = hashlib.new(algorithm.replace("-", ""), body).digest()
    return f"{algorithm.upper()}={base64.b64encode(digest).decode()}"


@spec("reading-strict-digest")
@pytest.mark.parametrize("algorithm", ["sha-256", "sha-512"])
def test_check_of_the_digest(bank: Bank, control: Control, algorithm: str) -> None:
    checked(control, "digest")
    valid = facts.consent()
    body = b'{ "access": {"availableAccounts": "allAccounts"}, "recurringIndicator": true,'
    body += f'"validUntil": "{facts.today(9)}", "frequencyPerDay": 4}}'.encode()
    right, wrong = digest(algorithm, body), digest(algorithm, body + b" ")
    assert bank.post("/v1/consents", content=body, headers={"Digest": right}).status == 200
    assert bank.post("/v1/consents", content=body).status == 200, "a digest is optional"
    for header in (wrong, f"{right}, {digest('sha-512', b'')}", "MD5=abc", "nonsense", f"{algorithm}=???"):
        refused = bank.post("/v1/consents", content=body, headers={"Digest": header})
        assert refusal(refused) == (400, "FORMAT_ERROR"), header
    refused = bank.post("/v1/consents", content=body, headers={"Digest": wrong})
    assert right.partition("=")[2] in refused.json()["tppMessages"][0]["text"]
    assert bank.get("/v1/accounts", consent=valid, headers={"Digest": digest(algorithm, b"")}).status == 200
    assert refusal(bank.get("/v1/accounts", consent=valid, headers={"Digest": right})) == (400, "FORMAT_ERROR")


type Signed = Callable[..., dict[str, str]]


@pytest.fixture
def issuer(sandbox: Sandbox) -> Issued:
    """The test trust service that the sandbox trusts."""
    return TrustService(Path(sandbox.addresses.ca_file).parent).ca(datetime.now(UTC))


@pytest.fixture
def signed(issuer: Issued) -> Signed:
    """Return the headers of a request, signed with the seal of a TPP."""
    usual = trusted(issuer)

    def headers(body: bytes, **options: Any) -> dict[str, str]:
        own = {"X-Request-ID": str(uuid.uuid4()), "TPP-Redirect-URI": "https://tpp.example/back"}
        options = {"by": usual, "now": datetime.now(UTC), **options}
        return sealed(options.pop("headers", own), body, **options)

    return headers


@spec("reading-strict-signature")
@pytest.mark.parametrize("form", ["signature", "jws"])
def test_check_of_the_signature(bank: Bank, control: Control, issuer: Issued, signed: Signed, form: str) -> None:
    checked(control, "signature")
    body = json.dumps(bodies.consent()).encode()
    headers = signed(body, form=form)
    assert bank.post("/v1/consents", content=body, headers=headers).status == 200
    for wrong, code in (
        ({**headers, "TPP-Redirect-URI": "https://tpp.example/other"}, "SIGNATURE_INVALID"),
        ({**headers, "Digest": digest("sha-256", b"")}, "SIGNATURE_INVALID"),
        ({**headers, "TPP-Signature-Certificate": None}, "CERTIFICATE_MISSING"),
        ({**headers, "TPP-Signature-Certificate": "abc"}, "CERTIFICATE_INVALID"),
        (signed(body, form=form, names=("digest", "x-request-id")), "SIGNATURE_INVALID"),
        (signed(body, form=form, by=trusted(issuer, begins=-9, ends=-1)), "CERTIFICATE_EXPIRED"),
        (signed(body, form=form, by=seal()), "CERTIFICATE_INVALID"),
    ):
        assert refusal(bank.post("/v1/consents", content=body, headers=wrong)) == (401, code)
    assert refusal(bank.post("/v1/consents", content=body)) == (401, "SIGNATURE_MISSING")
    # also without a body
    consent = facts.consent()
    status = f"/v1/consents/{consent}/status"
    assert bank.get(status, headers=signed(b"", form=form)).status == 200
    assert refusal(bank.get(status, headers={"Digest": digest("sha-256", b"")})) == (401, "SIGNATURE_MISSING")


@spec("reading-strict-signature")
def test_the_answer_contains_the_expected_signing_string(bank: Bank, control: Control, signed: Signed) -> None:
    checked(control, "signature")
    body = json.dumps(bodies.consent()).encode()
    headers = signed(body)
    names = ("tpp-redirect-uri", "digest", "x-request-id")
    lines = [f"{name}: {value}" for name in names for sent, value in headers.items() if sent.lower() == name]
    other = signed(body, names=names, headers=headers)["Signature"]
    listed = other.replace(" ".join(names), "digest x-request-id tpp-redirect-uri")
    refused = bank.post("/v1/consents", content=body, headers={**headers, "Signature": listed})
    shown = refused.json()["sandbox"]["signature"]
    assert shown["signingString"] == [*lines[1:], lines[0]]
    assert shown["clientSigned"]["text"] == lines
    assert "in the order tpp-redirect-uri digest x-request-id" in refused.error["text"]


@spec("reading-strict-signature")
@pytest.mark.parametrize("form", ["signature", "jws"])
def test_the_journal_explains_a_wrong_signature(bank: Bank, control: Control, signed: Signed, form: str) -> None:
    checked(control, "signature")
    headers = signed(b"", form=form)
    path = f"/v1/consents/{facts.consent()}/status"
    moved = {**headers, "TPP-Redirect-URI": "https://tpp.example/other"}
    changed = {**headers, "Digest": digest("sha-256", b"{}")}
    why = "the signature does not match the signing string", "which is the digest of the body {}"
    # Looking at one answer does not hide the next.
    for wrong, words in ((moved, why[0]), (moved, why[0]), (changed, why[1])):
        bank.get(path, headers=wrong)
        number = control.ask("GET", "journal?status=401").json()["exchanges"][-1]["number"]
        entry = control.ask("GET", f"journal/{number}").json()
        assert entry["reason"].startswith("SIGNATURE_INVALID: ")
        for reason in (entry["reason"], entry["answer"]["body"]["sandbox"]["signature"]["reason"]):
            assert words in reason
    assert headers["TPP-Signature-Certificate"] not in str(entry)


@spec("reading-strict-signature")
def test_the_seal_of_another_tpp_is_refused(bank: Bank, control: Control, issuer: Issued, signed: Signed) -> None:
    checked(control, "signature")
    known_as(control, organizationIdentifier="PSDAT-FMA-123456")
    token = a_token(bank)
    path = f"/v1/consents/{facts.consent()}/status"
    assert bank.get(path, headers=signed(b"", headers=sent(token))).status == 200
    other = trusted(issuer, "PSDAT-FMA-4")
    refused = bank.get(path, headers=signed(b"", headers=sent(token), by=other))
    assert refusal(refused) == (401, "SIGNATURE_INVALID")
    assert "PSDAT-FMA-4" in refused.error["text"]


def sent(token: dict[str, str]) -> dict[str, str]:
    return {"X-Request-ID": str(uuid.uuid4()), **token}


@spec("reading-strict-signature")
def test_strict_accepts_unsigned_requests_and_refuses_wrong_signatures(
    bank: Bank, control: Control, signed: Signed
) -> None:
    checked(control, profile="strict")
    token = a_token(bank)
    body = json.dumps(bodies.consent(facts.covered())).encode()
    assert bank.post("/v1/consents", content=body, headers=token).status == 200
    wrong = {**signed(body + b" "), **token}
    assert refusal(bank.post("/v1/consents", content=body, headers=wrong)) == (401, "SIGNATURE_INVALID")
    alone = {**token, "Digest": wrong["Digest"]}
    assert refusal(bank.post("/v1/consents", content=body, headers=alone)) == (400, "FORMAT_ERROR")
    checked(control, "signature", profile="strict")
    assert refusal(bank.post("/v1/consents", content=body, headers=token)) == (401, "SIGNATURE_MISSING")


def a_token(bank: Bank, client: str = "demo-tpp", secret: str = "kletterrose") -> dict[str, str]:
    """Return the header with a token from the token endpoint."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    body = f"grant_type=client_credentials&client_id={client}&client_secret={secret}".encode()
    grant = bank.post("/as/token.oauth2", content=body, headers=form, check=False).json()
    return {"Authorization": f"Bearer {grant['access_token']}"}


@spec("reading-strict-token")
def test_check_of_the_token(bank: Bank, control: Control) -> None:
    checked(control, "token")
    consent = facts.consent()
    assert bank.get("/v1/accounts", consent=consent, headers=a_token(bank)).status == 200
    for wrong in (None, "Bearer", "Bearer none-of-ours", "Basic ZGVtbzp4", "Bearer " + "x" * 5000):
        refused = bank.get("/v1/accounts", consent=consent, headers={"Authorization": wrong})
        assert refusal(refused) == (401, "TOKEN_UNKNOWN"), wrong
    assert refusal(bank.post("/v1/consents", json={})) == (401, "TOKEN_UNKNOWN"), "the token is checked first"
    assert bank.post("/v1/consents", json=bodies.consent(), headers=a_token(bank)).status == 200


@spec("reading-strict-token-expired")
def test_a_token_expires_by_the_clock_of_the_session(bank: Bank, control: Control) -> None:
    checked(control, "token")
    consent, token = facts.consent(), a_token(bank)
    control.move("500s")
    assert bank.get("/v1/accounts", consent=consent, headers=token).status == 200
    control.move("99s")
    assert refusal(bank.get("/v1/accounts", consent=consent, headers=token)) == (401, "TOKEN_EXPIRED")


@spec("reading-strict-token-key")
def test_a_dpop_token_is_valid_only_with_a_new_proof(bank: Bank, control: Control) -> None:
    checked(control, "token")
    own, other = Prover(), Prover()
    kept = {"client": "demo-tpp", "expires": "2999-01-01T00:00:00+01:00", "cnf": {"jkt": own.thumbprint}}
    control.ask("PUT", "state/tokens/t1", kept)

    def ask(proof: str | None, scheme: str = "DPoP") -> Answer:
        headers = {"Authorization": f"{scheme} t1", "DPoP": proof}
        return bank.get("/v1/accounts", consent=facts.consent(), headers=headers)

    proof = own.proof("GET", place(bank, "/v1/accounts"), "t1")
    assert ask(proof).status == 200
    elsewhere = own.proof("GET", place(bank, "/v1/consents"), "t1")
    of_another = other.proof("GET", place(bank, "/v1/accounts"), "t1")
    wrong = [
        (ask(proof), "invalid_dpop_proof", "XS2A935E: the jti of the DPoP proof was used before"),
        (ask(None), "invalid_dpop_proof", "XS2A935E: the header DPoP is missing"),
        (ask(elsewhere), "invalid_dpop_proof", "XS2A935E: the htu of the DPoP proof must be"),
        (ask(of_another), "invalid_token", "XS2A936E: the token is bound to the key with the thumbprint"),
        (ask(None, "Bearer"), "invalid_token", "XS2A936E: the token is bound to a key"),
    ]
    for refused, why, words in wrong:
        assert refusal(refused) == (401, "TOKEN_INVALID")
        assert refused.headers["www-authenticate"] == f'DPoP error="{why}", algs="ES256 PS256"'
        assert words in refused.error["text"]


@spec("reading-strict-new-consent")
def test_strict_creates_a_new_consent_for_each_request(bank: Bank, control: Control) -> None:
    checked(control, profile="strict")
    token = a_token(bank)
    created = bank.post("/v1/consents", json=bodies.consent(facts.covered()), headers=token).json()
    assert created["consentId"] not in facts.testdata()["consents"]
    assert bank.get(f"/v1/consents/{created['consentId']}/status", headers=token).json()["consentStatus"] == "received"


@spec("reading-strict-profile")
def test_strict_includes_every_check(bank: Bank, control: Control) -> None:
    checked(control, profile="strict")
    iban = facts.untied()[0]
    access = {"balances": [{"iban": iban}]}
    consent = authorised(bank, control, access=access, recurringIndicator=False, frequencyPerDay=1)
    path, token = f"/v1/accounts/{iban}", a_token(bank)
    assert refusal(bank.get(f"{path}/balances", consent=consent)) == (401, "TOKEN_UNKNOWN")
    refused = bank.get(f"{path}/transactions?bookingStatus=booked", consent=consent, headers=token)
    assert refusal(refused) == (401, "CONSENT_INVALID")
    refused = bank.get(path, consent=consent, headers={**token, "Digest": "SHA-256=AAAA"})
    assert refusal(refused) == (400, "FORMAT_ERROR")
    alone = {**token, "PSU-IP-Address": None}
    assert [bank.get("/v1/accounts", consent=consent, headers=alone).status for _ in range(2)] == [200, 429]
    statuses = [bank.get(f"{path}/balances", consent=consent, headers=token).status for _ in range(2)]
    assert statuses == [200, 401]


@spec("reading-strict-warn")
def test_warnings_are_returned_in_a_header(bank: Bank, control: Control, warned: Callable[[], Sequence[str]]) -> None:
    checked(control, "warn")
    iban = facts.untied()[0]
    consent = authorised(bank, control, access={"balances": [{"iban": iban}]}, recurringIndicator=False)
    token = a_token(bank)
    first = bank.get("/v1/accounts", consent=consent, headers=token)
    assert first.status == 200
    assert HEADER not in first.headers
    again = bank.get("/v1/accounts", consent=consent, headers=token)
    assert again.status == 200
    assert again.headers[HEADER].startswith("401 CONSENT_EXPIRED: ")
    transactions = bank.get(f"/v1/accounts/{iban}/transactions?bookingStatus=booked", consent=consent, headers=token)
    assert transactions.status == 200
    assert transactions.headers[HEADER].startswith("401 CONSENT_INVALID: ")
    assert "transactions" in transactions.headers[HEADER]
    assert warned() == (f"the profile strict would refuse this: {transactions.headers[HEADER]}",)
    consent = authorised(bank, control, access={"transactions": [{"iban": iban}]})
    listed = bank.get("/v1/accounts?withBalance=true", consent=consent, headers={"Digest": "SHA-256=AAAA"})
    assert listed.json()["accounts"][0]["balances"]
    codes = [text.partition(":")[0] for text in listed.headers[HEADER].split("; ")]
    assert codes[:2] == ["400 FORMAT_ERROR", "401 TOKEN_UNKNOWN"]
    assert "the balances of" in listed.headers[HEADER]


@spec("reading-strict-warn")
def test_named_checks_refuse_and_the_others_warn(bank: Bank, control: Control) -> None:
    checked(control, "warn", "rights")
    iban = facts.untied()[0]
    consent = authorised(bank, control, access={"balances": [{"iban": iban}]}, frequencyPerDay=1)
    assert bank.get(f"/v1/accounts/{iban}/transactions?bookingStatus=booked", consent=consent).status == 401
    alone = {**a_token(bank), "PSU-IP-Address": None}
    answers = [bank.get("/v1/accounts", consent=consent, headers=alone) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 200]
    assert [answer.headers.get(HEADER, "")[:19] for answer in answers] == ["", "429 ACCESS_EXCEEDED"]


@spec("reading-strict-documented")
def test_by_default_no_check_is_made(bank: Bank, control: Control) -> None:
    iban = facts.untied()[0]
    consent = authorised(
        bank, control, access={"balances": [{"iban": iban}]}, frequencyPerDay=1, recurringIndicator=False
    )
    for _ in range(2):
        answer = bank.get(
            f"/v1/accounts/{iban}/transactions?bookingStatus=booked", consent=consent, headers={"PSU-IP-Address": None}
        )
        assert (answer.status, answer.headers.get(HEADER)) == (200, None)


PAYMENTS = "/v1/payments/sepa-credit-transfers"


@spec("reading-strict-idempotency")
def test_repeating_a_payment_with_the_same_request_id_returns_the_same_payment(bank: Bank, control: Control) -> None:
    checked(control, "idempotency")
    id, body = {"X-Request-ID": str(uuid.uuid4())}, bodies.payment("sepa-credit-transfers")
    first, again = (bank.post(PAYMENTS, json=body, headers=id) for _ in range(2))
    assert (first.status, again.status) == (200, 200)
    assert again.json() == first.json()
    other = bank.post(PAYMENTS, json={**body, "creditorName": "Somebody else"}, headers=id)
    assert refusal(other) == (400, "FORMAT_ERROR")
    assert "X-Request-ID" in other.error["text"]
    assert bank.post(PAYMENTS, json=body).json()["paymentId"] != first.json()["paymentId"]
    checked(control)
    assert bank.post(PAYMENTS, json=body, headers=id).json()["paymentId"] != first.json()["paymentId"]


def known_as(control: Control, **changes: Any) -> None:
    """Return the data of the client that gets tokens."""
    control.ask("PUT", "state/clients/demo-tpp", {"secret": "kletterrose", "name": "Demo TPP", **changes})


@spec("reading-strict-redirect")
def test_redirect_addresses_must_belong_to_the_tpp(bank: Bank, control: Control) -> None:
    checked(control, "redirect")
    known_as(control, redirectUris=["https://tpp.example/back"])
    token = a_token(bank)
    for own in ("https://tpp.example/back", "https://tpp.example/back?state=1", "https://tpp.example/back/2"):
        answer = bank.post("/v1/consents", json=bodies.consent(), headers={**token, "TPP-Redirect-URI": own})
        assert answer.status == 200
    for name in ("TPP-Redirect-URI", "TPP-Nok-Redirect-URI"):
        for other in ("https://tpp.example/backdoor", "https://other.example/back", "http://tpp.example/back"):
            refused = bank.post("/v1/consents", json=bodies.consent(), headers={**token, name: other})
            assert refusal(refused) == (400, "FORMAT_ERROR")
            assert name in refused.error["text"]
    wish = {"TPP-Redirect-Preferred": "true"}
    assert refusal(bank.post("/v1/consents", json=bodies.consent(), headers=wish)) == (400, "FORMAT_ERROR")


@spec("reading-strict-validity")
@pytest.mark.parametrize(
    ("changes", "headers", "code"),
    [
        ({"recurringIndicator": False, "frequencyPerDay": 4}, {}, "FORMAT_ERROR"),
        ({"combinedServiceIndicator": True}, {}, "SESSIONS_NOT_SUPPORTED"),
        ({}, {"TPP-Redirect-Preferred": "yes"}, "FORMAT_ERROR"),
        ({}, {"TPP-Explicit-Authorisation-Preferred": "1"}, "FORMAT_ERROR"),
        ({}, {"PSU-IP-Port": "http"}, "FORMAT_ERROR"),
        ({}, {"PSU-Http-Method": "get"}, "FORMAT_ERROR"),
        ({}, {"PSU-Device-ID": "my phone"}, "FORMAT_ERROR"),
        ({}, {"PSU-Geo-Location": "Vienna"}, "FORMAT_ERROR"),
    ],
)
def test_values_of_the_consent_and_of_psu_headers_are_checked(
    bank: Bank, control: Control, changes: dict[str, Any], headers: dict[str, str], code: str
) -> None:
    right = {"PSU-IP-Port": "443", "PSU-Http-Method": "GET", "PSU-Geo-Location": "GEO:52.5;-13.1"}
    right |= {"PSU-Device-ID": str(uuid.uuid4()), "TPP-Explicit-Authorisation-Preferred": "false"}
    body = bodies.consent(facts.untied()[0], **changes)
    assert bank.post("/v1/consents", json=body, headers=headers).status == 200
    checked(control, "validity")
    assert refusal(bank.post("/v1/consents", json=body, headers={**right, **headers})) == (400, code)
    assert bank.post("/v1/consents", json=bodies.consent(facts.untied()[0]), headers=right).status == 200


@spec("reading-strict-history")
def test_older_entries_need_a_recent_authorisation(bank: Bank, control: Control) -> None:
    checked(control, "validity")
    iban = facts.untied()[0]
    body = bodies.consent(iban, validUntil="9999-12-31")
    consent = bank.post("/v1/consents", json=body).json()["consentId"]
    (authorisation,) = bank.get(f"/v1/consents/{consent}/authorisations").json()["authorisationIds"]
    control.decide(authorisation, "approve")
    path = f"/v1/accounts/{iban}/transactions"
    long_ago = {"bookingStatus": "booked", "dateFrom": facts.today(-91)}
    assert bank.get(path, consent=consent, query=long_ago).status == 200
    control.move("61m")
    refused = bank.get(path, consent=consent, query=long_ago)
    assert refusal(refused) == (400, "PERIOD_INVALID")
    recent = {**long_ago, "dateFrom": facts.today(-80)}
    assert bank.get(path, consent=consent, query=recent).status == 200
    control.move("181d")
    assert refusal(bank.get("/v1/accounts", consent=consent)) == (401, "CONSENT_EXPIRED")
    assert bank.get(f"/v1/consents/{consent}/status").json()["consentStatus"] == "expired"


@spec("reading-strict-client")
def test_the_consent_of_another_client_is_unknown(bank: Bank, control: Control) -> None:
    checked(control, "token")
    control.ask("PUT", "state/clients/other-tpp", {"secret": "x", "name": "Other TPP"})
    own, other = a_token(bank), a_token(bank, "other-tpp", "x")
    consent = bank.post("/v1/consents", json=bodies.consent(), headers=own).json()["consentId"]
    assert bank.get("/v1/accounts", consent=consent, headers=own).status == 200
    assert bank.get("/v1/accounts", consent=consent, headers=other).error["code"] == "CONSENT_UNKNOWN"
    assert refusal(bank.get(f"/v1/consents/{consent}", headers=other)) == (403, "CONSENT_UNKNOWN")
    payment = bank.post(PAYMENTS, json=bodies.payment("sepa-credit-transfers"), headers=own).json()["paymentId"]
    assert bank.get(f"{PAYMENTS}/{payment}", headers=own).status == 200
    assert refusal(bank.get(f"{PAYMENTS}/{payment}", headers=other)) == (404, "RESOURCE_UNKNOWN")
    assert bank.get("/v1/accounts", consent=facts.consent(), headers=other).status == 200
