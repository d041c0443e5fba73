"""One exchange as the console shows it."""

import shlex
from typing import Any

from xs2a_sandbox.console.exchange import body_text, curl

ID = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
EXCHANGE: dict[str, Any] = {
    "method": "POST",
    "target": "/v1/consents?a=b",
    "request": {"headers": [["Host", "bank.example"], ["X-Request-ID", "it's"]], "body": {"name": "Grün"}},
    "answer": {"headers": [], "body": {"consentId": ID}},
}


def test_curl_sends_the_same_to_the_base_url() -> None:
    assert shlex.split(curl(EXCHANGE, "http://127.0.0.1:8081")) == [
        *("curl", "-i", "-X", "POST", "-H", "X-Request-ID: it's", "--data-binary", '{"name": "Grün"}'),
        "http://127.0.0.1:8081/v1/consents?a=b",
    ]


def test_bodies_of_all_kinds_are_text() -> None:
    assert body_text({"text": "<xml/>"}) == "<xml/>"
    assert body_text({"base64": "AAE="}) == "AAE="
    assert body_text({}) == ""
    assert body_text({"body": None}) == "null"
