"""The schemas of the documents in a session."""

from datetime import date

from tests.support.engine_client import bundled_engine
from xs2a_sandbox.state import documents


def test_an_own_collection_has_no_schema() -> None:
    assert documents.schema_of("orders") is None
    assert "orders" not in documents.collections()


def test_all_documents_of_a_new_session_match_their_schema() -> None:
    held = bundled_engine().parts.testdata.at(date(2026, 11, 21))
    judged = 0
    for collection in documents.collections() & held.keys():
        schema = documents.schema_of(collection)
        assert schema
        for id, document in held[collection].items():
            assert schema.complaint(document) is None, (collection, id)
            judged += 1
    assert judged > 20
