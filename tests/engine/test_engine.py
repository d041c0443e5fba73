"""The engine in process: what it adds to the answers of the cassettes."""

import asyncio
import gc
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Answer, Client, an_engine, cassette
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.real_bank import BankHost
from xs2a_sandbox.engine.steps import finishing
from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.messages import Door
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.state import Document, MemoryStore, attempts

STATUS = f"/v1/consents/{facts.consent()}/status"
LIST = "/v1/accounts"


class Unlucky(MemoryStore):
    """A store that loses `times` commits to another writer, or whose disk is away."""

    def __init__(self, times: int, *, away: str | None = None) -> None:
        super().__init__()
        self.times, self.away, self.commits, self.reads = times, away, 0, 0

    def read(self, session: str, collection: str, id: str) -> tuple[int, Document | None]:
        self.reads += 1
        if self.away == "read" and self.reads <= self.times:
            raise StoreUnavailable("the disk is away")
        return super().read(session, collection, id)

    def commit(self, *arguments: Any) -> bool:
        self.commits += 1
        if self.away != "read" and self.commits <= self.times:
            if self.away == "commit":
                raise StoreUnavailable("the disk is away")
            return False
        return super().commit(*arguments)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_SECONDS", 0.0)


@pytest.fixture
def client() -> Client:
    return Client(an_engine())


@pytest.fixture
def cases(tmp_path: Path) -> Callable[..., Client]:
    def make(text: str, **options: Any) -> Client:
        return Client(an_engine(layers=cassette(tmp_path, text), **options))

    return make


def create(client: Client) -> Answer:
    return client.post("/v1/consents", json=bodies.consent())


def is_own(answer: Answer, status: int, code: str) -> bool:
    """Return whether the answer is an error of the sandbox itself, in the shape of spec 7."""
    return (
        (answer.status, answer.error["code"], answer.source) == (status, code, "sandbox")
        and answer.error["category"] == "ERROR"
        and answer.error["text"].startswith("{sensitive} XS2A9")
        and "x-sandbox-rule" not in answer.headers
        and answer.headers["content-type"] == "application/json"
    )


# -- commits


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("away", [None, "commit"])
def test_a_commit_is_retried_after_a_conflict(away: str | None) -> None:
    store = Unlucky(attempts.TRIES - 1, away=away)

    assert create(Client(an_engine(store))).status == 200
    assert store.commits == attempts.TRIES == 8
    assert store.counts()["consents"] == 1


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("away", [None, "commit", "read"])
def test_after_eight_conflicts_the_engine_is_busy(away: str | None) -> None:
    store = Unlucky(10**6, away=away)
    client = Client(an_engine(store))

    answer = create(client)

    assert is_own(answer, 503, "SERVICE_UNAVAILABLE")
    assert answer.headers["x-request-id"]
    assert store.counts() == {}
    store.times = 0
    assert create(client).status == 200


@pytest.mark.usefixtures("hurried")
def test_a_retry_runs_the_handler_again_on_the_new_state() -> None:
    """Two requests race to delete one payment: exactly one gets 204."""

    class Raced(MemoryStore):
        other: Callable[[], Any] | None = None

        def commit(self, *arguments: Any) -> bool:
            if other := self.other:
                self.other = None
                other()
            return super().commit(*arguments)

    store = Raced()
    client = Client(an_engine(store))
    payment = client.post(f"/v1/{bodies.SEPA}", json=bodies.payment(bodies.SEPA)).json()["_Left"]["self"]["href"]
    answers: list[Answer] = []

    async def race() -> None:
        store.other = lambda: answers.append(_finish(client.send("DELETE", payment)))
        answers.append(await client.send("DELETE", payment))

    asyncio.run(race())

    assert sorted(answer.status for answer in answers) == [204, 405]


def _finish(work: Any) -> Any:
    """Run a coroutine that never waits, inside a running loop."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waited")


@pytest.mark.usefixtures("hurried")
def test_the_delay_of_a_lost_attempt_does_not_delay_the_error(cases: Callable[..., Client]) -> None:
    client = cases(
        """
        rules:
          - id: slow
            match: {operation: consent-status}
            respond: {delay: 60s, body: {}}
            effects: [{set: "state.notes['n']", to: {}}]
        """,
        store=Unlucky(10**6),
    )

    async def within() -> Answer:
        return await asyncio.wait_for(client.send("GET", STATUS), 10)

    assert is_own(asyncio.run(within()), 503, "SERVICE_UNAVAILABLE")


# -- writes


@pytest.mark.parametrize(
    ("method", "target", "options"),
    [
        ("GET", STATUS, {"headers": {"X-Request-ID": None}}),
        ("POST", "/v1/consents", {"json": {}}),
        ("POST", "/v1/consents", {"body": b"{"}),
        ("POST", f"/v1/{bodies.SEPA}", {"json": bodies.payment(bodies.SEPA, debtor=facts.foreign_iban())}),
        ("POST", f"/v1/{bodies.SEPA}", {"json": bodies.payment(bodies.SEPA), "headers": {"PSU-IP-Address": None}}),
        ("GET", "/nowhere", {}),
        ("PATCH", "/v1/consents", {}),
        ("DELETE", "/v1/consents/unknown", {}),
        ("GET", LIST, {"consent": facts.consent("expired")}),
        ("GET", "/_sandbox/ready", {}),
    ],
)
def test_a_failed_request_writes_nothing(client: Client, method: str, target: str, options: dict[str, Any]) -> None:
    client.named("ci").request(method, target, **options)

    assert client.engine.store.counts() == {}


def test_reading_writes_nothing(client: Client) -> None:
    """Not even the day that a new session's dates count from. It is stored with the first change."""
    for _ in range(3):
        assert client.named("ci").get(LIST, consent=facts.consent()).status == 200
        assert client.get(LIST, consent=facts.consent()).status == 200

    assert client.engine.store.counts() == {}

    assert client.named("ci").post("/v1/consents", json=bodies.consent()).status == 200
    counts = client.engine.store.counts("ci")
    assert {name: count for name, count in counts.items() if not name.startswith("_")} == {"consents": 1}


@pytest.mark.parametrize("failure", [ValueError("secret"), RecursionError(), MemoryError(), KeyError("x"), OSError(28)])
def test_an_exception_in_a_handler_is_an_error_without_effects(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    def fail(call: Call) -> dict[str, Any]:
        call.state.put("notes", "half", {"done": True})
        raise failure

    monkeypatch.setitem(collect_handlers(), "consents.status", replace(collect_handlers()["consents.status"], run=fail))

    answer = client.get(STATUS)

    assert is_own(answer, 500, "INTERNAL_SERVER_ERROR")
    assert "secret" not in answer.body.decode()
    assert "x-request-id" in answer.headers
    assert client.engine.store.counts() == {}
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize("error", [asyncio.CancelledError, KeyboardInterrupt, SystemExit])
def test_an_exception_that_ends_the_process_is_not_answered(
    client: Client, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def end(call: Call) -> dict[str, Any]:
        raise error

    monkeypatch.setitem(collect_handlers(), "consents.status", replace(collect_handlers()["consents.status"], run=end))

    with pytest.raises(error):
        client.get(STATUS)


def test_a_rule_that_matches_on_the_body_leaves_an_unreadable_body_to_the_operation(
    cases: Callable[..., Client],
) -> None:
    rule = "rules: [{id: mine, match: {operation: create-consent, body: {/access/x: y}}, respond: {status: 418}}]"

    answer = cases(rule).post("/v1/consents", body=b'{"access": ')

    assert answer.status == 400
    assert "the body must be JSON: Expecting value at line 1 column 12" in answer.error["text"]


def test_a_rule_precedes_a_page_of_the_sandbox(cases: Callable[..., Client]) -> None:
    client = cases(
        """
        rules:
          - {id: mine, match: {path: /sca/consents, query: {consent_id: mine}}, respond: {text: a page}}
        """,
    )

    assert client.get("/sca/consents?consent_id=mine").body == b"a page"
    assert b"a test system" in client.get("/sca/consents?consent_id=other").body


@pytest.mark.parametrize("door", ["proxy", "tls"])
def test_requests_for_sandbox_pages_through_the_proxy_get_a_hint(client: Client, door: Door) -> None:
    answer = client.get("/_sandbox/state/consents", door=door, host="127.0.0.1")

    assert answer.status == 404
    assert "NO_PROXY=127.0.0.1" in answer.json()["sandbox"]["message"]
    assert "NO_PROXY" not in client.get("/_other", door=door).body.decode()


def test_effects_are_committed_with_the_answer(cases: Callable[..., Client]) -> None:
    client = cases(
        """
        rules:
          - id: note
            match: {operation: consent-status}
            respond: {body: {seen: "{{ state.notes | length }}"}}
            effects: [{set: "state.notes['{{ uuid() }}']", to: {at: "{{ now() }}"}}]
          - id: refuse
            match: {operation: consent-content}
            respond: {error: consent-invalid, values: {id: x, status: odd}}
            effects: [{set: "state.refused['once']", to: {}}]
          - id: broken
            match: {operation: account-list}
            respond: {headers: {X-Back: "{{ query.back }}"}, body: {}}
            effects: [{set: "state.broken['once']", to: {}}]
        """
    )
    client.get(STATUS)
    client.get(STATUS)
    assert client.engine.store.counts() == {"notes": 2}

    assert client.get(f"/v1/consents/{facts.consent()}").status == 401
    assert client.engine.store.counts() == {"notes": 2, "refused": 1}

    assert client.get(f"{LIST}?back=a%0D%0Ab", consent=facts.consent()).status == 500
    assert client.engine.store.counts() == {"notes": 2, "refused": 1}


@pytest.mark.parametrize("value", ["a%0D%0AX-Evil:%201", "a%0Ab", "a%00b", "%E2%82%AC"])
def test_an_expression_cannot_split_the_response(cases: Callable[..., Client], value: str) -> None:
    client = cases(
        """
        rules:
          - id: echo
            match: {operation: account-list}
            respond: {headers: {X-Back: "{{ query.back }}"}, body: {}}
        """
    )

    answer = client.get(f"{LIST}?back={value}", consent=facts.consent())

    assert is_own(answer, 500, "INTERNAL_SERVER_ERROR")
    assert "x-evil" not in answer.headers
    assert "x-back" not in answer.headers


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\x00b", "€"])
@pytest.mark.parametrize("name", ["X-Request-ID", "X-Other", "X-Sandbox-Session"])
def test_a_header_that_would_split_the_response_is_refused(client: Client, name: str, value: str) -> None:
    answer = client.get(STATUS, headers={name: value})

    assert is_own(answer, 400, "FORMAT_ERROR")
    assert ("x-request-id" in answer.headers) == (name != "X-Request-ID")


def test_the_request_id_is_returned_even_if_the_headers_are_too_large(client: Client) -> None:
    answer = client.get(STATUS, headers={"X-Large": "x" * 70_000})

    assert is_own(answer, 431, "FORMAT_ERROR")
    assert "x-request-id" in answer.headers


# -- sequences

SEQUENCE = """
rules:
  - id: turns
    match: {operation: consent-status}
    sequence:
      - {status: 201, body: {n: 1}}
      - {error: consent-invalid, values: {id: x, status: odd}}
      - {status: 203, body: {n: 3}}
    on_exhausted: """


@pytest.mark.parametrize(
    ("on_exhausted", "statuses"),
    [
        ("repeat_last", [201, 401, 203, 203, 203]),
        ("restart", [201, 401, 203, 201, 401]),
        ("fail", [201, 401, 203, 500, 500]),
    ],
)
def test_a_sequence_answers_in_order(cases: Callable[..., Client], on_exhausted: str, statuses: list[int]) -> None:
    client = cases(SEQUENCE + on_exhausted)

    answers = [client.get(STATUS) for _ in statuses]

    assert [answer.status for answer in answers] == statuses
    assert [answer.source for answer in answers] == ["sandbox" if status == 500 else "rule" for status in statuses]


def test_a_sequence_counts_by_session_and_path(cases: Callable[..., Client]) -> None:
    client = cases(SEQUENCE + "repeat_last")
    other = f"/v1/consents/{facts.consent('expired')}/status"

    assert [client.get(path).status for path in (STATUS, other, STATUS, other)] == [201, 201, 401, 401]
    assert [client.named("b").get(path).status for path in (STATUS, STATUS)] == [201, 401]
    assert client.get(STATUS).status == 203


def test_a_refused_request_does_not_advance_the_sequence(cases: Callable[..., Client]) -> None:
    client = cases(SEQUENCE + "repeat_last")

    assert client.get(STATUS, headers={"X-Request-ID": "none"}).status == 400
    assert client.request("PUT", STATUS).status == 405
    assert client.get(STATUS).status == 201


def test_parallel_requests_advance_the_sequence_once_each(cases: Callable[..., Client]) -> None:
    client = cases(
        """
        rules:
          - id: turns
            match: {operation: consent-status}
            sequence: [{status: 201, body: {}}, {status: 202, body: {}}, {status: 203, body: {}}]
            on_exhausted: fail
        """
    )

    async def ask() -> list[Answer]:
        return await asyncio.gather(*(client.send("GET", STATUS) for _ in range(4)))

    assert sorted(answer.status for answer in asyncio.run(ask())) == [201, 202, 203, 500]


@pytest.mark.usefixtures("hurried")
def test_a_lost_attempt_does_not_advance_the_sequence(cases: Callable[..., Client]) -> None:
    client = cases(SEQUENCE + "repeat_last", store=Unlucky(3))

    assert [client.get(STATUS).status for _ in range(2)] == [201, 401]


# -- debug headers


PLACEHOLDER = "authorization_not_yet_available"


@pytest.mark.parametrize(
    ("method", "target", "options", "source", "rule"),
    [
        ("GET", STATUS, {}, "handler", "consent-status"),
        ("GET", "/v1/consents/unknown", {}, "handler", "consent-content"),
        ("GET", f"/v1/{bodies.SEPA}/1/authorisations/{PLACEHOLDER}", {}, "rule", "placeholder-authorisation"),
        ("GET", STATUS, {"headers": {"X-Request-ID": None}}, "sandbox", None),
        ("POST", "/v1/consents", {"json": {}}, "sandbox", None),
        ("POST", "/v1/consents", {"json": bodies.consent(access={})}, "handler", "create-consent"),
        ("GET", "/nowhere", {}, "sandbox", None),
        ("PATCH", "/v1/consents", {}, "sandbox", None),
        ("GET", "/_sandbox/health", {}, "sandbox", None),
    ],
)
@pytest.mark.parametrize("shown", [True, False])
def test_debug_headers_show_the_source_of_an_answer(
    method: str, target: str, options: dict[str, Any], source: str, rule: str | None, shown: bool
) -> None:
    answer = Client(an_engine(debug_headers=shown)).request(method, target, **options)

    assert answer.headers.get("x-sandbox-source") == (source if shown else None)
    assert answer.headers.get("x-sandbox-rule") == (rule if shown else None)


def test_a_rule_is_named_even_if_it_answers_with_an_error(cases: Callable[..., Client]) -> None:
    client = cases(
        """
        rules:
          - id: refuse
            match: {operation: consent-status}
            respond: {error: format-error, values: {expected: better}}
        """
    )

    answer = client.get(STATUS)

    assert (answer.status, answer.source, answer.headers["x-sandbox-rule"]) == (400, "rule", "refuse")


def test_an_unknown_path_gets_the_nearest_operations(client: Client) -> None:
    body = client.get("/v1/consent/x/state").json()

    assert body["sandbox"]["nearest"][0]["operation"] == "consent-status"
    assert body["tppMessages"][0]["code"] == "RESOURCE_UNKNOWN"
    assert "sandbox" not in Client(an_engine(debug_headers=False)).get("/v1/consent/x/state").json()


@pytest.mark.parametrize("target", [STATUS, "/nowhere", "/_sandbox/health", "/sca/consents"])
def test_head_has_no_body(client: Client, target: str) -> None:
    assert client.request("HEAD", target).body == b""


# -- sessions


def test_fifty_concurrent_sessions_are_separate(client: Client) -> None:
    async def one(number: int) -> list[int]:
        mine = client.named(f"s{number}")
        made = await mine.send("POST", f"/v1/{bodies.SEPA}", json=bodies.payment(bodies.SEPA, amount=f"{number}.50"))
        path = made.json()["_Left"]["self"]["href"]
        record = await mine.send("GET", path)
        assert record.json()["instructedAmount"]["amount"] == f"{number}.50"
        unknown_host = await client.named(f"s{number + 1}").send("GET", path)
        deleted = await mine.send("DELETE", f"/v1/consents/{facts.consent()}")
        return [made.status, unknown_host.status, deleted.status, (await mine.send("GET", STATUS)).status]

    async def many() -> list[list[int]]:
        return await asyncio.gather(*(one(number) for number in range(1, 51)))

    assert asyncio.run(many()) == [[200, 404, 204, 403]] * 50
    assert client.get(STATUS).status == 200


# -- settings


@pytest.mark.parametrize(
    ("host", "status"), [("bank.example", 200), ("BANK.example", 200), ("other.example", 404), ("", 404)]
)
def test_only_the_hosts_of_the_bank_are_answered(host: str, status: int) -> None:
    client = Client(an_engine(real=RealBank(hosts=(BankHost("Bank.Example"), BankHost("second.example")))))

    answer = client.get(STATUS, door="proxy", host=host)

    assert answer.status == status
    if status == 404:
        assert "hosts" in answer.json()["sandbox"]["message"]


@pytest.mark.parametrize("door", ["direct", "tls", "process"])
def test_a_base_url_answers_for_any_host(door: Any) -> None:
    assert (
        Client(an_engine(real=RealBank(hosts=(BankHost("bank.example"),))))
        .get(STATUS, door=door, host="127.0.0.1")
        .status
        == 200
    )


@pytest.mark.parametrize(
    ("prefix", "status"),
    [("", 404), ("/psd2/rest", 200), ("/s/ci/psd2/rest", 200), ("/psd2", 404), ("/other", 404)],
)
def test_a_base_path_is_required(prefix: str, status: int) -> None:
    client = Client(an_engine(base_path="/psd2/rest"))

    answer = client.get(prefix + STATUS)

    assert answer.status == status
    if status == 404:
        assert "base_path" in answer.json()["sandbox"]["message"]


# -- listeners


def test_listeners_get_every_exchange(client: Client) -> None:
    entries: list[LogEntry] = []
    client.engine.use(on_exchange=entries.append)

    client.named("ci").get(f"{STATUS}?secret=1")
    client.post("/v1/consents", json=bodies.consent(extra=1))

    assert [(e.session, e.method, e.path, e.status, e.source, e.rule) for e in entries] == [
        ("ci", "GET", STATUS, 200, "handler", "consent-status"),
        ("default", "POST", "/v1/consents", 200, "handler", "create-consent"),
    ]
    assert not entries[0].warnings
    assert ["/extra" in warning for warning in entries[1].warnings] == [True]


def test_the_log_has_a_request_id_only_if_it_is_a_uuid(client: Client) -> None:
    uuid = "99391C7E-ad88-49ec-a2ad-99ddcb1f7721"
    entries: list[LogEntry] = []
    client.engine.use(on_exchange=entries.append)

    for id in (uuid, "Anna Muster", f'{uuid}", "', f"{uuid}\n", None):
        client.get(STATUS, headers={"X-Request-ID": id})

    assert [entry.request_id for entry in entries] == [uuid, None, None, None, None]


def test_a_redirect_has_no_failure_reason(tmp_path: Path) -> None:
    case = "rules: [{id: mine, match: {path: /mine}, respond: {status: 303, headers: {Location: /there}}}]"
    client = Client(an_engine(layers=cassette(tmp_path, case)))
    entries: list[LogEntry] = []
    client.engine.use(on_exchange=entries.append)

    client.get("/mine")

    assert [(entry.status, entry.reason) for entry in entries] == [(303, None)]


def test_the_log_has_the_name_of_the_error(client: Client, tmp_path: Path) -> None:
    case = "rules: [{id: mine, match: {path: /mine}, respond: {error: payment-unknown, values: {name: x}}}]"
    client = Client(an_engine(layers=cassette(tmp_path, case)))
    entries: list[LogEntry] = []
    client.engine.use(on_exchange=entries.append)

    client.get("/nowhere")
    client.get("/mine")
    client.get("/v1/consents/0cae8c3e-1111-4222-8333-444455556666/status")
    client.get(STATUS)

    assert [(e.error, e.rule) for e in entries] == [
        ("path-unknown", None),
        ("payment-unknown", "mine"),
        ("consent-unknown", "consent-status"),
        (None, "consent-status"),
    ]


@pytest.mark.parametrize(("status", "has_reason"), [(303, False), (399, False), (400, True)])
def test_answers_have_a_reason_if_the_status_is_400_or_higher(
    cases: Callable[..., Client], status: int, has_reason: bool
) -> None:
    client = cases(f"rules: [{{id: mine, match: {{path: /mine}}, respond: {{status: {status}, body: {{}}}}}}]")
    entries: list[LogEntry] = []
    client.engine.use(on_exchange=entries.append)

    client.get("/mine")

    assert [entry.reason is not None for entry in entries] == [has_reason]


def test_a_failing_listener_does_not_affect_the_answer(client: Client) -> None:
    def fail(exchange: LogEntry) -> None:
        raise BrokenPipeError

    client.engine.use(on_exchange=fail)

    assert client.get(STATUS).status == 200


@pytest.mark.parametrize("name", ["corrupt", "confine"])
def test_an_exception_while_finishing_an_answer_is_answered_too(
    cases: Callable[..., Client], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    failures = [RuntimeError("secret")]
    usual = getattr(finishing, name)

    def fail_once(response: Response) -> Response | None:
        if failures:
            raise failures.pop()
        finished: Response | None = usual(response)
        return finished

    monkeypatch.setattr(finishing, name, fail_once)
    rule = "rules: [{id: mine, match: {path: /mine}, respond: {body: {}, fault: half-json}}]"

    answer = cases(rule).get("/mine", door="direct")

    assert not failures
    assert is_own(answer, 500, "INTERNAL_SERVER_ERROR")
    assert "secret" not in answer.body.decode()
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_a_failed_request_keeps_its_answer_if_its_reason_cannot_be_shown(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> str:
        raise RuntimeError("secret")

    monkeypatch.setattr(finishing, "reason_of", fail)

    assert client.get("/v1/consents/nobody").status == 403
    assert "the reason of a failed request cannot be shown" in caplog.text


def test_requests_leave_nothing_for_the_garbage_collector() -> None:
    client = Client(an_engine())

    def walk() -> None:
        payment = client.post("/v1/payments/sepa-credit-transfers", json=bodies.payment("sepa-credit-transfers"))
        for path in (f"payments/sepa-credit-transfers/{payment.json()['paymentId']}", "payments/unknown", "nowhere"):
            client.get(f"/v1/{path}")
        client.get(f"/v1/accounts/{facts.covered()}/transactions?bookingStatus=both", consent=facts.consent())

    walk()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        walk()
        gc.collect()
        left = [one for one in gc.garbage if type(one).__module__.startswith("xs2a_sandbox")]
        # The servers of other tests run on in threads, and may close a connection at any time.
        assert not [one for one in left if not type(one).__module__.startswith("xs2a_sandbox.doors")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
