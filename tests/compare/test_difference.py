import json
from typing import get_args

import pytest

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.compare.difference import WEIGHTS, Consequence, Difference, Kind, Severity, is_at_least

SEVERITY = {
    "high": {"status", "member-extra", "type", "format", "state"},
    "medium": {"value", "null", "length", "element-missing", "element-extra", "drift", "member-missing", "order"},
    "low": {"header-missing", "header-extra", "header-changed"},
}


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_matters_as_much_as_an_app_notices_where_nothing_is_known_of_the_place(kind: Kind) -> None:
    header = "X-New" if kind.startswith("header") else None
    assert kind in SEVERITY[Difference(kind, header=header).severity]


def test_every_consequence_has_a_weight_and_the_worst_come_first() -> None:
    assert list(WEIGHTS) == list(get_args(Consequence))
    severities = [get_args(Severity).index(weight.severity) for weight in WEIGHTS.values()]
    assert severities == sorted(severities)


@pytest.mark.parametrize("kind", ["header-missing", "header-extra", "header-changed"])
def test_a_header_matters_if_clients_act_on_it(kind: Kind) -> None:
    assert Difference(kind, header="Location", named=True).severity == "high"
    assert Difference(kind, header="X-New").severity == "low"


def test_a_user_may_weigh_otherwise() -> None:
    assert Difference("status", weighed="low").severity == "low"


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


def test_ignore_rules_know_every_kind_and_consequence() -> None:
    schema = json.loads((bundled("schemas") / "ignore.schema.json").read_text())
    assert schema["$defs"]["kind"]["enum"] == list(get_args(Kind))
    assert schema["$defs"]["consequence"]["enum"] == list(get_args(Consequence))
