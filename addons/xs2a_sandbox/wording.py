"""Wording that several modules share."""


def say_count(number: int, noun: str, nouns: str = "") -> str:
    """Return `1 rule` or `2 rules`. `nouns` is the plural if it is not the noun with an s."""
    return f"{number} {noun if number == 1 else nouns or f'{noun}s'}"


def say_times(number: int) -> str:
    """Return `once` or `2 times`."""
    return "once" if number == 1 else f"{number} times"


def say_span(seconds: float) -> str:
    """Return a rounded span such as `40 seconds`, `7 minutes` or `2.5 hours`."""
    if seconds < 90:
        return say_count(max(1, round(seconds)), "second")
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} minutes"
    return f"{seconds / 3600:.1f} hours"
