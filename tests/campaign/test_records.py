"""What an app has stored, read without knowing the app."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from xs2a_sandbox.features.campaign.records import StoredRecord, read_records


def test_each_row_of_a_database_is_a_record(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "app.db")) as database, database:
        database.execute('CREATE TABLE "my entries" (id TEXT, cents INTEGER, note TEXT, raw BLOB)')
        database.execute("""INSERT INTO "my entries" VALUES ('E-1', -1250, NULL, x'00')""")

    assert read_records(tmp_path) == (StoredRecord("app.db: my entries", (("id", "E-1"), ("cents", "-1250"))),)


def test_each_object_of_a_list_or_a_mapping_is_a_record(tmp_path: Path) -> None:
    document = {
        "consent": "c-1",
        "accounts": {"a": {"entries": [{"id": "E-1", "amount": {"value": "-12.50"}, "texts": ["one", "two"]}]}},
        "by_id": {"E-2": {"day": "2026-11-20"}, "E-3": {"day": "2026-11-21"}},
    }
    (tmp_path / "data").write_text(json.dumps(document))

    assert [dict(record.values) for record in read_records(tmp_path)] == [
        {"consent": "c-1"},
        {"id": "E-1", "amount.value": "-12.50", "texts": "two"},
        {"": "E-2", "day": "2026-11-20"},
        {"": "E-3", "day": "2026-11-21"},
    ]


def test_each_line_of_another_text_is_a_record(tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "entries.csv").write_text('2026-11-20;"Kino";-12.50\n\n')
    (tmp_path / "lines.jsonl").write_text('{"id": "E-1"}\n{"id": "E-2"}\n')

    assert read_records(tmp_path) == (
        StoredRecord(
            "ledger/entries.csv",
            (
                ("line", '2026-11-20;"Kino";-12.50'),
                ("column 1", "2026-11-20"),
                ("column 2", "Kino"),
                ("column 3", "-12.50"),
            ),
        ),
        StoredRecord("lines.jsonl", (("id", "E-1"),)),
        StoredRecord("lines.jsonl", (("id", "E-2"),)),
    )


def test_logs_and_unreadable_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("E-1\n")
    (tmp_path / "image").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 100)

    assert read_records(tmp_path) == ()
    assert read_records(tmp_path / "missing") == ()
