"""A dialect's rules on signatures."""

from xs2a_sandbox.signatures.rules import SignatureRules


def test_names_of_headers_are_read_in_any_case() -> None:
    rules = SignatureRules.read({"signed": ["Digest", "DATE"], "signed_if_sent": ["PSU-ID"]})
    assert (rules.signed, rules.signed_if_sent) == (("digest", "date"), ("psu-id",))
