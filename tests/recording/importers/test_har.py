import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.taping import taped
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http.har import log
from xs2a_sandbox.recording.har import read_har, read_json

FILE = Path("trace.har")


def test_a_har_file_contains_its_entries() -> None:
    exchanges = read_har(log([taped("/v1/a"), taped("/v1/b")]), FILE)
    assert [entry.target for entry in exchanges.entries] == ["/v1/a", "/v1/b"]
    assert exchanges.left_out == ()


def test_blocked_requests_are_left_out() -> None:
    document = log([taped("/v1/a"), taped("/v1/b")])
    document["log"]["entries"][0]["response"] = {"status": 0}
    exchanges = read_har(document, FILE)
    assert [entry.target for entry in exchanges.entries] == ["/v1/b"]
    assert exchanges.left_out == ("log.entries[0]: it has no response",)


def test_files_that_only_browsers_request_are_left_out() -> None:
    exchanges = read_har(log([taped("/v1/a"), taped("/favicon.ico")]), FILE)
    assert [entry.target for entry in exchanges.entries] == ["/v1/a"]
    assert exchanges.left_out == ("log.entries[1]: only browsers request /favicon.ico",)


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({"log": []}, "trace.har is not a HAR file: log.entries must be a list"),
        ({"log": {"entries": [{"response": {"status": 200}}]}}, r"trace.har: log.entries\[0\]: request.url is missing"),
        ({"log": {"entries": [5]}}, r"trace.har: log.entries\[0\]: request.url is missing"),
    ],
)
def test_mistakes_have_their_place(document: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read_har(document, FILE)


def test_json_keeps_the_digits_of_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[1.10]")
    assert read_json(tmp_path / "a.json") == [Decimal("1.10")]


@pytest.mark.parametrize("content", [b"{", b"\xff", json.dumps("x").encode()[:-1]])
def test_a_file_without_json_is_an_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ConfigError, match=r"a\.json is not JSON"):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize("depth", [251, 900, 100_000])
def test_json_nested_too_deeply_is_an_error(depth: int, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[" * depth + "]" * depth)
    with pytest.raises(ConfigError, match=r"a\.json: objects and lists are nested more than 250 levels deep"):
        read_json(tmp_path / "a.json")


def test_json_of_the_maximum_depth_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[" * 250 + "]" * 250)
    assert read_json(tmp_path / "a.json")


def test_integers_keep_any_number_of_digits(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[7, " + "9" * 5000 + "]")
    assert read_json(tmp_path / "a.json") == [7, Decimal("9" * 5000)]


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        read_json(tmp_path / "nowhere.json")
