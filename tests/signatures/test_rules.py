"""What a dialect says of signatures, and what is usual where it says nothing."""

import pytest

from xs2a_sandbox.signatures.rules import USUAL, SignatureRules


def test_a_dialect_that_says_nothing_has_the_usual_rules() -> None:
    assert SignatureRules.read({}) == USUAL
    assert (USUAL.demanded, USUAL.answers) == (False, None)


def test_names_of_headers_are_read_in_any_case() -> None:
    rules = SignatureRules.read({"signed": ["Digest", "DATE"], "signed_if_sent": ["PSU-ID"]})
    assert (rules.signed, rules.signed_if_sent) == (("digest", "date"), ("psu-id",))


@pytest.mark.parametrize(
    ("spec", "rules"),
    [
        ({"demanded": True}, SignatureRules(demanded=True)),
        ({"answers": "jws"}, SignatureRules(answers="jws")),
        ({"signed": []}, SignatureRules(signed=())),
        ({"signed_if_sent": []}, SignatureRules(signed_if_sent=())),
    ],
)
def test_what_is_said_leaves_the_rest_as_usual(spec: dict[str, object], rules: SignatureRules) -> None:
    assert SignatureRules.read(spec) == rules
