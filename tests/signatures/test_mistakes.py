"""How a mistake is told: in a sentence, in a line of the log, and as JSON."""

from xs2a_sandbox.signatures.mistakes import SignedText, invalid


def test_endless_texts_are_cut() -> None:
    mistake = invalid("no", "x" * 1_000_000, SignedText("y" * 1_000_000, "other"))
    assert mistake.log_text
    assert len(mistake.log_text) < 10_000
    assert len(str(mistake.described)) < 10_000
