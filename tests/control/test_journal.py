"""The journal through the control interface."""

import asyncio
import json as jsonlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.support.certificates import der, issued
from tests.support.engine_client import NO_BODY, Answer, Client, an_engine, bundled_engine
from xs2a_sandbox.control import journal
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.journal.journal import KEPT_BODY
from xs2a_sandbox.journal.log_line import LogEntry

TOKEN = "a-token-for-these-tests"


@pytest.fixture
def engine() -> Engine:
    engine = an_engine()
    engine.use(admin_token=TOKEN)
    return engine


@pytest.fixture
def client(engine: Engine) -> Client:
    return Client(engine)


def ask(client: Client, method: str, path: str, json: Any = NO_BODY) -> Answer:
    return client.request(method, f"/_sandbox/journal{path}", json=json, headers={"Authorization": f"Bearer {TOKEN}"})


def got(client: Client, path: str) -> Any:
    answer = ask(client, "GET", path)
    assert answer.status == 200, answer.body
    return answer.json()


def refused(answer: Answer, status: int, error: str) -> Mapping[str, Any]:
    value: Mapping[str, Any] = answer.json()
    assert (answer.status, value["error"]) == (status, error), value
    return value


def filled(client: Client) -> Client:
    client.get("/v1/accounts")
    client.post("/v1/consents", json={"access": {}, "note": "SECRET"}, headers={"PSU-ID": "SECRET"})
    client.named("me").get("/v1/consnts")
    return client


def test_an_entry_shows_the_owner_of_the_client_certificate(client: Client) -> None:
    own = {"name": "My TPP", "organisation": "PSDAT-FMA-123456", "roles": ["PISP"]}
    for shown in ((der(issued(roles=("PISP",))),), (b"no certificate",), ()):
        client.get("/v1/accounts", certificates=shown)
    clients = [one["client"] for one in got(client, "")["exchanges"]]
    assert clients == [own, None, None]
    assert journal.read(got(client, "/1")).client == own


def test_the_journal_needs_the_admin_token(client: Client) -> None:
    for method, path in (("GET", ""), ("GET", "/1"), ("DELETE", ""), ("POST", "/assert")):
        assert client.request(method, f"/_sandbox/journal{path}").status == 401


@pytest.mark.parametrize("door", ["proxy", "tls"])
def test_the_journal_is_not_available_through_the_proxy(client: Client, door: Any) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert client.request("GET", "/_sandbox/journal", headers=headers, door=door).status == 404


def test_the_journal_lists_the_exchanges_of_all_sessions(client: Client) -> None:
    value = got(filled(client), "")
    assert (value["found"], value["kept"]) == (3, 3)
    assert [(one["number"], one["session"], one["method"], one["status"]) for one in value["exchanges"]] == [
        (1, "default", "GET", 400),
        (2, "default", "POST", 400),
        (3, "me", "GET", 404),
    ]
    assert value["exchanges"][2]["nearest"][0].startswith("near: operation")


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("method=POST", [2]),
        ("path=/v1/*", [1, 2, 3]),
        ("path=/v1/accounts", [1]),
        ("status=404", [3]),
        ("source=sandbox&method=GET&limit=1", [3]),
        ("session=me", [3]),
        ("session=default", [1, 2]),
        ("since=1", [2, 3]),
        ("limit=2", [2, 3]),
        ("limit=0", []),
        ("rule=none", []),
    ],
)
def test_the_journal_can_be_filtered(client: Client, query: str, numbers: list[int]) -> None:
    assert [one["number"] for one in got(filled(client), f"?{query}")["exchanges"]] == numbers


@pytest.mark.parametrize("query", ["metod=GET", "status=ok", "since=-1", "limit=1.5", "plain=false", "status=²"])
def test_an_unknown_filter_is_refused(client: Client, query: str) -> None:
    refused(ask(client, "GET", f"?{query}"), 400, "query-invalid")


def test_a_named_session_sees_only_its_own_exchanges(client: Client) -> None:
    filled(client)
    assert [one["number"] for one in got(client.named("me"), "")["exchanges"]] == [3]
    assert ask(client.named("me"), "DELETE", "").json() == {"deleted": 1}
    assert [one["number"] for one in got(client, "")["exchanges"]] == [1, 2]


def test_one_exchange_is_shown_completely_if_redaction_is_defined(engine: Engine, client: Client) -> None:
    def show(entry: Exchange, personal: bool) -> Exchange:
        return replace(entry, body=entry.body.replace(b"SECRET", b"hidden"), headers=Headers([("PSU-ID", "hidden")]))

    engine.journal.show = show
    value = got(filled(client), "/2")
    assert value["request"] == {"headers": [["PSU-ID", "hidden"]], "body": {"access": {}, "note": "hidden"}}
    assert value["answer"]["status"] == 400
    assert value["answer"]["body"]["tppMessages"][0]["code"] == "FORMAT_ERROR"
    assert (value["origin"], value["cut"], value["fault"]) == ("http://bank.example", False, None)


@pytest.mark.parametrize("path", ["", "/2"])
def test_unredacted_values_are_shown_only_on_request(client: Client, path: str) -> None:
    filled(client)
    assert b"SECRET" not in ask(client, "GET", path).body
    plain = ask(client, "GET", f"{path}?plain=true")
    assert plain.status == 200
    assert (b"SECRET" in plain.body) == bool(path)


def test_bodies_other_than_json_are_shown_as_text_or_base64(engine: Engine, client: Client) -> None:
    for body in (b"plain text", b"\xff\xfe"):
        client.post("/v1/consents", body=body)
    assert got(client, "/1?plain=true")["request"]["text"] == "plain text"
    assert got(client, "/2?plain=true")["request"]["base64"] == "//4="


@pytest.mark.parametrize(("path", "status"), [("/7", 404), ("/x", 400), ("/-1", 400), ("/assert", 400)])
def test_an_unknown_exchange_is_not_found(client: Client, path: str, status: int) -> None:
    refused(ask(client, "GET", path), status, "exchange-unknown" if status == 404 else "query-invalid")


def test_the_journal_can_be_emptied(client: Client) -> None:
    assert ask(filled(client), "DELETE", "").json() == {"deleted": 3}
    assert got(client, "") == {"exchanges": [], "found": 0, "kept": 0}


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        ({}, [1, 2, 3]),
        ({"match": {"method": "POST", "path": "/v1/consents"}}, [2]),
        ({"match": {"body": {"note": "SECRET"}}, "times": 1}, [2]),
        ({"match": {"headers": {"psu-id": "SECRET"}}}, [2]),
        ({"match": {"method": "DELETE"}, "times": 0}, []),
        ({"match": {"since": 1}, "times": {"min": 2, "max": 2}}, [2, 3]),
        ({"match": {"status": 404}, "times": {"max": 3}}, [3]),
    ],
)
def test_exchanges_can_be_asserted(client: Client, body: Any, numbers: list[int]) -> None:
    answer = ask(filled(client), "POST", "/assert", body)
    assert (answer.status, answer.json()) == (200, {"found": len(numbers), "numbers": numbers})


def test_a_failed_assertion_shows_the_nearest_exchanges(client: Client) -> None:
    body = {"match": {"method": "POST", "path": "/v1/consents", "body": {"note": "other"}}}
    value = refused(ask(filled(client), "POST", "/assert", body), 409, "journal-mismatch")
    assert value["message"] == 'expected at least once, found 0: POST /v1/consents body={"note":"other"}'
    assert value["found"] == []
    assert (value["nearest"][0]["number"], value["nearest"][0]["differs"]) == (2, ["body"])
    assert "SECRET" not in str(value)
    value = refused(ask(client, "POST", "/assert", {"times": 1}), 409, "journal-mismatch")
    assert [one["number"] for one in value["found"]] == [1, 2, 3]


def test_an_assertion_is_limited_to_the_named_session(client: Client) -> None:
    assert ask(filled(client).named("me"), "POST", "/assert", {"times": 1}).json()["numbers"] == [3]


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"metch": {}},
        {"match": []},
        {"match": {"metod": "GET"}},
        {"match": {"method": 1}},
        {"match": {"status": "200"}},
        {"match": {"status": True}},
        {"match": {"headers": {"a": 1}}},
        {"match": {"query": []}},
        {"times": -1},
        {"times": "1"},
        {"times": {}},
        {"times": {"least": 1}},
        {"times": {"min": None}},
        {"times": True},
    ],
)
def test_an_invalid_assertion_is_refused(client: Client, body: Any) -> None:
    refused(ask(client, "POST", "/assert", body), 400, "body-invalid")


def test_exchanges_cannot_be_written(client: Client) -> None:
    answer = ask(client, "POST", "/1", {})
    refused(answer, 405, "method-not-offered")
    assert answer.headers["allow"] == "GET, HEAD"
    assert ask(client, "PUT", "").status == 405


def test_reading_the_journal_adds_no_entry(client: Client) -> None:
    filled(client)
    got(client, "")
    assert got(client, "")["kept"] == 3


def test_a_broken_answer_is_shown_with_its_fault(engine: Engine, client: Client) -> None:
    from xs2a_sandbox.journal.log_line import LogEntry

    exchange = LogEntry("default", "GET", "/", 200, 1.0, "rule", "broken", fault="reset")
    engine.journal.add(Request("GET", "/"), Response(fault="reset"), exchange)
    assert got(client, "/1")["fault"] == "reset"


@pytest.mark.parametrize("body", [b"", b'{"a":[1,"x"],"b":null}', b"not json", b"\xff\x00"])
def test_a_complete_description_can_be_read_back(body: bytes) -> None:
    engine = an_engine()
    exchange = LogEntry("ci", "POST", "/v1/x", 200, 1.0, "rule", "r", ("odd",), amended=("fault-1",), fault="truncate")
    response = Response(200, (("X-A", "1"), ("X-A", "2")), body, "truncate")
    engine.journal.add(Request("POST", "/s/ci/v1/x?y=1", Headers([("X-B", "3")]), body), response, exchange)
    (entry,) = engine.journal
    document = jsonlib.loads(to_json(journal.describe_whole(entry, entry)))
    again = journal.read(document)
    assert again.path == "/v1/x"
    assert again.headers.pairs == entry.headers.pairs
    assert again.answer_headers.pairs == entry.answer_headers.pairs
    assert abs(again.time - entry.time) < timedelta(milliseconds=1)
    same = {name: getattr(entry, name) for name in ("time", "headers", "answer_headers", "milliseconds")}
    assert replace(again, **same) == entry


# -- repeating an exchange


def test_a_request_can_be_sent_again_unchanged(client: Client) -> None:
    client.named("me").post("/v1/consents", json={"access": {}, "note": "ü"}, headers={"X-App": "a"})

    answer = ask(client, "POST", "/1/send")

    assert answer.status == 201
    assert answer.json() == got(client, "")["exchanges"][1]
    first, again = (got(client, f"/{number}?plain=true") for number in (1, 2))
    assert {name: again[name] for name in ("session", "method", "target", "status", "request")} == {
        name: first[name] for name in ("session", "method", "target", "status", "request")
    }


def test_a_request_is_sent_again_in_the_session_of_the_proxy_user(client: Client) -> None:
    client.get("/v1/accounts", user="ci", door="proxy")
    assert ask(client, "POST", "/1/send").json()["session"] == "ci"


def test_a_request_with_a_long_answer_is_sent_again(client: Client) -> None:
    path = "/v1/accounts/AT459880000010204711/transactions?bookingStatus=booked"
    assert len(client.get(path, consent="9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911").body) > KEPT_BODY
    assert ask(client, "POST", "/1/send").json()["status"] == 200
    refused(ask(client, "POST", "/1/compare", {}), 409, "exchange-cut")


def test_an_incomplete_exchange_cannot_be_sent_again(client: Client) -> None:
    client.post("/v1/consents", body=b"x" * 70_000)
    assert "too large for the journal" in refused(ask(client, "POST", "/1/send"), 409, "exchange-cut")["message"]
    refused(ask(client, "POST", "/1/compare", {}), 409, "exchange-cut")
    refused(ask(client, "POST", "/9/send"), 404, "exchange-unknown")
    refused(ask(client, "POST", "/one/send"), 400, "query-invalid")


def test_a_journal_too_small_for_the_repeated_request_is_an_error(client: Client) -> None:
    client.get("/v1/accounts")
    client.engine.journal.bytes = 1
    message = refused(ask(client, "POST", "/1/send"), 409, "exchange-not-kept")["message"]
    assert "was sent again and answered with 400" in message
    assert "--journal" in message


def test_a_repeated_request_uses_the_same_certificates(client: Client) -> None:
    chain = (der(issued()), b"its issuer")
    request = Request("GET", "/v1/accounts", certificates=chain)
    asyncio.run(client.engine.answer(request))
    assert ask(client, "POST", "/1/send").status == 201
    first, again = client.engine.journal.entries()
    assert first.certificates == again.certificates == chain
    assert first.client == again.client is not None


def test_without_a_bank_an_exchange_cannot_be_compared(client: Client) -> None:
    client.get("/v1/accounts")
    assert "start it with --bank URL" in refused(ask(client, "POST", "/1/compare"), 409, "bank-not-asked")["message"]
    refused(ask(client, "POST", "/1/compare", {"allow_writes": "yes"}), 400, "body-invalid")


@pytest.mark.parametrize("text", ["CONSNTS", "secret", "unknown"])
def test_text_is_searched_in_all_parts_of_an_exchange(client: Client, text: str) -> None:
    numbers = [one["number"] for one in got(filled(client), f"?text={text}")["exchanges"]]
    assert len(numbers) == 1
    assert got(client, f"?text={text}&before={numbers[0]}")["found"] == 0
    assert got(client, f"?before={numbers[0] + 1}")["found"] == numbers[0]


def test_an_exchange_is_explained_like_its_request(client: Client) -> None:
    client.named("me").get("/v1/consnts", headers={"X-Request-ID": "1"})
    described = {"method": "GET", "url": "/v1/consnts", "headers": {"X-Request-ID": "1"}, "session": "me"}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = client.request("POST", "/_sandbox/explain", json=described, headers=headers)
    explained = got(client, "/1/explain")
    assert explained["message"].startswith("no operation and no rule has this path")
    assert explained == answer.json()
    refused(ask(client, "GET", "/9/explain"), 404, "exchange-unknown")


def test_the_explanation_of_an_exchange_is_redacted_like_the_exchange() -> None:
    iban, rule = "DE75512108001245126199", {"match": {"operation": "account-list"}, "respond": {"status": 500}}
    engine = an_engine(display=bundled_engine().parts.display)
    engine.use(admin_token=TOKEN)
    client = Client(engine)
    rule["match"]["headers"] = {"PSU-ID": "somebody"}  # type: ignore[index]
    client.request("POST", "/_sandbox/rules", json={"rules": [rule]}, headers={"Authorization": f"Bearer {TOKEN}"})
    client.get("/v1/accounts", headers={"PSU-ID": iban})
    assert iban not in jsonlib.dumps(got(client, "/1/explain"))
    assert iban in jsonlib.dumps(got(client, "/1/explain?plain=true"))
