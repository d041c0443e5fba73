"""schemas/cassette.schema.json offers the options that handlers declare for completion, and accepts all others."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from xs2a_sandbox.bank.handlers.table import ACTIONS, HANDLERS
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.handler import Handler

SCHEMA = bundled("schemas") / "cassette.schema.json"


@pytest.mark.parametrize("own", (HANDLERS | ACTIONS).values(), ids=HANDLERS | ACTIONS)
def test_every_option_is_offered(own: Handler) -> None:
    places = json.loads(SCHEMA.read_text())["$defs"]
    key = "do" if own.is_action else "handler"
    branches = [
        one for one in places[f"options-of-{key}"]["allOf"] if one["if"]["properties"][key]["const"] == own.name
    ]
    offered = [branch["then"]["properties"]["with"]["properties"] for branch in branches]
    assert {name for one in offered for name in one} == own.options.keys()


@pytest.mark.parametrize("options", [{}, {"servcie": 1}, {"links": 5, "family": None, "page_size": "x"}, 7])
def test_the_schema_accepts_all_other_options(options: Any) -> None:
    places = json.loads(SCHEMA.read_text())["$defs"]
    for key in ("handler", "do"):
        judge = Draft202012Validator(places[f"options-of-{key}"])
        for name in HANDLERS | ACTIONS:
            assert judge.is_valid({key: name, "with": options})
