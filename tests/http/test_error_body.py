"""The content of errors, in the forms of several interfaces."""

from typing import Any

import pytest

from xs2a_sandbox.http.error_body import read_errors


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {
                "tppMessages": [{"category": "ERROR", "code": "A", "path": "/b", "text": "{sensitive} c"}],
                "_links": None,
            },
            [("A", "c", "/b")],
        ),
        (
            {"Code": "400", "Message": "bad", "Errors": [{"ErrorCode": "A", "Message": "b", "Path": "c"}]},
            [("A", "b", "c")],
        ),
        ({"error": "invalid_grant", "error_description": "too old"}, [("invalid_grant", "too old", "")]),
        ({"type": "about:blank", "title": "A", "status": 400, "detail": "b"}, [("A", "b", "")]),
        ({"fault": {"code": "a", "message": "b"}}, [("a", "b", "")]),
        ({"errors": [{"code": "a"}, {"code": "b"}]}, [("a", "", ""), ("b", "", "")]),
        ({"accounts": [{"iban": "x"}]}, []),
        ({"code": 7, "text": None}, []),
        ([{"code": "a"}], []),
        (None, []),
    ],
)
def test_errors_are_read(body: Any, expected: list[tuple[str, str, str]]) -> None:
    assert read_errors(body) == expected
