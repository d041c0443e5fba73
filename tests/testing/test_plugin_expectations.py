"""The plugin's checks after a test has passed, and the lifetime of a bank."""

import pytest

from tests.testing.test_plugin import at_home, run

__all__ = ["at_home"]
pytest_plugins = ["pytester"]

RULE = 'RULE = {"id": "busy", "match": {"path": "/mine"}, "respond": {"status": 503}}\n'


def test_an_unused_rule_fails_a_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        RULE
        + """
import pytest

def test_hit(xs2a):
    xs2a.add_rule(RULE)
    xs2a.request("GET", "/mine")
    xs2a.journal.clear()

def test_amended(xs2a):
    xs2a.add_rule("{match: {operation: account-list}, amend: {headers: {X-More: a}}}")
    xs2a.request("GET", "/v1/accounts", consent=xs2a.testdata.consent())

def test_optional(xs2a):
    xs2a.add_rule(RULE, optional=True)

@pytest.mark.xs2a(assert_all_called=False)
def test_told_otherwise(xs2a):
    xs2a.add_rule(RULE)

def test_never_hit(xs2a):
    xs2a.add_rule(RULE, "{match: {path: /yours}, respond: {status: 200}}")
    xs2a.request("GET", "/yours")

def test_failed_anyhow(xs2a):
    xs2a.add_rule(RULE)
    assert "its own failure" == ""
"""
    )
    result = run(pytester)
    result.assert_outcomes(passed=4, failed=2)
    text = result.stdout.str()
    assert text.count("was never used") == 1
    result.stdout.fnmatch_lines(["the added rule busy was never used; *", "*#1 GET /yours → 200*", "*its own failure*"])


def test_an_unused_rule_of_a_server_fails_a_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        RULE
        + """
import pytest
import urllib.error
import urllib.request

def status(bank, path):
    try:
        return urllib.request.urlopen(bank.base_url + path).status
    except urllib.error.HTTPError as error:
        return error.code

def test_hit(xs2a_server):
    xs2a_server.add_rule(RULE)
    assert status(xs2a_server, "/mine") == 503

def test_never_hit(xs2a_server):
    assert status(xs2a_server, "/mine") == 404
    xs2a_server.add_rule(RULE)

@pytest.mark.xs2a(assert_all_called=False)
def test_told_otherwise(xs2a_server):
    xs2a_server.add_rule(RULE)

@pytest.mark.xs2a(assert_all_matched=True)
def test_unmatched(xs2a_server):
    status(xs2a_server, "/yours")

def test_mistaken(xs2a_server):
    xs2a_server.add_rule("match: {path: /mine}\\nrespnd: {}")
"""
    )
    result = run(pytester)
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(
        [
            "the added rule busy was never used; *",
            "*xs2a journal*",
            "*GET /s/test_never_hit-*/mine → 404*",
            "  GET /yours → 404",
            "*<rule 1>:2:1: error unknown-key: unknown key respnd; did you mean respond*",
        ]
    )


@pytest.mark.parametrize(("ini", "outcome"), [("true", "failed"), ("false", "passed")])
def test_unmatched_requests_fail_a_test_if_configured(pytester: pytest.Pytester, ini: str, outcome: str) -> None:
    pytester.makeini(f"[pytest]\nxs2a_assert_all_matched = {ini}")
    pytester.makepyfile("""
        import pytest

        def test_one(xs2a):
            xs2a.add_rule("{match: {path: /mine}, respond: {status: 404}}")
            xs2a.request("GET", "/mine")
            xs2a.request("GET", "/v1/consents/00000000-0000-0000-0000-000000000000")
            xs2a.request("GET", "/v1/acounts")
            xs2a.request("PATCH", "/v1/accounts")
    """)
    result = run(pytester)
    result.assert_outcomes(**{outcome: 1})
    output = [line for line in result.stdout.lines if line.startswith("  ") and "→ 40" in line and "#" not in line]
    assert output == (["  GET /v1/acounts → 404", "  PATCH /v1/accounts → 405"] if outcome == "failed" else [])


def test_banks_of_a_module_and_of_a_session_are_shared(pytester: pytest.Pytester) -> None:
    shared = """
        def test_first(xs2a, xs2a_module, xs2a_session):
            for bank in (xs2a, xs2a_module, xs2a_session):
                bank.request("GET", f"/{len(bank.journal)}")

        def test_second(xs2a, xs2a_module, xs2a_session):
            assert len(xs2a.journal) == 0
            assert len(xs2a_module.journal) == 1
            assert len(xs2a_session.journal) == LENGTH
            xs2a_session.request("GET", "/v1/x")
    """
    pytester.makepyfile(test_a=shared.replace("LENGTH", "1"), test_b=shared.replace("LENGTH", "3"))
    run(pytester).assert_outcomes(passed=4)


def test_a_rule_of_a_module_can_be_used_by_any_of_its_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        RULE
        + """
import pytest

@pytest.fixture(scope="module", autouse=True)
def busy(xs2a_module):
    xs2a_module.add_rule(RULE)

def test_not_yet(xs2a_module):
    pass

def test_asks(xs2a_module):
    ASK
"""
    )
    file = pytester.path / f"{pytester._name}.py"
    text = file.read_text()
    file.write_text(text.replace("ASK", 'assert xs2a_module.request("GET", "/mine").status == 503'))
    run(pytester).assert_outcomes(passed=2)
    file.write_text(text.replace("ASK", "pass"))
    result = run(pytester)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["the added rule busy was never used; *", "*xs2a journal*"])


def test_scenarios_are_found_by_name(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.mark.xs2a(cassettes="scenarios/outage")
        def test_one(xs2a):
            assert xs2a.request("GET", "/v1/accounts", consent=xs2a.testdata.consent()).status == 503
    """)
    run(pytester).assert_outcomes(passed=1)


def test_delays_take_virtual_time(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import httpx
        import pytest
        import requests
        from datetime import timedelta

        SLOW = {"match": {"path": "/mine"}, "respond": {"status": 503, "delay": "299.5s"}}

        @pytest.mark.xs2a(virtual_time=True, frozen_at="2027-01-01T12:00:00")
        def test_the_clock_moves_instead(xs2a):
            xs2a.add_rule(SLOW)
            before = xs2a.clock.now
            assert xs2a.client(timeout=None).get("/mine").status_code == 503
            assert xs2a.request("GET", "/mine").status == 503
            assert xs2a.clock.now - before == timedelta(seconds=599)
            with pytest.raises(httpx.ReadTimeout):
                xs2a.client(timeout=60).get("/mine")
            with pytest.raises(requests.ReadTimeout):
                xs2a.session().get("https://my.bank/mine", timeout=41)
            assert xs2a.clock.now - before == timedelta(seconds=700)
            xs2a.journal.assert_called("GET", "/mine", times=4)
    """)
    # With real time this would take eleven minutes.
    run(pytester).assert_outcomes(passed=1)


def test_clients_are_intercepted_for_one_test_and_refused_connections_fail_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import socket
        import urllib.request

        import httpx
        import pytest
        import requests

        KEPT = requests.Session()
        ID = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}

        @pytest.mark.xs2a(intercept=True)
        @pytest.mark.parametrize("turn", [1, 2])
        def test_answered(xs2a, turn):
            url = f"https://my.bank/v1/consents/{xs2a.testdata.consent()}/status"
            for get in (requests.get, httpx.get, KEPT.get):
                assert get(url, headers=ID).json() == {"consentStatus": "valid"}
            xs2a.journal.assert_called(times=3)

        @pytest.mark.xs2a(intercept=True)
        def test_refused(xs2a):
            try:
                socket.create_connection(("192.0.2.1", 443), 60)
            except OSError:
                pass  # an app that tries something else

        @pytest.mark.xs2a(intercept=True, virtual_time=True)
        def test_slow(xs2a):
            xs2a.add_rule({"match": {"path": "/mine"}, "respond": {"status": 200, "delay": "300s"}})
            with pytest.raises(requests.ReadTimeout):
                requests.get("https://my.bank/mine", timeout=60)
            with pytest.raises(httpx.ReadTimeout):
                httpx.get("https://my.bank/mine", timeout=60)
            assert requests.get("https://my.bank/mine").status_code == 200
            with pytest.raises(TimeoutError):
                urllib.request.urlopen("https://my.bank/mine", timeout=60)

        def test_afterwards():
            assert "hook" not in socket.socket.connect.__qualname__
    """)
    result = run(pytester)
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["xs2a blocked connections to 192.0.2.1:443, *"])
