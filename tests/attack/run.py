"""Run the attack against a real `serve` in every mode, and print the failures.

python -m tests.attack.run [--quick]
"""

import re
import socket
import ssl
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.attack import expressions, imports, surroundings
from tests.support.far_bank import FarBank, ok
from tests.support.roads import ENGINES
from tests.support.serving import Serving, served

MODES = ("simulate", "spy", "record", "compare")
ROADS = ("plain", "tunnel", "tls", "direct")
CANARY = "canary-7f3a"
PATIENCE = 1.5
"""Seconds to wait for an answer, even if none is expected: an incomplete request is never answered."""
LIMIT = 60.0
"""Seconds for an answer that must arrive. Only a sandbox that does not answer takes so long."""
AT_ONCE = 8

_PLACEHOLDER = re.compile(r"\$\{(\w+)((?: [^${}]*)?)\}")


@dataclass(frozen=True, slots=True)
class Case:
    """`value` distinguishes the case from others of its family."""

    family: str
    number: int
    send: str
    value: str
    roads: tuple[str, ...]
    may_reach_bank: bool
    answers: frozenset[str]

    def __str__(self) -> str:
        return f"{self.family}[{self.value!r}]"


@dataclass(frozen=True, slots=True)
class Broken:
    """A failed check."""

    mode: str
    what: str


def cases() -> list[Case]:
    families = yaml.safe_load((Path(__file__).parent / "requests.yaml").read_text())["families"]
    numbered = ((family, value) for family in families for value in family["values"])
    return [
        Case(
            family["id"],
            number,
            family["send"],
            str(value),
            tuple(family.get("roads", ROADS)),
            family["bank"] == "may",
            frozenset(map(str, family["answers"])),
        )
        for number, (family, value) in enumerate(numbered)
    ]


def first_of_each(every: Sequence[Case]) -> list[Case]:
    """Return one case of each family."""
    return list({case.family: case for case in reversed(every)}.values())


@dataclass
class Target:
    """A `serve` in one mode, and its bank."""

    mode: str
    serving: Serving
    bank: FarBank
    directory: Path

    def exchange(self, case: Case, road: str) -> str:
        """Return the class of the answer's status, or `none`."""
        url = urlsplit({"tls": self.serving.tls, "direct": self.serving.direct}.get(road, self.serving.proxy))
        bank = f"127.0.0.1:{self.bank.port}"
        sent = self.written(case, road, bank, f"127.0.0.1:{url.port}").encode("latin-1")
        with ExitStack() as stack:
            raw: Any = stack.enter_context(socket.create_connection(("127.0.0.1", url.port), timeout=LIMIT))
            if road == "tunnel":
                host = re.search(r"\r\nHost: ([^\r\n]*)", sent.decode("latin-1"))
                there = case.value if case.family in ("other-hosts", "nearly-the-bank") and host else bank
                there = self.filled(there, case, bank, bank, road)
                there = there if re.search(r":\d+$", there) else f"{there}:80"
                raw.sendall(f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n\r\n".encode())
                if b" 200 " not in raw.recv(65536):
                    return "4"
            if road == "tls":
                raw = stack.enter_context(_trusting(self.serving.ca_file).wrap_socket(raw, server_hostname="127.0.0.1"))
            raw.settimeout(PATIENCE if "none" in case.answers else LIMIT)
            try:
                raw.sendall(sent)
                answer = _read(raw)
            except (ConnectionError, ssl.SSLError, TimeoutError):
                return "none"
        final = re.sub(rb"\A(HTTP/1\.1 1\d\d[^\r\n]*\r\n\r\n)+", b"", answer)
        match = re.match(rb"HTTP/\d(?:\.\d)? (\d)\d\d", final)
        return match[1].decode() if match else "none"

    def written(self, case: Case, road: str, bank: str, door: str) -> str:
        return self.filled(case.send, case, bank, bank if road in ("plain", "tunnel") else door, road)

    def filled(self, text: str, case: Case, bank: str, host: str, road: str) -> str:
        canary = f"{CANARY}-{case.number}-end"
        values = {
            "x": case.value,
            "bank": bank,
            "host": host,
            "canary": canary,
            "token": self.serving.token,
            "secret": f"X-Case: {case.number}\r\nAuthorization: Bearer {canary}\r\n",
            "page": "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n",
            "close": "Connection: close\r\n\r\n",
        }

        def fill(match: re.Match[str]) -> str:
            name, rest = match[1], match[2].removeprefix(" ")
            if name == "url":
                if not rest.startswith("/"):  # a separate host
                    rest, slash, path = rest.partition("/")
                    return f"http://{rest}{slash}{path}" if road == "plain" else slash + path
                return f"http://{host}{rest}" if road == "plain" else rest
            if name == "times":
                count, header = rest.split(" ", 1)
                if header.endswith(": "):
                    return f"{header}{'a' * int(count)}\r\n"
                return "".join(f"X-{n}: {header}\r\n" for n in range(int(count)))
            return values[name]

        while _PLACEHOLDER.search(text):
            text = _PLACEHOLDER.sub(fill, text)
        return text

    def is_healthy(self) -> bool:
        port = urlsplit(self.serving.direct).port
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as raw:
            raw.sendall(b"GET /_sandbox/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return _read(raw).startswith(b"HTTP/1.1 200")

    def leaks(self, every: Sequence[Case]) -> Iterator[str]:
        """Yield the places where canaries leaked. The sandbox must have ended."""
        by_number = {str(case.number): case for case in every}
        places = {"the bank": b"".join(self.bank.seen), "the log": self.serving.output.encode()}
        places |= {str(file): file.read_bytes() for file in (self.directory / "rec").rglob("*") if file.is_file()}
        for place, content in places.items():
            for number in sorted(set(re.findall(rf"{CANARY}-(\d+)-end".encode(), content))):
                yield f"a canary of {by_number[number.decode()]} is in {place}"
            if self.serving.token.encode() in content:
                yield f"the admin token is in {place}"
        if self.mode == "simulate" and self.bank.connections:
            yield f"{self.bank.connections} connections to the bank"


@contextmanager
def target(mode: str, directory: Path, engine: str = "auto") -> Iterator[Target]:
    with FarBank(ok(b'{"from": "the bank"}', b"Content-Type: application/json")) as bank:
        flags = ("--mode", mode, "--bank", bank.url, "--to", str(directory / "rec"), "--log-format", "json")
        more = ("--forward-host", "login.invalid", "--proxy-engine", engine)
        with served(directory, *flags, *more) as serving:
            yield Target(mode, serving, bank, directory)


def attack(mode: str, every: Sequence[Case], directory: Path, engine: str) -> tuple[int, list[Broken]]:
    """Return the number of exchanges, and the failures."""
    broken: list[str] = []
    with target(mode, directory, engine) as attacked, ThreadPoolExecutor(AT_ONCE) as pool:
        sent = [(case, road) for case in every for road in case.roads]
        results = pool.map(lambda one: attacked.exchange(*one), sent)
        for (case, road), answer in zip(sent, results, strict=True):
            if answer not in case.answers:
                broken.append(f"{case} on the road {road} is answered {answer}, not {'/'.join(sorted(case.answers))}")
        if not attacked.is_healthy():
            broken.append("the sandbox is not healthy any more")
        if attacked.serving.stop() != 0:
            broken.append(f"the sandbox did not end well: {attacked.serving.warnings[-2000:]}")
        if "Traceback" in attacked.serving.output:
            broken.append(f"a traceback: {attacked.serving.warnings[-3000:]}")
        broken += attacked.leaks(every)
    return len(sent), [Broken(f"{mode} through {engine}", what) for what in broken]


def _trusting(ca_file: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(ca_file)
    return context


def _read(raw: Any) -> bytes:
    received = b""
    try:
        while chunk := raw.recv(65536):
            received += chunk
    except (TimeoutError, ConnectionError, ssl.SSLError):
        pass
    return received


def main(words: Sequence[str]) -> int:
    every = first_of_each(cases()) if "--quick" in words else cases()
    print(f"{len(every)} cases")
    exchanges, broken, began = 0, [], monotonic()
    for mode, engine in product(MODES, ENGINES):
        with TemporaryDirectory() as directory:
            count, complaints = attack(mode, every, Path(directory), engine)
        exchanges += count
        broken += complaints
        print(f"{mode} through {engine}: {count} exchanges, {len(complaints)} did not hold")
    if "--quick" not in words:
        broken += _surroundings()
    for one in broken:
        print(f"{one.mode}: {one.what}")
    held = dict(Counter(one.mode for one in broken)) or "all held"
    print(f"{exchanges} exchanges in {monotonic() - began:.0f} s, {held}")
    return 1 if broken else 0


def _surroundings() -> Iterator[Broken]:
    attacks: list[tuple[str, Callable[[Any, Path], Iterator[str]], Sequence[Any]]] = [
        ("environments", surroundings.used_variables, surroundings.environments()),
        ("cassettes", surroundings.accepted, surroundings.cassettes()),
        ("imports", imports.refused, list(imports.HOSTILE)),
    ]
    for name, attacked, every in attacks:
        count = 0
        for one in every:
            with TemporaryDirectory() as directory:
                for what in attacked(one, Path(directory)):
                    count += 1
                    yield Broken(name, f"{one}: {what}")
        print(f"{len(every)} {name}, {count} did not hold")
    busy = expressions.expressions()
    with TemporaryDirectory() as directory:
        broken = list(expressions.withstood(busy, Path(directory)))
    print(f"{len(busy)} expressions, {len(broken)} did not hold")
    yield from (Broken("expressions", what) for what in broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
