"""The documents in a session's state as the bank's handlers read and write them, with a JSON Schema for each."""

from functools import cache

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents.json_schema import SUFFIX, Schema, bundled_schema

VERSION = 2
"""To be increased when documents get another form."""


@cache
def collections() -> frozenset[str]:
    """Return the names of the collections whose documents have a schema."""
    return frozenset(file.name.removesuffix(SUFFIX) for file in (bundled("schemas") / _folder()).glob(f"*{SUFFIX}"))


def schema_of(collection: str) -> Schema | None:
    """Return the schema of a collection, or None if it is the user's own, whose documents are not checked."""
    return bundled_schema(f"{_folder()}/{collection}") if collection in collections() else None


def _folder() -> str:
    return f"state/{VERSION}"
