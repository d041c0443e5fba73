import json
from typing import get_args

import pytest

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.compare.difference import Difference, Kind, Severity, is_at_least

SEVERITY = {
    "high": {"status", "member-missing", "type", "state"},
    "medium": {"value", "format", "null", "length", "element-missing", "element-extra", "header-changed", "drift"},
    "low": {"member-extra", "header-missing", "header-extra", "order"},
}


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_matters_as_much_as_the_documents_say(kind: Kind) -> None:
    assert kind in SEVERITY[Difference(kind).severity]


def test_a_missing_header_is_bad_if_the_interface_names_it() -> None:
    assert Difference("header-missing", header="Location", named=True).severity == "high"
    assert Difference("header-extra", header="Location", named=True).severity == "low"


def test_a_place_can_be_read_by_people() -> None:
    assert Difference("status").where == "status"
    assert Difference("header-extra", header="X-New").where == "header X-New"
    assert Difference("value", ("a", 1)).where == "/a/1"


def test_high_is_at_least_medium() -> None:
    severities: tuple[Severity, ...] = get_args(Severity)
    assert [[is_at_least(one, floor) for floor in severities] for one in severities] == [
        [True, True, True],
        [False, True, True],
        [False, False, True],
    ]


def test_ignore_rules_know_every_kind() -> None:
    schema = json.loads((bundled("schemas") / "ignore.schema.json").read_text())
    assert schema["$defs"]["kind"]["enum"] == list(get_args(Kind))
