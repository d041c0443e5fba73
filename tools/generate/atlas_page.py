"""Generate the table in docs/atlas.md from the table of known banks."""

from collections.abc import Iterator

from xs2a_sandbox.config.known_banks import known_banks

_HEAD = "| name | bank | dialect | quirks | where they were seen |\n|---|---|---|---|---|\n"


def page(text: str) -> str:
    """Return the page with a row for each known bank."""
    before, _, rest = text.partition(_HEAD)
    _, gap, after = rest.partition("\n\n")
    return before + _HEAD + "\n".join(_rows()) + gap + after


def _rows() -> Iterator[str]:
    for name, bank in known_banks().items():
        listed = ", ".join(f"`{quirk}`" for quirk in bank.quirks)
        yield f"| `{name}` | {bank.bank} | `{bank.dialect}` | {listed} | {bank.source} |"
