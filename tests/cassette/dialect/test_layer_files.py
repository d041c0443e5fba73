import errno
import os

import pytest

from tests.support.writing import SCHEMAS, check, problems
from xs2a_sandbox.cassette.dialect.layer_files import TESTDATA, cassettes, folder_of
from xs2a_sandbox.errors import Unreadable


def test_files_are_found_by_name_and_in_folders(tmp_path):
    mistakes = problems(tmp_path, {"a.yml": "cassette: 1\n", "deep/er/b.yaml": "x: 1\n", "c.json": "{}", "d.txt": "x"})
    assert sorted((p.file.name, p.code) for p in mistakes) == [("a.yml", "file-name"), ("b.yaml", "no-cassette")]
    _, mistakes = check(tmp_path / "other", {})
    assert mistakes == []


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(Unreadable) as raised:
        cassettes([[tmp_path / "none.yaml"]], SCHEMAS)
    (problem,) = raised.value.problems
    assert (problem.code, problem.text) == ("unreadable", "there is no such file or directory")


def test_a_folder_that_cannot_be_read_is_reported(tmp_path, monkeypatch):
    (tmp_path / "shut").mkdir()
    scan = os.scandir

    def refuse(path=".", *more):
        if str(path).endswith("shut"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path, *more)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(Unreadable) as raised:
        cassettes([[tmp_path]], SCHEMAS)
    (problem,) = raised.value.problems
    assert (problem.file.name, problem.text) == ("shut", "the folder cannot be read: Permission denied")


def test_data_are_skipped_only_in_the_folder_of_a_dialect(tmp_path):
    (tmp_path / TESTDATA).write_text("testdata: 2\n")
    assert cassettes([[tmp_path]], SCHEMAS) == [[]]
    with pytest.raises(Unreadable):
        cassettes([[], [tmp_path]], SCHEMAS)


def test_a_loaded_cassette_is_used_unchanged(tmp_path):
    (tmp_path / "a.yaml").write_text("cassette: 1\n")
    ((cassette,),) = cassettes([[tmp_path]], SCHEMAS)
    assert cassettes([[cassette]], SCHEMAS) == [[cassette]]
    assert folder_of(cassette) == folder_of(tmp_path) == tmp_path
