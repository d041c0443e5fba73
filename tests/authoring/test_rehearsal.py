"""Answers compared with recorded ones: what counts as equal, and what is reported about the rest."""

from typing import Any

import pytest

from tests.support.taping import taped
from xs2a_sandbox.cassette.dialect.things import default_things
from xs2a_sandbox.features.derive.rehearsal import differences


@pytest.mark.parametrize(
    ("bank", "sandbox", "unlike"),
    [
        ({"a": "x", "n": 1}, {"a": "y", "n": 2}, []),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 3}]}, []),
        ({"a": [{"b": 1}, {"c": 2}]}, {"a": [{"b": 3}]}, ["/a/*/c is missing"]),
        ({"a": 1}, {"a": 1, "b": None}, ["/b is new"]),
        ({"a": None}, {"a": "x"}, ["/a is text instead of null"]),
        ({"a": {}}, {"a": []}, ["/a is a list instead of an object"]),
        ({"consentStatus": "valid"}, {"consentStatus": "received"}, ["/consentStatus is received instead of valid"]),
        ({"m": [{"code": "A"}]}, {"m": [{"code": "B"}]}, ["/m/*/code is B instead of A"]),
        (b"text", {"a": 1}, ["json instead of text"]),
        (b"text", b"other", []),
    ],
)
def test_bodies_are_compared(bank: Any, sandbox: Any, unlike: list[str]) -> None:
    assert list(differences(taped("/a", bank), taped("/a", sandbox), default_things().states)) == unlike


def test_a_different_status_is_the_only_difference_reported() -> None:
    assert list(differences(taped("/a", {"a": 1}, status=201), taped("/a", {}, status=400), ())) == [
        "400 instead of 201"
    ]
