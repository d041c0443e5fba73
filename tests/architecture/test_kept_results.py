"""A check that takes hours can be interrupted, and done in parts: `make mutants`."""

from pathlib import Path

import pytest
from tools.kept_results import KeptResults, digest, every


@pytest.mark.parametrize("count", [1, 2, 3, 8, 50])
def test_the_parts_together_are_all_once(count: int) -> None:
    parts = [list(range(20))[every(f"{number}/{count}")] for number in range(1, count + 1)]
    assert sorted(entry for part in parts for entry in part) == list(range(20))


@pytest.mark.parametrize("part", ["0/2", "3/2", "1", "a/b", "1/0"])
def test_what_is_no_part_is_refused(part: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - argparse says it in its own words
        every(part)


def test_what_was_added_is_read_by_the_next_run(tmp_path: Path) -> None:
    file = tmp_path / "build" / "results.jsonl"
    assert KeptResults(file, "v1").read() == {}
    first = KeptResults(file, "v1")
    first.add("a", "lint")
    first.add("b", "")
    KeptResults(file, "v1").add("c", "tests/x.py::test")
    assert KeptResults(file, "v1").read() == {"a": "lint", "b": "", "c": "tests/x.py::test"}


def test_results_of_other_sources_count_no_more(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    KeptResults(file, "v1").add("a", "lint")
    KeptResults(file, "v2").add("b", "lint")
    assert KeptResults(file, "v2").read() == {"b": "lint"}


def test_files_can_be_put_together(tmp_path: Path) -> None:
    one, other, both = (tmp_path / name for name in ("one", "other", "both"))
    KeptResults(one, "v1").add("a", "")
    KeptResults(other, "v1").add("b", "lint")
    both.write_text(one.read_text() + other.read_text())
    assert KeptResults(both, "v1").read() == {"a": "", "b": "lint"}


def test_half_a_line_loses_only_itself(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    kept = KeptResults(file, "v1")
    kept.add("a", "lint")
    with file.open("a") as lines:
        lines.write('["v1", "b", "li')
    kept.add("c", "")
    assert kept.read() == {"a": "lint", "c": ""}


def test_a_digest_tells_contents_and_places_apart(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    before = digest([one, other], tmp_path)
    assert digest([other, one], tmp_path) == before
    one.write_text("2")
    other.write_text("1")
    assert digest([one, other], tmp_path) != before
