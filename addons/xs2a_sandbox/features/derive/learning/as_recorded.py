"""Rules that answer as it was recorded, where no handler can say it, and while the consent is valid."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from xs2a_sandbox.documents.yaml_writer import write_exactly
from xs2a_sandbox.features.derive.infer_match import make_recorded_request, rules
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange
from xs2a_sandbox.features.derive.recorded_answer import LARGE, write_answer
from xs2a_sandbox.features.derive.routes import Routes, slug
from xs2a_sandbox.http import Headers

_CONSENT = "Consent-ID"
_VALID = "state.consents[headers['consent-id']].consentStatus == 'valid'"


@dataclass(frozen=True, slots=True)
class RecordedRule:
    """A rule, and the places of the exchanges whose answers it gives."""

    value: dict[str, Any]
    places: tuple[str, ...]


def as_recorded(exchanges: Sequence[RecognisedExchange], consents: Collection[str]) -> Iterator[RecordedRule]:
    """`consents` are the ids of those that came about in the recording: any other that is valid will do as well."""
    routes = Routes(None)
    groups: defaultdict[str, list[tuple[RecognisedExchange, dict[str, Any], dict[str, str], bool]]] = defaultdict(list)
    for exchange in exchanges:
        if len(exchange.entry.answer_body) > LARGE:
            continue
        guarded = exchange.entry.headers.get(_CONSENT) in consents
        if exchange.operation:
            start, parameters = {"operation": exchange.operation.id}, dict(exchange.parameters)
        else:
            route = routes.find(exchange.entry.method, exchange.entry.target)
            start, parameters = {"method": route.method, "path": route.path}, dict(route.parameters)
        groups[write_exactly([start, guarded])].append((exchange, start, parameters, guarded))
    ids: set[str] = set()
    for ones in groups.values():
        answers = [write_answer(one.entry, {}) for one, *_ in ones]
        requests = [
            make_recorded_request(
                number,
                parameters,
                one.entry.target,
                _headers(one, guarded),
                one.entry.body,
                write_exactly(answer),
                day=one.entry.time.astimezone(UTC).date(),
            )
            for number, ((one, _, parameters, guarded), answer) in enumerate(zip(ones, answers, strict=True))
        ]
        for made, positions, _ in rules(ones[0][1], requests, answers, {}):
            first, start, _, guarded = ones[positions[0]]
            name = slug(start.get("operation") or f"{start['method']} {start['path']}")
            id = next(id for n in range(1, len(exchanges) + 2) if (id := f"recorded-{name}-{n}") not in ids)
            ids.add(id)
            if first.operation:
                del made["require"]  # what the operation asks of a request it still does
            if guarded:
                made["match"]["when"] = _VALID
            doc = f"Recorded {first.entry.time:%Y-%m-%d}: as it was answered, whatever has happened since."
            places = tuple(ones[position][0].place for position in positions)
            yield RecordedRule({"id": id, "doc": doc, **made}, places)


def _headers(exchange: RecognisedExchange, guarded: bool) -> Headers:
    return Headers(pair for pair in exchange.entry.headers if not (guarded and pair[0].lower() == _CONSENT.lower()))
