"""Every problem while serving reaches standard error, even while mitmproxy listens to the log."""

import asyncio
import json
import logging
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Literal

import pytest
from mitmproxy.master import Master
from mitmproxy.options import Options

from tests.support.serving import served
from tests.support.taping import bank_of_things, tape, taped
from tests.support.warned import Call, calls
from xs2a_sandbox.features.derive.derive import derive
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.journal.serving_log import ServingLog, standing

log = logging.getLogger("xs2a_sandbox.a_module")


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except BaseException as caught:
        return caught


def said_by(work: Callable[[], None], form: str = "text", redact: Callable[[str], str] = str) -> list[str]:
    lines: list[str] = []
    serving_log = ServingLog(form, lines.append)  # type: ignore[arg-type]
    serving_log.redact = lambda text, personal: redact(text)
    with standing(serving_log):
        work()
    return lines


def test_a_warning_is_a_line() -> None:
    (line,) = said_by(lambda: log.warning("the state cannot be used: %s", "disk full\x1b[2J\nforged"))
    assert line.endswith(" warning the state cannot be used: disk full\\x1b[2J forged")
    assert line[:4].isdigit()


@pytest.mark.parametrize(
    ("level", "text"), [("info", "loaded again"), ("warning", "warning: too old"), ("error", "a.yaml:3: no\nmend it")]
)
def test_a_note_is_plain_text_or_a_json_line(level: Literal["info", "warning", "error"], text: str) -> None:
    lines: list[str] = []
    ServingLog("text", lines.append).note(text.removeprefix("warning: "), level)
    ServingLog("json", lines.append).note(text.removeprefix("warning: "), level)

    plain, line = lines
    entry = json.loads(line)
    assert plain == text
    assert (entry["level"], entry["message"]) == (level, text.removeprefix("warning: "))
    assert datetime.fromisoformat(entry["time"]).tzinfo
    assert "\n" not in line


def test_all_output_of_serve_as_json_is_lines_of_json(tmp_path: Path) -> None:
    """At the start, when files change, when they contain a mistake, and at the end."""
    case = tmp_path / "cases" / "one.yaml"
    case.parent.mkdir()
    case.write_text("cassette: 1\nrules: []\n")
    tape(tmp_path / "tape", taped("/things/1", {"a": 1}, at=-30 * 86400))
    derive(tmp_path / "tape", bank_of_things(tmp_path))
    settings = {"max_age": "1d", "cassettes": ["cases", "tape/cassettes"]}
    with served(tmp_path, "--log-format", "json", settings=settings) as serving:
        serving.warning("longer than max_age")
        case.write_text("cassette: 2\n")
        mistake = json.loads(serving.warning("the files that were loaded before stay in use"))
        case.write_text("cassette: 1\nrules: []\n# the same\n")
        loaded = json.loads(serving.warning("loaded again"))
        assert serving.stop() == 0
        entries = [json.loads(line) for line in serving.err]

    assert (mistake["level"], loaded["level"]) == ("error", "info")
    assert str(case) in mistake["message"]
    assert "answered nothing:" in " ".join(entry["message"] for entry in entries)
    assert all({"time", "level", "message"} == entry.keys() for entry in entries)


def test_information_is_not_logged() -> None:
    assert said_by(lambda: log.info("client connect")) == []


def test_the_log_is_silent_after_serving() -> None:
    lines: list[str] = []
    with standing(ServingLog("text", lines.append)):
        pass
    logging.getLogger("xs2a_sandbox.a_module").error("unheard")
    assert not lines


def test_warnings_are_logged_while_mitmproxy_listens() -> None:
    """Its master installs a handler on the root logger, so that Python does not print warnings itself."""

    async def warn() -> None:
        master = Master(Options())
        try:
            log.warning("heard")
        finally:
            await master.done()

    (line,) = said_by(lambda: asyncio.run(warn()))
    assert line.endswith(" warning heard")


def test_a_traceback_follows_its_line() -> None:
    (text,) = said_by(lambda: log.error("failed", exc_info=raised(KeyError("accounts"), OSError("first"))))
    lines = text.splitlines()
    assert lines[0].endswith(" error failed")
    assert lines[1] == "Traceback (most recent call last):" or lines[1] == "OSError: first"
    assert lines[-1] == "KeyError: 'accounts'"
    assert "OSError: first" in lines
    assert any(__file__ in line for line in lines)


def test_a_traceback_as_json_is_a_member_of_its_line() -> None:
    (text,) = said_by(lambda: log.error("failed", exc_info=raised(KeyError("accounts"))), "json")
    assert text.isprintable()
    entry = json.loads(text)
    assert entry.keys() == {"time", "level", "message", "traceback"}
    assert (entry["level"], entry["message"]) == ("error", "failed")
    assert entry["traceback"].startswith("Traceback (most recent call last):\n")
    assert entry["traceback"].endswith("KeyError: 'accounts'")


def test_the_text_of_an_exception_is_redacted_but_not_its_location() -> None:
    error = raised(ValueError("of Anna\nand Bert"), KeyError("Anna"))
    (text,) = said_by(lambda: log.error("failed", exc_info=error), redact=lambda text: text.replace("Anna", "N."))
    assert "Anna" not in text
    assert "KeyError: 'N.'" in text
    assert "ValueError: of N.\nand Bert" in text
    assert __file__ in text


def test_secrets_of_the_request_do_not_appear_in_tracebacks() -> None:
    request = Request("POST", "/x", Headers([("Authorization", "Bearer geheim-123")]), b'{"password": "so-secret"}')
    error = raised(ValueError("geheim-123, so-secret, plain"))
    (text,) = said_by(lambda: log.error("failed", exc_info=error, extra={"request": request}))
    assert text.endswith("ValueError: …, …, plain")


def test_a_group_shows_every_exception() -> None:
    group = ExceptionGroup("several", [ValueError("Anna one"), KeyError("two")])
    (text,) = said_by(lambda: log.error("x", exc_info=raised(group)), redact=lambda text: text.replace("Anna", "N."))
    assert "N. one" in text
    assert "Anna" not in text


@pytest.fixture(scope="module")
def every_warning(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the standard error of a real `serve` that has raised every warning in the code."""
    with served(tmp_path_factory.mktemp("all"), "--say-all", entry="tests.support.failing") as serving:
        serving.warning(f"probe {len(calls()) - 1} of ")
        return serving.warnings


@pytest.mark.parametrize(("number", "call"), list(enumerate(calls())), ids=lambda value: getattr(value, "place", ""))
def test_every_warning_of_the_code_reaches_standard_error(every_warning: str, number: int, call: Call) -> None:
    assert call.level >= logging.WARNING, "levels below warning are not shown"
    level = logging.getLevelName(call.level).lower()
    assert f" {level} probe {number} of {call.place}\n" in every_warning


def test_the_warnings_of_the_code_are_found() -> None:
    texts = {call.text for call in calls()}
    assert {"'the state cannot be used: %s'", "'an answer broke off: %s'"} <= texts
    assert len({call.logger for call in calls()}) > 1


def test_no_other_module_creates_a_logger() -> None:
    """Loggers are created where `calls` finds them: at the top of a module."""
    from tests.support.warned import PACKAGE

    for file in PACKAGE.rglob("*.py"):
        lines = [line for line in file.read_text().splitlines() if "getLogger(" in line and not line[0].isspace()]
        others = [line for line in file.read_text().splitlines() if "getLogger(" in line and line[0].isspace()]
        allowed = {"mitmproxy_addon.py", "mitmproxy_master.py", "serving_log.py", "examples.py", "library_log.py"}
        assert not others or file.name in allowed, (file, others)
        assert len(lines) <= 1, file


def test_a_stream_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    """The reader of the log has gone; the app still gets its answers."""

    def fails(text: str) -> None:
        raise BrokenPipeError

    serving_log = ServingLog("text", fails)
    raising, logging.raiseExceptions = logging.raiseExceptions, False
    try:
        with standing(serving_log):
            log.error("unheard")
    finally:
        logging.raiseExceptions = raising
