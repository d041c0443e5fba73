"""Tests that record a bank once, and use the recording afterwards."""

import socket
from pathlib import Path

import pytest

from tests.support.far_bank import FarBank, ok
from tests.testing.test_plugin import at_home, run
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.pytest.recorded_test import RecordedTest

__all__ = ["at_home"]
pytest_plugins = ["pytester"]

LIST = b'{"accounts": [{"iban": "AT611904300234573201", "currency": "EUR", "name": "%s"}]}'
TEST = """
import pytest

@pytest.mark.xs2a(record="{url}")
def test_accounts(xs2a):
    xs2a.add_rule("{{match: {{path: /v1/accounts}}, respond: {{status: 500}}}}") if {rule} else None
    answer = xs2a.request("GET", "/v1/accounts", consent="9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911")
    assert answer.status == 200
    print("currency", answer.json()["accounts"][0]["currency"])
    {more}
"""


def write(pytester: pytest.Pytester, bank: FarBank, more: str = "pass", *, rule: bool = False) -> None:
    pytester.makepyfile(test_bank=TEST.format(url=bank.url, more=more, rule=rule))


def files(pytester: pytest.Pytester) -> dict[str, bytes]:
    there = pytester.path / "recordings"
    return {file.relative_to(there).as_posix(): file.read_bytes() for file in there.rglob("*") if file.is_file()}


def test_only_the_first_run_sends_requests_to_the_bank(pytester: pytest.Pytester) -> None:
    with FarBank(ok(LIST % b"Anna", b"Content-Type: application/json")) as bank:
        write(pytester, bank)
        run(pytester).assert_outcomes(passed=1)
        assert len(bank.seen) == 1
        recorded, connections = files(pytester), bank.connections
        for flags in ((), ("--xs2a-record=once",), ("--xs2a-record=none",)):
            run(pytester, *flags).assert_outcomes(passed=1)
    assert bank.connections == connections
    assert files(pytester) == recorded
    assert {"test_bank/test_accounts/cassettes/accounts.yaml"} < recorded.keys()
    # Redacted like all recordings.
    assert not [name for name, content in recorded.items() if b"AT611904300234573201" in content or b"Anna" in content]
    run(pytester).assert_outcomes(passed=1)  # without the bank


def test_mode_all_records_again(pytester: pytest.Pytester) -> None:
    with FarBank(ok(LIST % b"Anna"), ok((LIST % b"Anna").replace(b"EUR", b"CHF"))) as bank:
        write(pytester, bank)
        assert "currency EUR" in run(pytester, "-s").stdout.str()
        assert "currency CHF" in run(pytester, "-s", "--xs2a-record=all").stdout.str()
        assert "currency CHF" in run(pytester, "-s").stdout.str()
    assert len(bank.seen) == 2
    assert len([name for name in files(pytester) if "/raw/" in name]) == 1


def test_mode_none_sends_no_request(pytester: pytest.Pytester) -> None:
    with FarBank() as bank:
        write(pytester, bank)
        result = run(pytester, "--xs2a-record=none")
    result.assert_outcomes(errors=1)
    folder = pytester.path / "recordings" / "test_bank" / "test_accounts"
    result.stdout.fnmatch_lines([f"xs2a: there is no recording {folder}: run the test with --xs2a-record=once *"])
    assert (bank.connections, files(pytester)) == (0, {})


@pytest.mark.parametrize("more", ["assert False", "xs2a.request('GET', '/v1/accounts/1')"], ids=["test", "bank"])
def test_a_failing_test_does_not_change_the_recording(pytester: pytest.Pytester, more: str) -> None:
    def hang_up(connection: socket.socket) -> None:
        connection.shutdown(socket.SHUT_RDWR)

    with FarBank(ok(LIST % b"Anna"), ok(LIST % b"Anna"), hang_up) as bank:
        write(pytester, bank)
        run(pytester).assert_outcomes(passed=1)
        before = files(pytester)
        write(pytester, bank, more)
        result = run(pytester, "--xs2a-record=all")
    result.assert_outcomes(failed=1)
    if "request" in more:
        result.stdout.fnmatch_lines(
            ["xs2a: nothing is recorded, because the bank did not answer GET /v1/accounts/1: *"]
        )
    assert files(pytester) == before
    assert [one.name for one in (pytester.path / "recordings" / "test_bank").iterdir()] == ["test_accounts"]


def test_a_failing_first_run_records_nothing(pytester: pytest.Pytester) -> None:
    with FarBank(ok(LIST % b"Anna")) as bank:
        write(pytester, bank, "assert False")
        run(pytester).assert_outcomes(failed=1)
    assert not (pytester.path / "recordings").exists()


def test_an_unrecorded_request_fails_the_test_and_is_not_sent(pytester: pytest.Pytester) -> None:
    with FarBank(ok(LIST % b"Anna")) as bank:
        write(pytester, bank)
        run(pytester).assert_outcomes(passed=1)
        connections = bank.connections
        write(pytester, bank, "xs2a.request('GET', '/v1/consents/1/status')")
        result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "the recording of this test has no answer for:",
            "  GET /v1/consents/1/status → 4*",
            "record it again with --xs2a-record=all*",
        ]
    )
    assert bank.connections == connections


def test_rules_of_the_test_answer_only_after_the_recording_run(pytester: pytest.Pytester) -> None:
    with FarBank(ok(LIST % b"Anna")) as bank:
        write(pytester, bank, rule=True)
        run(pytester).assert_outcomes(passed=1)
        run(pytester).assert_outcomes(failed=1)
    assert len(bank.seen) == 1


@pytest.mark.parametrize(
    ("marker", "fixture", "reason"),
    [
        ('"bank"', "xs2a", "url"),
        ('{"url": "https://b.example", "hots": []}', "xs2a", "hots"),
        ("{}", "xs2a", "the URL of the bank is missing"),
        ("7", "xs2a", "url"),
        ('"https://b.example"', "xs2a_server", "record works only with the fixture xs2a, not with xs2a_server"),
    ],
)
def test_impossible_markers_are_errors(pytester: pytest.Pytester, marker: str, fixture: str, reason: str) -> None:
    pytester.makepyfile(f"""
        import pytest

        @pytest.mark.xs2a(record={marker})
        def test_one({fixture}):
            pass
    """)
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*xs2a: *{reason}*"])


def test_a_test_without_requests_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.mark.xs2a(record="https://bank.example")
        def test_one(xs2a):
            pass
    """)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["xs2a: nothing is recorded, because the test sent no request to the bank"])


def test_the_key_of_the_pseudonyms_is_in_the_configured_folder(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nxs2a_confdir = keys")
    with FarBank(ok(b'{"consentStatus": "received"}')) as bank:
        pytester.makepyfile(f"""
            import pytest

            @pytest.mark.xs2a(record="{bank.url}")
            def test_one(xs2a):
                body = {{"access": {{"accounts": [{{"iban": "AT611904300234573201"}}]}}}}
                assert xs2a.request("POST", "/v1/consents", json=body).json() == {{"consentStatus": "received"}}
        """)
        for _ in range(2):
            run(pytester).assert_outcomes(passed=1)
        assert len(bank.seen) == 1
    assert (pytester.path / "keys" / "pseudonym.key").exists()
    assert not (pytester.path / "home" / ".xs2a-sandbox").exists()


def test_each_test_has_its_own_recording() -> None:
    names = ["test_a", "TestB::test_a", "test_a[1/2]", "test_a[1 2]", "test_" + "a" * 300]
    folders = [RecordedTest.of(Path("tests/test_x.py"), name).folder for name in names]
    assert folders[0] == Path("tests/recordings/test_x/test_a")
    assert len({*folders}) == len(names)
    assert max(len(folder.name) for folder in folders) < 100


def test_the_mode_decides_whether_the_bank_is_used(tmp_path: Path) -> None:
    test = RecordedTest(tmp_path / "test_one")
    assert test.asks_bank("once")
    with pytest.raises(UserMistake, match="there is no recording"):
        test.asks_bank("none")
    test.cassettes.mkdir(parents=True)
    for mode in ("once", "none"):
        with pytest.raises(UserMistake, match="has no cassettes: run xs2a-sandbox derive "):
            test.asks_bank(mode)  # no request is sent if there is a recording
    (test.cassettes / "accounts.yaml").touch()
    assert [test.asks_bank(mode) for mode in ("once", "none", "all")] == [False, False, True]
