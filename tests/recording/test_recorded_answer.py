import base64
import json
from typing import Any

import pytest

from tests.support.taping import taped
from xs2a_sandbox.features.derive.recorded_answer import body_file, is_intact, write_answer

JSON = [("Content-Type", "application/json")]


def answered(answer: Any, headers: Any = JSON, status: int = 200) -> dict[str, Any]:
    spec = write_answer(taped("/v1/x", answer, status=status, answer_headers=headers), {})
    assert spec.pop("raw") is True
    return spec


def body(answer: Any, content_type: str = "application/json") -> dict[str, Any]:
    spec = answered(answer, [("Content-Type", content_type)])
    return {key: value for key, value in spec.items() if key not in ("status", "headers")}


def test_a_body_other_than_json_is_text_or_bytes() -> None:
    assert body(b'{"a": 1}', "text/plain") == {"text": '{"a": 1}'}
    assert body("<a>\r\nä".encode(), "text/html") == {"text": "<a>\r\nä"}
    for content in (b"\xff\xfe", b"a\x00b", b"a\x1bb"):
        assert body(content, "text/plain") == {"base64": base64.b64encode(content).decode()}
    assert body(b"", "text/plain") == {}


def test_large_bodies_are_written_to_separate_files() -> None:
    files: dict[str, bytes] = {}
    large = json.dumps("x" * 70_000).encode()
    spec = write_answer(taped("/v1/x", large), files)

    assert files == {spec["file"]: large}
    assert spec["file"].startswith("bodies/")
    assert spec["file"].endswith(".json")
    assert is_intact(spec["file"], large)
    assert not is_intact(spec["file"], large + b" ")
    assert body_file(large, "bin") != spec["file"]


def test_headers_that_change_with_each_answer_are_dropped() -> None:
    kept = [
        ("Content-Type", "application/json"), ("Location", "/v1/x"), ("ASPSP-SCA-Approach", "REDIRECT"),
        ("Cache-Control", "no-store"), ("Retry-After", "120"), ("Allow", "GET"), ("X-Rate-Left", "5"),
    ]  # fmt: skip
    dropped = [
        "Date", "server", "Connection", "Transfer-Encoding", "Content-Length", "Content-Encoding", "Set-Cookie",
        "X-Request-ID", "traceparent", "X-B3-TraceId", "Via", "Digest", "Signature", "X-Sandbox-Rule", "ETag",
    ]  # fmt: skip
    assert answered("", [*kept, *((name, "1") for name in dropped)])["headers"] == dict(kept)


def test_repeated_headers_are_joined() -> None:
    assert answered("", [("Link", "<a>"), ("link", "<b>")])["headers"] == {"Link": "<a>, <b>"}


@pytest.mark.parametrize(("name", "value"), [("a b", "1"), ("", "1"), ("X", "a\nb"), ("X", "\u20ac")])
def test_invalid_headers_are_dropped(name: str, value: str) -> None:
    assert "headers" not in answered("", [(name, value)])
