"""Requests without required parts get the errors of the bank."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract import facts
from tests.support.engine_client import Answer, Client, an_engine, cassette

LIST = "/v1/accounts"
TRANSACTIONS = f"/v1/accounts/{facts.covered()}/transactions"


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(an_engine())


def refusal(answer: Answer, status: int = 400) -> str:
    assert (answer.status, answer.error["code"], answer.source) == (status, "FORMAT_ERROR", "sandbox")
    return answer.error["text"]


@pytest.mark.parametrize(
    ("target", "headers", "words"),
    [
        (LIST, {"X-Request-ID": None}, "header X-Request-ID is missing; it must be a UUID"),
        (LIST, {"X-Request-ID": "1"}, "header X-Request-ID must be a UUID"),
        (LIST, {"Consent-ID": None}, "header Consent-ID is missing"),
        (f"{LIST}?withBalance=yes", {}, "withBalance must be"),
        (TRANSACTIONS, {}, "bookingStatus is missing; it must be one of both, booked, pending, information"),
        (f"{TRANSACTIONS}?bookingStatus=all", {}, "bookingStatus must be one of both, booked, pending, information"),
        (f"{TRANSACTIONS}?bookingStatus=both&dateFrom=1.1.2026", {}, "dateFrom must be"),
    ],
)
def test_texts_of_errors(client: Client, target: str, headers: dict[str, str | None], words: str) -> None:
    assert words in refusal(client.get(target, consent=facts.consent(), headers=headers))


@pytest.mark.parametrize(
    "query",
    [
        "bookingStatus=all&bookingStatus=booked",
        "bookingStatus=booked&bookingStatus=all",
        "bookingStatus=booked&dateFrom=soon&dateFrom=2026-01-01",
        "bookingStatus=booked&dateTo=2026-01-01&dateTo=",
    ],
)
def test_each_of_several_values_must_be_valid(client: Client, query: str) -> None:
    refusal(client.get(f"{TRANSACTIONS}?{query}", consent=facts.consent()))


def test_the_first_of_several_valid_values_is_used(client: Client) -> None:
    answer = client.get(f"{TRANSACTIONS}?bookingStatus=pending&bookingStatus=booked", consent=facts.consent())

    assert answer.status == 200
    assert answer.json()["transactions"]["booked"] is None


def test_a_rule_can_require_more_or_nothing(tmp_path: Any) -> None:
    layers = cassette(
        tmp_path,
        """
        rules:
          - id: more
            match: {operation: consent-status}
            require: {headers: {X-More: {exists: true}}}
            respond: {body: {who: more}}
          - id: nothing
            match: {operation: account-list}
            require: none
            respond: {body: {who: nothing}}
        """,
    )
    client = Client(an_engine(layers=layers))
    status = f"/v1/consents/{facts.consent()}/status"

    assert "X-More" in refusal(client.get(status))
    assert "X-Request-ID" in refusal(client.get(status, headers={"X-More": "1", "X-Request-ID": None}))
    assert client.get(status, headers={"X-More": "1"}).json() == {"who": "more"}
    assert client.get(LIST, headers={"X-Request-ID": None}).json() == {"who": "nothing"}


def _pain(count: int) -> str:
    header = f"<GrpHdr><NbOfTxs>{count}</NbOfTxs></GrpHdr>"
    return f"<Document><CstmrCdtTrfInitn>{header}</CstmrCdtTrfInitn></Document>"


PAIN = """
    operations:
      - id: pain
        method: POST
        path: /v1/payments/pain.001-sepa-credit-transfers
        require:
          body: {media: [application/xml, text/xml], /Document/CstmrCdtTrfInitn/GrpHdr/NbOfTxs: {lte: 2}}
        respond: {status: 201, body: {transactionStatus: RCVD}}
"""


@pytest.mark.parametrize(
    ("media", "body", "status", "words"),
    [
        ("application/xml", _pain(1), 201, ""),
        ("Text/XML; charset=utf-8", _pain(1), 201, ""),
        ("text/xml", _pain(3), 400, "must be at most 2"),
        ("text/xml", "<Document/>", 400, "NbOfTxs is missing"),
        ("text/xml", "<Document>", 400, "the body must be XML"),
        ("text/xml", "<!DOCTYPE a><Document/>", 400, "without a document type"),
        ("text/xml", " ", 400, "a body with the media type text/xml is required"),
        ("application/json", "{}", 415, "Content-Type must be application/xml or text/xml, not application/json"),
        (None, "<Document/>", 415, "the request has none"),
    ],
)  # fmt: skip
def test_a_body_with_another_media_type(tmp_path: Any, media: str | None, body: str, status: int, words: str) -> None:
    client = Client(an_engine(layers=cassette(tmp_path, PAIN)))

    answer = client.post(
        "/v1/payments/pain.001-sepa-credit-transfers", body=body.encode(), headers={"Content-Type": media}
    )

    assert answer.status == status
    assert not words or words in refusal(answer, status)


STEPS = """
    errors:
      taken: {status: 409, code: TAKEN, number: N1, text: "{{ id }} is taken: {{ expected }}"}
      odd: {status: 418, code: ODD, number: N2, text: "{{ expected }} at {{ path }}"}
    operations:
      - id: noted
        method: POST
        path: /v1/notes/{id}
        require:
          - headers: {X-Level: {format: uuid}}
          - headers: {X-Kind: {in: [a, b]}}
            body: {/text: {exists: true}}
            error: odd
          - that: path.id != body.text
            error: taken
            values: {id: "{{ path.id }}", expected: another}
          - query: {page: {exists: true}}
        respond: {body: noted}
"""


@pytest.mark.parametrize(
    ("headers", "text", "query", "status", "code", "said"),
    [
        ({"X-Level": "1"}, "t", "", 400, "FORMAT_ERROR", "the header X-Level must be a UUID"),
        ({"X-Kind": "c"}, "n", "", 418, "ODD", "the header X-Kind must be one of a, b"),
        ({}, None, "", 418, "ODD", "the member /text is missing at /text"),
        ({}, "n", "", 409, "TAKEN", "n is taken: another"),
        ({}, "t", "", 400, "FORMAT_ERROR", "the query parameter page is missing"),
        ({}, "t", "?page=1", 200, "", ""),
    ],
)
def test_requirements_are_checked_in_order_and_have_their_own_errors(
    tmp_path: Path, headers: dict[str, str], text: str | None, query: str, status: int, code: str, said: str
) -> None:
    client = Client(an_engine(layers=cassette(tmp_path, STEPS)))
    usual = {"X-Level": "0cae8c3e-1111-4222-8333-444455556666", "X-Kind": "a"}
    answer = client.post(f"/v1/notes/n{query}", json={"text": text} if text else {}, headers={**usual, **headers})
    assert answer.status == status
    assert status == 200 or (answer.error["code"] == code and said in answer.error["text"])
