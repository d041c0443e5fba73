"""The turnstile before the transactions of a SQLite file."""

from contextlib import closing
from pathlib import Path

from xs2a_sandbox.state.sqlite_turnstile import SqliteTurnstile


def test_only_one_is_inside(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    with closing(SqliteTurnstile(file)) as one, closing(SqliteTurnstile(file)) as other:
        assert one.enter()
        assert one.enter()
        assert not other.enter()
        one.leave()
        assert other.enter()


def test_it_is_free_when_its_process_has_gone(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    gone = SqliteTurnstile(file)
    assert gone.enter()
    gone.close()
    with closing(SqliteTurnstile(file)) as one:
        assert one.enter()


def test_only_the_user_may_read_its_file(tmp_path: Path) -> None:
    with closing(SqliteTurnstile(tmp_path / "state.db")):
        assert (tmp_path / "state.db-turn").stat().st_mode & 0o777 == 0o600
