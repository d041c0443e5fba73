"""Makes rules that answer as recorded while the consent is valid, for answers that no handler can give."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any

from xs2a_sandbox.cassette.inputs import InputPlace
from xs2a_sandbox.documents.yaml_writer import write_exactly
from xs2a_sandbox.features.derive.infer_match import RecordedRequest, make_recorded_request, rules
from xs2a_sandbox.features.derive.learning.changes import expression_of, name_sent
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange
from xs2a_sandbox.features.derive.recorded_answer import LARGE, write_answer
from xs2a_sandbox.features.derive.routes import Routes, slug
from xs2a_sandbox.features.derive.telling_headers import telling_headers


@dataclass(frozen=True, slots=True)
class RecordedRule:
    """A rule, and the places of the exchanges whose answers it gives."""

    value: dict[str, Any]
    places: tuple[str, ...]


def as_recorded(exchanges: Sequence[RecognisedExchange], consents: Collection[str]) -> Iterator[RecordedRule]:
    """Yield rules. `consents` are the ids of consents created in the recording; other valid consents work as well."""
    routes = Routes(None)
    groups: defaultdict[str, list[tuple[RecognisedExchange, dict[str, Any], dict[str, str], str]]] = defaultdict(list)
    telling = telling_headers(exchanges[0].interface if exchanges else None)
    for exchange in exchanges:
        if len(exchange.entry.answer_body) > LARGE:
            continue
        guard = _find_guard(exchange, consents)
        opened_by = expression_of(guard) if guard else ""
        if exchange.operation:
            start, parameters = {"operation": exchange.operation.id}, dict(exchange.parameters)
        else:
            route = routes.find(exchange.entry.method, exchange.entry.target)
            start, parameters = {"method": route.method, "path": route.path}, dict(route.parameters)
        groups[write_exactly([start, opened_by])].append((exchange, start, parameters, opened_by))
    ids: set[str] = set()
    for ones in groups.values():
        answers = [write_answer(one.entry, {}) for one, *_ in ones]
        requests = [
            _without(
                _find_guard(one, consents),
                make_recorded_request(
                    number,
                    parameters,
                    one.entry.target,
                    one.entry.headers,
                    one.entry.body,
                    write_exactly(answer),
                    telling,
                    day=one.entry.time.astimezone(UTC).date(),
                ),
            )
            for number, ((one, _, parameters, _), answer) in enumerate(zip(ones, answers, strict=True))
        ]
        for made, positions, _ in rules(ones[0][1], requests, answers, {}, telling):
            first, start, _, opened_by = ones[positions[0]]
            name = slug(start.get("operation") or f"{start['method']} {start['path']}")
            id = next(id for n in range(1, len(exchanges) + 2) if (id := f"recorded-{name}-{n}") not in ids)
            ids.add(id)
            if first.operation:
                del made["require"]  # the operation still requires the same of a request
            if opened_by:
                made["match"]["when"] = f"state.consents[{opened_by}].status == 'authorised'"
            doc = f"Recorded {first.entry.time:%Y-%m-%d}: the answer does not depend on state."
            places = tuple(ones[position][0].place for position in positions)
            yield RecordedRule({"id": id, "doc": doc, **made}, places)


def _find_guard(exchange: RecognisedExchange, consents: Collection[str]) -> InputPlace | None:
    """Return the place in the request with one of these consents, which gives access to the request's subject."""
    if exchange.does and "consent" in exchange.does.about:
        return None
    return next((place for place, id in name_sent(exchange, "consent") if id in consents), None)


def _without(place: InputPlace | None, request: RecordedRequest) -> RecordedRequest:
    """Return the request without the value at this place."""
    if place is None:
        return request
    return replace(request, places={part: values for part, values in request.places.items() if part != place.part})
