import asyncio
import json
import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from tests.support.engine_client import an_engine, bundled_engine
from xs2a_sandbox.compare.comparison import Compared, Comparison, Step
from xs2a_sandbox.compare.masking import IgnoreRule, Ignoring
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.http.exchange import Exchange

REQUEST_ID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"
ALWAYS = (("X-Request-ID", REQUEST_ID), ("PSU-IP-Address", "192.0.2.7"), ("Content-Type", "application/json"))
UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Renamed:
    """A bank that is a sandbox with different ids."""

    def __init__(self, engine: Engine, letter: str) -> None:
        self.engine = engine
        self.letter = letter
        self.names: dict[bytes, bytes] = {}
        self.asked: list[Request] = []

    def name(self, real: bytes) -> bytes:
        return self.names.setdefault(real, f"{self.letter}{len(self.names)}-{self.letter}X".encode())

    def real(self, text: bytes) -> bytes:
        for real, name in self.names.items():
            text = text.replace(name, real)
        return text

    async def answer(self, request: Request) -> Response:
        self.asked.append(request)
        own = Headers((name, self.real(value.encode()).decode()) for name, value in request.headers)
        target = self.real(request.target.encode()).decode()
        body = self.real(request.body)
        response = await self.engine.answer(structs.replace(request, target=target, headers=own, body=body))
        given = {value.encode() for name, value in request.headers if name.lower() == "x-request-id"}

        def renamed(text: bytes) -> bytes:
            return UUID.sub(lambda found: found[0] if found[0] in given else self.name(found[0]), text)

        headers = tuple((name, renamed(value.encode()).decode()) for name, value in response.headers)
        return structs.replace(response, headers=headers, body=renamed(response.body))


def step(
    method: str, target: str, body: Any = None, *headers: tuple[str, str], recorded: Exchange | None = None
) -> Step:
    content = to_json(body) if body is not None else b""
    return Step(f"{method}", Request(method, target, Headers((*ALWAYS, *headers)), content), recorded)


async def journey(ask: Any) -> list[tuple[Request, Response]]:
    """Run a consent, accounts, transactions, a payment with its authorisation, and a basket.

    Each step uses earlier answers.
    """
    done: list[tuple[Request, Response]] = []

    async def send(method: str, target: str, body: Any = None, *headers: tuple[str, str]) -> Any:
        request = step(method, target, body, *headers).request
        response = await ask(request)
        done.append((request, response))
        return json.loads(response.body) if response.body else None

    everything = {"access": {"availableAccounts": "allAccounts"}, "recurringIndicator": True}
    consent = await send("POST", "/v1/consents", {**everything, "validUntil": "9999-12-31", "frequencyPerDay": 4})
    await send("GET", f"/v1/consents/{consent['consentId']}")
    await send("GET", consent["_links"]["status"]["href"])
    access = ("Consent-ID", consent["consentId"])
    accounts = await send("GET", "/v1/accounts?withBalance=true", None, access)
    account = accounts["accounts"][0]
    await send("GET", f"{account['_links']['transactions']['href']}?bookingStatus=booked", None, access)
    await send("GET", f"/v1/accounts/{account['resourceId']}/balances", None, access)
    order = {
        "instructedAmount": {"currency": "EUR", "amount": "10.00"},
        "debtorAccount": {"iban": account["iban"]},
        "creditorAccount": {"iban": "DE40100100103307118608"},
        "creditorName": "X",
    }
    payment = await send("POST", "/v1/payments/sepa-credit-transfers", order)
    path = f"/v1/payments/sepa-credit-transfers/{payment['paymentId']}"
    await send("GET", path)
    started = await send("POST", f"{path}/authorisations", {})
    await send("GET", f"{path}/authorisations")
    await send("GET", f"{path}/authorisations/{started['authorisationId']}")
    second = await send("POST", "/v1/payments/sepa-credit-transfers", order)
    basket = await send("POST", "/v1/signing-baskets", {"paymentIds": [payment["paymentId"], second["paymentId"]]})
    await send("GET", f"/v1/signing-baskets/{basket['basketId']}")
    await send("DELETE", f"/v1/consents/{consent['consentId']}")
    await send("GET", f"/v1/consents/{consent['consentId']}/status")
    return done


def entry(request: Request, response: Response) -> Exchange:
    return Exchange(
        time=datetime(2026, 11, 21, tzinfo=UTC),
        milliseconds=1.0,
        bank="https://bank.example",
        method=request.method,
        target=request.target,
        headers=request.headers,
        body=request.body,
        status=response.status,
        answer_headers=Headers(response.headers),
        answer_body=response.body,
    )


def recorded() -> list[Step]:
    """Record a flow at a bank long ago."""
    done = asyncio.run(journey(Renamed(an_engine(), "R").answer))
    # A deleted consent has no status.
    assert [response.status >= 400 for _, response in done] == [*[False] * (len(done) - 1), True]
    return [Step("recorded", request, entry(request, response)) for request, response in done]


def compare(sandbox: Any, bank: Any, **options: Any) -> Comparison:
    engine = bundled_engine()
    return Comparison(
        engine.interface, engine.schemas, sandbox, bank, bank_url="https://bank.example",
        sandbox_url=engine.parts.public_url, **options,
    )  # fmt: skip


def with_differences(compared: tuple[Compared, ...]) -> list[Any]:
    return [
        (n, one.operation, one.trouble, [(d.kind, d.where) for d in one.differences])
        for n, one in enumerate(compared)
        if one.differences or one.trouble
    ]


def test_a_flow_with_different_ids_has_no_differences() -> None:
    steps = recorded()
    bank, sandbox = Renamed(an_engine(), "B"), Renamed(an_engine(), "S")
    result = asyncio.run(compare(sandbox.answer, bank.answer, allow_writes=True).play(steps))
    assert with_differences(result.compared) == []
    assert len(result.compared) == len(steps) >= 16
    assert len(sandbox.names) == 5
    # The ids really differ, and each side got only its own ids.
    assert not set(bank.names.values()) & set(sandbox.names.values())
    assert b"S0-SX" not in b"".join(request.target.encode() for request in bank.asked)


def test_a_flow_equals_its_recording() -> None:
    sandbox = Renamed(an_engine(), "S")
    result = asyncio.run(compare(sandbox.answer, None).play(recorded()))
    assert with_differences(result.compared) == []


def test_the_app_can_get_its_answers_from_the_bank() -> None:
    bank, sandbox = Renamed(an_engine(), "B"), Renamed(an_engine(), "S")
    comparison = compare(sandbox.answer, bank.answer)
    found: list[Compared | None] = []

    async def app() -> None:
        async def ask(request: Request) -> Response:
            response = await bank.answer(request)
            found.append(await comparison.beside(request, response, "bank"))
            return response

        await journey(ask)

    asyncio.run(app())
    assert with_differences(tuple(one for one in found if one)) == []
    assert None not in found


def test_writes_are_sent_to_the_bank_only_if_allowed() -> None:
    bank = Renamed(an_engine(), "B")
    steps = [step("GET", "/v1/accounts"), step("POST", "/v1/consents", {}), step("DELETE", "/v1/consents/x")]
    comparison = compare(an_engine().answer, bank.answer, noise_reads=0)
    result = asyncio.run(comparison.play(steps))
    assert result.skipped == ("POST", "DELETE")
    assert [request.method for request in bank.asked] == ["GET"]
    assert asyncio.run(comparison.beside(steps[1].request, Response(), "sandbox")) is None


@pytest.mark.parametrize(("reads", "gets"), [(0, 1), (1, 2), (3, 4)])
def test_reads_are_repeated_as_requested_and_writes_are_sent_once(reads: int, gets: int) -> None:
    bank = Renamed(an_engine(), "B")
    comparison = compare(an_engine().answer, bank.answer, noise_reads=reads, allow_writes=True)
    asyncio.run(comparison.play([step("GET", "/v1/accounts"), step("POST", "/v1/consents", {})]))
    assert [request.method for request in bank.asked] == ["GET"] * gets + ["POST"]
    ids = [request.headers.get("x-request-id") for request in bank.asked[:gets]]
    assert ids[0] == REQUEST_ID
    assert len(set(ids)) == gets


def test_headers_for_the_sandbox_do_not_reach_the_bank() -> None:
    bank = Renamed(an_engine(), "B")
    asyncio.run(
        compare(an_engine().answer, bank.answer).step(step("GET", "/v1/accounts", None, ("X-Sandbox-Session", "a")))
    )
    assert {request.headers.get("x-sandbox-session") for request in bank.asked} == {None}


async def _rest(*pieces: bytes) -> AsyncGenerator[bytes]:
    for piece in pieces:
        yield piece


async def _down(request: Request) -> Response:
    raise BankError("bank-unreachable", bank="bank.example", reason="refused")


async def _packed(request: Request) -> Response:
    return Response(200, (("Content-Encoding", "br"),), b"x")


async def _long(request: Request) -> Response:
    return Response(200, (), b"x", rest=_rest(*[bytes(1024 * 1024)] * 20))


@pytest.mark.parametrize(
    ("bank", "says"),
    [
        (_down, "bank-unreachable: bank.example, refused"),
        (_packed, "its body cannot be decoded or is too large"),
        (_long, "the answer is larger than 16777216 bytes"),
    ],
)
def test_exchanges_that_cannot_be_compared_have_a_reason(bank: Any, says: str) -> None:
    result = asyncio.run(compare(an_engine().answer, bank).step(step("GET", "/v1/accounts")))
    assert (result.trouble, result.differences) == (says, ())


@pytest.mark.parametrize("change", [{"cut": True}, {"status": 0}, {"answer_headers": Headers([("a b", "c")])}])
def test_an_incomplete_recorded_answer_is_reported(change: Any) -> None:
    taken = entry(Request("GET", "/v1/accounts"), Response(200, (), b"{}"))
    made = Step("x", Request("GET", "/v1/accounts"), replace(taken, **change))
    assert asyncio.run(compare(an_engine().answer, None).step(made)).trouble
    assert asyncio.run(compare(an_engine().answer, None).step(Step("x", made.request))).trouble


def test_a_chunked_answer_is_compared_as_a_whole() -> None:
    async def bank(request: Request) -> Response:
        return Response(200, (), b'{"a":', rest=_rest(b" 1", b"}"))

    async def sandbox(request: Request) -> Response:
        return Response(200, (), b'{"a":2}')

    result = asyncio.run(compare(sandbox, bank).step(step("GET", "/x")))
    assert [(d.kind, d.where) for d in result.differences] == [("value", "/a")]


def test_ignored_differences_are_masked_with_the_reason_of_the_rule() -> None:
    async def bank(request: Request) -> Response:
        return Response(200, (), b'{"a":1,"b":1}')

    async def sandbox(request: Request) -> Response:
        return Response(200, (), b'{"a":2,"b":2}')

    rules = [IgnoreRule("known", path=("a",)), IgnoreRule("of no use", path=("c",))]
    comparison = compare(sandbox, bank, ignoring=Ignoring(rules))
    result = asyncio.run(comparison.play([step("GET", "/v1/x")]))
    (one,) = result.compared
    assert [d.where for d in one.differences] == ["/b"]
    assert [(difference.where, why) for difference, why in one.masked] == [("/a", "known")]
    assert [rule.why for rule in result.unused] == ["of no use"]


def test_repeated_reads_that_the_bank_refuses_cause_a_remark() -> None:
    answers = iter([Response(200, (), b"{}"), Response(429)])

    async def bank(request: Request) -> Response:
        return next(answers)

    async def sandbox(request: Request) -> Response:
        return Response(200, (), b"{}")

    result = asyncio.run(compare(sandbox, bank).step(step("GET", "/x")))
    assert result.differences == ()
    assert result.remark == "1 of the repeated reads had a different status"


def test_ids_are_learned_from_any_successful_status() -> None:
    steps = recorded()
    bank, sandbox = Renamed(an_engine(), "B"), Renamed(an_engine(), "S")

    async def created(request: Request) -> Response:
        response = await bank.answer(request)
        return (
            structs.replace(response, status=201) if response.status == 200 and request.method == "POST" else response
        )

    result = asyncio.run(compare(sandbox.answer, created, allow_writes=True).play(steps))
    assert {where for _, _, _, found in with_differences(result.compared) for _, where in found} == {"status"}
    offline = [
        Step("", one.request, replace(one.recorded, status=201) if one.request.method == "POST" else one.recorded)
        for one in steps
        if one.recorded
    ]
    result = asyncio.run(compare(Renamed(an_engine(), "S").answer, None).play(offline))
    assert {where for _, _, _, found in with_differences(result.compared) for _, where in found} == {"status"}


def test_a_link_to_another_consent_is_a_difference() -> None:
    """A bank whose second consent links to the first one."""
    engine = an_engine()
    made: list[bytes] = []

    async def bank(request: Request) -> Response:
        response = await engine.answer(request)
        if request.method != "POST":
            return response
        made.append(json.loads(response.body)["consentId"].encode())
        return structs.replace(response, body=response.body.replace(b"consents/" + made[-1], b"consents/" + made[0]))

    everything = {"access": {"availableAccounts": "allAccounts"}, "recurringIndicator": True}
    asked = step("POST", "/v1/consents", {**everything, "validUntil": "9999-12-31", "frequencyPerDay": 4})
    result = asyncio.run(compare(an_engine().answer, bank, allow_writes=True).play([asked, asked]))
    assert [len(one.differences) for one in result.compared] == [0, 2]
    assert {one.consequence for one in result.compared[1].differences} == {"other-link"}


def test_the_sandbox_may_answer_with_the_pseudonym_of_the_banks_value() -> None:
    """Amendments made from redacted answers cause this."""

    def bank(owner: str) -> Any:
        async def answer(request: Request) -> Response:
            body = to_json({"accounts": [{"ownerName": owner}]})
            return Response(200, (("Content-Type", "application/json"),), body)

        return answer

    def redact(exchange: Exchange) -> Exchange:
        return replace(exchange, answer_body=exchange.answer_body.replace(b"Erika", b"Yvvwo"))

    read = step("GET", "/own")
    for owner, pseudonyms, differing in [
        ("Yvvwo", redact, 0), ("Yvvwo", None, 1), ("Franz", redact, 1), ("Erika", redact, 0),
    ]:  # fmt: skip
        one = compare(bank(owner), bank("Erika"), redact=pseudonyms)
        assert len(asyncio.run(one.step(read)).differences) == differing, owner


def test_answers_of_a_bank_with_another_dialect_are_not_checked_with_its_schemas() -> None:
    async def both(request: Request) -> Response:
        return Response(200, (("Content-Type", "application/json"),), b'{"of": "its own"}')

    read = step("GET", "/v1/accounts")
    spoken = compare(both, both)
    assert [one.kind for one in asyncio.run(spoken.step(read)).differences] != []
    silent = replace(spoken.interface, silent=frozenset(spoken.interface.operations))
    unspoken = Comparison(silent, spoken.schemas, both, both)
    assert asyncio.run(unspoken.step(read)).differences == ()
