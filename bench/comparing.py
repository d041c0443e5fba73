"""The cost of comparing a recording, relative to reading it."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from time import process_time
from typing import Any
from urllib.parse import parse_qsl

from table import Row

from engine import answered, engine, requests
from xs2a_sandbox.compare.comparison import Comparison, Step
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.exchange import Exchange

MOST = 10.0
COUNT = 1000
_CHANGED = 3
"""One of this many answers of the bank differs from the sandbox's."""


@dataclass(frozen=True, slots=True)
class _Taken:
    request: Request
    response: Response


def rows(rounds: int, count: int = COUNT) -> list[Row]:
    with engine() as bank:
        taken = asyncio.run(_taken(bank))
        lines = [_line(taken[n % len(taken)], n) for n in range(count)]
        reading = min(_timed(lambda: [_read(line) for line in lines]) for _ in range(rounds))
        entries = [_read(line) for line in lines]
        steps = [Step("", Request(e.method, e.target, e.headers, e.body), e) for e in entries]

        def compare() -> None:
            comparison = Comparison(bank.interface, bank.schemas, bank.answer, None)
            result = asyncio.run(comparison.play(steps))
            if any(one.trouble for one in result.compared) or not any(one.differences for one in result.compared):
                raise ValueError("nothing was compared")

        comparing = min(_timed(compare) for _ in range(rounds))

    against = f"reading them, {reading * 1000:.0f} ms"
    what = f"comparing {count:,} recorded exchanges, the sandbox's answers included"
    return [Row(what, f"{comparing * 1000:.0f} ms", against, comparing / reading, greatest=MOST)]


async def _taken(bank: Any) -> Sequence[_Taken]:
    return [
        _Taken(request, await answered(bank, request)) for request in requests(bank).values() if request.method == "GET"
    ]


def _line(taken: _Taken, number: int) -> str:
    """Return an exchange as a line of a recording. Some values differ from the sandbox's."""
    body = taken.response.body.decode()
    if number % _CHANGED == 0:
        value = json.loads(body)
        value["extra"] = number
        body = json.dumps(value).replace('"EUR"', '"CHF"', 1)

    def named(headers: Headers) -> list[dict[str, str]]:
        return [{"name": name, "value": value} for name, value in headers]

    path, _, query = taken.request.target.partition("?")
    version = {"httpVersion": "HTTP/1.1", "cookies": [], "headersSize": -1, "bodySize": -1}
    return json.dumps(
        {
            "startedDateTime": "2026-11-21T10:00:00.000+00:00",
            "time": 1.5,
            "request": {
                "method": taken.request.method,
                "url": f"https://bank.example{path}?{query}",
                "headers": named(taken.request.headers),
                "queryString": [{"name": name, "value": value} for name, value in parse_qsl(query)],
                **version,
            },
            "response": {
                "status": taken.response.status,
                "statusText": "OK",
                "headers": named(Headers(taken.response.headers)),
                "content": {"size": len(body), "mimeType": "application/json", "text": body},
                "redirectURL": "",
                **version,
            },
            "cache": {},
            "timings": {"send": 0, "wait": 1.5, "receive": 0},
            "_bank": "https://bank.example",
            "_target": taken.request.target,
        }
    )


def _read(line: str) -> Exchange:
    """Parse the line and the JSON in it. Every program that uses the answer must do this."""
    value = json.loads(line)
    request, response = value["request"], value["response"]
    text = response["content"]["text"]
    json.loads(text)
    return Exchange(
        datetime.fromisoformat(value["startedDateTime"]),
        value["time"],
        value["_bank"],
        request["method"],
        value["_target"],
        _headers(request),
        b"",
        response["status"],
        _headers(response),
        text.encode(),
    )


def _headers(message: dict[str, Any]) -> Headers:
    return Headers((header["name"], header["value"]) for header in message["headers"])


def _timed(work: Any) -> float:
    started = process_time()
    work()
    return process_time() - started
