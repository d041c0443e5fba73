import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_client import an_engine, bundled_engine
from xs2a_sandbox.compare.comparison import Comparison, Step
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import build
from xs2a_sandbox.http import Headers, Request, Response

CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
HEADERS = Headers([("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"), ("Consent-ID", CONSENT)])


def drifts(target: str, bank: Any, sandbox: Any) -> list[Any]:
    """Return the drift if both sides return the sandbox's answer with this change."""

    def changed(change: Any) -> Any:
        engine = an_engine()

        async def ask(request: Request) -> Response:
            response = await engine.answer(request)
            body = json.loads(response.body)
            change(body)
            return Response(response.status, response.headers, json.dumps(body).encode())

        return ask

    known = bundled_engine()
    comparison = Comparison(known.interface, known.schemas, changed(sandbox), changed(bank))
    result = asyncio.run(comparison.step(Step("", Request("GET", target, HEADERS))))
    return [(d.kind, d.where, d.drift) for d in result.differences]


def keep(body: Any) -> None:
    pass


def no_currency(body: Any) -> None:
    body["accounts"][0]["currency"] = "Euro"


def test_equal_answers_that_violate_the_schema_are_drift() -> None:
    ((kind, where, drift),) = drifts("/v1/accounts", no_currency, no_currency)
    assert (kind, where) == ("drift", "/accounts/0/currency")
    assert "currency" in drift


def test_a_bank_can_use_any_ids() -> None:
    assert drifts(f"/v1/consents/{CONSENT}", keep, keep) == []
    engine = bundled_engine()
    body = {"consentStatus": "valid", "consentId": "B-1", "_links": {"self": {"href": "/v1/consents/B-1"}}}

    async def bank(request: Request) -> Response:
        return Response(200, (("Content-Type", "application/json"),), json.dumps(body).encode())

    comparison = Comparison(engine.interface, engine.schemas, bank, bank, allow_writes=True)
    result = asyncio.run(comparison.step(Step("", Request("POST", "/v1/consents"))))
    assert [d.drift for d in result.differences if d.drift and "UUID" in d.drift] == []


def test_errors_are_checked_with_the_error_schema() -> None:
    async def bank(request: Request) -> Response:
        return Response(
            403, (), b'{"tppMessages":[{"category":"ERROR","code":"X","path":null,"text":7}],"_links":null}'
        )

    engine = bundled_engine()
    comparison = Comparison(engine.interface, engine.schemas, bank, bank)
    result = asyncio.run(comparison.step(Step("", Request("GET", "/v1/accounts"))))
    assert [d.kind for d in result.differences] == ["drift"]


@pytest.mark.parametrize("dialect", ["xs2a-1.84", "berlin-group-1.3"])
def test_errors_are_checked_with_the_schema_of_their_dialect(dialect: str, tmp_path: Path) -> None:
    engine = build.build(Settings(state="memory:", confdir=tmp_path, dialect=dialect))
    bank = engine.banks.default
    comparison = Comparison(bank.interface, bank.schemas, engine.answer, engine.answer)
    result = asyncio.run(comparison.step(Step("", Request("GET", "/v1/consents/nobody/status", HEADERS))))
    assert result.bank is not None
    assert result.bank.status == 403
    assert result.differences == ()


def test_errors_without_a_schema_do_not_drift() -> None:
    async def bank(request: Request) -> Response:
        return Response(403, (), b'{"error":"no"}')

    engine = bundled_engine()
    plain = replace(engine.interface, every_error=replace(engine.interface.every_error, schema=None))
    result = asyncio.run(Comparison(plain, engine.schemas, bank, bank).step(Step("", Request("GET", "/v1/accounts"))))
    assert result.differences == ()
