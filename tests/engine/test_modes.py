"""One function for each mode; the explanation of a request matches the behaviour of its mode."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.test_egress import ask, configured, source
from tests.support.far_bank import FarBank, ok
from tests.support.writing import rule_of
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.http import Headers, Request

RULES = {
    "cassette": 1,
    "rules": [
        {"id": "ours", "match": {"path": "/v1/ours"}, "respond": {"status": 418}},
        {"id": "theirs", "match": {"path": "/v1/theirs"}, "bank": True},
        {"id": "page", "match": {"path": "/sca/theirs"}, "bank": True},
    ],
}
RECORDED = {"record": {"to": "rec"}}
THEIRS = ok(b'{"from":"the bank"}', b"Content-Type: application/json")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/rules.yaml").write_text(yaml.safe_dump(RULES))
    return tmp_path


def in_mode(here: Path, far: FarBank, mode: str, **more: Any) -> Engine:
    return configured(here, far, bank={"mode": mode}, **more)


def sent(path: str, method: str = "GET", headers: Mapping[str, str] | None = None, host: str = "localhost") -> Request:
    pairs = {"Host": host, "X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", **(headers or {})}
    return Request(method, path, Headers(pairs.items()), host=host, door="direct" if host == "localhost" else "proxy")


@pytest.mark.parametrize(
    ("mode", "path", "by", "rule"),
    [
        ("simulate", "/v1/ours", "rule", "ours"),
        ("simulate", "/v1/theirs", "sandbox", None),
        ("simulate", "/v1/unknown", "sandbox", None),
        ("spy", "/v1/ours", "rule", "ours"),
        ("spy", "/v1/theirs", "bank", "theirs"),
        ("spy", "/v1/unknown", "bank", None),
        ("spy", "/sca/theirs", "bank", "page"),
        ("record", "/v1/ours", "bank", None),
        ("record", "/v1/unknown", "bank", None),
        ("record", "/sca/theirs", "bank", None),
        ("compare", "/v1/ours", "rule", "ours"),
        ("compare", "/v1/unknown", "sandbox", None),
    ],
)
def test_each_mode_decides_who_answers(here: Path, mode: str, path: str, by: str, rule: str | None) -> None:
    with FarBank(THEIRS) as bank:
        engine = in_mode(here, bank, mode, **RECORDED.get(mode, {}))
        explanation = engine.explain(sent(path))
        assert bank.connections == 0
        (answer,) = ask(engine, sent(path))
        asked_bank = bool(bank.seen)

    assert (source(answer), rule_of(answer)) == (by, rule)
    assert asked_bank == (by == "bank" or mode == "compare")
    if by == "bank":
        assert explanation.reply is None
        assert f"(mode {mode})" in explanation.message
    else:
        assert explanation.reply
        assert explanation.reply.status == answer.status


@pytest.mark.parametrize("mode", ["simulate", "spy", "record", "compare"])
@pytest.mark.parametrize("path", ["/favicon.ico", "/.well-known/appspecific/com.chrome.devtools.json"])
def test_files_for_browsers_are_not_requests_of_the_app(here: Path, mode: str, path: str) -> None:
    with FarBank(THEIRS) as bank:
        engine = in_mode(here, bank, mode, **RECORDED.get(mode, {}))
        (answer,) = ask(engine, sent(path))
        assert not bank.seen

    assert answer.status == 404
    assert b"only browsers request this file" in answer.body
    assert len(engine.journal) == 0


def test_a_rule_can_answer_a_file_for_browsers(here: Path) -> None:
    rule = {"id": "icon", "match": {"path": "/favicon.ico"}, "respond": {"status": 204}}
    (here / "rules/rules.yaml").write_text(yaml.safe_dump({**RULES, "rules": [rule]}))
    with FarBank(THEIRS) as bank:
        (answer,) = ask(in_mode(here, bank, "spy"), sent("/favicon.ico"))
    assert answer.status == 204


@pytest.mark.by_turns("path")
@pytest.mark.parametrize("mode", ["spy", "record", "compare"])
@pytest.mark.parametrize("path", ["/v1/ours", "/v1/unknown", "/v1/theirs"])
@pytest.mark.parametrize(
    "request_",
    [
        lambda path: sent(path, headers={"Origin": "https://evil.example"}),
        lambda path: sent(path, host="bank.example"),
        lambda path: sent(path, host="other.example"),
        lambda path: sent(path + "?" + "x" * 9000),
    ],
    ids=["another site", "the bank's host", "another host", "too long"],
)
def test_a_request_that_may_not_leave_is_explained(here: Path, mode: str, path: str, request_: Any) -> None:
    with FarBank(THEIRS) as bank:
        engine = in_mode(here, bank, mode, **RECORDED.get(mode, {}))
        explanation = engine.explain(request_(path))
        (answer,) = ask(engine, request_(path))

    if explanation.reply is None:
        assert source(answer) == "bank"
    else:
        assert explanation.reply.status == answer.status


def test_an_answer_of_the_bank_in_mode_compare_is_not_predicted(here: Path) -> None:
    with FarBank(THEIRS) as bank:
        engine = in_mode(here, bank, "compare", answer_from="bank")
        explanation = engine.explain(sent("/v1/ours"))
        (answer,) = ask(engine, sent("/v1/ours"))

    assert (source(answer), explanation.reply) == ("bank", None)
    assert "is asked (mode compare)" in explanation.message


def test_a_proxy_request_for_an_unknown_host_is_explained(here: Path) -> None:
    with FarBank(THEIRS) as bank:
        engine = configured(here, bank, bank={"mode": "record"}, banks_only=True, mode="record")
        request = sent("/v1/nowhere", host="analytics.example")
        explanation = engine.explain(request)
        (answer,) = ask(engine, request)

    assert explanation.reply
    assert (explanation.decision, explanation.reply.status) == ("sandbox", answer.status)
    assert "analytics.example" in explanation.message
