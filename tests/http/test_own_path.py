"""The sandbox's own paths are recognised in every spelling, and a bank's paths never are."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.http.own_path import is_own

OWN = [
    "/_sandbox",
    "/_sandbox/",
    "/_sandbox/reset",
    "/_sandbox/rest",
    "/_sandbox?a",
    "//_sandbox/state",
    "/./_sandbox/state",
    "/x/../_sandbox/state",
    "/s/mine/_sandbox/state",
    "/s//_sandbox/state",
    "/psd2/v1/_sandbox/state",
    "/%5fsandbox/state",
    "/%5Fsandbox/state",
    "/_%73andbox/state",
    "/%5f%73%61%6e%64%62%6f%78/state",
    "/%255fsandbox/state",
    "/%25255fsandbox/state",
    "/%2f_sandbox/state",
    "/x%2f_sandbox%2fstate",
    "/_SANDBOX/state",
    "/_Sandbox/state",
    "/\\_sandbox/state",
    "/x%5c_sandbox/state",
    "/_sandbox;v=1/state",
    "/_sandbox%3bv/state",
    "/%20_sandbox/state",
    "/_sandbox%00/state",
    "/_sand\tbox/state",
    "/%EF%BC%BFsandbox/state",
    "http://bank.example/_sandbox/state",
    "_sandbox/state",
    "/%25252525252525252525252525252525252525255f",
]


@pytest.mark.parametrize("target", OWN)
def test_own_paths_are_recognised(target: str) -> None:
    assert is_own(target)


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "",
        "*",
        "/v1/accounts",
        "/v1/_sandboxes/1",
        "/sandbox/v1",
        "/my_sandbox/v1",
        "/_sandbox.html",
        "/v1/consents?next=/_sandbox/state",
        "/v1/%zz/%",
        "/v1/caf%C3%A9/%2F/%25/100%25",
    ],
)
def test_paths_of_a_bank_are_not_own_paths(target: str) -> None:
    assert not is_own(target)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=4), st.data())
def test_percent_encoding_does_not_hide_an_own_path(before: list[str], data: st.DataObject) -> None:
    word = "".join(data.draw(st.sampled_from([c, f"%{ord(c):02x}", f"%{ord(c):02X}", c.upper()])) for c in "_sandbox")
    target = "/".join(["", *(quote(part, safe="") for part in before), word, "state"])
    for _ in range(data.draw(st.integers(0, 3))):
        target = target.replace("%", "%25")
    assert is_own(target)


def test_no_operation_has_an_own_path() -> None:
    for file in bundled("cassettes").rglob("*.yaml"):
        # A bank's configuration contains the URL of its keys.
        assert "_sandbox/" not in file.read_text().replace("/_sandbox/jwks.json", ""), file


def test_a_target_that_is_encoded_many_times_is_checked_quickly() -> None:
    assert is_own("/%" + "25" * 30_000 + "5fsandbox/state")
