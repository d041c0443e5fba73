"""The functional conformance scripts of UK Open Banking 4.0 against the bundled dialect; see `tests.outside.obie`."""

import base64
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from tests.outside.obie.consents import shared
from tests.outside.obie.detached_jws import IAT, ISS, Signer, mistakes
from tests.outside.obie.expectations import text_at
from tests.outside.obie.manifests import FOLDER, INTERFACES, scripts
from tests.outside.obie.run import CONTRADICTIONS, bank_of, results
from tests.outside.obie.target import DEFAULT
from tests.outside.obie.words import Words, formatted
from tests.support.shared import SHARED, needs_shared
from xs2a_sandbox.bundled import dialects

needs_scripts = needs_shared(FOLDER)
needs_dialect = pytest.mark.skipif(DEFAULT.dialect not in dialects(), reason=f"{DEFAULT.dialect} is not bundled")


def ids() -> list[str]:
    there = (SHARED / FOLDER).exists()
    return [script.id for interface in INTERFACES for script in scripts(interface)] if there else []


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, tuple[str, ...]]]:
    with bank_of(DEFAULT, tmp_path_factory.mktemp("obie")) as url:
        yield {result.id: result.why for result in results(url, DEFAULT)}


@needs_dialect
@needs_scripts
@pytest.mark.parametrize("id", ids())
def test_a_script_meets_its_expectations(id: str, found: Mapping[str, tuple[str, ...]]) -> None:
    if id in CONTRADICTIONS:
        assert found[id], f"{id} passes: remove it from CONTRADICTIONS"
    else:
        assert found[id] == ()


@needs_scripts
def test_there_are_149_scripts_with_different_ids() -> None:
    assert len(set(ids())) == len(ids()) == 149


@needs_scripts
def test_two_consents_suffice_for_the_scripts_of_accounts() -> None:
    first, second = shared(scripts(INTERFACES[0]))
    assert first.excluded == {"ReadAccountsDetail", "ReadTransactionsDetail"}
    assert second.excluded == {"ReadBalances"}
    for consent in (first, second):
        assert not consent.permissions & consent.excluded


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("2006-01-02T15:04:05Z07:00", "2026-02-03T04:05:06Z"),
        ("2006-01-02T15:04:05-07:00", "2026-02-03T04:05:06+00:00"),
        ("2006-01-02T15:04:05.999Z", "2026-02-03T04:05:06.12Z"),
    ],
)
def test_layouts_of_go_are_formatted(layout: str, text: str) -> None:
    assert formatted(datetime(2026, 2, 3, 4, 5, 6, 120000, UTC), layout) == text


def test_a_zero_fraction_is_left_out() -> None:
    assert formatted(datetime(2026, 2, 3, 4, 5, 10, tzinfo=UTC), "05.999Z") == "10Z"


def test_parameters_of_a_script_take_precedence_and_can_refer_to_others() -> None:
    words = Words({"amount": "1.00", "body": '{"a": "$amount", "b": "$other"}'})
    script = words.of({"amount": "$amount", "other": "$amount", "sent": "$body", "nobody": "$knows"})
    assert script.resolved("/$sent") == '/{"a": "1.00", "b": "1.00"}'
    assert words.of({}).resolved("$other") == "1.00"
    assert "nobody" not in words.known


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ('Errors.#[ErrorCode="U019"].ErrorCode', "U019"),
        ('Errors.#[ErrorCode="U018"].ErrorCode', None),
        ("Errors.0.Path", "Data"),
        ("Errors.2.Path", None),
        ("Data.Available", "true"),
        ("Data.Available.More", None),
    ],
)
def test_paths_find_their_values(path: str, text: str | None) -> None:
    errors = [{"ErrorCode": "U002", "Path": "Data"}, {"ErrorCode": "U019"}]
    assert text_at(httpx.Response(200, json={"Errors": errors, "Data": {"Available": True}}), path) == text


class BankSigner(Signer):
    """A bank that signs as an app does, but with its organisation's id."""

    def key(self) -> Mapping[str, Any]:
        name, now = x509.Name([]), datetime.now(UTC)
        builder = x509.CertificateBuilder(name, name, self._key.public_key(), x509.random_serial_number())
        days = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1))
        certificate = days.sign(self._key, SHA256()).public_bytes(Encoding.DER)
        return {"kid": self.kid, "x5c": [base64.b64encode(certificate).decode()]}

    def _signed(self, protected: Mapping[str, Any], payload: bytes) -> str:
        return super()._signed({**protected, ISS: "0015800000jfQ9aAAE"}, payload)


BODY = b'{"Data":{}}'


def test_a_valid_signature_of_an_answer_is_accepted() -> None:
    bank = BankSigner()
    assert list(mistakes(bank.signature(BODY), BODY, [bank.key()])) == []


@pytest.mark.parametrize(
    ("without", "body", "keys", "mistake"),
    [
        ((), b"{}", True, "does not sign"),
        ((), BODY, False, "JWKS"),
        (("iat",), BODY, True, IAT),
        (("alg",), BODY, True, "alg is None"),
        (("crit",), BODY, True, "crit"),
    ],
)
def test_mistakes_of_a_signature_are_found(without: tuple[str, ...], body: bytes, keys: bool, mistake: str) -> None:
    bank = BankSigner()
    (told,) = mistakes(bank.signature(BODY, without), body, [bank.key()] if keys else [])
    assert mistake in told


def test_the_issuer_of_an_answer_must_be_an_organisation() -> None:
    app, bank = Signer(), BankSigner()
    assert any(ISS in told for told in mistakes(app.signature(BODY), BODY, [bank.key()]))
    assert json.loads(base64.urlsafe_b64decode(app.signature(BODY).split(".")[0] + "=="))[ISS].count("/") == 1
