"""Mistakes as a sentence, as a log line, and as JSON."""

from xs2a_sandbox.signatures.mistakes import SignedText, invalid


def test_very_long_texts_are_cut() -> None:
    mistake = invalid("no", "x" * 1_000_000, SignedText("y" * 1_000_000, "other"))
    assert mistake.log_text
    assert len(mistake.log_text) < 10_000
    assert len(str(mistake.described)) < 10_000


def test_both_texts_are_shown() -> None:
    mistake = invalid("it was another one", "a: 1\nb: 2", SignedText("b: 2\r\na: 1", "in reverse order"))
    assert mistake.text == "it was another one: in reverse order"
    assert mistake.log_text == "the signing string is 'a: 1\\nb: 2', but the client signed 'b: 2\\r\\na: 1'"
    assert mistake.described["clientSigned"] == {"difference": "in reverse order", "text": ["b: 2\r", "a: 1"]}
