"""Makes the skeleton of a dialect from an OpenAPI document.

`document` reads it (`swagger` converts version 2.0), `operations` lists what it describes, `schema_collection` makes
JSON Schemas of it. `recognition` finds consents, payments and accounts by the `roles` of members, `attachments` gives
them handlers, and `skeleton` writes all files. `trial` runs the examples and takes back what does not work.
"""

from xs2a_sandbox.features.importing.openapi.document import is_openapi, read_document
from xs2a_sandbox.features.importing.openapi.trial import import_document, report_lines, write

__all__ = ["import_document", "is_openapi", "read_document", "report_lines", "write"]
