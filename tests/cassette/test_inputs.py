"""The function that reads all inputs of a handler agrees with reading them one by one."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.compared_inputs import differences
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.call import Session
from xs2a_sandbox.cassette.inputs import Inputs, compile_sources
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.target import Target
from xs2a_sandbox.state import MemoryStore, Transaction

WRITTEN = {
    "alternatives": "{{ path.id or headers['Id'] or query.id }}",
    "constant": "fixed",
    "list": ["fixed"],
    "number": 3,
    "text": "{{ headers['Id'] }}-{{ query.id }}",
    "member": "{{ body.id }}",
    "deep": "{{ body.a.id }}",
    "entry": "{{ body[0] }}",
    "whole": "{{ body }}",
    "mixed": "{{ body.id or headers['Id'] }}",
}
COMPUTED = {"list", "number", "text"}
INPUTS = Inputs(compile_sources(WRITTEN, lambda pointer, text: pytest.fail(f"{pointer}: {text}")))

VALUES = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["", "x", "y"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["id", "a"]), inner, max_size=2),
    max_leaves=4,
)
IDS = st.dictionaries(st.just("id"), st.sampled_from(["", "1", "2"]), max_size=1)


def call(body: bytes, headers: Mapping[str, str], query: Mapping[str, str], path: Mapping[str, str]) -> Call:
    state = Transaction(MemoryStore(), "default", lambda transaction: {})
    request = Request("POST", "/v1", Headers(headers.items()), body)
    made = Call(request, Target((), tuple(query.items())), Session("default", ""), REAL, state, inputs=INPUTS)
    made.path = dict(path)
    return made


@given(VALUES, IDS, IDS, IDS)
def test_all_inputs_are_read_like_each_alone(
    body: Any, headers: Mapping[str, str], query: Mapping[str, str], path: Mapping[str, str]
) -> None:
    made = call(json.dumps(body).encode(), headers, query, path)

    taken = INPUTS.read("handler", WRITTEN.keys(), made)

    assert taken.keys() == WRITTEN.keys() - COMPUTED
    assert list(differences(INPUTS, taken, made)) == []


def test_a_body_that_is_not_json_is_reported_only_by_the_inputs_in_it() -> None:
    made = call(b"{", {"Id": "1"}, {}, {})
    made.taken = INPUTS.read("handler", WRITTEN.keys(), made)

    assert made.take("alternatives") == "1"
    with pytest.raises(BankError):
        made.take("member")


def test_only_the_inputs_of_the_handler_are_read() -> None:
    made = call(b"{", {"Id": "1"}, {}, {})

    assert INPUTS.read("another handler", ["alternatives"], made) == {"alternatives": "1"}
