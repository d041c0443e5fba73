"""The rules load, and with them the sandbox agrees."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.engine_client import an_engine, bundled_engine
from xs2a_sandbox.authoring import suggest_rules
from xs2a_sandbox.compare.comparison import Comparison, Step
from xs2a_sandbox.compare.reports.report import Report, report
from xs2a_sandbox.config import Settings
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.engine import Engine, build
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import Headers, Request, Response, body, to_json

CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
HEADERS = (("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"), ("PSU-IP-Address", "192.0.2.7"))
IBAN = "AT459880000010204711"


def step(target: str, method: str = "GET", *headers: tuple[str, str]) -> Step:
    return Step(target, Request(method, target, Headers((*HEADERS, *headers))))


def compared(sandbox: Engine, answers: dict[str, list[Response]], steps: list[Step]) -> Report:
    left = {target: list(responses) for target, responses in answers.items()}

    async def bank(request: Request) -> Response:
        return left[request.target].pop(0)

    known = bundled_engine()
    comparison = Comparison(known.interface, known.schemas, sandbox.answer, bank, noise_reads=0, allow_writes=True)
    return report(asyncio.run(comparison.play(steps)), "https://bank.example", None)


def patched(made: Report, directory: Path) -> Engine:
    suggest_rules.write(made, directory / "patch")
    return build.build(Settings(state="memory:", confdir=directory, cassettes=(directory / "patch",)))


def json_answer(value: Any, status: int = 200, **headers: str) -> Response:
    return Response(status, (("Content-Type", "application/json"), *headers.items()), json.dumps(value).encode())


def test_with_the_rules_the_sandbox_agrees(tmp_path: Path) -> None:
    accounts = f"/v1/accounts/{IBAN}"
    answers = {
        "/v1/accounts?withBalance=true": [json_answer({"accounts": [{"iban": "x", "amount": 1.10, "on": "NO"}]})],
        "/v1/accounts": [json_answer({"accounts": [], "day": "2026-11-21", "{{ x }}": "{{ y }}"})],
        accounts: [Response(503, (("Content-Type", "text/html"),), "<h1>später\u0085".encode())],
        f"{accounts}/balances": [Response(200, (("Content-Type", "application/pdf"),), b"\xff\x00")],
        "/v1/consents": [
            json_answer({"consentId": "one"}, 201, Location="/v1/consents/one"),
            json_answer({"consentId": "two"}, 201, Location="/v1/consents/two"),
        ],
        "/unknown/{x}": [Response(204)],
    }
    access = ("Consent-ID", CONSENT)
    steps = [
        step("/v1/accounts?withBalance=true", "GET", access),
        step("/v1/accounts", "GET", access),
        step(accounts, "GET", access),
        step(f"{accounts}/balances", "GET", access),
        step("/v1/consents", "POST"),
        step("/v1/consents", "POST"),
        step("/unknown/{x}"),
    ]
    before = compared(an_engine(), answers, steps)
    assert all(exchange.findings for exchange in before.exchanges)
    after = compared(patched(before, tmp_path), answers, steps)
    left = [(e.request, f.kind, f.where) for e in after.exchanges for f in e.findings if f.kind != "drift"]
    assert left == []


def test_a_rule_says_what_it_mends(tmp_path: Path) -> None:
    made = compared(an_engine(), {"/v1/accounts": [json_answer({"new": True})]}, [step("/v1/accounts")])
    (file,) = suggest_rules.write(made, tmp_path)
    assert file.name == "patched-account-list.yaml"
    text = file.read_text()
    assert "# high status at status: bank 200, sandbox 400" in text
    assert "raw: true" in text


def test_where_all_agree_there_is_nothing_to_write(tmp_path: Path) -> None:
    engine = an_engine(debug_headers=False)
    made = compared(engine, {"/x": [asyncio.run(engine.answer(Request("GET", "/x")))]}, [step("/x")])
    assert suggest_rules.write(made, tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def test_a_large_body_has_a_file_of_its_own(tmp_path: Path) -> None:
    answers = {"/v1/accounts": [json_answer({"long": "x" * 70_000})]}
    before = compared(an_engine(), answers, [step("/v1/accounts")])
    after = compared(patched(before, tmp_path), answers, [step("/v1/accounts")])
    assert len((tmp_path / "patch/patched-account-list.yaml").read_text()) < 5000
    assert [f.kind for e in after.exchanges for f in e.findings if f.kind != "drift"] == []


def test_a_folder_that_cannot_be_written_is_the_user_s_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    made = compared(an_engine(), {"/x": [Response(200)]}, [step("/x")])
    with pytest.raises(ConfigError, match="cannot write"):
        suggest_rules.write(made, tmp_path / "file" / "below")


def test_what_each_side_calls_differently_is_a_parameter(tmp_path: Path) -> None:
    async def sandbox(request: Request) -> Response:
        return json_answer({"consentId": "s1", "status": "a"})

    async def bank(request: Request) -> Response:
        return json_answer({"consentId": "B1", "status": "b"})

    known = bundled_engine()
    comparison = Comparison(known.interface, known.schemas, sandbox, bank, allow_writes=True, noise_reads=0)
    steps = [step("/v1/consents", "POST"), step("/v1/consents/s1", "GET", ("Consent-ID", "s1"))]
    made = report(asyncio.run(comparison.play(steps)), "bank", None)
    suggest_rules.write(made, tmp_path)
    text = (tmp_path / "patched-consent-content.yaml").read_text()
    assert 'path: "/v1/consents/{id2}"' in text
    assert "Consent-ID" not in text
    assert build.check(Settings(state="memory:", confdir=tmp_path), [tmp_path]) == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    | st.sampled_from(["NO", "1e5", "0123", "2026-11-21", "~", "- x", "a: b", "{{ x }}", "#", "\u2028", "😀"]),
    lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(), v, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(VALUES)
def test_any_json_survives_being_written_as_a_rule(value: Any) -> None:
    made = compared(an_engine(), {"/x": [json_answer(value, 201)]}, [step("/x")])
    text = suggest_rules.cassette("any", made.exchanges, "bank", {})
    (rule,) = yaml_reader.parse(text, Path("x.yaml")).value["rules"]
    written = rule["respond"].get("body", rule["respond"].get("text"))
    if "text" in rule["respond"]:
        written = json.loads(written)
    assert body.read(json.dumps(value).encode()) == body.read(to_json(written))
