from pathlib import Path

import pytest

from tests.support.taping import START
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.importing.curl import is_transcript, read
from xs2a_sandbox.recording.har import Foreign

TRANSCRIPT = """\
# Ask for a consent
$ curl -isS -X POST https://bank.example/v1/consents?a=b \\
    -H 'X-Request-ID: 1' --header "Content-Type: application/json" \\
    -d '{"access": {},
 "until": "9999-12-31"}'
HTTP/1.1 100 Continue

HTTP/2 201 Created
Location: /v1/consents/7
content-type: application/json

{"id": "7"}

curl https://bank.example/v1/consents/7
curl -u app:secret --data-urlencode "grant type=a b" -d x=1 bank.example/token
HTTP/1.1 200
"""


def transcript(directory: Path, text: str) -> Foreign:
    file = directory / "commands.txt"
    file.write_text(text)
    return read(file, START)


def test_commands_with_answers_become_exchanges(tmp_path: Path) -> None:
    made = transcript(tmp_path, TRANSCRIPT)
    consent, token = made.entries
    assert (consent.bank, consent.method, consent.target) == ("https://bank.example", "POST", "/v1/consents?a=b")
    assert consent.headers.pairs == (("X-Request-ID", "1"), ("Content-Type", "application/json"))
    assert consent.body == b'{"access": {},\n "until": "9999-12-31"}'
    assert (consent.status, consent.answer_body) == (201, b'{"id": "7"}')
    assert consent.answer_headers.pairs == (("Location", "/v1/consents/7"), ("content-type", "application/json"))
    assert (token.bank, token.method, token.target, token.status) == ("https://bank.example", "POST", "/token", 200)
    assert token.body == b"grant type=a%20b&x=1"
    assert token.headers.get("authorization") == "Basic YXBwOnNlY3JldA=="
    assert made.left_out == ("line 14: it has no answer: run it with `curl -i`, and write what it prints below it",)


def test_get_puts_the_data_into_the_query_and_json_sets_the_type(tmp_path: Path) -> None:
    commands = ("curl -G -d a=1 https://bank.example/v1/a", "curl --json '{}' https://bank.example/v1/b")
    query, posted = transcript(tmp_path, "".join(f"{command}\nHTTP/1.1 200\n\n" for command in commands)).entries
    assert (query.method, query.target, query.body) == ("GET", "/v1/a?a=1", b"")
    assert (posted.method, posted.headers.get("content-type")) == ("POST", "application/json")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("curl -i", "line 1: the command has no URL"),
        ("curl -d @body.json https://bank.example/v1/a", "line 1: its body is in another file: write the body into"),
        ("curl --upload-file x https://bank.example/v1/a", "line 1: unrecognized arguments: --upload-file"),
    ],
)
def test_commands_that_cannot_be_exchanges_are_left_out(tmp_path: Path, command: str, reason: str) -> None:
    (left_out,) = transcript(tmp_path, f"{command}\nHTTP/1.1 200 OK\n").left_out
    assert left_out.startswith(reason)


def test_a_broken_file_gets_an_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"commands\.txt:2: the command does not end: a quotation mark is missing"):
        transcript(tmp_path, "\ncurl 'https://bank.example\n")
    (tmp_path / "commands.txt").write_bytes(b"curl \xff")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        read(tmp_path / "commands.txt", START)


@pytest.mark.parametrize(
    ("begins", "is_one"),
    [(b"curl https://a", True), (b"# a\n\n$ curl -i a", True), (b"{}", False), (b"# curl", False), (b"curling", False)],
)
def test_a_transcript_is_recognised_by_its_beginning(begins: bytes, is_one: bool) -> None:
    assert is_transcript(begins) is is_one
