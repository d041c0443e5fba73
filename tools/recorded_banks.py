"""Record mock banks, stop them and replay the recordings: build/reports/recorded-banks.md (`--write`).

WireMock serves each bank's mappings. All possible requests are sent through a recording sandbox, by proxy and base URL,
with and without redaction. Then a sandbox that has only the recording gets them in reverse order. Finally the bank is
recorded in the order of a flow, and a dialect derived from this recording gets the same requests.
"""

import argparse
import json
import ssl
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import httpx
from lxml import etree
from tests.support.bank_words import FOLDER
from tests.support.doors import START
from tests.support.recorded_bank.process import SandboxProcess, stopping
from tests.support.wiremock import BANKS, BankRequest, WireMock, fitting, mappings, missing, was_unmatched

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents import Schemas, yaml_reader
from xs2a_sandbox.features.derive.derived_dialect import derive_dialect
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.recording.har_log import raw_files, read_raw
from xs2a_sandbox.recording.tape import read_tape
from xs2a_sandbox.redaction.body import notes

PAGE = Path(__file__).parents[1] / "build" / "reports" / "recorded-banks.md"
DOORS = ("proxy", "base URL")

_TEXT = """\
# Recorded banks

<!-- Written by `make recorded-banks`. -->

{banks} mock banks are recorded, and the recordings then answer the same requests without the bank. The interfaces
have consents, tokens, accounts, balances, transactions and payments, different prefixes before `/v1` within one bank,
OAuth outside the interface, forms, XML, redirects, paging, and states that change. They are WireMock mappings in
`../shared/data/recorded-banks`, which is not part of the project. WireMock serves them.

Each row is one bank through one port, with or without redaction. `record` runs with one entry of `banks` and gets
one request for each mapping. Then the bank is stopped, and `serve` with the recording gets the same requests in
reverse order. A request counts as answered if the answer has the status, the structure and the links of the bank's
answer, and without redaction also the same values. If a link points to another recorded request, that request must
get the recorded status, too.

| bank | door | redacted | requests | recorded | answered | rules | lines of YAML | bodies not recorded |
|---|---|---|--:|--:|--:|--:|--:|--:|
"""

_DIALECTS = """\

## As dialects

Each bank is recorded again, with redaction, in the order of a flow and with the consent that the bank has created. A
dialect is derived from this recording and gets the same requests. It creates its own ids, and its consents and
payments have states. A request counts as equal if the answer has the same status, members of the same types, and the
same states and codes.

| bank | derived from | requests | equal | operations recorded | rules as recorded | not learned |
|---|---|--:|--:|--:|--:|--:|
"""


@dataclass(frozen=True, slots=True)
class AsDialect:
    """Figures of the dialect derived from a recording of one bank. `unknown` is what could not be learned."""

    bank: str
    base: str
    requests: int
    alike: int
    operations: int
    rules: int
    unknown: tuple[str, ...]

    @property
    def row(self) -> str:
        cells: list[Any] = [self.bank, f"`{self.base}`", self.requests, self.alike, self.operations, self.rules]
        return f"| {' | '.join(map(str, [*cells, len(self.unknown)]))} |"


@dataclass(frozen=True, slots=True)
class Step:
    """A request and its answer."""

    request: BankRequest
    answer: httpx.Response


@dataclass(frozen=True, slots=True)
class Outcome:
    """Figures of one bank through one door. `losses` describes answers that differ from the recorded ones."""

    bank: str
    door: str
    redacted: bool
    requests: int
    recorded: int
    rules: int
    lines: int
    not_recorded: int
    losses: tuple[str, ...]

    @property
    def answered(self) -> int:
        return self.requests - len({line.partition(":")[0] for line in self.losses})

    @property
    def row(self) -> str:
        cells: list[Any] = [self.bank, self.door, "yes" if self.redacted else "no", self.requests, self.recorded]
        return f"| {' | '.join(map(str, [*cells, self.answered, self.rules, self.lines, self.not_recorded]))} |"


def walk(bank: str, directory: Path) -> Iterator[Outcome]:
    """Record the bank in four ways, stop it, and replay each recording."""
    tapes = {}
    requests = [fitting(mapping["request"]) for _, mapping in mappings(bank)]
    mock = WireMock(directory / "bank")
    with stopping(mock):
        mock.begun()
        settings = {"banks": [{"url": mock.tls_url, "ca": str(mock.ca)}]}
        for door in DOORS:
            for redacted in (True, False):
                mock.load(bank)
                home = directory / f"{door} {redacted}".replace(" ", "-")
                flags = ("--to", str(home / "tape"), *(() if redacted else ("--no-redact",)))
                sandbox = SandboxProcess(home, "record", *flags, settings=settings, confdir=home / "conf")
                with stopping(sandbox):
                    base = at(sandbox, door, mock.tls_url)
                    steps = sent(sandbox, door, base, requests)
                    sandbox.stop()
                if unfit := [step.request for step in steps if was_unmatched(step.answer)]:
                    raise RuntimeError(f"{bank}: WireMock does not match {unfit[0]}")
                tapes[door, redacted] = home, steps, {mock.tls_url, base}
    for (door, redacted), (home, steps, origins) in tapes.items():
        replayed = SandboxProcess(
            home / "replay", "serve", "--cassettes", str(home / "tape" / "cassettes"), confdir=home / "conf"
        )
        with stopping(replayed):
            base = at(replayed, door, mock.tls_url)
            losses = tuple(replay(replayed, door, base, steps, origins, exact=not redacted))
        yield outcome(bank, door, home / "tape", redacted, len(steps), losses)


def sent(sandbox: SandboxProcess, door: str, base: str, requests: Sequence[BankRequest]) -> list[Step]:
    """Send the requests one after the other, and return the answers."""
    with closing(client(sandbox, door)) as app:
        return [Step(request, answer(app, base, request)) for request in requests]


def client(sandbox: SandboxProcess, door: str) -> httpx.Client:
    if door == "base URL":
        return httpx.Client(trust_env=False, timeout=START)
    proxy = sandbox.proxy  # the CA exists when it is listening
    return httpx.Client(
        trust_env=False, timeout=START, proxy=proxy, verify=ssl.create_default_context(cafile=sandbox.ca)
    )


def at(sandbox: SandboxProcess, door: str, bank_url: str) -> str:
    """Return the URL prefix of an app's requests. For the proxy it names the bank."""
    return bank_url if door == "proxy" else f"http://127.0.0.1:{sandbox.direct_port}"


def answer(app: httpx.Client, base: str, request: BankRequest) -> httpx.Response:
    return app.request(request.method, base + request.target, headers=request.headers, content=request.body.encode())


def replay(
    sandbox: SandboxProcess, door: str, base: str, steps: Sequence[Step], origins: Collection[str], *, exact: bool
) -> Iterator[str]:
    """Return the losses: answers that differ from the recorded ones, whose links pointed to one of the `origins`."""
    with closing(client(sandbox, door)) as app:
        for step in backwards(steps):
            again = answer(app, base, step.request)
            place = f"{step.request.method} {step.request.target}"
            before, after = (dict(leaves(response)) for response in (step.answer, again))
            for difference in differences(step.answer, again, origins, base, exact=exact):
                yield f"{place}: {difference}"
            for link in (link for link in before if is_link(before[link]) and link in after):
                if other := next((candidate for candidate in steps if led_to(candidate, before[link], origins)), None):
                    followed = answer(app, "", replace(other.request, target=urljoin(base, after[link])))
                    if followed.status_code != other.answer.status_code:
                        yield f"{place}: {link} leads to a {followed.status_code}"


def backwards(steps: Sequence[Step]) -> list[Step]:
    """Return the steps in reverse order. Repeated requests stay in their own order."""
    turns: dict[BankRequest, list[Step]] = {}
    for step in steps:
        turns.setdefault(step.request, []).append(step)
    return [turns[step.request].pop(0) for step in reversed(steps)]


def led_to(step: Step, link: str, origins: Collection[str]) -> bool:
    """Return whether this is the target of the link."""
    return step.request.method == "GET" and unquote(step.request.target) == unquote(below(link, origins))


def differences(
    recorded: httpx.Response, replayed: httpx.Response, origins: Collection[str], base: str, *, exact: bool
) -> Iterator[str]:
    """Describe the difference in words. If not `exact`, values may differ if they have the same structure."""
    if recorded.status_code != replayed.status_code:
        yield f"{replayed.status_code} instead of {recorded.status_code}"
        return
    if (source := replayed.headers.get("x-sandbox-source")) != "rule":
        yield f"answered by {source}"
    kind, other_kind = (media_type(response.headers.get("content-type")) for response in (recorded, replayed))
    if kind != other_kind:
        yield f"{other_kind} instead of {kind}"
    before, after = (dict(leaves(response)) for response in (recorded, replayed))
    yield from (f"{place} is missing" for place in sorted(before.keys() - after.keys()))
    yield from (f"{place} is new" for place in sorted(after.keys() - before.keys()))
    for place in sorted(before.keys() & after.keys()):
        value, other_value = before[place], after[place]
        if is_link(value) and is_link(other_value):
            value, other_value = below(value, origins), below(other_value, (base,))
            if (value != other_value) if exact else (shape(value) != shape(other_value)):
                yield f"{place} leads elsewhere"
        elif is_link(value):
            yield f"{place} is not a link any more"
        elif (value != other_value) if exact else type(value) is not type(other_value):
            yield f"{place} is another"


def leaves(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    """Return the values of an answer by place: Location, members of JSON, elements of XML, or the whole text."""
    if "location" in response.headers:
        yield "Location", response.headers["location"]
    body = response.content
    media = media_type(response.headers.get("content-type"))
    if media.endswith("json") and body:
        yield from members(json.loads(body), "")
    elif media.endswith("xml") and body:
        yield from elements(etree.fromstring(body, etree.XMLParser(resolve_entities=False)), "")
    else:
        yield "the body", body


def members(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    inner: Mapping[Any, Any] = value if isinstance(value, dict) else {}
    if isinstance(value, list):
        inner = dict(enumerate(value))
    if not inner:
        yield place, value
    for name, member in inner.items():
        yield from members(member, f"{place}/{name}")


def elements(element: etree._Element, place: str) -> Iterator[tuple[str, Any]]:
    yield place, (element.text or "").strip()
    for number, child in enumerate(element):
        yield from elements(child, f"{place}/{child.tag}[{number}]")


def is_link(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("/", "http://", "https://"))


def below(link: str, origins: Collection[str]) -> str:
    """Return the link without the origin of the bank or the sandbox."""
    return next((link.removeprefix(origin) for origin in origins if link.startswith(f"{origin}/")), link)


def shape(link: str) -> tuple[bool, int, tuple[str, ...]]:
    """Return whether it points to another host, the number of path segments, and the names in its query."""
    parts = urlsplit(link)
    names = tuple(pair.partition("=")[0] for pair in parts.query.split("&"))
    return bool(parts.netloc), parts.path.count("/"), names


def outcome(bank: str, door: str, tape: Path, redacted: bool, requests: int, losses: tuple[str, ...]) -> Outcome:
    entries = [entry for file in raw_files(tape) for entry in read_raw(file)]
    bodies = [
        (body, Headers(headers).get("content-type"))
        for entry in entries
        for headers, body in ((entry.headers, entry.body), (entry.answer_headers, entry.answer_body))
    ]
    cassettes = sorted((tape / "cassettes").glob("*.yaml"))
    return Outcome(
        bank,
        door,
        redacted,
        requests,
        recorded=len(entries),
        rules=sum(len(yaml_reader.read(file).value.get("rules", ())) for file in cassettes),
        lines=sum(len(file.read_text().splitlines()) for file in cassettes),
        not_recorded=sum(entry.cut for entry in entries) + sum(len(notes(body, media_type(m))) for body, m in bodies),
        losses=losses,
    )


def as_dialect(bank: str, directory: Path) -> AsDialect:
    """Record a flow at the bank, and derive a dialect from it."""
    mock = WireMock(directory / "bank")
    with stopping(mock):
        mock.begun()
        mock.load(bank)
        settings = {"banks": [{"url": mock.tls_url, "ca": str(mock.ca)}]}
        sandbox = SandboxProcess(
            directory, "record", "--to", str(directory / "tape"), settings=settings, confdir=directory / "conf"
        )
        with stopping(sandbox), closing(client(sandbox, DOORS[1])) as app:
            consent = ""
            for request in journey([fitting(mapping["request"]) for _, mapping in mappings(bank)]):
                headers = tuple(
                    (n, consent if consent and n.lower() == "consent-id" else v) for n, v in request.headers
                )
                response = answer(app, at(sandbox, DOORS[1], mock.tls_url), replace(request, headers=headers))
                made = (
                    response.json()
                    if media_type(response.headers.get("content-type")).endswith("json") and response.content
                    else {}
                )
                consent = made.get("consentId") or consent
            sandbox.stop()
    derived = derive_dialect(bank, read_tape(directory / "tape"), Schemas([bundled("schemas")]))
    value = yaml_reader.parse(derived.files["dialect.yaml"], Path("dialect.yaml")).value
    docs = [change["doc"] for change in value["changes"]["operations"].values()]
    recorded = sum(doc.startswith("Recorded") for doc in docs)
    rules = len(value.get("rules", ()))
    return AsDialect(bank, derived.base, len(derived.rehearsed), derived.alike, recorded, rules, derived.unknown)


def journey(requests: Sequence[BankRequest]) -> list[BankRequest]:
    """Return the requests in the order of an app: creation, then reading, and deletion last."""

    def turn(request: BankRequest) -> tuple[int, int]:
        methods = {"POST": 0 if request.target.endswith("/consents") else 1, "DELETE": 3}
        path = request.target.partition("?")[0]
        return methods.get(request.method, 2), 0 if path.endswith("/status") else path.count("/")

    return sorted(requests, key=turn)


def page(outcomes: Sequence[Outcome], dialects: Sequence[AsDialect]) -> str:
    number = ("No", "One", "Two", "Three", "Four", "Five")[len({outcome.bank for outcome in outcomes})]
    rows = "".join(f"{outcome.row}\n" for outcome in outcomes)
    return _TEXT.format(banks=number) + rows + _DIALECTS + "".join(f"{dialect.row}\n" for dialect in dialects)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.recorded_banks", description="Record and replay banks.")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("banks", nargs="*", metavar="BANK", help=f"only some of {FOLDER}")
    arguments = parser.parse_args()
    if reason := missing():
        print(f"The banks cannot be recorded here: {reason}", file=sys.stderr)
        return 2
    if unknown := set(arguments.banks) - set(BANKS):
        parser.error(f"there is no bank {', '.join(sorted(unknown))}; there are {', '.join(BANKS)}")
    if arguments.write and arguments.banks:
        parser.error("the page is about all banks")
    outcomes: list[Outcome] = []
    dialects: list[AsDialect] = []
    for bank in arguments.banks or BANKS:
        with TemporaryDirectory() as directory:
            for outcome in walk(bank, Path(directory)):
                outcomes.append(outcome)
                print(outcome.row, *(f"  {loss}" for loss in outcome.losses), sep="\n", flush=True)
        with TemporaryDirectory() as directory:
            dialects.append(derived := as_dialect(bank, Path(directory)))
            print(derived.row, *(f"  not learned: {unlearned}" for unlearned in derived.unknown), sep="\n", flush=True)
    if arguments.write:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(page(outcomes, dialects))
    return int(any(outcome.losses or outcome.recorded < outcome.requests for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
