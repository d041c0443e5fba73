import json
from base64 import b64encode
from typing import Any

import pytest

from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.journal import reason

MESSAGE = {"category": "ERROR", "code": "CONSENT_UNKNOWN", "path": None, "text": "{sensitive} XS2A017E: consent x"}


def answer(value: Any, *headers: tuple[str, str]) -> Response:
    return Response(400, headers, value if isinstance(value, bytes) else json.dumps(value).encode())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"tppMessages": [MESSAGE], "_links": None}, "CONSENT_UNKNOWN: XS2A017E: consent x"),
        ({"tppMessages": [{**MESSAGE, "path": "/a/b"}]}, "CONSENT_UNKNOWN: XS2A017E: consent x (at /a/b)"),
        ({"tppMessages": [{"code": "X"}]}, "X"),
        ({"error": "invalid_client", "error_description": "another secret"}, "invalid_client: another secret"),
        ({"error": "token-wrong", "message": "not this one"}, "token-wrong: not this one"),
        ({"title": "Not found", "detail": "no such account"}, "Not found: no such account"),
        ({"error": {"code": 7}}, None),
        ({"tppMessages": []}, None),
        ({"tppMessages": ["x"]}, None),
        ([1], None),
        (b"<html>", None),
        (b"", None),
        (b"[" * 100_000, None),
    ],
)
def test_the_reason_contains_the_error_of_the_answer(body: Any, expected: str | None) -> None:
    assert reason.of_answer(answer(body)) == expected


@pytest.mark.parametrize(
    ("diagnosis", "more"),
    [
        ({"decision": "sandbox", "message": "sent past the proxy"}, "; sent past the proxy"),
        (
            {"nearest": [{"distance": 0.06, "missed": [{"what": "path", "text": "'a' should be 'b'"}]}]},
            "; 'a' should be 'b'",
        ),
        ({"nearest": [{"distance": 0.6, "missed": [{"what": "path", "text": "far"}]}]}, ""),
        ({"nearest": [{"distance": 0.1, "missed": [{"what": "method", "text": "far"}]}]}, ""),
        ({"nearest": "x"}, ""),
        ("x", ""),
    ],
)
def test_the_reason_suggests_the_intended_path(diagnosis: Any, more: str) -> None:
    body = {"tppMessages": [MESSAGE], "sandbox": diagnosis}
    assert reason.of_answer(answer(body)) == f"CONSENT_UNKNOWN: XS2A017E: consent x{more}"


def test_a_compressed_answer_is_read() -> None:
    import gzip

    packed = gzip.compress(json.dumps({"tppMessages": [MESSAGE]}).encode())
    assert reason.of_answer(answer(packed, ("Content-Encoding", "gzip"))) == "CONSENT_UNKNOWN: XS2A017E: consent x"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyError("accounts"), "KeyError: 'accounts'"),
        (RuntimeError(), "RuntimeError"),
        (BankError("bank-garbled", bank="b", reason="it is no HTTP"), "BankError: it is no HTTP"),
        (BankError("busy"), "BankError: busy"),
    ],
)
def test_the_reason_describes_an_internal_failure(error: Exception, expected: str) -> None:
    assert reason.of_failure(error) == expected


CREDENTIALS = b64encode(b"client-7:basic-secret").decode()


@pytest.mark.parametrize(
    ("secret", "request_"),
    [
        ("geheim-1", Request("GET", "/", Headers([("Authorization", "Bearer geheim-1")]))),
        (CREDENTIALS, Request("GET", "/", Headers([("Authorization", f"Basic {CREDENTIALS}")]))),
        ("basic-secret", Request("GET", "/", Headers([("authorization", f"basic {CREDENTIALS}")]))),
        ("sid=4711", Request("GET", "/", Headers([("Cookie", "sid=4711")]))),
        ("geheim-2", Request("GET", "/?access_token=geheim-2")),
        ("geheim-3", Request("GET", "/back?code=geheim-3&state=x")),
        ("geheim-4", Request("POST", "/", body=b"grant_type=x&client_secret=geheim-4")),
        ("geheim-5", Request("PUT", "/", body=b'{"psuData": {"password": "geheim-5"}}')),
        ("123456", Request("PUT", "/", body=b'{"scaAuthenticationData": "123456"}')),
        ("987654", Request("PUT", "/", body=b'[{"a": {"otp": 987654}}]')),
        ('ge"hei\\m', Request("PUT", "/", body=b'{"password": "ge\\"hei\\\\m"}')),
    ],
)
def test_secrets_of_the_request_are_hidden(secret: str, request_: Request) -> None:
    text = f"cannot use {secret} nor {secret!r} nor {json.dumps(secret)} of client-7"
    shown = reason.without_secrets(text, request_, str)
    assert shown.startswith("cannot use … nor ")
    assert "geheim" not in shown
    assert secret not in shown
    assert shown.endswith(" of client-7")


def test_words_next_to_a_secret_are_shown() -> None:
    request = Request("GET", "/", Headers([("Authorization", "Bearer geheim-1"), ("X-Pin", "1")]))
    text = "send `Authorization: Bearer TOKEN`, 1 of 10"
    assert reason.without_secrets(text, request, str) == text


def test_the_redactor_hides_other_personal_data() -> None:
    assert reason.without_secrets("of Anna", None, lambda text: text.replace("Anna", "N.")) == "of N."


def test_a_text_that_cannot_be_redacted_is_hidden() -> None:
    def fails(text: str) -> str:
        raise ValueError(text)

    assert reason.without_secrets("of Anna", None, fails) == "(not shown, because it could not be redacted: ValueError)"
