"""Several runs of one recording add up: however exchanges are split into runs, every request is answered again."""

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.taping import again, bank_of_things, derived, replay, rules, same_body, tape, taped
from tests.support.writing import rule_of
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.features.derive.derive import derive
from xs2a_sandbox.http.exchange import Exchange

A, B = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "12")
DAY = 24 * 60 * 60


def run(directory: Path, number: int, *entries: Exchange) -> list[str]:
    """Add a run to the recording, and return the rules reported as replaced."""
    return list(derived(directory, *entries, name=f"2026112{number}T101112Z").replaced)


def bodies(directory: Path, *entries: Exchange) -> list[bytes]:
    return [answer.body for answer in again(replay(directory), *entries)]


def test_a_replaced_answer_is_reported_with_its_rule_number_and_run(tmp_path: Path) -> None:
    run(tmp_path, 1, *(taped("/v1/things", n) for n in (1, 2)), taped("/v1/things/a", 1))
    run(tmp_path, 2, taped("/v1/things", 3), taped("/v1/things/a", 1))
    (said,) = run(tmp_path, 3, taped("/v1/things", 4))

    (id,) = (id for id, rule in rules(tmp_path).items() if rule["match"]["path"] == "/v1/things")
    assert said == (
        f"{id} (GET /v1/things): 2 answers of 20261121T101112Z, 1 answer of 20261122T101112Z, "
        "by 1 answer of 20261123T101112Z"
    )


def test_an_equal_answer_replaces_nothing(tmp_path: Path) -> None:
    run(tmp_path, 1, *(taped("/v1/things", n) for n in (1, 2)))
    assert run(tmp_path, 2, *(taped("/v1/things", n) for n in (1, 2, 2))) == []


def dated(day: str, answer: Any, at: int = 0) -> Exchange:
    return taped(f"/v1/things?dateFrom={day}", answer, at=at)


def queries(directory: Path) -> list[Any]:
    return [rule["match"]["query"]["dateFrom"] for rule in rules(directory).values()]


def test_other_dates_with_the_same_answer_still_match_any_date(tmp_path: Path) -> None:
    run(tmp_path, 1, dated("2026-11-01", 1))
    run(tmp_path, 2, dated("2026-10-01", 1))
    assert queries(tmp_path) == [{"format": "date"}]


def test_a_date_that_moves_with_the_day_of_the_run_still_matches_any_date(tmp_path: Path) -> None:
    run(tmp_path, 1, dated("2026-11-01", 1))
    (said,) = run(tmp_path, 2, dated("2026-11-02", 2, DAY))
    assert queries(tmp_path) == [{"format": "date"}]
    assert "(GET /v1/things): 1 answer of 20261121T101112Z, by 1 answer of 20261122T101112Z" in said
    assert bodies(tmp_path, dated("2026-12-24", None)) == [b"2"]


def test_dates_that_distinguish_answers_are_compared(tmp_path: Path) -> None:
    run(tmp_path, 1, dated("2026-11-01", 1))
    assert run(tmp_path, 2, dated("2026-10-01", 2, DAY)) == []
    assert queries(tmp_path) == ["2026-10-01", "2026-11-01"]


def test_a_missing_body_in_an_older_run_is_listed_until_it_is_recorded(tmp_path: Path) -> None:
    lost = taped("/v1/things/a", b"<!-- application/xml, 12 bytes, not recorded -->")
    run(tmp_path, 1, lost)
    run(tmp_path, 2, taped("/v1/things/b", 1))
    file = tmp_path / "tape/cassettes/things.yaml"
    assert "GET /v1/things/a: the body of its answer" in file.read_text()
    run(tmp_path, 3, taped("/v1/things/a", 1))
    assert "left_out" not in file.read_text()


# Any split


paths = st.sampled_from(["/v1/things", "/v1/things/a", "/v1/things/b", "/v1/others", "/p/v1/things"])
queried = st.dictionaries(
    st.sampled_from(["page", "dateFrom", "amount", "id"]),
    st.sampled_from(["1", "2", "2026-11-01", "2026-11-02", "1.00", "2.00", A, B]),
    max_size=2,
)
consents = st.sampled_from([[], [("Consent-ID", A)], [("Consent-ID", B)]])


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    query = "&".join(f"{name}={value}" for name, value in draw(queried).items())
    method = draw(st.sampled_from(["GET", "POST"]))
    body = {"amount": draw(st.sampled_from(["1.00", "2.00"]))} if method == "POST" else None
    answer = draw(st.integers(1, 3))
    return taped(draw(paths) + f"?{query}" * bool(query), answer, method, headers=draw(consents), body=body)


def ids(directory: Path, recorded: list[Exchange]) -> list[str | None]:
    return [rule_of(answer) for answer in again(replay(directory), *recorded)]


@given(st.lists(st.tuples(exchanges(), st.booleans()), min_size=1, max_size=12))
def test_any_split_into_runs_gives_the_same_answers(recorded: list[tuple[Exchange, bool]]) -> None:
    """Equal requests get the answers of the last run that contains them, in order."""
    runs: list[list[Exchange]] = [[]]
    for exchange, ends in recorded:
        runs[-1].append(exchange)
        runs += [[]] if ends else []
    every = [exchange for exchange, _ in recorded]
    with TemporaryDirectory() as one, TemporaryDirectory() as several:
        derived(Path(one), *every)
        bank_of_things(Path(several))
        for number, entries in enumerate(filter(None, runs), 1):
            tape(Path(several) / "tape", *entries, name=f"20261121T1011{number:02}Z")
        derive(Path(several) / "tape", bank_of_things(Path(several)))

        same = ids(Path(one), every)
        assert ids(Path(several), every) == same
        expected: defaultdict[str | None, list[Exchange]] = defaultdict(list)
        rest = iter(same)
        for entries in runs:
            of_run: defaultdict[str | None, list[Exchange]] = defaultdict(list)
            for exchange in entries:
                of_run[next(rest)].append(exchange)
            expected |= of_run
        for entries in expected.values():
            for exchange, answer in zip(entries, again(replay(Path(several)), *entries), strict=True):
                assert same_body(exchange.answer_body, answer.body)


def test_derive_reports_replaced_answers(tmp_path: Path) -> None:
    from click.testing import CliRunner

    tape(tmp_path, taped("/v1/accounts", 1))
    tape(tmp_path, taped("/v1/accounts", 2), name="20261122T101112Z")
    result = CliRunner().invoke(cli, ["derive", str(tmp_path)])
    assert "replaced: recorded-" in result.stdout
    assert "1 answer of 20261121T101112Z, by 1 answer of 20261122T101112Z\n" in result.stdout
