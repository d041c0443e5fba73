"""The cost of finding the matching rule among many on the same path."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import process_time

from table import Point, Row

from engine import HEADERS, answered, engine, quickest
from xs2a_sandbox.cassette.index import Index, Parameters, Values, candidates
from xs2a_sandbox.cassette.matchers import RequestPart
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.http import Headers, Request, to_json

MOST_GROWTH = 1.05
PATH = "/v1/consents/{id}/bench"

_RULE = """\
  - id: {id}
    match: {{method: POST, path: "{path}", {part}: {{{name}: {value}}}}}
    respond: {{text: "{id}"}}
"""


@dataclass(frozen=True, slots=True)
class CrowdedPath:
    """A bank with `count` rules on one path. The request matches the last one."""

    count: int
    engine: Engine
    index: Index
    request: Request
    sent: dict[RequestPart, tuple[str, ...]]

    def look(self) -> str:
        """Find the rule like the engine does, without other work."""

        def values(parameters: Parameters) -> Values:
            return lambda place: self.sent.get(place, ())

        found = self.index.find("POST", ("v1", "consents", "4711", "bench"))
        for rule, _ in candidates(found, values):
            if all(c.fits(self.sent.get(c.place, ())) for c in rule.constraints):
                return rule.id
        raise LookupError("no rule was found")


@contextmanager
def bank(count: int) -> Iterator[CrowdedPath]:
    """Return rules of which half differ by a header and half by a member of the body.

    Each is in its own layer, because otherwise they would be ambiguous.
    """
    with tempfile.TemporaryDirectory() as directory:
        layers = []
        for part, name in (("headers", "X-Case"), ("body", "/case")):
            layer = Path(directory, part)
            layer.mkdir()
            rules = (
                _RULE.format(id=f"{part}-{n}", path=PATH, part=part, name=name, value=f"case-{n}")
                for n in range(count // 2)
            )
            (layer / "rules.yaml").write_text("cassette: 1\ntitle: Bench\nrules:\n" + "".join(rules))
            layers.append(layer)
        last = f"case-{count // 2 - 1}"
        with engine(cassettes=layers) as built:
            request = Request(
                "POST",
                PATH.replace("{id}", "4711"),
                Headers((*HEADERS, ("Content-Type", "application/json"), ("X-Case", last))),
                to_json({"case": "of no rule"}),
            )
            sent = {RequestPart("headers", "x-case"): (last,), RequestPart("body", "/case"): ("of no rule",)}
            yield CrowdedPath(count, built, Index(built.interface), request, sent)


def rows(counts: tuple[int, ...], rounds: int, calls: int) -> list[Row]:
    """Measure the banks in turn, so that a busy moment of the machine does not affect only one of them."""
    with ExitStack() as stack:
        banks = [stack.enter_context(bank(count)) for count in counts]
        alone = dict.fromkeys(counts, float("inf"))
        whole = dict.fromkeys(counts, float("inf"))
        for _ in range(rounds):
            for one in banks:
                alone[one.count] = min(alone[one.count], quickest(one.look, 1, 4 * calls))
                whole[one.count] = min(whole[one.count], asyncio.run(_whole(one, calls)))
    return [*_table("matching alone", alone), *_table("matching and the rest of the answer", whole)]


async def _whole(bank: CrowdedPath, calls: int) -> float:
    response = await answered(bank.engine, bank.request)
    if response.body.decode() != bank.look():
        raise ValueError(f"another rule answered: {response.body!r}")
    started = process_time()
    for _ in range(calls):
        await bank.engine.answer(bank.request)
    return (process_time() - started) / calls * 1e6


def _table(what: str, costs: dict[int, float]) -> Iterator[Row]:
    least, *_, most = costs
    for count, cost in costs.items():
        ratio = None if count == least else cost / costs[least]
        greatest = MOST_GROWTH if count == most else None
        against = "" if ratio is None else f"{least:,} rules"
        point = Point(f"rules, {what}", count, cost)
        yield Row(f"{what}, {count:,} rules", f"{cost:.1f} µs", against, ratio, greatest=greatest, point=point)
