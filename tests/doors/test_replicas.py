"""Two real `serve` processes on one Redis, as on two machines, share everything."""

from collections.abc import Iterator
from time import monotonic
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.contract import bodies, facts
from tests.support.doors import DEADLINE, wait_until
from tests.support.redis_server import needs_redis, the_redis
from tests.support.serving import Serving, served

pytestmark = needs_redis

SEQUENCE = """\
cassette: 1
rules:
  - id: in-turn
    match: {path: /in-turn}
    sequence:
      - {text: one}
      - {text: two}
      - {text: three}
"""


HEADERS = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, Serving]]:
    directory = tmp_path_factory.mktemp("replicas")
    state = f"{the_redis().url}?prefix={uuid4()}"
    for name in ("one", "other"):
        (directory / name / "mine").mkdir(parents=True)
        (directory / name / "mine" / "in-turn.yaml").write_text(SEQUENCE)
    with (
        served(directory / "one", "--state", state, "--cassettes", "mine") as one,
        served(directory / "other", "--state", state, "--cassettes", "mine", "--workers", "2") as other,
    ):
        yield one, other


def ask(serving: Serving, method: str, path: str, **options: Any) -> httpx.Response:
    with httpx.Client(base_url=serving.direct, trust_env=False, timeout=DEADLINE) as http:
        return http.request(method, path, **options)


def control(serving: Serving, method: str, path: str, **options: Any) -> Any:
    answer = ask(serving, method, f"/_sandbox/{path}", headers={"Authorization": f"Bearer {serving.token}"}, **options)
    assert answer.status_code < 300, answer.text
    return answer.json() if answer.content else None


def journal(serving: Serving) -> list[tuple[int, str]]:
    exchanges = control(serving, "GET", "journal", params={"limit": "200"})["exchanges"]
    return [(one["number"], one["target"]) for one in exchanges]


def test_the_journal_is_shared(replicas: tuple[Serving, Serving]) -> None:
    one, other = replicas
    paths = [f"/nowhere/{uuid4()}" for _ in range(6)]
    for number, path in enumerate(paths):
        ask(replicas[number % 2], "GET", path)
    answered = monotonic()
    wait_until(lambda: {path for _, path in journal(one)} >= set(paths))
    wait_until(lambda: {path for _, path in journal(other)} >= set(paths))
    # One second is promised, but the machine may be busy.
    assert monotonic() - answered < 5
    assert journal(one) == journal(other)
    number, path = journal(one)[-1]
    assert control(other, "GET", f"journal/{number}")["target"] == path
    match = {"match": {"path": paths[0]}, "times": 1}
    assert control(other, "POST", "journal/assert", json=match)["found"] == 1


def test_an_emptied_journal_is_empty_everywhere(replicas: tuple[Serving, Serving]) -> None:
    one, other = replicas
    ask(one, "GET", "/nowhere")
    wait_until(lambda: "/nowhere" in [path for _, path in journal(other)])
    assert control(other, "DELETE", "journal")["deleted"]
    assert journal(one) == journal(other) == []


def test_sequences_clocks_faults_and_checks_are_shared(replicas: tuple[Serving, Serving]) -> None:
    one, other = replicas
    assert [ask(serving, "GET", "/in-turn").text for serving in (one, other, one)] == ["one", "two", "three"]

    control(one, "PUT", "clock", json={"frozen": "2031-01-01T09:00"})
    assert control(other, "GET", "clock")["today"] == "2031-01-01"

    control(one, "POST", "faults", json={"status": 418, "next": 2})
    assert [ask(serving, "GET", "/in-turn").status_code for serving in (other, one, other)] == [418, 418, 200]

    control(other, "POST", "faults", json={"status": 418, "next": 1, "sessions": "all"})
    for session in ("ci", "later"):
        statuses = [ask(serving, "GET", f"/s/{session}/in-turn").status_code for serving in (one, other)]
        assert statuses == [418, 200]
    (fault,) = (listed for listed in control(one, "GET", "faults")["faults"] if "sessions" in listed)
    assert (fault["id"], fault["seen"]) == ("fault-all-1", 0)

    control(one, "PUT", "checks", json={"profile": "strict"})
    assert control(other, "GET", "checks")["profile"] == "strict"

    control(other, "POST", "reset", json={"all": True})
    assert control(one, "GET", "checks")["profile"] == "documented"
    assert control(one, "GET", "faults") == {"faults": []}
    assert ask(one, "GET", "/in-turn").text == "one"


def test_rules_added_to_one_replica_answer_at_all_and_share_their_counts(replicas: tuple[Serving, Serving]) -> None:
    one, other = replicas
    rule = {"id": "mine", "match": {"path": "/mine/{id}"}, "respond": {"status": 418, "body": "{{ path.id }}"}}
    control(one, "POST", "rules", json={"rules": [rule]})
    answers = [ask(serving, "GET", "/mine/7") for serving in (other, one, other)]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(418, "7")] * 3
    assert [added["hits"] for added in control(one, "GET", "rules")["added"]] == [{"mine": 3}]

    control(other, "DELETE", "rules")
    assert ask(one, "GET", "/mine/7").status_code == 404


def test_calls_are_counted_together_for_the_frequency(replicas: tuple[Serving, Serving]) -> None:
    one, other = replicas
    control(one, "PUT", "checks", json={"checks": ["frequency"]})
    written = bodies.consent(facts.untied()[0], frequencyPerDay=1)
    id = ask(one, "POST", "/v1/consents", json=written, headers=HEADERS).json()["consentId"]
    consent = control(other, "GET", f"state/consents/{id}")
    control(other, "PUT", f"state/consents/{id}", json={**consent, "status": "authorised"})
    headers = {**HEADERS, "Consent-ID": id}
    assert [ask(serving, "GET", "/v1/accounts", headers=headers).status_code for serving in (one, other, one)] == [
        200,
        429,
        429,
    ]


@pytest.mark.slow
def test_the_time_spent_in_redis_is_measured(replicas: tuple[Serving, Serving]) -> None:
    for serving in replicas:
        ask(serving, "POST", "/v1/consents", json=bodies.consent(), headers=HEADERS)
        headers = {"Authorization": f"Bearer {serving.token}"}
        metrics = ask(serving, "GET", "/_sandbox/metrics", headers=headers).text
        counts = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if not line.startswith("#"))
        for name in ("commit_seconds_count", "fetch_seconds_count"):
            assert float(counts[f"xs2a_sandbox_{name}"]) > 0
