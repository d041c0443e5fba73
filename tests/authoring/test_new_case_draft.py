"""Cases as the YAML that is written of them."""

from decimal import Decimal
from pathlib import Path

from xs2a_sandbox.authoring.new_case import Draft, text
from xs2a_sandbox.cassette.reader import cassette_schema
from xs2a_sandbox.documents.yaml_reader import complaints, parse

SHARED = {"amount": "12.50", "currency": "EUR"}
DRAFT = Draft(
    id="mine",
    title="GET /v1/a: 1",
    match={"operation": "account-list", "query": {"day": "2026-01-31", "no": "NO"}},
    request={"body": {"one": SHARED, "two": SHARED, "three": Decimal("1.5")}},
    status=503,
    body={"text": "{sensitive} X: ä", "list": [1, None]},
    narrower={"headers": {"PSU-ID": "anna"}, "when": "query.a == 'b'"},
)


def test_it_reads_as_what_was_meant() -> None:
    read = parse(text(DRAFT), Path("x.yaml"))

    assert complaints(read, cassette_schema()) == []
    (rule,) = read.value["rules"]
    assert read.value["title"] == DRAFT.title
    assert (rule["id"], rule["match"]) == ("mine", DRAFT.match)
    assert rule["respond"] == {"status": 503, "body": DRAFT.body}
    assert rule["examples"] == [{"request": DRAFT.request, "expect": {"status": 503}}]


def test_what_could_be_added_reads_too() -> None:
    lines = (
        text(DRAFT)
        .replace("# headers: {PSU", "headers: {PSU")
        .replace("# when:", "when:")
        .replace("# delay:", "delay:")
    )
    (rule,) = parse(lines, Path("x.yaml")).value["rules"]
    assert rule["match"] == {**DRAFT.match, **DRAFT.narrower}
    assert rule["respond"]["delay"] == "2s"


def test_no_anchors_and_no_body_where_there_is_none() -> None:
    assert "&" not in text(DRAFT)
    bare = Draft("mine", "t", {"operation": "a"}, {}, 204)
    (rule,) = parse(text(bare), Path("x.yaml")).value["rules"]
    assert rule["respond"] == {"status": 204}


def test_editors_are_told_the_schema_where_there_is_one() -> None:
    assert text(DRAFT, "../s.json").startswith("# yaml-language-server: $schema=../s.json\n")
    assert "language-server" not in text(DRAFT)
