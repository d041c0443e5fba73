"""The files of the tutorial are a bank without lint problems and with the promised answers."""

import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.serving import Serving, served
from xs2a_sandbox.config import settings
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.features.authoring import init_files
from xs2a_sandbox.features.authoring.lint import check

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "extend-a-dialect.md").read_text()
MOST = 300
"""The maximum number of YAML lines for this bank."""
CONSENT = {"Consent-ID": "5b0f6c1e-3a52-4c0b-9a44-6a1d3f6f0a01"}


def texts() -> dict[str, str]:
    """Return the contents of the files on the page by file name: each block follows the name of its file."""
    named: dict[str, str] = {}
    for before, language, text in re.findall(r"(.*?)^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        if language == "yaml":
            named[re.findall(r"`(cassettes/lago/\S+\.yaml)`", before)[-1]] = text
        elif language == "json":
            (id,) = re.findall(r'"\$id": ".*/schemas/(.*)"', text)
            named[f"schemas/{id}"] = text
    return named


@pytest.fixture(scope="module")
def lago(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("lago")
    init_files.write_dialect(directory, "lago", "berlin-group-1.3")
    for name, text in texts().items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    file = directory / settings.FILE
    file.write_text(file.read_text().replace("#base_path: ", "base_path: /psd2/lago #"))
    return directory


@pytest.fixture(scope="module")
def serving(lago: Path) -> Iterator[Serving]:
    with served(lago) as serving:
        yield serving


@pytest.fixture
def token(serving: Serving) -> str:
    data = {"grant_type": "client_credentials"}
    answer = requests.post(
        f"{serving.direct}/psd2/lago/as/token.oauth2", data=data, auth=("lago-tpp", "battello"), timeout=20
    )
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


def ask(serving: Serving, path: str, token: str | None, method: str = "GET", **more: Any) -> requests.Response:
    headers = {
        "X-Request-ID": str(uuid.uuid4()),
        "PSU-IP-Address": "192.0.2.1",
        "X-Sandbox-Session": more.pop("session", "a"),
    }
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    headers |= more.pop("headers", {})
    return requests.request(method, f"{serving.direct}/psd2/lago{path}", headers=headers, timeout=20, **more)


def test_the_bank_has_no_lint_problems_and_its_examples_pass(lago: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lago)
    assert [str(problem) for problem in check(settings.load({"state": "memory:"}, {}, lago))] == []


def test_the_bank_is_short_and_has_ten_differences() -> None:
    yaml = [text for name, text in texts().items() if name.endswith(".yaml")]
    assert sum(len(text.splitlines()) for text in yaml) < MOST
    assert re.findall(r"^## (\d+)\. ", PAGE, re.MULTILINE) == [str(number) for number in range(1, 11)]


def test_the_files_extend_the_dialect_that_init_writes(lago: Path) -> None:
    assert yaml_reader.read(lago / "cassettes/lago/dialect.yaml").value["extends"] == "berlin-group-1.3"


def test_a_request_without_a_token_is_refused(serving: Serving) -> None:
    refused = ask(serving, "/v1/accounts", None, headers=CONSENT)
    assert (refused.status_code, refused.json()["tppMessages"][0]["code"]) == (401, "TOKEN_UNKNOWN")


def test_accounts_have_the_ids_of_this_bank(serving: Serving, token: str) -> None:
    answer = ask(serving, "/v1/accounts", "demo", headers=CONSENT)
    assert [account["resourceId"] for account in answer.json()["accounts"]] == ["LAGO-000123456"]
    assert answer.headers["Server"] == "Lago"
    assert ask(serving, "/v1/accounts", token, headers=CONSENT, session="default").status_code == 200


def test_other_prefixes_are_unknown(serving: Serving) -> None:
    assert requests.get(f"{serving.direct}/v1/branches", timeout=20).status_code == 404


def test_statements_are_xml(serving: Serving) -> None:
    path = "/v1/accounts/LAGO-000123456/transactions?bookingStatus=booked&dateFrom=2020-01-01"
    answer = ask(serving, path, "demo", headers={**CONSENT, "Accept": "application/xml"})
    assert "camt.053" in answer.text
    assert "LAGO-T-1" in answer.text
    assert ask(serving, path, "demo", headers={**CONSENT, "Accept": "text/plain"}).status_code == 406


def test_a_consent_is_valid_for_180_days_at_most(serving: Serving) -> None:
    body = {"access": {"availableAccounts": "allAccounts"}, "recurringIndicator": True, "validUntil": "9999-12-31"}
    body |= {"frequencyPerDay": 4, "combinedServiceIndicator": False}
    answer = ask(serving, "/v1/consents", "demo", "POST", json=body)
    assert answer.json()["tppMessages"][0]["text"] == "il consenso dura al massimo 180 giorni"


@pytest.mark.parametrize(("purpose", "status"), [("SALA", 201), ("GDDS", 201), ("other", 400), (None, 400)])
def test_a_payment_with_the_own_product_needs_a_purpose(serving: Serving, purpose: str | None, status: int) -> None:
    assert pay(serving, purpose).status_code == status


def pay(serving: Serving, purpose: str | None, **wishes: str) -> requests.Response:
    body: dict[str, Any] = {
        "debtorAccount": {"iban": "IT60X0542811101000000123456"},
        "creditorAccount": {"iban": "IT44S0542811101000000987654"},
        "creditorName": "Trattoria Vela",
        "instructedAmount": {"amount": "1035.00", "currency": "EUR"},
    }
    body |= {"purposeCode": purpose} if purpose else {}
    return ask(serving, "/v1/payments/lago-express", "demo", "POST", json=body, headers={"PSU-ID": "giulia", **wishes})


def test_the_page_has_the_banks_style_and_is_italian(serving: Serving) -> None:
    made = pay(serving, "SALA", **{"TPP-Redirect-Preferred": "true"})
    link = made.json()["_links"]["scaRedirect"]["href"]
    page = requests.get(link, headers={"Accept-Language": "fr"}, timeout=20)
    assert page.status_code == 200, page.text
    for text in ('<html lang="it">', "Banca del Lago", "1.035,00 EUR", "Rifiuta", "--accent:#7a1f2b"):
        assert text in page.text
    assert "Ablehnen" in requests.get(link, headers={"Accept-Language": "de"}, timeout=20).text


def test_the_second_wrong_password_fails(serving: Serving) -> None:
    made = pay(serving, "SALA").json()
    path = f"/v1/payments/lago-express/{made['paymentId']}/authorisations"
    wishes = {"PSU-ID": "giulia", "TPP-Redirect-Preferred": "false"}
    started = ask(serving, path, "demo", "POST", json={}, headers=wishes)
    one = f"{path}/{started.json()['authorisationId']}"
    for status in ("psuIdentified", "failed"):
        wrong = ask(serving, one, "demo", "PUT", json={"psuData": {"password": "x"}}, headers={"PSU-ID": "giulia"})
        assert (wrong.status_code, wrong.json()["tppMessages"][0]["text"]) == (401, "credenziali errate")
        assert ask(serving, one, "demo").json()["scaStatus"] == status


def test_a_transaction_shows_its_branch(serving: Serving) -> None:
    answer = ask(serving, "/v1/branches?city=Como", "demo")
    assert answer.json() == {"branches": [{"name": "Sede centrale", "city": "Como"}]}
