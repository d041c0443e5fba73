"""Documents in and out: YAML with the place of every value, JSON Schema and its errors in words, files."""

from xs2a_sandbox.documents.json_schema import Schemas

__all__ = ["Schemas"]
