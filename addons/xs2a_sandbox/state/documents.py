"""The documents that a session's state holds, as the bank's handlers read and write them: a JSON Schema of each."""

from functools import cache

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents.json_schema import SUFFIX, Schema, bundled_schema

VERSION = 2
"""Greater, once documents of another form are written."""


@cache
def collections() -> frozenset[str]:
    """The collections whose documents have a form."""
    return frozenset(file.name.removesuffix(SUFFIX) for file in (bundled("schemas") / _folder()).glob(f"*{SUFFIX}"))


def schema_of(collection: str) -> Schema | None:
    """None for a collection of somebody's own, whose documents are nobody's business."""
    return bundled_schema(f"{_folder()}/{collection}") if collection in collections() else None


def _folder() -> str:
    return f"state/{VERSION}"
