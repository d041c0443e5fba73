"""Documents: YAML with the place of every value, JSON Schema with readable errors, and files."""

from xs2a_sandbox.documents.json_schema import Schemas

__all__ = ["Schemas"]
