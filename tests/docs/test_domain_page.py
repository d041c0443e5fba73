"""docs/domain.md lists every collection of the state, and every member of its documents."""

from tools.generate.domain_page import page

from xs2a_sandbox.cassette.evaluation.state_words import STATES
from xs2a_sandbox.state import documents


def test_every_member_of_every_document_is_listed() -> None:
    sections = {text.split("\n")[0]: text for text in page().split("\n## ")[1:]}
    assert sections.keys() == documents.collections()
    for name, text in sections.items():
        schema = documents.schema_of(name)
        assert schema is not None
        for member in schema.node.resolve().schema["properties"]:
            assert f"| `{member}`" in text


def test_a_member_is_listed_with_its_type_and_meaning() -> None:
    states = ", ".join(f"`{state}`" for state in STATES["mandate"])
    assert f"| `status` | {states} | State of the mandate. |" in page()
