"""Words that several places say in the same way."""


def say_count(number: int, noun: str, nouns: str = "") -> str:
    """`1 rule`, `2 rules`; `nouns` is the plural where it is not the noun with an s."""
    return f"{number} {noun if number == 1 else nouns or f'{noun}s'}"
