"""`xs2a-sandbox explain`, with a running sandbox and without one."""

# ruff: noqa: F401, F811 - fixtures of another file

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_control import confdir, output, port, run
from tests.support.certificates import issued
from tests.support.engine_client import an_engine, cassette
from tests.support.explained import UUID, codes, name
from xs2a_sandbox.cli import main
from xs2a_sandbox.control.access import ensure_token
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.tpp import key_files

CASE = "rules:\n  - {id: mine, match: {path: /mine}, sequence: [{body: 1}, {body: 2}]}\n"


def unused() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
    return port


@pytest.fixture
def engine(confdir: Path, tmp_path: Path) -> Engine:
    engine = an_engine(layers=cassette(tmp_path, CASE))
    engine.use(admin_token=ensure_token(confdir))
    return engine


def explained(*words: str, port: int) -> Any:
    return json.loads(output("explain", "--json", *words, port=port))


def test_explain_asks_a_running_sandbox(engine: Engine, port: int) -> None:
    explanation = explained("get", "/mine", port=port)

    assert explanation["asked"] == f"http://127.0.0.1:{port}"
    assert (explanation["decision"], name(explanation["by"])) == ("rule", "mine")
    assert engine.store.sessions() == {}


def test_the_given_request_is_explained(port: int) -> None:
    explanation = explained(
        "POST", "https://bank.example/v1/consents", "-H", f"X-Request-ID: {UUID}", "-d", "{a", port=port
    )

    assert explanation["by"]["lacks"] == [
        "the body must be JSON: Expecting property name enclosed in double quotes at line 1 column 2"
    ]


def test_the_body_can_be_in_a_file(port: int, tmp_path: Path) -> None:
    file = tmp_path / "body.json"
    file.write_text("\n\n{a\n")
    words = ("explain", "POST", "/v1/consents", "-H", f"X-Request-ID: {UUID}", "-d")
    assert "at line 3 column 2" in output(*words, f"@{file}", port=port)
    file.write_bytes(b"\xff")
    assert "is not UTF-8 text" in run(*words, f"@{file}", port=port).stderr
    assert "No such file" in run(*words, f"@{tmp_path / 'none.json'}", port=port).stderr


def test_explain_in_a_session(port: int) -> None:
    headers = ["-H", f"X-Request-ID: {UUID}", "-H", f"Consent-ID: {UUID}"]
    explanation = explained("GET", "/v1/accounts", *headers, "--session", "ci", port=port)

    assert explanation["request"]["session"] == "ci"
    assert codes(explanation) == {"consent-unknown"}


def test_the_certificate_of_the_app_is_used(port: int, tmp_path: Path) -> None:
    file = tmp_path / "qwac.pem"
    key_files.write_pem(file, issued(roles=("PISP",)), ())

    explanation = explained("GET", "/mine", "--cert", str(file), port=port)
    assert explanation["client"] == {"name": "My TPP", "organisation": "PSDAT-FMA-123456", "roles": ["PISP"]}
    text = output("explain", "GET", "/mine", "--cert", str(file), port=port)
    assert "  sent by My TPP (PSDAT-FMA-123456, PISP)\n" in text
    assert explained("GET", "/mine", port=port)["client"] is None

    file.write_text("none")
    assert (
        "contains no certificate in PEM format" in run("explain", "GET", "/mine", "--cert", str(file), port=port).stderr
    )


def test_without_a_running_sandbox_the_files_are_used(home: Path) -> None:
    (home / "cassettes/cases").mkdir(parents=True)
    (home / "cassettes/cases/mine.yaml").write_text("cassette: 1\n" + CASE)
    free = unused()

    result = run("explain", "GET", "/mine", port=free)
    explanation = json.loads(run("explain", "--json", "GET", "/mine", port=free).stdout)

    assert result.exit_code == 0
    assert result.output.startswith(
        f"No sandbox answers at http://127.0.0.1:{free}:\nthis explanation uses the configured files"
    )
    assert (explanation["asked"], name(explanation["by"]), explanation["by"]["place"]) == (
        "offline", "mine", "cassettes/cases/mine.yaml:3",
    )  # fmt: skip
    assert not (home / ".xs2a-sandbox").exists()


def test_given_files_are_used_even_if_a_sandbox_is_running(home: Path, port: int) -> None:
    (home / "mine").mkdir()
    (home / "mine/case.yaml").write_text("cassette: 1\n" + CASE.replace("mine", "theirs"))

    explanation = explained("GET", "/theirs", "--cassettes", "mine", port=port)

    assert (explanation["asked"], name(explanation["by"])) == ("offline", "theirs")


def test_offline_sends_nothing(home: Path, port: int) -> None:
    explanation = explained("--offline", "GET", "/mine", port=port)

    assert (explanation["asked"], explanation["decision"]) == ("offline", "nothing")


def test_the_suggested_case_works_if_saved(home: Path) -> None:
    free = unused()
    suggestion = json.loads(run("explain", "--json", "GET", "/v1/acounts", port=free).stdout)["suggestion"]
    (home / suggestion["file"]).parent.mkdir(parents=True)
    (home / suggestion["file"]).write_text(suggestion["yaml"])

    assert run("lint").exit_code == 0
    explanation = json.loads(run("explain", "--json", "GET", "/v1/acounts", port=free).stdout)
    assert (name(explanation["by"]), explanation["answer"]["status"]) == ("get-v1-acounts", 200)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["GET", "v1/accounts"], "url must be a path"),
        (["G T", "/"], "method must be"),
        (["GET", "/", "-H", "no colon"], "is not a header; write it as 'Name: value'"),
        (["GET", "/", "-H", "a b: c"], "is not a header name"),
        (["GET", "/", "--session", "a b"], "a session name must have 1 to 64"),
    ],
)
def test_mistakes(home: Path, words: list[str], text: str) -> None:
    result = run("explain", *words)

    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr


def test_a_sandbox_that_refuses_the_token(home: Path, port: int) -> None:
    result = run("explain", "GET", "/mine", "--confdir", "elsewhere", port=port)

    assert result.exit_code == 2
    assert "there is no admin token" in result.stderr


def test_the_code_that_answers_can_be_shown(port: int) -> None:
    code = output("explain", "GET", "/v1/accounts", "--compiled", port=port)

    assert code.startswith("# The operation account-list, ")
    assert "if 'consent-id' not in headers: return False" in code


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("/v1/accounts", "--json"), "leave out --json"),
        (("/v1/acounts",), "no rule or operation answers GET /v1/acounts"),
    ],
)
def test_requests_without_code_are_refused(words: tuple[str, ...], text: str, port: int) -> None:
    result = run("explain", "GET", "--compiled", *words, port=port)

    assert result.exit_code == 2
    assert text in " ".join(result.output.split())
