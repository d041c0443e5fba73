"""The plugin in real runs of pytest."""

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from xs2a_sandbox.features.pytest import plugin
from xs2a_sandbox.features.pytest.server_process import Process

pytest_plugins = ["pytester"]

INSTALLED = any(point.value == plugin.__name__ for point in entry_points(group="pytest11"))
LOADED = () if INSTALLED else ("-p", plugin.__name__)
OTHERS = ("cacheprovider", "schemathesis", "hypothesispytest", "anyio")
FLAGS = (*LOADED, *(word for other in OTHERS for word in ("-p", f"no:{other}")))


@pytest.fixture(autouse=True)
def at_home(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use an empty folder, an empty home, and the short summary that is printed outside of CI."""
    monkeypatch.setenv("HOME", str(pytester.path / "home"))
    # If `CI` is set, pytest repeats each complete failure in its summary, but these tests count the texts.
    for name in ("PYTEST_ADDOPTS", "CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)


def run(pytester: pytest.Pytester, *flags: str) -> pytest.RunResult:
    """Run without other installed plugins: finding them takes longer than most runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        return pytester.runpytest_inprocess("-p", plugin.__name__, "-p", "no:cacheprovider", *flags)


def run_apart(pytester: pytest.Pytester, *flags: str) -> pytest.RunResult:
    """Run with the plugin as pytest finds it, if it is installed."""
    return pytester.runpytest_subprocess(*FLAGS, *flags)


def test_importing_it_is_cheap() -> None:
    code = (
        "import pytest, sys, time; before = set(sys.modules); began = time.process_time();"
        f"import {plugin.__name__};"
        "print(time.process_time() - began, *(set(sys.modules) - before))"
    )
    seconds, *modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, env=dict(os.environ)
    ).stdout.split()
    assert float(seconds) < 0.1
    heavy = {"mitmproxy", "aiohttp", "httpx", "requests", "jinja2", "yaml", "jsonschema", "schwifty", "msgspec"}
    assert not {module.partition(".")[0] for module in modules} & heavy
    ours = {module for module in modules if module.startswith("xs2a_sandbox.")}
    assert ours == {"xs2a_sandbox.errors", "xs2a_sandbox.features", "xs2a_sandbox.features.pytest", plugin.__name__}


def test_the_plugin_imports_no_mitmproxy_and_leaves_no_files(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import sys

        def test_one(xs2a):
            assert xs2a.request("GET", "/v1/accounts", consent=xs2a.testdata.consent()).status == 200
            with xs2a.client() as client:
                client.get("/v1/accounts")
            xs2a.session().get("https://bank.example/v1/accounts")
            assert "mitmproxy" not in sys.modules
            assert "httptools" not in sys.modules
    """)
    run_apart(pytester).assert_outcomes(passed=1)
    assert not (pytester.path / "home" / ".xs2a-sandbox").exists()


def test_each_test_has_its_own_bank(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.mark.parametrize("number", range(3))
        def test_fresh(xs2a, number):
            id = xs2a.testdata.consent()
            xs2a.journal.assert_not_called()
            assert xs2a.request("GET", f"/v1/consents/{id}/status").json() == {"consentStatus": "valid"}
            xs2a.request("DELETE", f"/v1/consents/{id}")
            rule = {"match": {"operation": "consent-status"}, "respond": {"status": 503}}
            xs2a.add_rule(rule, optional=True)
            xs2a.clock.move(days=400)
    """)
    run(pytester).assert_outcomes(passed=3)


@pytest.mark.slow
def test_the_plugin_works_with_xdist(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile("""
        import pytest

        @pytest.mark.parametrize("number", range(8))
        def test_fresh(xs2a, number):
            id = xs2a.testdata.consent()
            assert xs2a.request("DELETE", f"/v1/consents/{id}").status == 204
            xs2a.journal.assert_called("DELETE", times=1)
    """)
    run_apart(pytester, "-n", "2").assert_outcomes(passed=8)


def test_a_failure_shows_the_requests_to_the_bank(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        def test_wrong(xs2a):
            xs2a.request("GET", "/v1/consnts/x")
            xs2a.journal.assert_called("POST", "/v1/consents", times=1)

        def test_right(xs2a):
            xs2a.request("GET", "/v1/right")

        def test_without():
            assert False
    """)
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E * AssertionError: expected once: POST /v1/consents",
            "E * found never",
            "E * the method is GET, not POST",
            "*- xs2a journal -*",
            "*#1 GET /v1/consnts/x → 404 sandbox -*",
            "*near: operation *",
        ]
    )
    text = result.stdout.str()
    assert text.count("xs2a journal") == 1
    assert "/v1/right" not in text
    assert "journal_calls.py" not in text


def test_a_failure_before_the_first_request_shows_an_empty_journal(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.fixture
        def broken(xs2a):
            raise ValueError

        def test_one(broken): pass
    """)
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*- xs2a journal -*", "*no request has reached the sandbox*"])


CASES = """
    cassette: 1
    rules:
      - {id: ID, match: {operation: consent-status, headers: {X-Case: ID}}, respond: {status: STATUS}}
"""

ASKS = """
    import pytest

    def status_of(xs2a, case):
        headers = {"X-Case": case}
        return xs2a.request("GET", f"/v1/consents/{xs2a.testdata.consent()}/status", headers=headers).status
"""


def with_cases(pytester: pytest.Pytester, **cases: int) -> None:
    for name, status in cases.items():
        (pytester.mkdir(name) / "case.yaml").write_text(
            "\n".join(line[4:] for line in CASES.replace("ID", name).replace("STATUS", str(status)).splitlines()[1:])
        )


def test_cassettes_are_read_from_the_ini_file_and_from_markers(pytester: pytest.Pytester) -> None:
    with_cases(pytester, of_all=418, of_module=429, of_test=503)
    pytester.makeini("[pytest]\nxs2a_cassettes = of_all")
    pytester.mkdir("tests").joinpath("test_it.py").write_text(
        "\n".join(line[4:] for line in ASKS.splitlines())
        + """
pytestmark = pytest.mark.xs2a(cassettes=["of_module"])

def test_module(xs2a):
    assert [status_of(xs2a, case) for case in ("of_all", "of_module", "of_test")] == [418, 429, 200]

@pytest.mark.xs2a(cassettes=["of_test"])
def test_own(xs2a):
    assert [status_of(xs2a, case) for case in ("of_all", "of_module", "of_test")] == [418, 429, 503]
"""
    )
    run(pytester, "--strict-markers").assert_outcomes(passed=2)


def test_quirks_of_ini_file_and_markers_are_combined(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nxs2a_quirk = ids-zero")
    pytester.makepyfile(
        """
        import pytest

        PATH = "/v1/accounts/AT459880000010204711/transactions?bookingStatus=booked"

        @pytest.mark.xs2a(quirk="dates-null")
        def test_both(xs2a):
            answer = xs2a.request("GET", PATH, headers={"Consent-ID": "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"})
            entry = answer.json()["transactions"]["booked"][0]
            assert (entry["transactionId"], entry["bookingDate"]) == ("0", None)

        @pytest.mark.xs2a(quirk=["dates-nul"])
        def test_unknown(xs2a):
            pass
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["xs2a: quirk must be names of quirks, not ids-zero, dates-nul: *'dates-nul'; did you mean dates-null?*"]
    )


def test_test_data_and_dialect_can_be_set(pytester: pytest.Pytester) -> None:
    for name in ("all", "own"):
        (pytester.path / f"{name}.yaml").write_text(
            f"testdata: 2\npsus:\n  {name}: {{name: Greta, password: x, otp: '1', methods: []}}\n"
        )
    pytester.makeini("[pytest]\nxs2a_testdata = all.yaml\nxs2a_dialect = xs2a-1.84")
    pytester.makepyfile("""
        import pytest

        def test_all(xs2a):
            assert "all" in xs2a.testdata.psus
            assert "own" not in xs2a.testdata.psus

        @pytest.mark.xs2a(testdata="own.yaml")
        def test_own(xs2a):
            assert "own" in xs2a.testdata.psus
            assert "all" not in xs2a.testdata.psus
            assert "anna" in xs2a.testdata.psus

        @pytest.mark.xs2a(dialect="none")
        def test_none(xs2a): pass
    """)
    result = run(pytester)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["unknown dialect 'none'. The dialects are *xs2a-1.84*"])


def test_the_initial_time_of_banks_can_be_set(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nxs2a_frozen_at = 2031-05-06T07:08")
    pytester.makepyfile("""
        from datetime import date, datetime
        import pytest

        def test_of_the_ini_file(xs2a, xs2a_server):
            assert xs2a.clock.now.isoformat() == xs2a_server.clock.now.isoformat() == "2031-05-06T07:08:00+02:00"
            consent = xs2a.testdata.consents[xs2a.testdata.consent()]
            assert consent["valid_until"] > "2031-05-06"
            assert xs2a.state["consents"][xs2a.testdata.consent()] == consent
            assert xs2a.clock.move(days=1).day == 7

        @pytest.mark.xs2a(frozen_at=datetime(2032, 1, 2))
        def test_of_the_marker(xs2a):
            assert xs2a.clock.today == date(2032, 1, 2)
    """)
    run(pytester).assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        (
            "cassete=['x']",
            "the marker xs2a accepts no cassete; its arguments are cassettes, quirk, testdata, dialect, frozen_at",
        ),
        ("['x']", "the marker xs2a accepts no positional arguments"),
        ("frozen_at='soon'", "xs2a: frozen_at must be an ISO 8601 time such as 2026-11-21T09:00:00"),
        ("frozen_at=2027", "xs2a: frozen_at must be an ISO 8601 time"),
        (
            "cassettes='nowhere'",
            "cassettes must be folders that exist, or bundled ones such as scenarios/outage, not nowhere",
        ),
        ("cassettes='scenarios/outge'", "not scenarios/outge; did you mean scenarios/outage?"),
        ("virtual_time='yes'", "xs2a: virtual_time must be True or False, not 'yes'"),
        ("cassettes='broken'", "broken/case.yaml:1:15: error unknown-key"),
    ],
)
def test_mistakes_are_reported_without_a_traceback(pytester: pytest.Pytester, marker: str, message: str) -> None:
    (pytester.mkdir("broken") / "case.yaml").write_text("{cassette: 1, ruls: []}")
    pytester.makepyfile(f"import pytest\n@pytest.mark.xs2a({marker})\ndef test_one(xs2a): pass")
    result = run(pytester)
    result.assert_outcomes(errors=1)
    assert message in result.stdout.str()
    assert "another exception" not in result.stdout.str()


def test_files_are_found_next_to_the_test(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("deep")
    (folder / "answer.json").write_text('{"a": 1}')
    (folder / "test_it.py").write_text("""
def test_one(xs2a):
    xs2a.add_rule({"match": {"path": "/mine"}, "respond": {"file": "answer.json"}})
    assert xs2a.request("GET", "/mine").json() == {"a": 1}
""")
    run(pytester).assert_outcomes(passed=1)


def test_the_marker_and_the_options_are_documented_in_the_help(pytester: pytest.Pytester) -> None:
    run(pytester, "--markers").stdout.fnmatch_lines(
        ["@pytest.mark.xs2a(cassettes=*quirk=*testdata=*dialect=*): set cassettes*"]
    )
    run(pytester, "--help").stdout.fnmatch_lines(["*xs2a_cassettes*", "*xs2a_testdata*", "*xs2a_dialect*"])
    run(pytester, "--fixtures").stdout.fnmatch_lines_random(["xs2a -- *", "xs2a_server -- *"])


@pytest.mark.slow
def test_one_server_has_a_session_for_each_test(pytester: pytest.Pytester) -> None:
    with_cases(pytester, mine=503)
    pytester.makepyfile("""
        import pytest
        import requests

        ports = set()
        consent = {
            "access": {"availableAccounts": "allAccounts"},
            "recurringIndicator": True,
            "validUntil": "2099-12-31",
            "frequencyPerDay": 4,
        }

        def ask(server, method, path, case="none", **more):
            headers = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "X-Case": case}
            url = f"https://bank.example/v1/consents{path}"
            return requests.request(
                method, url, headers=headers, proxies=server.proxies, verify=server.ca_file, **more
            )

        def status(server, case="none", consent="9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"):
            return ask(server, "GET", f"/{consent}/status", case)

        @pytest.mark.parametrize("name", ["a", "b/ü " * 30])
        def test_fresh(xs2a_server, name):
            ports.add(xs2a_server.base_url.partition("/s/")[0])
            made = ask(xs2a_server, "POST", "", json=consent).json()["consentId"]
            assert status(xs2a_server, consent=made).json() == {"consentStatus": "valid"}
            xs2a_server.clock.freeze("2100-01-01")
            assert status(xs2a_server, consent=made).json() == {"consentStatus": "expired"}
            assert len(ports) == 1

        @pytest.mark.xs2a(cassettes=["mine"])
        def test_other_files(xs2a_server):
            assert xs2a_server.base_url.partition("/s/")[0] not in ports
            assert status(xs2a_server, "mine").status_code == 503
    """)
    run_apart(pytester).assert_outcomes(passed=3)
    assert not (pytester.path / "home" / ".xs2a-sandbox").exists()


DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", (DOCS / "pytest.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_examples_of_the_guide_work(pytester: pytest.Pytester) -> None:
    bank = Process(pytester.path / "bank")
    bank.start()
    count = 0
    for number, example in enumerate(EXAMPLES):
        (pytester.path / f"test_example_{number}.py").write_text(example.replace("http://127.0.0.1:8081", bank.direct))
        count += len(re.findall(r"^(?:async )?def test_", example, re.MULTILINE))
    pytester.mkdir("cases")
    assert count >= 6
    try:
        run_apart(pytester).assert_outcomes(passed=count)
    finally:
        bank.stop()
    run_apart(pytester, "--xs2a-record=none", "-k", "of_the_bank").assert_outcomes(passed=1, deselected=count - 1)


@pytest.mark.slow
def test_a_server_that_does_not_start_is_an_error_with_the_reason(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.mark.xs2a(dialect="none")
        def test_one(xs2a_server): pass
    """)
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the sandbox did not start: *unknown dialect 'none'*"])
