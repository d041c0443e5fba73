"""Explanations name the rule that really answers, and store nothing."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.contract import bodies, facts
from tests.support.doors import limits
from tests.support.engine_client import Client, an_engine, cassette
from tests.support.explained import UUID, by, codes, explained, name, names, request
from tests.support.writing import BANK, SCHEMAS, ask, check, engine, rule_of, rules
from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.cassette.dialect.error_table import ENGINE_ERRORS
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.real_bank import BankHost
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.explain.explanation import describe
from xs2a_sandbox.http import Headers, Request, to_json
from xs2a_sandbox.recording.replay import Replay
from xs2a_sandbox.state import Document, MemoryStore

READ = {"X-Request-ID": UUID, "Consent-ID": facts.consent()}

CASES = """
rules:
  - id: slow-list
    match: {operation: account-list, headers: {PSU-ID: {regex: "^corp-"}}}
    respond: {status: 429, body: {}}
  - id: slow-list-for-one
    match: {operation: account-list, headers: {PSU-ID: corp-1}}
    respond: {status: 503, body: {}}
  - id: urgent
    priority: 5
    match: {operation: account-list, query: {urgent: "1"}}
    respond: {status: 202, body: {}}
  - id: lazy
    match: {operation: create-consent, headers: {X-Lazy: "1"}}
    require: none
    respond: {status: 201, body: {}}
  - id: strict
    match: {operation: consent-status, headers: {X-Strict: "1"}}
    require: {headers: {PSU-ID: {exists: true}}}
    respond: {status: 200, body: {consentStatus: valid}}
  - id: turns
    match: {path: /turns}
    sequence: [{body: {turn: 1}}, {body: {turn: 2}}]
    effects: [{set: "state.notes['n1']", to: {seen: true}}]
  - id: fails
    match: {path: /fails, when: "'x' * 9999999"}
    respond: {body: {}}
  - id: many
    match: {path: "/v1/accounts/{id}/{rest*}", method: [GET, POST], query: {many: {exists: true}}}
    respond: {body: {}}
  - id: says-unknown
    match: {path: /says-unknown}
    respond: {error: path-unknown}
  - id: again
    match: {path: /once, when: "state.notes.n1"}
    respond: {body: {}}
"""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return an_engine(layers=cassette(tmp_path_factory.mktemp("cases"), CASES))


# -- which entry answers


def test_an_operation_answers(cases: Engine) -> None:
    explanation = explained(cases, "GET", "/v1/accounts", READ)

    assert (explanation["decision"], name(explanation["by"]), explanation["answer"]["status"]) == (
        "operation",
        "account-list",
        200,
    )
    assert explanation["by"]["place"] == "cassettes/xs2a-1.84/accounts.yaml:7"
    assert (explanation["by"]["missed"], explanation["by"]["lacks"], explanation["suggestion"]) == ([], [], None)
    assert {"slow-list", "slow-list-for-one", "urgent"} <= set(names(explanation))


def test_the_handler_and_its_options_are_shown(tmp_path: Path) -> None:
    rules = """
    rules:
      - id: ten
        match: {operation: account-transactions, headers: {X-Case: ten}}
        handler: accounts.transactions
        with: {lists: {both: [booked]}, page_size: 10}
      - id: same
        match: {operation: account-list, headers: {X-Case: same}}
        handler: accounts.list
      - id: plain
        match: {operation: account-list, headers: {X-Case: plain}}
        respond: {}
    """
    engine = an_engine(layers=cassette(tmp_path, rules))

    def handler_of(path: str, case: str) -> Any:
        consent = {"Consent-ID": facts.consent(), "X-Request-ID": UUID, "X-Case": case}
        request = Request("GET", path, Headers(consent.items()))
        return describe(engine.explain(request))["handler"]

    path = f"/v1/accounts/{facts.covered()}/transactions?bookingStatus=both"
    assert handler_of(path, "ten") == {
        "name": "accounts.transactions",
        "with": {"lists": {"both": ["booked"]}, "page_size": 10},
    }
    assert handler_of("/v1/accounts", "same") == {"name": "accounts.list", "with": {}}
    assert handler_of("/v1/accounts", "none") == {"name": "accounts.list", "with": {}}
    assert handler_of("/v1/accounts", "plain") is None


def test_the_answering_rule_is_shown_with_the_reason_why_others_lost(cases: Engine) -> None:
    explanation = explained(cases, "GET", "/v1/accounts", {**READ, "PSU-ID": "corp-1"})

    assert (explanation["decision"], name(explanation["by"]), explanation["answer"]["status"]) == (
        "rule",
        "slow-list-for-one",
        503,
    )
    others = {name(one): one for one in explanation["nearest"]}
    assert others["slow-list"]["missed"] == []
    assert others["slow-list"]["lost"] == "slow-list-for-one is more specific: strength 8, not 2"
    assert others["urgent"]["lost"] is None
    assert others["urgent"]["missed"][0]["text"] == "query parameter urgent is missing, must be 1"


def test_the_deciding_rank_is_named(tmp_path: Path) -> None:
    bank = engine(
        tmp_path,
        rules({"id": "a", "match": {"path": "/x/y", "query": {"q": "1"}}, "priority": 3}),
        rules(
            {"id": "b", "match": {"path": "/x/y", "query": {"q": "1"}}},
            {"id": "c", "match": {"path": "/x/{z}", "query": {"q": "1"}}},
            {"id": "d", "match": {"path": "/x/{z}", "headers": {"A": "1"}}, "priority": -1},
        ),
    )

    lost = {name(one): one["lost"] for one in explained(bank, "GET", "/x/y?q=1", {"A": "1"})["nearest"]}

    assert lost == {
        "a": "b is in a later layer",
        "c": "b has the more literal path",
        "d": "b has the higher priority: 0, not -1",
    }


def test_all_unmet_requirements_of_an_operation_are_listed(cases: Engine) -> None:
    explanation = explained(
        cases, "POST", "/v1/payments/sepa-credit-transfers", {"X-Request-ID": "1"}, {"creditorName": 1}
    )

    assert (explanation["decision"], name(explanation["by"])) == ("requirement", "initiate-payment")
    assert (explanation["answer"]["status"], explanation["answer"]["error"]) == (400, "format-error")
    assert explanation["by"]["lacks"][:2] == [
        "the header X-Request-ID must be a UUID",
        "the header PSU-IP-Address is missing; it must be an IP address",
    ]
    assert len(explanation["by"]["lacks"]) == 3
    assert explanation["answer"]["text"] == explanation["by"]["lacks"][0]
    assert codes(explanation) == {"request-id-invalid"}


def test_a_matching_rule_loses_to_a_requirement(cases: Engine) -> None:
    explanation = explained(cases, "GET", "/v1/accounts?urgent=1", {"X-Request-ID": UUID})

    assert explanation["decision"] == "requirement"
    assert {name(one): one["lost"] for one in explanation["nearest"]}[
        "urgent"
    ] == "the request lacks what account-list requires"


def test_a_rule_can_skip_the_requirement(cases: Engine) -> None:
    explanation = explained(cases, "POST", "/v1/consents", {"X-Lazy": "1"})

    assert (explanation["decision"], name(explanation["by"]), explanation["answer"]["status"]) == ("rule", "lazy", 201)


def test_unmet_requirements_of_a_rule_are_listed(cases: Engine) -> None:
    explanation = explained(
        cases, "GET", f"/v1/consents/{facts.consent()}/status", {"X-Request-ID": UUID, "X-Strict": "1"}
    )

    assert (explanation["decision"], name(explanation["by"]), explanation["answer"]["status"]) == (
        "requirement",
        "strict",
        400,
    )
    assert explanation["by"]["lacks"] == ["the header PSU-ID is missing"]


def test_an_error_of_a_handler_is_explained(cases: Engine) -> None:
    explanation = explained(cases, "GET", "/v1/accounts", {**READ, "Consent-ID": UUID})

    assert (explanation["decision"], name(explanation["by"])) == ("operation", "account-list")
    assert explanation["answer"] == {"status": 403, "error": "consent-unknown", "text": f"consent {UUID} unknown"}
    assert codes(explanation) == {"consent-unknown"}


def test_a_failing_condition_is_explained(cases: Engine) -> None:
    explanation = explained(cases, "GET", "/fails")

    assert (explanation["decision"], name(explanation["by"]), explanation["answer"]["status"]) == (
        "failure",
        "fails",
        500,
    )
    assert "evaluation failed" in explanation["by"]["missed"][0]["text"]


def test_wrong_methods_and_products_are_explained(cases: Engine) -> None:
    wrong = explained(cases, "PATCH", "/v1/accounts", READ)
    product = explained(cases, "POST", "/v1/payments/pigeon-post", READ)

    assert (wrong["decision"], wrong["answer"]["status"], names(wrong)[0]) == ("nothing", 405, "account-list")
    assert (product["decision"], product["answer"]["error"]) == ("nothing", "product-unknown")
    assert names(product)[0] == "initiate-payment"
    assert "method-wrong" in codes(wrong)
    assert "product-unknown" in codes(product)


@pytest.mark.parametrize(
    ("path", "status", "decision"),
    [("/sca/v1/x/turns", 200, "rule"), ("/sca/turned", 418, "rule"), ("/sca/asks", 400, "requirement")],
)
def test_a_rule_that_precedes_a_page_of_the_sandbox_is_shown(
    path: str, status: int, decision: str, tmp_path: Path
) -> None:
    rules = """
rules:
  - {id: x, match: {path: "/v1/x/turns"}, respond: {status: 200, body: {}}}
  - {id: turned, match: {path: "/sca/turned"}, respond: {status: 418, body: {}}}
  - {id: asks, match: {path: "/sca/asks"}, require: {headers: {X-Lazy: {exists: true}}}, respond: {body: {}}}
"""
    cassette(tmp_path, rules)
    pages = an_engine(layers=[[tmp_path]])

    explanation = pages.explain(request("GET", path, {}, None))

    assert explanation.decision == decision
    assert explanation.reply
    assert explanation.reply.status == status
    assert asyncio.run(pages.answer(request("GET", path, {}, None))).status == status


@pytest.mark.parametrize("url", ["/_sandbox/health", "/_sandbox/state", "/sca/consents"])
def test_pages_of_the_sandbox_are_explained(cases: Engine, url: str) -> None:
    explanation = explained(cases, "GET", url)

    assert (explanation["decision"], explanation["by"], explanation["nearest"]) == ("sandbox", None, [])


def test_requests_that_the_sandbox_refuses_first_are_explained(tmp_path: Path) -> None:
    bank = an_engine(real=RealBank(hosts=(BankHost("bank.example"),)), base_path="/psd2")

    other = explained(bank, "GET", "https://other.example/psd2/v1/accounts")
    outside = explained(bank, "GET", "https://bank.example/v1/accounts")
    session = explained(bank, "GET", "/s/ü/v1/accounts")
    large = explained(bank, "POST", "/psd2/v1/consents", {}, "x" * 2_000_000)

    assert "other.example is not a host of the bank" in other["message"]
    assert "all paths of the bank start with /psd2" in outside["message"]
    assert [one["answer"]["status"] for one in (other, outside, session, large)] == [404, 404, 400, 413]
    assert {one["decision"] for one in (other, outside, session, large)} == {"sandbox"}


# -- the explanation in a 404


def test_the_distance_is_shown(cases: Engine) -> None:
    explanation = Client(cases).post("/oauth/x", json={}).json()["sandbox"]
    found = explanation["nearest"][0]

    assert explanation["decision"] == "nothing"
    assert 0 < found["distance"] < 1
    assert set(found) - {"rule", "operation"} == {
        "method", "path", "place", "distance", "fitted", "missed", "lacks", "lost",
    }  # fmt: skip


def test_the_shortfall_is_shown(tmp_path: Path) -> None:
    bank = engine(
        tmp_path,
        rules(
            {
                "id": "r",
                "match": {
                    "path": "/x",
                    "body": {
                        "/amount": {"gt": "1000"},
                        "/day": {"lte": "2026-11-01"},
                        "/kind": {"in": ["fast", "slow"]},
                    },
                    "headers": {"PSU-ID": {"exists": True}},
                },
            }
        ),
    )

    explanation = json.loads(ask(bank, "/x", json={"amount": 900.5, "day": "2026-11-03", "kind": "slo"}).body)[
        "sandbox"
    ]

    assert explanation["message"] == "rules have this path, but none of them matches; the nearest follow"
    assert [one["text"] for one in explanation["nearest"][0]["missed"]] == [
        "header PSU-ID is missing",
        "body member /amount is 900.5, must be greater than 1000: 99.5 too little",
        'body member /day is "2026-11-03", must be at most 2026-11-01: 2 days too late',
        'body member /kind is "slo", must be one of fast, slow',
    ]
    distances = {one["what"]: one["distance"] for one in explanation["nearest"][0]["missed"]}
    assert distances["headers.psu-id"] == 1
    assert distances["body/day"] < distances["body/amount"] < distances["body/kind"] < 0.5


def test_a_rule_that_answers_404_is_shown(cases: Engine) -> None:
    explanation = Client(cases).get("/says-unknown").json()["sandbox"]

    assert (explanation["decision"], name(explanation["by"]), explanation["suggestion"]) == (
        "rule",
        "says-unknown",
        None,
    )


def test_the_explanation_stays_small(tmp_path: Path) -> None:
    match = {f"X-{'a' * 200}-{n}": "ü" * 500 for n in range(50)}
    bank = engine(tmp_path, rules(*({"id": f"r{n}", "match": {"path": f"/x{n}", "headers": match}} for n in range(3))))

    for path in ("/x", "/x" + "%C3%BC" * 1300, "/y" * 300):
        explanation = json.loads(ask(bank, path).body)["sandbox"]
        assert len(explanation["nearest"]) == 3
        assert len(to_json(explanation)) <= 8 * 1024


class NoConsents(MemoryStore):
    def read(self, session: str, collection: str, id: str) -> tuple[int, Document | None]:
        if collection == "consents":
            raise StoreUnavailable("the disk is gone")
        return super().read(session, collection, id)


def test_a_404_is_explained_even_if_the_store_is_down() -> None:
    answer = Client(an_engine(NoConsents())).get("/v1/acounts", consent=UUID)

    assert (answer.status, names(answer.json()["sandbox"])[0]) == (404, "account-list")


# -- nothing is stored


def kept(store: MemoryStore) -> Any:
    return {name: held.documents for name, held in store._sessions.items()}


def test_explaining_changes_nothing(cases: Engine) -> None:
    store = cases.store
    assert isinstance(store, MemoryStore)
    mine = Client(cases, "nothing-kept")
    assert mine.get("/turns").json() == {"turn": 1}
    before = json.dumps(kept(store), default=str, sort_keys=True)

    for session in ("nothing-kept", "never-seen"):
        headers = {**READ, "X-Sandbox-Session": session, "PSU-IP-Address": "192.0.2.1"}
        assert explained(cases, "GET", "/turns", headers)["answer"]["status"] == 200
        assert explained(cases, "DELETE", f"/v1/consents/{facts.consent()}", headers)["answer"]["status"] == 204
        body = bodies.payment(bodies.SEPA)
        assert explained(cases, "POST", f"/v1/{bodies.SEPA}", headers, body)["answer"]["status"] == 200
        assert explained(cases, "GET", "/once", headers)["decision"] in ("rule", "nothing")
        assert explained(cases, "GET", "/v1/acounts", headers)["decision"] == "nothing"

    assert json.dumps(kept(store), default=str, sort_keys=True) == before
    assert mine.get("/turns").json() == {"turn": 2}


def test_the_turn_of_a_sequence_is_that_of_the_rule_s_own_path(tmp_path: Path) -> None:
    turns = {"id": "turns", "match": {"path": "/{rest*}"}, "sequence": [{"status": 201}, {"status": 202}]}
    bank = engine(tmp_path, {"rules.yaml": {"cassette": 1, "rules": [turns]}})
    for _ in range(3):
        same_as_answered(bank, request("GET", "/v1/things"))


def test_an_error_is_a_page_below_the_pages_of_the_customer(tmp_path: Path) -> None:
    page = {"id": "page", "match": {"path": "/sca/x"}, "require": {"headers": {"A": PRESENT}}, "respond": {"body": {}}}
    teapot = {"id": "teapot", "match": {"path": "/sca/x"}, "amend": {"status": 418}}
    bank = engine(tmp_path, {"rules.yaml": {"cassette": 1, "rules": [page, teapot]}})
    same_as_answered(bank, request("GET", "/sca/x"))


def test_the_state_is_considered(cases: Engine) -> None:
    headers = {"X-Sandbox-Session": "state-decides"}
    assert explained(cases, "GET", "/once", headers)["nearest"][0]["missed"][0]["text"].endswith("is false")

    Client(cases, "state-decides").get("/turns")

    assert name(explained(cases, "GET", "/once", headers)["by"]) == "again"


# -- the explanation matches the answer

KNOWN = """
    v1 accounts acounts consents status payments sepa-credit-transfers pigeon-post turns once fails says-unknown x s ci
    _sandbox health sca balances transactions authorisations card-accounts
"""
WORDS = st.sampled_from([*KNOWN.split(), "", "ü", "a b", "{id}", facts.consent(), facts.covered(), "%", "x" * 300])
HEADERS = {
    "X-Request-ID": [UUID, "1", ""],
    "Consent-ID": [facts.consent(), UUID, "abc"],
    "PSU-IP-Address": ["192.0.2.1", "x"],
    "PSU-ID": ["corp-1", "corp-2", "me"],
    "X-Lazy": ["1"],
    "X-Strict": ["1"],
    "Content-Type": ["application/json", "text/plain"],
    "X-Sandbox-Session": ["ci", "no session"],
}
BODIES = st.sampled_from([None, "{", "", [], {"a": 1}, bodies.payment(bodies.SEPA)])
PATHS = st.one_of(
    st.lists(WORDS, max_size=7).map(lambda words: "/" + "/".join(words)),
    st.sampled_from(["/v1/accounts", "/v1/consents", f"/v1/{bodies.SEPA}", f"/v1/consents/{facts.consent()}/status"]),
    st.sampled_from(["/turns", "/fails", "/once", f"/v1/accounts/{facts.covered()}/balances"]),
    st.text(max_size=30).map("/".__add__),
)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, Mapping[str, str], Any]:
    method = draw(st.sampled_from(["GET", "GET", "POST", "DELETE", "PATCH", "BREW"]))
    query = draw(st.sampled_from(["", "", "?urgent=1", "?many=1&withBalance=x", "?" + "&".join(["a=1"] * 50)]))
    chosen = draw(st.lists(st.sampled_from(sorted(HEADERS)), unique=True))
    headers = {one: draw(st.sampled_from(HEADERS[one])) for one in chosen}
    return method, draw(PATHS).replace("?", "") + query, headers, draw(BODIES)


def same_as_answered(bank: Engine, request: Request) -> None:
    """Compare the explanation of a request with its answer."""
    explanation = bank.explain(request)
    answer = asyncio.run(bank.answer(request))

    assert json.loads(to_json(describe(explanation)))
    if explanation.reply:
        assert answer.status == explanation.reply.status
    else:
        assert (explanation.decision, rule_of(answer)) == ("sandbox", None)
    # Errors of the engine itself, and errors that replace a broken rule, name no rule in their answer.
    answers = explanation.decision in ("rule", "operation")
    assert rule_of(answer) in ((by(explanation), None) if answers else (None,))
    if answers and rule_of(answer) is None:
        assert explanation.reply
        assert explanation.reply.error in ENGINE_ERRORS


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(requests())
def test_the_explained_entry_is_the_one_that_answers(cases: Engine, described_one: Any) -> None:
    same_as_answered(cases, request(*described_one))


PRESENT = {"exists": True}
MATCHED = ("/v1/things/{thing}", "/x", "/x/{y}", "/{rest*}", "/sca/x")
MATCHES: Any = st.sampled_from(
    [
        *({}, {"headers": {"A": "1"}}, {"headers": {"A": {"in": ["1", "3"]}}}, {"headers": {"B": PRESENT}}),
        *({"query": {"q": "1"}}, {"query": {"q": {"not": "1"}}}, {"headers": {"A": "1"}, "query": {"q": PRESENT}}),
        *({"body": {"/a": 1}}, {"body": {"/b": {"absent": True}}}, {"headers": {"A": {"absent": True}}}),
        *({"when": f"'x' * {10**7}"}, {"when": "state.notes.n1"}, {"when": "query.q == '1'"}, {"when": "body.a == 1"}),
    ]
)
ANSWERS = st.one_of(
    st.sampled_from([200, 201, 302, 404, 418, 503]).map(lambda status: {"respond": {"status": status, "body": {}}}),
    st.sampled_from(
        [
            {"respond": {"error": "path-unknown"}},
            {"amend": {"status": 418, "body": {"more": "{{ answer.status }}"}}},
            {"amend": {"headers": {"Later": "{{ query.q or 1 }}"}, "patch": [{"op": "remove", "path": "/no"}]}},
            {"respond": {"body": "{{ body.a.b.c }}"}},
            {"respond": {"body": "{{ 'x' * 9999999 }}"}},
            {"sequence": [{"status": 201}, {"status": 202}], "on_exhausted": "fail"},
            {"respond": {"body": {}}, "effects": [{"set": "state.notes['n1']", "to": {}}]},
        ]
    ),
)


@st.composite
def cassettes(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw rules in separate layers, so that none is ambiguous. Some are recorded rules."""
    layers = []
    for number in range(draw(st.integers(2, 6))):
        match = dict(draw(MATCHES))
        if operation := draw(st.sampled_from([None, None, "list", "one"])):
            match["operation"] = operation
        else:
            match["path"] = draw(st.sampled_from(MATCHED))
            if method := draw(st.sampled_from([None, None, "GET", ["GET", "POST"]])):
                match["method"] = method
        rule = {"id": f"r{number}", "match": match, "priority": draw(st.integers(-1, 1)), **draw(ANSWERS)}
        required = draw(st.sampled_from([None, None, "none", {"headers": {"A": PRESENT}}, {"query": {"q": "1"}}]))
        if "amend" in rule and required:
            required = "none"
        if required and (required != "none" or operation):
            rule["require"] = required
        head: dict[str, Any] = {"cassette": 1, "rules": [rule]}
        if draw(st.booleans()):
            head["recorded"] = {"bank": "https://bank.example", "at": "2026-11-21T10:00:00Z", "redacted": "1a2b3c4d"}
        layers.append({"rules.yaml": head})
    return layers


def as_recorded(request: Request) -> Request:
    """Replace 7 with its pseudonym 8 everywhere."""
    headers = Headers((name, value.replace("2", "1")) for name, value in request.headers)
    return structs.replace(request, target=request.target.replace("7", "8"), headers=headers)


REQUIRING = {
    **BANK,
    "operations": [{**BANK["operations"][0], "require": {"headers": {"A": PRESENT}}}, *BANK["operations"][1:]],
}
SENT = st.tuples(
    st.sampled_from(["GET", "GET", "GET", "POST", "DELETE"]),
    st.sampled_from(["/v1/things", "/v1/things/7", "/v1/things/8", "/x", "/x/7", "/x/8", "/x/", "/sca/x", "/"]),
    st.sampled_from(["", "?q=1", "?q=2", "?q=1&q=7"]),
    st.dictionaries(st.sampled_from("AB"), st.sampled_from("123")),
    st.sampled_from([None, {"a": 1}, {"a": 0, "b": 1}, "{"]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cassettes(), st.lists(SENT, min_size=5, max_size=12), st.booleans())
def test_the_explained_rule_answers_for_any_set_of_rules(
    tmp_path_factory: pytest.TempPathFactory, layers: list[Any], sent: list[Any], redacted: bool
) -> None:
    read, problems = check(tmp_path_factory.mktemp("rules"), *layers, bank=REQUIRING)
    assert read, "\n".join(map(str, problems))
    bank = Bank(read, SCHEMAS, replay=Replay(read, as_recorded if redacted else None))
    generated = Engine(Parts(Banks(bank), MemoryStore(), TestData({}, ()), limits=limits()))

    for method, path, query, headers, body in sent:
        same_as_answered(generated, request(method, path + query, headers, body))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(requests())
@example(("GET", "/v1/v1/payments/v1", {}, None))
@example(("GET", "/a/v1/payments/v1", {}, None))
def test_a_suggested_rule_answers_its_request(
    cases: Engine, tmp_path_factory: pytest.TempPathFactory, described_one: Any
) -> None:
    asked = request(*described_one)
    suggestion = cases.explain(asked).suggestion
    if suggestion is None:
        return
    layer = tmp_path_factory.mktemp("suggested")
    (layer / "0.yaml").write_text("cassette: 1\n" + CASES)
    (layer / "1.yaml").write_text(suggestion.yaml)

    answer = asyncio.run(an_engine(layers=[[layer]]).answer(asked))

    assert (answer.status, answer.body, rule_of(answer)) == (200, b"{}", Path(suggestion.file).stem)
