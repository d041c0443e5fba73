"""`xs2a-sandbox journal` with a running sandbox."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.doors import opened
from tests.support.engine_client import Client, an_engine
from tests.support.roads import direct_door
from xs2a_sandbox.cli import main
from xs2a_sandbox.config.table import SETTINGS
from xs2a_sandbox.control.access import ensure_token
from xs2a_sandbox.engine import Engine


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for setting in SETTINGS:
        monkeypatch.delenv(setting.variable, raising=False)
    engine = an_engine()
    engine.use(admin_token=ensure_token(tmp_path / ".xs2a-sandbox"))
    return engine


@pytest.fixture
def port(engine: Engine) -> Iterator[int]:
    with opened(lambda: direct_door(engine.answer)) as (door, _):
        yield door.port


def run(port: int, *words: str) -> Result:
    return CliRunner().invoke(main.cli, ["journal", *words, "--port", str(port)], prog_name="xs2a-sandbox")


def output(port: int, *words: str) -> str:
    result = run(port, *words)
    assert result.exit_code == 0, result.output
    return result.output


def filled(engine: Engine) -> None:
    Client(engine).post("/v1/consents", json={"note": "SECRET"}, headers={"PSU-ID": "SECRET"})
    Client(engine, "me").get("/v1/consnts")


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_numbers_keep_the_digits_that_were_sent(engine: Engine, port: int, flags: list[str]) -> None:
    Client(engine).post("/v1/consents", body=b'{"rate": 12345678901234567.10}')
    assert '"rate": 12345678901234567.10' in output(port, "1", "--no-redact", *flags)


def test_each_exchange_is_one_line_with_the_nearest_rule(engine: Engine, port: int) -> None:
    filled(engine)
    lines = output(port).splitlines()
    assert lines[0].startswith("#1 ")
    assert " default POST /v1/consents 400 " in lines[0]
    assert " me GET /v1/consnts 404 " in lines[1]
    assert lines[2].startswith("    near: operation")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--method", "POST"], ["#1"]),
        (["--path", "/v1/consnts"], ["#2"]),
        (["--status", "404"], ["#2"]),
        (["--session", "me"], ["#2"]),
        (["--session", "default"], ["#1"]),
        (["--since", "1"], ["#2"]),
        (["--limit", "1"], ["#2"]),
        (["--source", "sandbox"], ["#1", "#2"]),
    ],
)
def test_it_can_be_filtered(engine: Engine, port: int, words: list[str], found: list[str]) -> None:
    filled(engine)
    assert [line.split()[0] for line in output(port, *words).splitlines() if line.startswith("#")] == found


def test_an_empty_journal_is_reported_in_words(engine: Engine, port: int) -> None:
    assert output(port) == "the journal is empty\n"
    filled(engine)
    assert output(port, "--rule", "none") == "none of the 2 exchanges matches\n"


def test_a_single_exchange_is_shown_completely_and_redacted(engine: Engine, port: int) -> None:
    engine.journal.show = lambda entry, personal: replace(entry, body=b'{"note": "hidden"}')
    filled(engine)
    text = output(port, "1")
    assert "POST http://bank.example/v1/consents\n" in text
    assert '  "note": "hidden"' in text
    assert "\n400\n" in text
    assert "FORMAT_ERROR" in text


def test_no_redact_shows_the_exchange_unchanged(engine: Engine, port: int) -> None:
    filled(engine)
    assert "SECRET" not in output(port, "1")
    assert "PSU-ID: SECRET" in output(port, "1", "--no-redact")


def test_json_equals_the_answer_of_the_control_interface(engine: Engine, port: int) -> None:
    filled(engine)
    assert json.loads(output(port, "--json"))["found"] == 2
    assert json.loads(output(port, "1", "--json"))["number"] == 1


def test_content_sent_by_an_app_cannot_control_the_terminal(engine: Engine, port: int) -> None:
    Client(engine).get("/v1/\x1b[2J", headers={"X-A": "\x1b[31m", "X-B": "\x9b"})
    text = output(port) + output(port, "1", "--no-redact")
    assert "\\x1b[2J" in text
    assert not {"\x1b", "\x9b"} & set(text)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["1", "--status", "404"], "use either NUMBER or --status, not both"),
        (["7"], "the journal has no exchange 7"),
        (["--session", "a b"], "a session name must have"),
        (["0"], "0 is not in the range"),
        (["--status", "4xx"], "'4xx' is not a status from 200 to 599"),
        (["--status", "99"], "'99' is not a status from 200 to 599"),
    ],
)
def test_mistakes(engine: Engine, port: int, words: list[str], message: str) -> None:
    result = run(port, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
