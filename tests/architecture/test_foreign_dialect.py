"""The tools work with an interface that shares no words with the bundled ones; its dialect describes it."""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.console import browser as console
from tests.support.engine_client import Answer, Client, bundled_engine
from xs2a_sandbox.bank.loading import interface_and_schemas
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.compare.behaviour import chains
from xs2a_sandbox.compare.comparison import Comparison, Step
from xs2a_sandbox.compare.payment_user import PaymentUser, links, visits
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.features.campaign.campaign import Campaign
from xs2a_sandbox.features.campaign.command import Command
from xs2a_sandbox.features.campaign.kept_results import ResultsFile
from xs2a_sandbox.features.pytest.server_process import Process
from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.http.exchange import Exchange

FOLDER = Path(__file__).parent / "foreign"
DIALECT = "acorn-1"
TOKEN = "the-token-of-this-sandbox"
POT = "AT459880000010204711"


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    monkeypatch.chdir(FOLDER)
    return Settings(dialect=DIALECT, state="memory:", confdir=tmp_path)


@pytest.fixture
def engine(settings: Settings) -> Engine:
    made = build(settings)
    made.use(admin_token=TOKEN)
    return made


@pytest.fixture
def client(engine: Engine) -> Client:
    return Client(engine)


def ask(client: Client, path: str, **body: Any) -> Answer:
    return client.post(f"/acorn/{path}", json=body, headers={"X-Request-ID": None})


def control(client: Client, method: str, path: str, body: Any) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return client.request(method, f"/_sandbox/{path}", json=body, headers=headers).json()


def opened(client: Client, **body: Any) -> str:
    return str(ask(client, "agreements/open", **body).json()["agreement"]["ref"])


def grant(client: Client, ref: str) -> None:
    control(client, "POST", f"state/consents/{ref}", {"event": "authorised by all"})


def phase(client: Client, ref: str) -> str:
    return str(ask(client, "agreements/look", agreement={"ref": ref}).json()["agreement"]["phase"])


# Comparisons


class ExchangeLog:
    """Record requests and answers."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.exchanges: list[Exchange] = []

    async def answer(self, request: Request) -> Response:
        response = await self.engine.answer(request)
        self.exchanges.append(Exchange.of(request, response, "https://bank.example", REAL.now(), 1.0))
        return response

    def ask(self, path: str, **body: Any) -> Exchange:
        headers = Headers([("Content-Type", "application/json")])
        asyncio.run(self.answer(Request("POST", f"/acorn/{path}", headers, to_json(body), host="bank.example")))
        return self.exchanges[-1]

    def journey(self) -> list[Exchange]:
        """Create an agreement, grant it, use it and close it."""
        client = Client(self.engine)
        ref = str(_json(self.ask("agreements/open"))["agreement"]["ref"])
        self.ask("agreements/look", agreement={"ref": ref})
        grant(client, ref)
        self.ask("pots/list", agreement={"ref": ref})
        self.ask("pots/lines", agreement={"ref": ref}, pot={"code": POT})
        self.ask("agreements/look", agreement={"ref": ref})
        self.ask("agreements/close", agreement={"ref": ref})
        return self.exchanges


def _json(exchange: Exchange) -> Any:
    return json.loads(exchange.answer_body)


def test_ids_in_bodies_are_recognised_and_put_into_later_requests(settings: Settings, engine: Engine) -> None:
    bank, other = ExchangeLog(engine), Engine(replace(build(settings).parts, admin_token=TOKEN))
    steps = [
        Step(f"exchange {number}", Request("POST", one.target, one.headers, one.body), one, one.status)
        for number, one in enumerate(bank.journey())
    ]
    comparison = Comparison(engine.interface, engine.schemas, other.answer, None)

    result = asyncio.run(comparison.play(steps))

    assert [one.verdict for one in result.compared[:2]] == ["same", "same"], result.compared[0].differences
    # The agreement is not granted at the other bank, so only its state differs.
    assert result.compared[2].verdict == "differs"
    ids = [_json(one.sandbox)["agreement"]["ref"] for one in result.compared[:2] if one.sandbox]
    assert ids[0] == ids[1] != _json(bank.exchanges[0])["agreement"]["ref"]


def test_only_reads_are_sent_to_a_bank_without_writes(settings: Settings, engine: Engine) -> None:
    bank, at_bank = ExchangeLog(engine), ExchangeLog(build(settings))
    steps = [Step(one.target, Request("POST", one.target, one.headers, one.body), one) for one in bank.journey()]
    comparison = Comparison(engine.interface, engine.schemas, engine.answer, at_bank.answer)

    result = asyncio.run(comparison.play(steps))

    assert result.skipped == ("/acorn/agreements/open", "/acorn/agreements/close")
    assert {one.target for one in at_bank.exchanges} == {
        "/acorn/agreements/look",
        "/acorn/pots/list",
        "/acorn/pots/lines",
    }


def test_entries_in_another_order_are_equal(engine: Engine) -> None:
    client, step = Client(engine), Step
    body = to_json({"agreement": {"ref": opened(client, atOnce=True)}, "pot": {"code": POT}})
    request = Request("POST", "/acorn/pots/lines", Headers([("Content-Type", "application/json")]), body)

    async def turned(request: Request) -> Response:
        response = await engine.answer(request)
        lines = _body(response)["lines"]
        return Response(200, response.headers, to_json({"lines": lines[::-1]}))

    comparison = Comparison(engine.interface, engine.schemas, engine.answer, turned)
    (compared,) = asyncio.run(comparison.play([step("lines", request)])).compared
    assert [(one.kind, one.place) for one in compared.differences] == [("order", ("lines",))]


def _body(response: Response) -> Any:
    return json.loads(response.body)


def test_state_sequences_are_recognised(engine: Engine) -> None:
    exchanges = ExchangeLog(engine).journey()

    (chain,) = chains(exchanges, Index(engine.interface))

    assert (chain.thing, chain.states) == ("consent", ("OPEN", "GRANTED", "CLOSED", "(deleted)"))
    assert chain.stays[1].answers.keys() == {"list-pots", "list-lines", "look-at-agreement"}


def test_compare_waits_for_the_customer(engine: Engine) -> None:
    bank, client = ExchangeLog(engine), Client(engine)
    index, things = Index(engine.interface), engine.interface.things
    assert visits(bank.journey(), index) == {2: 0}
    made = bank.ask("agreements/open")
    ref, told = _json(made)["agreement"]["ref"], list[str]()
    assert list(links(made, things)) == [f"https://bank.example/decide/{ref}"]

    async def at_bank(request: Request) -> Response:
        assert (request.method, request.target) == ("POST", "/acorn/agreements/look")
        answer = await engine.answer(request)
        await asyncio.to_thread(grant, client, ref)
        return answer

    user = PaymentUser(told.append, 5, 0.01)
    assert asyncio.run(user.act(at_bank, made, index)) is None
    assert told == [
        f"the payment user must decide about the consent at the bank, within 5 s (--sca-timeout): "
        f"https://bank.example/decide/{ref}"
    ]


# Explain


def test_explain_reports_an_unknown_consent(client: Client) -> None:
    described = {"method": "POST", "url": "/acorn/pots/list", "body": {"agreement": {"ref": "nobody"}}}
    explanation = control(client, "POST", "explain", described)

    assert [hint["code"] for hint in explanation["hints"]] == ["consent-unknown"]
    assert "nobody is unknown" in explanation["hints"][0]["text"]


# The console


def test_the_console_shows_the_history_of_a_consent(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.use(display=bundled_engine().parts.display)
    monkeypatch.setattr(console, "an_engine", lambda **parts: engine)
    browser = console.Browser(tmp_path).sign_in()
    ref = opened(browser.app)
    assert phase(browser.app, ref) == "OPEN"

    page = browser.page(f"/_sandbox/console/bank/consents/{ref}")

    assert "phase OPEN" in page
    assert f'href="https://bank.example/decide/{ref}"' in page


# Faults


def test_a_fault_expires_the_consent_that_a_body_names(client: Client) -> None:
    ref = opened(client, atOnce=True)
    control(client, "POST", "faults", {"operation": "list-pots", "expires": "consent", "next": 1})

    answer = ask(client, "pots/list", agreement={"ref": ref})

    assert answer.json() == {"fault": {"code": "not-agreed", "message": f"the agreement {ref} is OVER"}}
    assert phase(client, ref) == "OVER"


def test_the_error_of_a_fault_contains_a_name_from_the_body(client: Client) -> None:
    ref = opened(client)
    control(client, "POST", "faults", {"operation": "look-at-agreement", "error": "consent-unknown", "next": 1})

    assert ask(client, "agreements/look", agreement={"ref": ref}).json()["fault"]["message"] == f"no agreement {ref}"


# The cache


def is_kept(engine: Engine, path: str, **body: Any) -> bool:
    fields = Headers([("Content-Type", "application/json")])
    request = Request("POST", f"/acorn/{path}", fields, to_json(body), host="bank.example")
    for _ in range(2):
        asyncio.run(engine.answer(request))
    return engine.repeat(request) is not None


def test_answers_to_reads_are_cached_for_any_method(engine: Engine, client: Client) -> None:
    one, other = opened(client, atOnce=True), opened(client, atOnce=True)

    assert is_kept(engine, "pots/list", agreement={"ref": one})
    assert not is_kept(engine, "moves/start", to="Anna", sum="1.00", note="E-1")
    assert ask(client, "agreements/close", agreement={"ref": one}).status == 200
    assert ask(client, "pots/list", agreement={"ref": one}).status == 400
    assert ask(client, "pots/list", agreement={"ref": other}).status == 200


# The campaign

APP = """
import json, os, sys, urllib.error, urllib.request

def ask(path, **body):
    body = json.dumps(body).encode()
    url = f"{os.environ['XS2A_SANDBOX_URL']}/acorn/{path}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"})) as answer:
            return json.load(answer)
    except (OSError, ValueError) as error:
        print(error)
        return None

agreement = (ask("agreements/open", atOnce=True) or {}).get("agreement")
pots = agreement and ask("pots/list", agreement=agreement)
for pot in pots["pots"] if pots else ():
    ask("pots/lines", agreement=agreement, pot={"code": pot["potCode"]})
ask("moves/start", to="Anna", sum="1.00", note="E-1") or ask("moves/start", to="Anna", sum="1.00", note="E-1")
"""


def test_a_campaign_finds_a_double_payment(settings: Settings, tmp_path: Path) -> None:
    process = Process(tmp_path / "bank", ("--dialect", DIALECT))
    process.start()
    try:
        interface, _ = interface_and_schemas(settings)
        words = ("list-pots 1: consent expires", "start-move 1: reset", "list-pots 1: reset")
        campaign = Campaign(
            Command((sys.executable, "-c", APP), {}, tmp_path),
            interface,
            tmp_path / "scratch",
            url=process.direct,
            confdir=process.confdir,
            slow="10ms",
            choose=words,
        )
        campaign.scratch.mkdir()
        results = campaign.run(ResultsFile(campaign.scratch / "results.jsonl", {}, False))
    finally:
        process.stop()

    assert {str(one.fault): [found.oracle for found in one.findings] for one in results.results} == {
        "list-pots 1: consent expires, before": [],
        # A read has no effect, so nothing is lost with its answer.
        "list-pots 1: reset, before": [],
        "start-move 1: reset, before": [],
        "start-move 1: reset, after": ["payments"],
    }
