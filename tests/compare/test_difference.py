import json
from typing import get_args

import pytest

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.compare.difference import Consequence, Difference, Kind

SEVERITY = {
    "high": {"status", "member-extra", "type", "format", "state"},
    "medium": {"value", "null", "length", "element-missing", "element-extra", "drift", "member-missing", "order"},
    "low": {"header-missing", "header-extra", "header-changed"},
}


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_has_a_severity_without_a_known_place(kind: Kind) -> None:
    header = "X-New" if kind.startswith("header") else None
    assert kind in SEVERITY[Difference(kind, header=header).severity]


def test_ignore_rules_support_every_kind_and_consequence() -> None:
    schema = json.loads((bundled("schemas") / "ignore.schema.json").read_text())
    assert schema["$defs"]["kind"]["enum"] == list(get_args(Kind))
    assert schema["$defs"]["consequence"]["enum"] == list(get_args(Consequence))
