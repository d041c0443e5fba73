"""Attack with expensive expressions: the sandbox must still answer other requests, and stop on a signal."""

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import requests
import yaml

from tests.support.doors import START
from tests.support.serving import Serving, served

AT_ONCE = 2
HEALTHY = 15.0
"""Seconds for the health check of a busy sandbox on a busy machine. Each of the expensive answers may take a second."""
STOPPED = 30.0
"""Seconds for the sandbox to stop."""
ROOM = 900_000
"""Bytes of a body, just below the limit."""

_REPEATED = re.compile(r"\$\{(\d+)([,.]) ([^}]*)\}")
_MEMBERS: Mapping[str, Callable[[int], Any]] = {
    "numbers": lambda room: list(range(room // 7)),
    "text": lambda room: "a" * room,
    "texts": lambda room: [f"x{number}" for number in range(room // 9)],
    "nested": lambda room: [{"a": {"b": number}} for number in range(room // 19)],
    "lists": lambda room: [[number] for number in range(room // 9)],
}


@dataclass(frozen=True, slots=True)
class Expression:
    """`says` is part of the expected reason of the failure."""

    number: int
    text: str
    says: str

    def __str__(self) -> str:
        return self.text[:80]

    @property
    def body(self) -> dict[str, Any]:
        """Return a body with the members that the expression uses, as large as a request may be."""
        names = set(re.findall(r"body\.(\w+)", self.text))
        return {name: _MEMBERS[name](ROOM // len(names)) for name in sorted(names)}


def expressions() -> list[Expression]:
    groups = yaml.safe_load((Path(__file__).parent / "expressions.yaml").read_text())["expressions"]
    pairs = [(_repeated(text), group["says"]) for group in groups for text in group["values"]]
    return [Expression(number, text, says) for number, (text, says) in enumerate(pairs)]


def withstood(every: Sequence[Expression], directory: Path) -> Iterator[str]:
    """Yield the failures."""
    cases = directory / "cases"
    cases.mkdir(parents=True)
    rules = [{"id": f"e{one.number}", "match": {"path": _path(one)}, "respond": _respond(one)} for one in every]
    (cases / "case.yaml").write_text(yaml.safe_dump({"cassette": 1, "rules": rules}, width=1_000_000))
    over = Event()
    with (
        served(directory, "--cassettes", str(cases), "--log-format", "json") as serving,
        ThreadPoolExecutor(AT_ONCE + 1) as pool,
    ):
        try:
            health = pool.submit(_health, serving, over)
            answers = list(pool.map(lambda one: _ask(serving, one), every))
        finally:
            over.set()
        for one, status in zip(every, answers, strict=True):
            reason = (status and serving.entry(f'"path": "{_path(one)}"')["reason"]) or ""
            if status != 500 or one.says not in reason:
                yield f"{one} is answered {status}: {reason[:300]}"
        if (slowest := health.result()) > HEALTHY:
            yield f"its health took {slowest:.1f} s"
        yield from _stopped(serving, every, pool)


def _stopped(serving: Serving, every: Sequence[Expression], pool: ThreadPoolExecutor) -> Iterator[str]:
    """Return the error if the sandbox does not stop during further requests of the same kind."""
    over = Event()
    for _ in range(AT_ONCE):
        pool.submit(_keep_asking, serving, every[0], over)
    try:
        began = monotonic()
        try:
            ended = serving.stop(signal.SIGTERM)
        except subprocess.TimeoutExpired:
            yield "SIGTERM does not end it"
            return
        if ended != 0 or (took := monotonic() - began) > STOPPED:
            yield f"it ends with {ended}" if ended else f"it took {took:.1f} s to end"
    finally:
        over.set()


def _health(serving: Serving, over: Event) -> float:
    """Return the longest response time during the check."""
    slowest = 0.0
    while not over.wait(0.05):
        began = monotonic()
        try:
            with requests.Session() as session:
                session.trust_env = False
                session.get(f"{serving.direct}/_sandbox/health", timeout=START).raise_for_status()
        except requests.RequestException:
            return float("inf")
        slowest = max(slowest, monotonic() - began)
    return slowest


def _ask(serving: Serving, one: Expression) -> int:
    """Return the status, or 0 without an answer."""
    with requests.Session() as session:
        session.trust_env = False
        headers = {"Content-Type": "application/json"}
        written = json.dumps(one.body, separators=(",", ":"))
        try:
            answer = session.post(f"{serving.direct}{_path(one)}", data=written, headers=headers, timeout=START)
        except requests.RequestException:
            return 0
    return answer.status_code


def _keep_asking(serving: Serving, one: Expression, over: Event) -> None:
    while not over.is_set() and _ask(serving, one):
        continue


def _path(one: Expression) -> str:
    return f"/expressions/{one.number}"


def _respond(one: Expression) -> dict[str, str]:
    return {"text": f"{{{{ {one.text} }}}}"}


def _repeated(text: str) -> str:
    return _REPEATED.sub(lambda match: match[2].join([match[3]] * int(match[1])), text)
