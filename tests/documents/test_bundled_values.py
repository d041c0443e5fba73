"""The values of the package's files are kept, and a kept value is never another one than the parser's."""

import subprocess
import sys
from decimal import Decimal
from inspect import unwrap
from pathlib import Path

import pytest

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents import bundled_values, yaml_reader

TEXT = b"text: 1\n"
read = unwrap(yaml_reader.read)  # not the cached one of tests/conftest.py
FILES = sorted(bundled("cassettes").rglob("*.yaml"))


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bundled_values, "_noted", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / "xs2a-sandbox"


@pytest.fixture
def entries(caches: Path) -> list[Path]:
    keep(TEXT, {"text": 1})
    return list(caches.iterdir())


def keep(content: bytes, value: object) -> None:
    bundled_values.note(content, value)
    bundled_values.keep()


def kept(content: bytes) -> object:
    found = bundled_values.find(content)
    return found and found.value


def test_every_bundled_file_is_the_same_when_it_is_read_again(caches: Path) -> None:
    first = [read(file) for file in FILES]
    assert not caches.exists()  # only `serve` writes
    bundled_values.keep()
    count = len(list(caches.iterdir()))

    again = [read(file) for file in FILES]

    assert FILES
    assert count == len({file.read_bytes() for file in FILES})
    assert [document.value for document in again] == [document.value for document in first]
    assert [repr(document.value) for document in again] == [repr(document.value) for document in first]
    assert [document.source.root for document in again] == [document.source.root for document in first]
    assert len(list(caches.iterdir())) == count


def test_numbers_keep_their_type(caches: Path) -> None:
    value = {
        "decimal": [Decimal("1.10"), Decimal("1E+3")],
        "integer": 2**63,
        "text": "1.10",
        "null": None,
        "true": True,
    }
    keep(TEXT, value)

    assert repr(kept(TEXT)) == repr(value)


def test_another_text_has_another_entry(entries: list[Path]) -> None:
    assert kept(TEXT) == {"text": 1}
    assert kept(TEXT + b" ") is None


@pytest.mark.parametrize("place", [0, 31, 32, -1])
def test_a_damaged_entry_is_ignored(entries: list[Path], place: int) -> None:
    (entry,) = entries
    content = bytearray(entry.read_bytes())
    content[place] ^= 1
    entry.write_bytes(content)

    assert kept(TEXT) is None


@pytest.mark.parametrize("length", [0, 10, 32, 33])
def test_a_cut_entry_is_ignored_and_written_again(entries: list[Path], length: int) -> None:
    (entry,) = entries
    entry.write_bytes(entry.read_bytes()[:length])
    assert kept(TEXT) is None

    keep(TEXT, {"text": 1})

    assert kept(TEXT) == {"text": 1}


def test_another_parser_finds_nothing(entries: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "yaml_loader.py"
    changed.write_text("# reads YAML in another way\n")
    monkeypatch.setattr(bundled_values, "_PARSER", changed)
    bundled_values._parser_code.cache_clear()
    try:
        assert kept(TEXT) is None
    finally:
        bundled_values._parser_code.cache_clear()


def test_a_folder_that_cannot_be_written_is_no_problem(caches: Path) -> None:
    caches.parent.mkdir()
    caches.write_text("a file, not a folder")

    value = read(FILES[0]).value
    bundled_values.keep()

    assert read(FILES[0]).value == value


def test_only_the_owner_can_read_the_entries(entries: list[Path], caches: Path) -> None:
    assert [entry.stat().st_mode & 0o777 for entry in entries] == [0o600]
    assert caches.stat().st_mode & 0o777 == 0o700


def test_files_of_the_user_are_not_kept(caches: Path, tmp_path: Path) -> None:
    own = tmp_path / "case.yaml"
    own.write_bytes(TEXT)

    assert read(own).value == {"text": 1}
    bundled_values.keep()
    assert not caches.exists()


def test_a_changed_file_is_seen_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled_values, "is_bundled", lambda file: True)
    file = tmp_path / "case.yaml"
    for text in ("a: 1\n", "a: 2\n", "a: 1\n"):
        file.write_text(text)
        assert read(file).value == {"a": int(text[3])}
        bundled_values.keep()


def test_the_second_process_does_not_import_the_parser() -> None:
    code = (
        "import sys\nfrom xs2a_sandbox.documents import bundled_values, yaml_reader\n"
        "from pathlib import Path\n"
        "document = yaml_reader.read(Path(sys.argv[1])); bundled_values.keep()\n"
        "print('yaml' in sys.modules, document.line(()), document.problem(('cassette',), 'x', 'y').line)"
    )
    printed = [subprocess.check_output([sys.executable, "-c", code, FILES[0]], text=True).split() for _ in range(2)]

    (first, *places), (second, *same_places) = printed
    assert (first, second) == ("True", "False")
    assert places == same_places
