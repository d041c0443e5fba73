"""The command `compare`. A second sandbox replaces the connection to a bank."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec import structs

from tests.support.engine_client import an_engine
from tests.support.far_bank import Authority, FarBank, ok
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.features.compare import comparison_run
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.tape import Tape

URL = "https://bank.example/xs2a"
CASE = """
cassette: 1
rules:
  - id: mine
    match: {path: /own}
    respond: {body: 1}
    examples: [{request: {}, expect: {status: 200}}]
"""
Change = Callable[[Request, Response], Response]


@pytest.fixture(autouse=True)
def redaction(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Exchange]:
    """A stand-in for redaction that counts its calls, in a folder without settings."""
    monkeypatch.chdir(tmp_path)
    seen: list[Exchange] = []

    class Redactor:
        def entry(self, entry: Exchange) -> Exchange:
            seen.append(entry)
            return replace(entry, headers=Headers())

    monkeypatch.setattr(comparison_run, "redactor_of", lambda settings, banks: Redactor())
    return seen


@pytest.fixture
def bank(monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], list[str]]:
    """Replace the bank by a sandbox whose answers `change` modifies. Return the list of its requests."""

    def make(change: Change) -> list[str]:
        asked: list[str] = []
        engine = an_engine(public_url=URL)
        upstream: Any = ModuleType("xs2a_sandbox.upstream.client")

        class Upstream:
            async def send(self, bank: RealBank, request: Request, target: str) -> Response:
                assert bank.url == URL
                asked.append(f"{request.method} {target.removeprefix('/xs2a')}")
                assert target.startswith("/xs2a/")
                return change(request, await engine.answer(request))

            async def close(self) -> None:
                asked.append("closed")

        upstream.Upstream = Upstream
        upstream.check = lambda bank: None
        monkeypatch.setitem(sys.modules, "xs2a_sandbox.upstream.client", upstream)
        return asked

    return make


def same(request: Request, response: Response) -> Response:
    return response


def worse(request: Request, response: Response) -> Response:
    """Add a header and change a value."""
    body = response.body.replace(b'"text":"', b'"text":"Oh: ')
    return structs.replace(response, headers=(*response.headers, ("X-New", "1")), body=body)


def compare(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["compare", *map(str, arguments)], prog_name="xs2a-sandbox")


def test_an_equal_bank_has_no_differences(bank: Callable[[Change], list[str]]) -> None:
    requests = bank(same)
    done = compare("--bank", URL + "/")
    assert done.exit_code == 0, done.output
    assert requests[-1] == "closed"
    assert {line.split()[0] for line in requests[:-1]} == {"GET"}
    # Each read is sent twice.
    assert len(requests[:-1]) % 2 == 0
    assert "skipped  create-consent, example 1: it writes, and --allow-writes was not given" in done.output
    assert "not comparable" not in done.output
    assert "9 same, 0 differ, 6 skipped" in " ".join(done.output.split())


def test_writes_are_sent_to_the_bank_if_they_are_allowed(bank: Callable[[Change], list[str]]) -> None:
    requests = bank(same)
    done = compare("--bank", URL, "--allow-writes", "--noise-reads", "off")
    assert done.exit_code == 0, done.output
    assert "POST /v1/consents" in requests
    assert "skipped" not in done.output


@pytest.mark.parametrize(("floor", "code"), [("high", 0), ("medium", 1), ("low", 1), ("none", 0)])
def test_fail_on_determines_the_exit_status(bank: Callable[[Change], list[str]], floor: str, code: int) -> None:
    bank(worse)
    done = compare("--bank", URL, "--fail-on", floor)
    assert done.exit_code == code, done.output
    assert "medium" in done.output


def test_the_report_as_json(bank: Callable[[Change], list[str]], tmp_path: Path) -> None:
    bank(worse)
    done = compare("--bank", URL, "--json", "--patch", tmp_path / "patch", "--report", tmp_path / "report.json")
    assert done.exit_code == 1
    assert done.stdout == (tmp_path / "report.json").read_text()
    assert "try them with --cassettes" in done.stderr
    assert "use either --json or --suggest-ignores" in compare("--bank", URL, "--json", "--suggest-ignores").stderr


def test_verbose_lists_every_request_and_quiet_prints_no_remarks(bank: Callable[[Change], list[str]]) -> None:
    bank(same)
    assert "same: GET /v1/accounts" in compare("--bank", URL, "--verbose").stderr
    assert compare("--bank", URL, "--quiet").stderr == ""


def test_a_pipe_gets_no_frames(bank: Callable[[Change], list[str]]) -> None:
    bank(worse)
    assert not set(compare("--bank", URL).stdout) & set("┏┃┡│└─\x1b")


def test_every_report_format_contains_the_differences(bank: Callable[[Change], list[str]], tmp_path: Path) -> None:
    bank(worse)
    files = [tmp_path / f"report.{kind}" for kind in ("json", "xml", "html")]
    flags = [flag for file in files for flag in ("--report", file)]
    done = compare("--bank", URL, *flags, "--patch", tmp_path / "patch", "--suggest-ignores")
    assert done.exit_code == 1
    summary = json.loads(files[0].read_text())["summary"]
    assert summary["medium"] > 0
    assert "<failure" in files[1].read_text()
    assert "X-New" in files[2].read_text()
    assert "differ; with this file" in done.output
    assert "try them with --cassettes" in done.output
    assert list((tmp_path / "patch").glob("*.yaml"))
    ignore = tmp_path / "ignore.yaml"
    ignore.write_text(done.output[done.output.index("ignore: 1") :])
    again = compare("--bank", URL, "--ignore", ignore)
    assert again.exit_code == 0, again.output


def test_only_the_examples_of_the_given_cassette_are_sent(bank: Callable[[Change], list[str]], tmp_path: Path) -> None:
    requests = bank(same)
    case = tmp_path / "case.yaml"
    case.write_text(CASE)
    done = compare(case, "--bank", URL, "--noise-reads", "0")
    assert done.exit_code == 1
    assert requests == ["GET /own", "closed"]


def recorded(monkeypatch: pytest.MonkeyPatch, *, redacted: bool, body: bytes = b"{}") -> None:
    from datetime import UTC, datetime

    time = datetime(2026, 11, 21, tzinfo=UTC)
    entry = Exchange(time, 1.0, URL, "GET", "/v1/accounts", Headers(), b"", 200, Headers(), body)
    tape = Tape(Path(), (entry,), ("1a2b3c4d" if redacted else None,))
    monkeypatch.setattr(comparison_run, "read_tape", lambda path: tape)


def test_quirk_applies_to_the_sandbox(bank: Callable[[Change], list[str]]) -> None:
    def without_ids(request: Request, response: Response) -> Response:
        if "/transactions?" not in request.target or "card" in request.target:
            return response
        ids = rb'"(transactionId|entryReference)":(null|"[^"]*")'
        return structs.replace(response, body=re.sub(ids, rb'"\1":"0"', response.body))

    bank(without_ids)
    arguments = ("--bank", URL, "--noise-reads", "off")
    assert "account-transactions" in compare(*arguments).output
    done = compare(*arguments, "--quirk", "ids-zero")
    assert done.exit_code == 0, done.output
    assert "0 differ" in done.output
    assert "did you mean ids-zero?" in compare(*arguments, "--quirk", "ids-zeros").output


def test_a_recording_can_replace_the_bank(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recorded(monkeypatch, redacted=True)
    done = compare("--offline", tmp_path)
    assert done.exit_code == 1
    assert "0 same, 1 differ" in done.output


@pytest.mark.parametrize(("redacted", "flags", "times"), [(True, [], 0), (False, [], 2), (False, ["--no-redact"], 0)])
def test_recordings_are_redacted_only_once(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    redaction: list[Exchange],
    redacted: bool,
    flags: list[str],
    times: int,
) -> None:
    recorded(monkeypatch, redacted=redacted)
    compare("--offline", tmp_path, *flags, "--report", tmp_path / "made.json")
    assert len(redaction) == times
    assert json.loads((tmp_path / "made.json").read_text())["redacted"] is not bool(flags)


def test_requests_that_could_not_be_compared_cause_status_2(bank: Callable[[Change], list[str]]) -> None:
    def unreadable(request: Request, response: Response) -> Response:
        return structs.replace(response, headers=(("Content-Encoding", "br"),))

    bank(unreadable)
    done = compare("--bank", URL)
    assert done.exit_code == 2
    assert "its body cannot be decoded" in done.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--bank URL, --offline RECORDING or --behaviour"),
        (["--bank", URL, "--offline", "."], "use either --bank or --offline"),
        (["--bank", "bank.example"], "'bank.example' is not a URL such as https://"),
        (["--bank", "https://me:pw4711@bank.example"], "'https://…@bank.example' is not a URL such as https://"),
        (["--bank", URL, "--report", "missing/x.html"], "the folder missing for x.html does not exist"),
        (["--bank", URL, "--noise-reads", "many"], "a number from 0 to 10, or off"),
        (["--bank", URL, "--report", "x.pdf"], "x.pdf must end in one of .json, .xml, .html"),
        (["--bank", URL, "missing.yaml"], "does not exist"),
        (["--bank", URL, "--fail-on", "all"], "all"),
        (["--offline", ".", "--against", "recording"], "--against recording needs --bank URL"),
        (["--bank", URL, "--against", "recording"], "works only with recordings"),
    ],
)
def test_mistakes_cause_status_2_and_a_hint(arguments: list[str], says: str) -> None:
    done = compare(*arguments)
    assert done.exit_code == 2
    assert says in done.output


def a_tape(folder: Path, path: str, status: int, body: str = "{}", method: str = "GET") -> Path:
    """Return a recording of one exchange with the bank."""
    (folder / "tape/raw").mkdir(parents=True)
    head = {"log": {"_redacted": False}}
    sent = {"method": method, "url": f"{URL}{path}", "headers": []}
    json_type = [{"name": "Content-Type", "value": "application/json"}]
    answer = {"status": status, "headers": json_type, "content": {"text": body}}
    one = {"startedDateTime": "2026-01-21T09:00:00Z", "time": 1, "request": sent, "response": answer}
    one |= {"_bank": URL, "_target": path}
    (folder / "tape/raw/20260121T090000Z.har.jsonl").write_text(f"{json.dumps(head)}\n{json.dumps(one)}\n")
    return folder / "tape"


def test_equal_errors_do_not_match_a_recorded_success(bank: Callable[[Change], list[str]], tmp_path: Path) -> None:
    bank(same)
    tape = a_tape(tmp_path, "/v1/consents/x/status", 200, '{"consentStatus": "valid"}')
    done = compare(tape, "--bank", URL, "--noise-reads", "off", "--report", tmp_path / "report.json")
    output = " ".join(done.output.split())
    assert done.exit_code == 2
    assert "refused GET /v1/consents/x/status: both sides answered 400, but a success was expected" in output
    assert "nothing was compared" in done.stderr
    assert "0 same, 0 differ, 1 refused by both" in output
    assert json.loads((tmp_path / "report.json").read_text())["exchanges"][0]["verdict"] == "refused"


def test_a_run_that_only_skips_fails(bank: Callable[[Change], list[str]], tmp_path: Path) -> None:
    requests = bank(same)
    done = compare(a_tape(tmp_path, "/v1/consents", 200, method="POST"), "--bank", URL)
    assert done.exit_code == 2
    assert requests == ["closed"]
    assert "nothing was compared" in done.stderr
    assert "1 skipped" in done.stdout


def test_equal_errors_match_a_recorded_error(bank: Callable[[Change], list[str]], tmp_path: Path) -> None:
    bank(same)
    done = compare(a_tape(tmp_path, "/v1/consents/x/status", 404), "--bank", URL, "--noise-reads", "off")
    assert done.exit_code == 0
    assert "1 same, 0 differ;" in " ".join(done.output.split())


def test_against_recording_shows_changes_of_the_bank(bank: Callable[[Change], list[str]], tmp_path: Path) -> None:
    """The sandbox is not used; it does not know this path."""
    moved = ok_json('{"name": "new", "more": 1}')
    requests = bank(lambda request, response: moved)
    tape = a_tape(tmp_path, "/own", 200, '{"name": "old"}')
    flags = ["--bank", URL, "--against", "recording", "--noise-reads", "off", "--report", tmp_path / "r.json"]
    done = compare(tape, *flags)
    assert done.exit_code == 1, done.output
    assert requests == ["GET /own", "closed"]
    assert "has the bank changed? Compared with the recording (of 2026-01-21, " in done.output
    assert "days old)" in done.output
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["against"] == "recording"
    differences = {(one["kind"], one["place"]) for one in report["exchanges"][0]["differences"]}
    assert differences >= {("value", "/name"), ("member-missing", "/more")}
    bank(lambda request, response: ok_json('{"name": "old"}'))
    assert compare(tape, *flags).exit_code == 0


def ok_json(text: str) -> Response:
    return Response(200, (("Content-Type", "application/json"),), text.encode())


def test_recorded_requests_are_sent_to_the_bank(bank: Callable[[Change], list[str]], tmp_path: Path) -> None:
    requests = bank(same)
    tape = a_tape(tmp_path, "/v1/consents/x/status", 400)
    done = compare(tape, "--bank", URL, "--noise-reads", "off")
    assert "1 same, 0 differ" in done.output, done.output
    assert len(requests) == 2


def test_links_to_the_own_host_are_equal_and_pages_are_skipped(tmp_path: Path) -> None:
    body = {"own": {"_links": {"self": {"href": f"{URL}/own/1"}}}}
    tape = a_tape(tmp_path, "/own/1", 200, json.dumps(body))
    (file,) = tape.glob("raw/*")
    head, one = file.read_text().splitlines()
    page = json.loads(one) | {"_target": "/sca/x"}
    page["request"] = {"method": "GET", "url": f"{URL}/sca/x", "headers": []}
    page["response"] = {**page["response"], "headers": [{"name": "Content-Type", "value": "text/html"}]}
    answer = json.loads(one)
    answer["response"]["headers"].append({"name": "Location", "value": f"{URL}/own/1"})
    file.write_text("\n".join([head, json.dumps(answer)]) + "\n")
    derived = CliRunner().invoke(cli, ["derive", str(tape), "--confdir", str(tmp_path)])
    assert derived.exit_code == 0, derived.output
    file.write_text("\n".join([head, json.dumps(answer), json.dumps(page)]) + "\n")

    done = compare("--offline", tape, tape / "cassettes", "--confdir", tmp_path)

    assert done.exit_code == 0, done.output
    assert "1 same, 0 differ" in done.output
    assert "left out: 1 request for pages of the bank" in done.stderr


def test_paths_that_no_operation_matches_cause_one_note(tmp_path: Path) -> None:
    done = compare("--offline", a_tape(tmp_path, "/api/agreements", 200), "--dialect", "berlin-group-1.3")

    (note,) = [line for line in done.stderr.splitlines() if line.startswith("note: ")]
    assert "no request is for an operation of the dialect berlin-group-1.3" in note
    assert "--dialect" in note
    assert "--cassettes" in note


def test_the_nearest_rules_of_a_404_are_no_difference(tmp_path: Path) -> None:
    done = compare("--offline", a_tape(tmp_path, "/api/agreements", 404, json.dumps({"fault": "NONE"})))

    assert "/fault" in done.output
    assert "/sandbox" not in done.output


def test_a_bank_that_refuses_every_request_causes_a_hint_about_tokens(tmp_path: Path) -> None:
    with FarBank(ok(b"{}", b"Content-Type: application/json", status=b"401 Unauthorized")) as far:
        refused = compare(a_tape(tmp_path, "/v1/accounts", 200), "--bank", far.url, "--noise-reads", "off")

    assert "the bank answered 401 to every request" in refused.stderr
    assert "--header 'Authorization: Bearer …'" in refused.stderr


def test_a_folder_that_is_not_a_recording_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# A tape\n\nof a bank\n" * 9)
    done = compare("--offline", tmp_path / "README.md")
    assert done.exit_code == 2
    assert f"{tmp_path / 'README.md'} is not a recording: choose a folder that contains raw/*.har.jsonl" in done.output
    assert "not finished" not in done.output


def test_a_wrong_ignore_rule_causes_status_2(bank: Callable[[Change], list[str]], tmp_path: Path) -> None:
    bank(same)
    file = tmp_path / "ignore.yaml"
    file.write_text("ignore: 1\nrules: [{path: /a/**, why: everything}]\n")
    done = compare("--bank", URL, "--ignore", file)
    assert done.exit_code == 2
    assert f"{file}:2:" in done.output


def test_the_certificate_in_the_settings_is_used_for_the_bank(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("qwac")
    with FarBank(ok(b"{}"), tls=authority.server("127.0.0.1", clients=True)) as far:
        case = tmp_path / "case.yaml"
        case.write_text(CASE)
        alone = compare(case, "--bank", far.url, "--confdir", tmp_path)
        bank = {"url": far.url, "mode": "record", "ca": str(authority.file)}
        bank |= {"client_cert": str(certificate), "client_key": str(key)}
        (tmp_path / "xs2a-sandbox.yaml").write_text(json.dumps({"banks": [bank]}))
        known = compare(case, "--bank", far.url, "--confdir", tmp_path)

    assert alone.exit_code == 2
    assert "bank-unreachable" in alone.output
    assert known.exit_code == 1
    assert "0 same, 1 differ" in known.output
    assert "not answered" not in known.output


@pytest.mark.parametrize(
    ("path", "sent"),
    [("/own?a=1", b"/psd2/x/own?a=1"), ("/psd2/x/own", b"/psd2/x/own"), ("/psd2/xy", b"/psd2/x/psd2/xy")],
)
@pytest.mark.parametrize("command", ["compare", "watch"])
def test_the_path_of_the_bank_is_prepended_to_the_target(tmp_path: Path, command: str, path: str, sent: bytes) -> None:
    with FarBank(ok(b"{}", b"Content-Type: application/json")) as far:
        tape = a_tape(tmp_path, path, 200)
        flags = ["--bank", f"{far.url}/psd2/x", "--against", "recording", "--noise-reads", "1"]
        done = CliRunner().invoke(cli, [command, str(tape), *flags, "--confdir", str(tmp_path)])

    assert done.exit_code == 0, done.output
    assert {request.split()[1] for request in far.seen} == {sent}


def test_reports_are_redacted_with_the_rules_in_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.yaml").write_text("redaction: 1\nkeep: [{member: nickname}]\n")
    (tmp_path / "case.yaml").write_text(CASE.replace("body: 1", "body: {nickname: 1}"))
    with FarBank(ok(b'{"nickname": "Hasenfuss"}', b"Content-Type: application/json")) as far:
        flags = [tmp_path / "case.yaml", "--bank", far.url, "--confdir", tmp_path]
        usual = compare(*flags)
        (tmp_path / "xs2a-sandbox.yaml").write_text("redaction: rules.yaml\n")
        own = compare(*flags)

    assert (usual.exit_code, own.exit_code) == (1, 1)
    assert "/nickname" in usual.output
    assert "Hasenfuss" not in usual.output
    assert "Hasenfuss" in own.output


def watch(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["watch", *map(str, arguments)], prog_name="xs2a-sandbox")


def test_watch_fails_only_on_new_drift(bank: Callable[[Change], list[str]], tmp_path: Path) -> None:
    flags = [a_tape(tmp_path, "/own", 200, '{"name": "old"}'), "--bank", URL, "--noise-reads", "off"]
    for answer, code, says in [
        ('{"name": "old"}', 0, "drift in the first run: 0 new, 0 gone"),
        ('{"name": "new"}', 1, "drift since 1 run: 1 new, 0 gone"),
        ('{"name": "newer"}', 0, "drift since 2 runs: 0 new, 0 gone, 0 flaps, 1 standing"),
        ('{"name": "old"}', 0, "drift since 3 runs: 0 new, 1 gone"),
        ('{"name": "new"}', 0, "drift since 4 runs: 0 new, 0 gone, 1 flaps"),
        ('{"name": "old", "more": 1}', 1, "drift since 5 runs: 1 new, 0 gone, 1 flaps"),
    ]:
        bank(lambda request, response, answer=answer: ok_json(answer))  # type: ignore[misc]
        done = watch(*flags)
        assert done.exit_code == code, done.output
        assert says in done.output
        assert "has the bank changed?" in done.output
    assert len((tmp_path / "drift/drift.jsonl").read_text().splitlines()) == 6
    elsewhere = watch(*flags, "--history", tmp_path / "other", "--fail-on", "none")
    assert (elsewhere.exit_code, "drift in the first run: 1 new" in elsewhere.output) == (0, True)


def test_watch_as_json(bank: Callable[[Change], list[str]], tmp_path: Path) -> None:
    bank(worse)
    tape = a_tape(tmp_path, "/v1/accounts", 200)
    first, second = (json.loads(watch(tape, "--bank", URL, "--json").stdout) for _ in range(2))
    assert (first["runs"], second["runs"]) == (0, 1)
    assert first["new"]
    assert second["new"] == []
    assert second["standing"] == first["new"]


def test_watch_sends_nothing_if_the_history_is_damaged(bank: Callable[[Change], list[str]], tmp_path: Path) -> None:
    requests = bank(same)
    (tmp_path / "drift").mkdir()
    (tmp_path / "drift/drift.jsonl").write_text("nonsense\n")
    done = watch(a_tape(tmp_path, "/own", 200), "--bank", URL)
    assert done.exit_code == 2
    assert "drift.jsonl:1: this line is not a valid run" in done.output
    assert requests == []


def test_watch_fails_if_nothing_was_compared_and_keeps_old_drift(
    bank: Callable[[Change], list[str]], tmp_path: Path
) -> None:
    tape = a_tape(tmp_path, "/own", 200, '{"name": "old"}')
    bank(lambda request, response: ok_json('{"name": "new"}'))
    assert watch(tape, "--bank", URL, "--noise-reads", "off").exit_code == 1

    def down(request: Request, response: Response) -> Response:
        raise BankError("bank-unreachable", bank="bank.example", address="bank.example", reason="refused")

    bank(down)
    done = watch(tape, "--bank", URL, "--noise-reads", "off")
    assert done.exit_code == 2
    assert "1 not compared" in done.output
    assert "0 gone" in done.output


def test_only_the_last_of_several_recorded_answers_to_a_read_is_compared(
    bank: Callable[[Change], list[str]], tmp_path: Path
) -> None:
    tape = a_tape(tmp_path, "/own", 200, '{"status": "received"}')
    (file,) = tape.glob("raw/*")
    head, first = file.read_text().splitlines()
    later = first.replace("received", "valid")
    file.write_text("\n".join([head, first, first, later, later]) + "\n")
    requests = bank(lambda request, response: ok_json('{"status": "valid"}'))
    done = compare(tape, "--bank", URL, "--against", "recording", "--noise-reads", "off")
    assert done.exit_code == 0, done.output
    assert requests == ["GET /own", "GET /own", "closed"]
    assert "left out: 2 reads for which the recording has a later answer" in done.stderr


def test_watch_sends_nothing_if_the_history_cannot_be_written(
    bank: Callable[[Change], list[str]], tmp_path: Path
) -> None:
    requests = bank(same)
    (tmp_path / "file").write_text("")
    done = watch(a_tape(tmp_path, "/own", 200), "--bank", URL, "--history", tmp_path / "file/drift")
    assert (done.exit_code, requests) == (2, [])
    assert "file/drift/drift.jsonl" in done.output
