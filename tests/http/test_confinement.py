"""Answers that a browser could run as a page get an opaque origin."""

import pytest

from xs2a_sandbox.http import Response
from xs2a_sandbox.http.confinement import confine


@pytest.mark.parametrize(
    ("content_type", "is_confined"),
    [
        *[("text/html", True), ("TEXT/HTML; charset=utf-8", True), ("image/svg+xml", True), ("application/xml", True)],
        *[("application/xhtml+xml", True), ("multipart/x-mixed-replace; boundary=x", True), ("", True), ("x", True)],
        *[("text/javascript", True), ("application/json", False), ("application/problem+json", False)],
        *[("text/plain", False), ("image/png", False), ("application/pdf", False)],
    ],
)
def test_content_that_could_run_is_confined(content_type: str, is_confined: bool) -> None:
    answer = confine(Response(200, (("Content-Type", content_type), ("X", "1")), b"x"))
    policies = [value for name, value in answer.headers if name == "Content-Security-Policy"]
    assert policies == (["sandbox allow-forms allow-scripts"] if is_confined else [])


def test_a_body_without_a_type_is_confined_but_an_empty_response_is_not() -> None:
    assert ("X-Content-Type-Options", "nosniff") in confine(Response(200, (), b"<script>")).headers
    assert confine(Response(204)).headers == ()
