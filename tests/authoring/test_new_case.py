"""Generated cases have no lint problems, their examples pass, and no file is overwritten."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from tests.support.engine_client import Client, bundled_engine
from xs2a_sandbox.config import Settings
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.documents.yaml_writer import write_exactly
from xs2a_sandbox.engine import build
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.authoring.lint import check
from xs2a_sandbox.features.authoring.new_case import draft_case, text, write

BANK = bundled_engine()
DATA = BANK.parts.testdata


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def settings(tmp_path: Path) -> Settings:
    return Settings(state="memory:", confdir=tmp_path)


@pytest.mark.parametrize("status", [None, 400, 401, 429, 503])
def test_new_cases_of_all_operations_have_no_lint_problems(tmp_path: Path, status: int | None) -> None:
    folder = tmp_path / "cases"
    folder.mkdir()
    for operation in BANK.interface.operations.values():
        draft = draft_case(BANK.interface, BANK.schemas, DATA, operation.method, operation.pattern.text, status)
        assert draft.match == {"operation": operation.id}
        (folder / f"{draft.id}.yaml").write_text(text(draft))

    assert [str(p) for p in check(settings(tmp_path), [folder])] == []


@pytest.mark.parametrize("status", [None, 403])
def test_the_commented_matchers_are_valid(tmp_path: Path, status: int | None) -> None:
    folder = tmp_path / "cases"
    folder.mkdir()
    for operation in BANK.interface.operations.values():
        draft = draft_case(BANK.interface, BANK.schemas, DATA, operation.method, operation.pattern.text, status)
        lines = text(draft).splitlines()
        bare = [line.replace("# ", "", 1) if line.strip().startswith(("# body", "# query")) else line for line in lines]
        (folder / f"{draft.id}.yaml").write_text("\n".join(bare))

    assert [str(p) for p in check(settings(tmp_path), [folder])] == []


def test_amounts_keep_their_spelling() -> None:
    draft = draft_case(BANK.interface, BANK.schemas, DATA, "GET", "/v1/accounts", None)
    body = {"amount": Decimal("12345678901234567.10"), "rate": Decimal("1.10"), "text": "1.10"}
    written = text(replace(draft, body=body, narrower={"body": {"/amount": Decimal("1.10")}}))
    (rule,) = yaml_reader.parse(written, Path("case.yaml")).value["rules"]
    assert write_exactly(rule["respond"]["body"]) == write_exactly(body)
    assert "      # body: {/amount: 1.10}\n" in written


def test_a_case_is_written_to_the_configured_cases_and_answers(tmp_path: Path, here: Path) -> None:
    file = write(settings(tmp_path), "post", "/v1/payments/instant-sepa-credit-transfers", 403)

    assert file == here / "cassettes/cases/initiate-payment-403.yaml"
    client = Client(build.build(settings(tmp_path)))
    body = BANK.schemas["payments/sepa-credit-transfers"]
    assert body.accepts(PAYMENT)
    assert client.post("/v1/payments/instant-sepa-credit-transfers", json=PAYMENT).status == 403
    assert client.post("/v1/payments/sepa-credit-transfers", json=PAYMENT).status == 200


PAYMENT = {
    "debtorAccount": {"iban": "AT459880000010204711"},
    "instructedAmount": {"amount": "1.00", "currency": "EUR"},
    "creditorAccount": {"iban": "AT459880000010204711"},
    "creditorName": "Anna",
}


@pytest.mark.parametrize(
    ("path", "match"),
    [
        ("/v1/accounts", {"operation": "account-list"}),
        (
            "https://bank.example/xs2a/v1/accounts/?withBalance=true",
            {"operation": "account-list", "query": {"withBalance": "true"}},
        ),
        ("/v1/accounts/AT1/balances", {"operation": "account-balances", "where": {"account-id": "AT1"}}),
        (
            "/v1/bulk-payments/{product}/p1",
            {"operation": "payment-record", "where": {"service": "bulk-payments", "paymentId": "p1"}},
        ),
    ],
)
def test_given_values_are_matched(tmp_path: Path, path: str, match: dict[str, object]) -> None:
    draft = draft_case(BANK.interface, BANK.schemas, DATA, "GET", path, None)
    assert draft.match == match
    file = tmp_path / "one.yaml"
    file.write_text(text(draft))
    assert [str(p) for p in check(settings(tmp_path), [file])] == []


def test_the_example_sends_the_given_query(tmp_path: Path, here: Path) -> None:
    path = "/v1/accounts/AT459880000010204711/transactions?bookingStatus=booked"
    write(settings(tmp_path), "GET", path, 429)
    assert [str(p) for p in check(settings(tmp_path), [])] == []


def test_a_request_that_the_operation_refuses_makes_no_case(tmp_path: Path, here: Path) -> None:
    path = "/v1/accounts/AT459880000010204711/transactions?bookingStatus=nonsense"
    with pytest.raises(UserMistake, match=r"(?s)nothing written.*own example would fail.*400, not 429.*explain"):
        write(settings(tmp_path), "GET", path, 429)
    assert list(here.rglob("*.yaml")) == []


def test_an_unknown_path_is_reported_with_the_nearest_one(tmp_path: Path, here: Path) -> None:
    with pytest.raises(
        UserMistake,
        match=r"no operation has the method and path GET /v1/acounts(.|\n)*GET /v1/accounts \(account-list\)",
    ):
        write(settings(tmp_path), "GET", "/v1/acounts")
    assert not list(here.iterdir())


def test_existing_files_are_not_overwritten(tmp_path: Path, here: Path) -> None:
    file = write(settings(tmp_path), "GET", "/v1/accounts", file=here / "mine.yaml")
    before = file.read_bytes()
    with pytest.raises(UserMistake, match="already exists; choose another file with --to"):
        write(settings(tmp_path), "GET", "/v1/accounts", 503, here / "mine.yaml")
    assert file.read_bytes() == before
    with pytest.raises(UserMistake, match=r"end in \.yaml"):
        write(settings(tmp_path), "GET", "/v1/accounts", 503, here / "mine.yml")


def test_a_second_case_for_the_same_requests_is_refused(tmp_path: Path, here: Path) -> None:
    write(settings(tmp_path), "GET", "/v1/accounts", 503)
    with pytest.raises(UserMistake, match="ambiguous"):
        write(settings(tmp_path), "GET", "/v1/accounts", 429)
    assert [file.name for file in here.rglob("*.yaml")] == ["account-list-503.yaml"]


def test_ids_are_unique(tmp_path: Path, here: Path) -> None:
    write(settings(tmp_path), "GET", "/v1/accounts", 503)
    file = write(settings(tmp_path), "GET", "/v1/accounts?withBalance=true", 503)
    assert file.name == "account-list-503-2.yaml"


def test_editors_find_the_schema_in_the_folder(tmp_path: Path, here: Path) -> None:
    (here / "schemas").mkdir()
    (here / "schemas/cassette.schema.json").write_text("{}")
    file = write(settings(tmp_path), "GET", "/v1/accounts")
    assert file.read_text().startswith("# yaml-language-server: $schema=../../schemas/cassette.schema.json\n")


def test_errors_have_the_codes_of_the_operation() -> None:
    def code(method: str, path: str, status: int) -> object:
        return draft_case(BANK.interface, BANK.schemas, DATA, method, path, status).body["tppMessages"][0]["code"]

    assert code("GET", "/v1/accounts", 401) == "CONSENT_EXPIRED"
    assert code("POST", "/v1/consents", 400) == "RESOURCE_UNKNOWN"
    assert code("POST", "/v1/consents", 429) == "TOO_MANY_REQUESTS"
