"""A bank is recorded and then replaced by its recording: the same app gets the same answers, and no secrets remain.

The bank was written without knowledge of how secrets are found: `recorded_bank`.
"""

import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from click.testing import CliRunner, Result

from tests.support.recorded_bank.journey import App, Step
from tests.support.recorded_bank.planted import PLANTED, remainder
from tests.support.recorded_bank.process import BankProcess, Listener, SandboxProcess, stopping
from tests.support.recorded_bank.server import PREFIX
from tests.support.recorded_bank.traces import Haystack, below, packed
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.body import decode
from xs2a_sandbox.http.multipart import with_boundary, without_boundary
from xs2a_sandbox.redaction import vault
from xs2a_sandbox.redaction.body import note_of

pytestmark = pytest.mark.slow

ROADS = ("proxy", "base URL")
UNSEEN = (
    "path of requests that the bank does not answer",
    "answer header Location, of a redirect",
    "answer body, GET /odd/not-gzip",
)
"""Secrets that this journey does not use, or that no client can read."""

KEPT = {
    "amount", "currency", "consentStatus", "transactionStatus", "scaStatus", "status", "bookingDate", "valueDate",
    "validUntil", "lastActionDate", "referenceDate", "balanceType", "category", "code", "frequencyPerDay",
    "recurringIndicator", "fundsAvailable", "expires_in", "token_type", "cashAccountType", "bankTransactionCode",
    "requestedExecutionDate", "country", "asOf",
}  # fmt: skip
"""Members without personal data."""

OPENING = {
    "token", "token of letters", "cookie", "api key", "client secret", "certificate", "signature", "password", "otp",
}  # fmt: skip
"""Kinds of secrets that are credentials."""

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}[A-Z0-9]{11,30}(?![A-Za-z0-9])")


@dataclass
class Tape:
    """One recording and its results."""

    road: str
    home: Path
    recorded: list[Step] = field(default_factory=list)
    replayed: list[Step] = field(default_factory=list)
    output: str = ""
    output_in_replay: str = ""

    @property
    def directory(self) -> Path:
        return self.home / "rec"

    @property
    def cassettes(self) -> Path:
        return self.directory / "cassettes"

    @property
    def raw(self) -> list[Any]:
        (file,) = sorted((self.directory / "raw").iterdir())
        return [json.loads(line) for line in file.read_text().splitlines()[1:]]

    def pairs(self) -> Iterator[tuple[Step, Any]]:
        """Yield every exchange, with its original and its recorded form."""
        written = self.raw
        assert len(written) == len(self.recorded)
        return zip(self.recorded, written, strict=True)


def an_app(road: str, bank: BankProcess, sandbox: SandboxProcess) -> App:
    if road == "proxy":
        return App(bank.base, bank.login, sandbox.ca, proxy=sandbox.proxy)
    return App(f"http://localhost:{sandbox.direct_port}", f"http://127.0.0.1:{sandbox.direct_port}", sandbox.ca)


def texts(directory: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in sorted(directory.glob("*.yaml"))}


@dataclass
class World:
    tapes: Mapping[str, Tape]
    connections: int
    again: dict[str, str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Record twice in parallel, record one of them again, and then replay without the bank. Runs only once."""
    place = tmp_path_factory.mktemp("world")
    tapes = {road: Tape(road, place / road.replace(" ", "-")) for road in ROADS}
    forms = dict(zip(ROADS, ("json", "text"), strict=True))
    bank = BankProcess(place / "bank")
    with stopping(bank):

        def recorder(tape: Tape) -> SandboxProcess:
            flags = ("--to", "rec", "--log-format", forms[tape.road])
            return SandboxProcess(tape.home, "record", *flags, settings=bank.settings(), confdir=tape.home / "conf")

        sandboxes = {road: recorder(tape) for road, tape in tapes.items()}
        with stopping(*sandboxes.values()):
            for road, sandbox in sandboxes.items():
                tapes[road].recorded = an_app(road, bank, sandbox).walk()
                assert sandbox.stop() == 0, sandbox.output
                tapes[road].output = sandbox.output
        again = Tape(ROADS[0], place / "again")
        shutil.copytree(tapes[ROADS[0]].home, again.home)
        sandbox = recorder(again)
        with stopping(sandbox):
            an_app(ROADS[0], bank, sandbox).walk()
            sandbox.stop()
    with Listener(bank.port) as there, Listener(bank.login_port) as beside:
        replays = {
            road: SandboxProcess(
                tape.home / "replay",
                "serve",
                *("--cassettes", str(tape.cassettes), "--log-format", forms[road]),
                confdir=tape.home / "conf",
            )
            for road, tape in tapes.items()
        }
        with stopping(*replays.values()):
            for road, sandbox in replays.items():
                app = an_app(road, bank, sandbox)
                try:
                    app.walk()
                except Exception as error:
                    # Tests see how far the app came, so errors that stopped it are ignored here.
                    print(f"the replay for the {road} broke off: {error!r}")
                tapes[road].replayed = app.steps
                sandbox.stop()
                tapes[road].output_in_replay = sandbox.output
        connections = there.connections + beside.connections
    return World(tapes, connections, texts(again.cassettes))


@pytest.fixture(scope="module", params=ROADS)
def tape(world: World, request: pytest.FixtureRequest) -> Tape:
    return world.tapes[request.param]


def test_the_haystack_finds_secrets_in_every_encoding() -> None:
    for secret in PLANTED:
        if secret.kind != "otp":
            for disguised in packed(secret.value):
                assert Haystack("disguised", [b"x " + disguised + b" y"]).holds(secret), (secret, disguised)


def test_more_than_five_hundred_secrets_are_planted() -> None:
    assert len({secret.value for secret in PLANTED}) > 500
    elsewhere = ("form body", "multipart body", "request body in XML", "answer body, GET /odd/xml")
    odd = tuple(f"answer body, GET /odd/{name}" for name in ("camt", "mt940", "form", "multipart"))
    assert len({secret.value for secret in PLANTED if secret.place.startswith((*elsewhere, *odd))}) > 150
    assert len({secret.kind for secret in PLANTED}) > 20


def test_the_secrets_were_sent_to_the_app_and_back(tape: Tape) -> None:
    """Otherwise it would be no achievement that the recording does not contain them."""
    heads = [f"{step.target}\n{step.sent}\n{step.headers}".encode() for step in tape.recorded]
    # The app may support fewer encodings than it requested.
    plain = [decode(Headers(step.headers.items()), step.body) or step.body for step in tape.recorded]
    bodies = [*(step.sent_body for step in tape.recorded), *plain]
    seen = Haystack("exchanged", [*heads, *bodies])
    assert {s.place for s in PLANTED if not seen.holds(s) and not s.place.startswith(UNSEEN)} == set()


def leaks(*haystacks: Haystack) -> list[str]:
    return [f"{s.kind} {s.value!r}, {s.place}: in {h.name}" for h in haystacks for s in PLANTED if h.holds(s)]


def test_no_secret_is_in_the_raw_recording(tape: Tape) -> None:
    assert not leaks(below("raw", tape.directory / "raw"))


def test_no_secret_is_in_the_cassettes(tape: Tape) -> None:
    assert not leaks(below("cassettes", tape.cassettes))


def test_no_secret_is_printed(tape: Tape) -> None:
    assert not leaks(Haystack("printed", [tape.output.encode()]))


def test_no_secret_is_printed_while_replaying(tape: Tape) -> None:
    assert not leaks(Haystack("printed while replaying", [tape.output_in_replay.encode()]))


def test_no_secret_is_in_the_confdir(tape: Tape) -> None:
    assert not leaks(below("confdir", tape.home / "conf"))


def test_the_vault_contains_personal_data_but_no_credentials(tape: Tape) -> None:
    opened = vault.read(tape.home / "conf" / vault.FILE, tape.home / "conf")
    requests = [f"{one.target}\n{one.headers.pairs}".encode() for one in opened.requests.values()]
    values = json.dumps([list(values.values()) for values in opened.values.values()], ensure_ascii=False).encode()
    inside = Haystack("the vault", [*requests, *(one.body for one in opened.requests.values()), values])

    assert [f"{s.kind} {s.value!r}, {s.place}" for s in PLANTED if s.kind in OPENING and inside.holds(s)] == []
    assert len(opened.requests) == len(tape.recorded)
    sent = [s for s in PLANTED if s.kind in ("iban", "name") and s.place.startswith(("query", "request body, POST"))]
    assert sent
    assert {s.place for s in sent if not inside.holds(s)} == set()


def run(*arguments: str, cwd: Path) -> Result:
    with chdir(cwd):
        return CliRunner().invoke(cli, arguments)


def test_no_secret_is_in_an_export(tape: Tape, tmp_path: Path) -> None:
    done = run("export", str(tape.directory), "--har", str(tmp_path / "all.har"), cwd=tmp_path)
    assert done.exit_code == 0, done.output
    assert not leaks(below("export", tmp_path), Haystack("printed", [done.output.encode()]))


def strings(real: Any, written: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield pairs of strings at the same place. Members are in their original order."""
    if isinstance(real, dict) and isinstance(written, dict) and len(real) == len(written):
        for (name, one), (other, two) in zip(real.items(), written.items(), strict=True):
            yield f"{place} (key)", name, other
            yield from strings(one, two, f"{place}/{name}")
    elif isinstance(real, list) and isinstance(written, list) and len(real) == len(written):
        for one, two in zip(real, written, strict=True):
            yield from strings(one, two, place)
    elif isinstance(real, str | int) and isinstance(written, str | int) and not isinstance(real, bool):
        yield place, str(real), str(written)


_CUT = re.compile(r"[/?&=#]")
_BASE = re.compile(rf"https?://(localhost|127\.0\.0\.1):\d+({PREFIX})?")
"""The start of a link to the bank, possibly rewritten to the sandbox."""


def pieces(real: str, written: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of two URLs, or two other strings unchanged."""
    one, two = _CUT.split(_BASE.sub("", real)), _CUT.split(_BASE.sub("", written))
    if len(one) == len(two):
        yield from ((unquote(a.replace("+", " ")), unquote(b.replace("+", " "))) for a, b in zip(one, two, strict=True))
    yield real, written


def parsed(body: bytes | str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def pseudonyms(tape: Tape) -> dict[str, dict[str, set[str]]]:
    """Return the replacements of each planted string, with their places."""
    planted = {secret.value for secret in PLANTED}
    found: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for step, entry in tape.pairs():
        answer = entry["response"]["content"].get("text", "")
        places = [
            ("path", step.target.removeprefix(PREFIX), entry["_target"]),
            ("header Location", step.headers.get("Location", ""), header(entry["response"], "location")),
            *((f"header {n}", value, header(entry["request"], n)) for n, value in step.sent.items()),
            *strings(parsed(step.sent_body), parsed(entry["request"].get("postData", {}).get("text", ""))),
            *strings(parsed(step.body), parsed(answer)),
        ]
        for place, real, written in places:
            for a, b in pieces(real, written):
                if a in planted and b:
                    found[a][b].add(f"{step.name}: {place}")
    return {real: dict(written) for real, written in found.items()}


def header(message: Any, name: str) -> str:
    return next((one["value"] for one in message["headers"] if one["name"].lower() == name.lower()), "")


def is_iban(text: str) -> bool:
    return _IBAN.fullmatch(text) is not None and remainder(text[4:] + text[:4]) == 1


def test_a_secret_has_one_pseudonym_in_path_body_and_link(tape: Tape) -> None:
    by_value = pseudonyms(tape)
    assert len(by_value) > 100
    assert not {real: written for real, written in by_value.items() if len(written) > 1}


def test_two_ibans_never_share_a_pseudonym(tape: Tape) -> None:
    found = [(real, written) for real, several in pseudonyms(tape).items() if is_iban(real) for written in several]
    assert len(found) > 30
    assert len({written for _, written in found}) == len({real for real, _ in found})


def test_a_pseudonym_of_an_iban_is_an_iban_of_its_country_and_length(tape: Tape) -> None:
    for real, several in pseudonyms(tape).items():
        if is_iban(real):
            for written in several:
                assert is_iban(written), (real, several)
                assert (written[:2], len(written)) == (real[:2], len(real))


def test_an_account_is_the_same_in_path_body_and_link(tape: Tape) -> None:
    from tests.support.recorded_bank.holdings import OWN

    places = {place.partition(": ")[2] for several in pseudonyms(tape)[OWN].values() for place in several}
    assert {"path", "/accounts/iban", "/accounts/_links/balances/href", "/debtorAccount/iban"} <= places


def test_every_string_in_the_form_of_an_iban_is_valid(tape: Tape) -> None:
    written = below("all", tape.directory).plain
    # In MT940, an account is followed by its currency.
    ibans = {text.removesuffix("EUR") for text in _IBAN.findall(written) if len(text) <= 34}
    assert {text for text in ibans if not is_iban(text)} == set()


def test_the_replay_opens_no_connection(world: World) -> None:
    assert world.connections == 0


def unrecorded_steps(tape: Tape) -> set[str]:
    """Return the steps that succeeded and whose bodies were replaced by a note."""
    texts = ((step, entry["response"]["content"].get("text", "")) for step, entry in tape.pairs())
    return {step.name for step, text in texts if step.status < 300 and note_of(text.encode())}


def test_the_same_app_takes_the_same_steps(tape: Tape) -> None:
    lost = unrecorded_steps(tape)
    recorded = [(s.name, 404 if s.name in lost else s.status) for s in tape.recorded]
    assert [(s.name, s.status) for s in tape.replayed] == recorded


def test_only_recorded_rules_answer(tape: Tape) -> None:
    others = [s.name for s in tape.replayed if s.headers.get("X-Sandbox-Source") != "rule"]
    assert set(others) == unrecorded_steps(tape)


def test_unrecorded_bodies_are_reported_at_once_and_in_the_replay(tape: Tape) -> None:
    assert {"/odd/csv", "/odd/lines"} <= unrecorded_steps(tape)
    assert "/odd/xml" not in unrecorded_steps(tape)
    for media in ("text/csv", "text/html"):
        line = (
            rf"GET /\w+/[\w-]+.*: the body of its answer is not recorded \({media}, \d+ bytes: its form is not known\)"
        )
        assert re.search(rf"left out: {line}", tape.output)
    assert re.search(r"\d+ bodies not recorded:\W", tape.output)
    assert re.search(r"\d text/html: its form is not known\W", tape.output)
    lacking = r'(?:^warning: |"warning", "message": ").* lacks GET /\w+/[\w-]+: the body of its answer'
    assert len(re.findall(lacking, tape.output_in_replay, re.MULTILINE)) == 5
    assert "it lists them under recorded.left_out" in tape.output_in_replay


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_bodies_in_every_requested_encoding_are_recorded(tape: Tape, name: str) -> None:
    (entry,) = [entry for step, entry in tape.pairs() if step.name == f"/odd/{name}"]
    assert set(json.loads(entry["response"]["content"]["text"])) == {"name", "iban", "access_token", "weiteres"}


VALUES = {secret.value for secret in PLANTED}


def same_shape(real: Any, given: Any) -> bool:
    """Compare the structure of two bodies. Names of members can be personal data too."""
    if isinstance(real, dict) and isinstance(given, dict):
        names = zip(real, given, strict=False)
        return len(real) == len(given) and all(
            (a == b or a in VALUES) and same_shape(real[a], given[b]) for a, b in names
        )
    if isinstance(real, list) and isinstance(given, list):
        return len(real) == len(given) and all(map(same_shape, real, given))
    return type(real) is type(given)


def of_json(step: Step) -> Any:
    """Return the body as JSON, or None if it is something else."""
    try:
        return json.loads(step.body.decode()) if "json" in step.headers.get("Content-Type", "") else None
    except ValueError:
        return None


def both(tape: Tape) -> Iterator[tuple[Step, Step]]:
    lost = unrecorded_steps(tape)
    pairs = zip(tape.recorded, tape.replayed, strict=False)
    return ((one, two) for one, two in pairs if one.name not in lost)


def test_bodies_have_the_same_shape(tape: Tape) -> None:
    different = [
        step.name
        for step, replayed in both(tape)
        if (real := of_json(step)) is not None and not same_shape(real, parsed(replayed.body))
    ]
    assert different == []


def test_bodies_other_than_json_keep_their_form(tape: Tape) -> None:
    for step, replayed in both(tape):
        if of_json(step) is None:
            assert bool(replayed.body) == bool(step.body), step.name
            one, two = (str(s.headers.get("Content-Type")) for s in (step, replayed))
            assert without_boundary(two) == without_boundary(one), step.name
            assert with_boundary(two, replayed.body[2:].partition(b"\r")[0].decode("latin-1")) == two, step.name


def test_values_without_personal_data_are_the_same(tape: Tape) -> None:
    def kept(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            for inner, one in value.items():
                yield from kept(one, inner)
        elif isinstance(value, list):
            for one in value:
                yield from kept(one, name)
        elif name in KEPT:
            yield name, value

    counted = 0
    for step, replayed in both(tape):
        before = list(kept(parsed(step.body)))
        assert list(kept(parsed(replayed.body))) == before, step.name
        counted += len(before)
    assert counted > 150


def test_links_point_to_the_sandbox_and_to_recorded_paths(tape: Tape) -> None:
    """At the proxy they use the bank's own host, at the base URL the sandbox's. The app's own host has one
    pseudonym.
    """
    (app,) = {urlsplit(s.sent["TPP-Redirect-URI"]).hostname for s in tape.recorded if "TPP-Redirect-URI" in s.sent}
    (shaped,) = {urlsplit(url).hostname for e in tape.raw if (url := header(e["request"], "tpp-redirect-uri"))}
    assert shaped != app
    for step, replayed in both(tape):
        one, two = (urlsplit(s.headers.get("Location", "")) for s in (step, replayed))
        assert two.scheme == one.scheme, step.name
        assert two.hostname == (shaped if one.hostname == app else one.hostname), step.name


def test_the_cassettes_have_no_mistakes(tape: Tape) -> None:
    done = run("lint", str(tape.cassettes), cwd=tape.home / "replay")
    assert done.exit_code == 0, done.output


def test_there_is_one_cassette_for_each_resource(tape: Tape) -> None:
    assert {"consents.yaml", "accounts.yaml", "payments.yaml"} <= texts(tape.cassettes).keys()


def test_a_second_recording_changes_only_new_values_of_the_bank(world: World) -> None:
    """It adds exchanges about new consents and payments, and removes only the four answers that these have changed."""
    before = texts(world.tapes[ROADS[0]].cassettes)
    assert before.keys() == world.again.keys()
    gone = [
        line
        for name, text in before.items()
        for line in Counter(text.splitlines()) - Counter(world.again[name].splitlines())
    ]
    assert len([line for line in gone if "recorded: {hash: " in line]) == 4
    given = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4|recorded: \{hash: ")
    assert [line for line in gone if not given.search(line)] == []


def test_an_edited_rule_is_kept(tape: Tape, tmp_path: Path) -> None:
    copy = tmp_path / "rec"
    shutil.copytree(tape.directory, copy)
    file = copy / "cassettes" / "funds-confirmations.yaml"
    text = file.read_text()
    assert text.count("fundsAvailable: true") == 1
    edited = "{fundsAvailable: false} # what if it were not"
    file.write_text(text.replace("{fundsAvailable: true}", edited))
    done = run("derive", str(copy), "--confdir", str(tape.home / "conf"), cwd=tmp_path)
    assert done.exit_code == 0, done.output
    assert "1 rule of yours kept" in done.output
    assert edited in file.read_text()
    others = {name: text for name, text in texts(copy / "cassettes").items() if name != file.name}
    assert others == {name: text for name, text in texts(tape.cassettes).items() if name != file.name}
