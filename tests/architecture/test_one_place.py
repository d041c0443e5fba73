"""What one module knows no other writes by hand."""

import re

import pytest

from tests.architecture.test_imports import PACKAGE, files

PLACES = {
    "JSON Pointers are escaped": (r"~[01]['\"]", "documents/json_pointer.py"),
    "JSON Pointers are taken apart": (r"\.split\(['\"]/['\"]\)\[1:\]", "documents/json_pointer.py"),
    "media types of JSON are told": (r"['\"]\+json['\"]", "http/media_type.py"),
    "parameters are parted": (
        r"(partition|split)\(['\"];['\"]\)",
        # Parameters of paths, pairs of cookies, a sentence of a description, and the lines of an address.
        "http/media_type.py http/own_path.py http/own_credentials.py documents/schema_errors.py"
        " bank/handlers/payments.py",
    ),
    "schemas are compiled": (r"validator_for|Draft202012Validator", "documents/json_schema.py"),
    "settings are loaded": (r"os\.environ, Path\.cwd\(\)", "config/settings.py"),
}
"""A regular expression for how it looks when done by hand, and the only files where it may stand."""


@pytest.mark.parametrize("deed", PLACES)
def test_one_module_does_it(deed: str) -> None:
    pattern, places = PLACES[deed]
    doing = {name for name in files() if re.search(pattern, (PACKAGE / name).read_text())}

    assert doing == set(places.split()), f"{deed} elsewhere, too: there is a function for it"
