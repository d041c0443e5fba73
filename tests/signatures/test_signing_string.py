"""The signing string: a line for each header, in the listed order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.http import Headers
from xs2a_sandbox.signatures.signing_string import SignedMessage, signing_string

MESSAGE = SignedMessage(
    Headers([("Digest", "SHA-256=x"), ("PSU-ID", " anna "), ("Via", "one"), ("via", "two")]),
    method="POST",
    target="/v1/consents?page=1",
)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("digest",), "digest: SHA-256=x"),
        (("psu-id", "digest"), "psu-id: anna\ndigest: SHA-256=x"),
        (("via",), "via: one, two"),
        (("(request-target)",), "(request-target): post /v1/consents?page=1"),
        (("x-request-id",), "x-request-id: "),
        ((), ""),
    ],
)
def test_a_request_has_its_signing_string(names: tuple[str, ...], text: str) -> None:
    assert signing_string(names, MESSAGE) == text


def test_an_answer_has_no_target() -> None:
    answer = SignedMessage(MESSAGE.headers)
    assert (answer.is_answer, MESSAGE.is_answer) == (True, False)
    assert answer.value("(request-target)") is None


@given(st.lists(st.sampled_from(["digest", "psu-id", "via", "date"]), unique=True))
def test_the_string_has_a_line_for_each_name(names: list[str]) -> None:
    text = signing_string(names, MESSAGE)
    assert [line.partition(":")[0] for line in text.split("\n") if line] == names
