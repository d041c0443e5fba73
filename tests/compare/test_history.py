"""Differences that earlier runs did not have."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.compare import history
from xs2a_sandbox.features.compare.history import Changes, DriftPlace, RecordedDrift, WatchRun, changes

TIME = datetime(2026, 11, 22, tzinfo=UTC)
PLACES = st.builds(
    DriftPlace,
    st.sampled_from(["account-list", "consent-status"]),
    st.just("value"),
    st.sampled_from(["/a", "/b", "/\u2028"]),
)


def drift(place: DriftPlace, bank: str = '"x"') -> RecordedDrift:
    return RecordedDrift(place, "medium", "in 1 of 2 exchanges", "GET /v1/accounts", bank, '"y"')


def run(*members: str, compared: str = "account-list") -> WatchRun:
    drifts = [drift(DriftPlace("account-list", "value", f"/{member}")) for member in members]
    return WatchRun(TIME, "https://bank.example", "recording", frozenset([compared]), {one.at: one for one in drifts})


def places(drifts: Any) -> list[str]:
    return [one.at.place for one in drifts]


def test_in_the_first_run_all_differences_are_new() -> None:
    assert places(changes([], run("a", "b")).new) == ["/a", "/b"]


def test_known_differences_are_not_new_and_ended_ones_are_gone() -> None:
    made = changes([run("a", "b")], run("b", "c"))
    assert (places(made.new), places(made.gone), places(made.standing)) == (["/c"], ["/a"], ["/b"])
    assert made.fails("medium")
    assert not made.fails("high")
    assert not changes([run("a")], run("a")).fails("low")
    assert changes([run("a"), run()], run()) == Changes((), (), (), (), ())


def test_an_intermittent_difference_is_flapping_and_never_new_again() -> None:
    before = [run("a"), run(), run("a"), run()]
    for now in (run("a"), run()):
        made = changes(before, now)
        assert (made.new, made.gone, made.standing) == ((), (), ())
        ((flapping, how_often),) = made.flaps
        assert flapping.at.place == "/a"
        assert how_often == f"in {3 if now.drifts else 2} of the last 5 runs"
    assert places(one for one, _ in changes([run("a"), run()], run("a")).flaps) == ["/a"]


def test_a_difference_that_was_not_compared_is_not_gone() -> None:
    silent = run(compared="consent-status")
    made = changes([run("a")], silent)
    assert (made.gone, places(made.unknown)) == ((), ["/a"])
    # In the next comparison it is neither new nor flapping.
    assert places(changes([run("a"), silent], run("a")).standing) == ["/a"]


def test_an_old_difference_that_returns_is_not_new() -> None:
    before = [run("a"), *[run()] * (history.LOOKED_AT + 5)]
    made = changes(before, run("a"))
    assert (made.new, places(one for one, _ in made.flaps)) == ((), ["/a"])


@given(
    st.lists(
        st.builds(
            WatchRun,
            st.datetimes(timezones=st.just(UTC)),
            st.text(min_size=1),
            st.sampled_from(["sandbox", "recording"]),
            st.frozensets(st.text()),
            st.lists(PLACES.map(lambda place: (place, drift(place, place.place))), max_size=3).map(dict),
        ),
        max_size=4,
    )
)
def test_a_history_is_read_as_it_was_written(runs: list[WatchRun]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        for one in runs:
            history.append(Path(name), one)
        assert history.read(Path(name)) == runs


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "this line is not a valid run"),
        ("nonsense", "this line is not a valid run"),
        ("[1]", "this line is not a valid run"),
        ('{"version": 7}', "the history has format version 7"),
        (run("a").line().strip() + "\n" + run("a").line()[:40], ":2: this line is not a valid run"),
    ],
)
def test_a_damaged_history_is_reported_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / history.FILE).write_text(text)
    with pytest.raises(ConfigError, match=str(tmp_path)) as raised:
        history.read(tmp_path)
    assert says in str(raised.value)
    assert "delete this line" in str(raised.value)


def test_the_folder_is_created_before_anything_is_sent(tmp_path: Path) -> None:
    history.prepare(tmp_path / "new")
    assert history.read(tmp_path / "new") == []
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write"):
        history.prepare(tmp_path / "file")
