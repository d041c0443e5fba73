"""Formats of generated ids."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.cassette.evaluation.id_form import as_uuid, is_form, make_id


def of_form(form: str) -> str:
    return make_id(form, lambda: "a-uuid", lambda alphabet, length: alphabet[0] * length)


@pytest.mark.parametrize(
    ("form", "id"),
    [
        ("{uuid}", "a-uuid"),
        ("C-{uuid}.x", "C-a-uuid.x"),
        ("{digits:4}", "0000"),
        ("PAY-{capitals:5}~1", "PAY-00000~1"),
        ("{base64url:64}", "A" * 64),
    ],
)
def test_an_id_matches_its_format(form: str, id: str) -> None:
    assert is_form(form)
    assert of_form(form) == id


@pytest.mark.parametrize(
    "form", ["", "PAY", "{digits}", "{digits:3}", "{digits:65}", "{letters:9}", "a/{uuid}", "{uuid}{uuid}"]
)
def test_an_invalid_format_is_refused(form: str) -> None:
    assert not is_form(form)
    with pytest.raises(ValueError, match="is not a form of ids"):
        of_form(form)


@given(st.binary(min_size=16, max_size=16))
def test_a_uuid_equals_the_standard_librarys_result(drawn: bytes) -> None:
    assert as_uuid(drawn) == str(UUID(bytes=drawn, version=4))
