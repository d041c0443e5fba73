"""The key `sca_pages`: how the payment user's pages present the bank, and the bundled languages."""

from collections.abc import Iterator, Mapping
from functools import cache, reduce
from string import Formatter
from typing import Any

from xs2a_sandbox.bundled import SCA_PAGES, bundled
from xs2a_sandbox.cassette.model import Pointer, ScaPages
from xs2a_sandbox.documents import yaml_reader

DEFAULT = "en"
"""The fallback language for missing texts."""

COLOURS = {
    "light": {"accent": "#0a5a8a", "on_accent": "#ffffff", "card": "#ffffff"},
    "dark": {"accent": "#7cc4f2", "on_accent": "#06202f", "card": "#18212b"},
}
"""The colours that a dialect can set, with their defaults."""

_LEAST_CONTRAST = 4.5
"""Text with a lower contrast is hard to read (WCAG 2.2, 1.4.3)."""


def parse(spec: Mapping[str, Any]) -> ScaPages:
    """Parse the pages. `spec` must be valid under the cassette schema."""
    return ScaPages(spec.get("name"), spec.get("colours", {}), tuple(spec.get("languages", ())), spec.get("texts", {}))


@cache
def bundled_pages() -> ScaPages:
    """Return the default pages."""
    files = sorted((bundled("cassettes") / SCA_PAGES).glob("*.yaml"))
    read = (parse(yaml_reader.read(file).value["sca_pages"]) for file in files)
    return reduce(lambda below, pages: pages.over(below), read, ScaPages())


def mistakes(pages: ScaPages) -> Iterator[tuple[Pointer, str]]:
    """Yield mistakes that the schema cannot find: unknown placeholders, languages without texts, low contrast."""
    usual = bundled_pages().texts
    for language, texts in pages.texts.items():
        for name, text in texts.items():
            if wrong := _check_template(text, usual[DEFAULT][name]):
                yield ("texts", language, name), wrong
    for number, language in enumerate(pages.languages):
        if language not in {**usual, **pages.texts}:
            there = ", ".join(sorted({**usual, **pages.texts}))
            yield ("languages", number), f"there are no texts in {language}; add them under texts, or choose {there}"
    for theme, colours in pages.colours.items():
        palette = {**COLOURS[theme], **colours}
        for name in ("on_accent", "card"):
            if (ratio := contrast(palette["accent"], palette[name])) < _LEAST_CONTRAST:
                text = (
                    f"the contrast between accent and {name} is {ratio:.1f}, but must be at least "
                    f"{_LEAST_CONTRAST} to be readable"
                )
                yield ("colours", theme), text


def _check_template(text: str, usual: str) -> str | None:
    try:
        names = _placeholders(text)
    except ValueError as error:
        return f"is not a valid template: {error}; double every literal brace"
    if extra := sorted(names - _placeholders(usual)):
        known = ", ".join(f"{{{name}}}" for name in sorted(_placeholders(usual)))
        hint = f"use {known}" if known else "this text has no placeholders"
        return f"unknown placeholder {{{extra[0]}}}; {hint}"
    return None


def _placeholders(text: str) -> set[str]:
    """Return the names in braces. Raises ValueError if braces hold more than a name."""
    names = set()
    for _, name, form, conversion in Formatter().parse(text):
        if form or conversion:
            raise ValueError("braces can only contain a name")
        if name is not None:
            names.add(name)
    return names


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
