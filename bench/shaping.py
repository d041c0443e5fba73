"""The cost of shapes in a long list, compared with entries that are stored in the format of the dialect."""

import gc
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

from table import Row

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect.shapes import SHAPE_ROOTS
from xs2a_sandbox.cassette.evaluation.expressions import RESULT_ROOTS, SHAPES, Scope, compile_value
from xs2a_sandbox.cassette.evaluation.shapes import compile_shapes
from xs2a_sandbox.cassette.evaluation.work import WORK, Work
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.http import to_json

MOST = 1.0
"""Maximum ratio to the time of the same list with entries in the format of the dialect and `nulls: fill`."""
LEAST_FASTER = 1.5
"""Minimum ratio of the time of `each` and `give`."""

_MEMBERS = {
    "transactionId": "id",
    "entryReference": "reference",
    "endToEndId": "end_to_end_id",
    "mandateId": "mandate",
    "checkId": None,
    "bookingDate": "booked_on",
    "valueDate": "value_on",
    "transactionAmount": {"currency": "amount.currency", "amount": "amount.amount"},
    "currencyExchange": None,
    "creditorName": "counterparty.name",
    "creditorAccount": {"iban": "counterparty.account.value", **dict.fromkeys(("bban", "pan", "maskedPan", "msisdn"))},
    "creditorAgent": None,
    "debtorAgent": None,
    "ultimateCreditor": None,
    "ultimateDebtor": None,
    "remittanceInformationUnstructuredArray": "remittance.lines",
    "remittanceInformationStructured": None,
    "remittanceInformationStructuredArray": None,
    "additionalInformation": "text",
    "additionalInformationStructured": None,
    "purposeCode": None,
    "proprietaryBankTransactionCode": None,
    "balanceAfterTransaction": None,
    "bankTransactionCode": "code",
    "_links": None,
}
"""Members of an entry as in the dialect xs2a-1.84, with their names in the bank."""


def rows(counts: Sequence[int], rounds: int) -> list[Row]:
    """Return JSON of all entries with nulls: shaped, and stored in the format of the dialect."""
    schema = Schemas([bundled("schemas")])["transactions"]
    shapes = compile_shapes({"entry": _template("it")}, SHAPE_ROOTS, _mistaken)
    shape = compile_value({"each": "{{ result }}", "shape": "entry"}, RESULT_ROOTS, _mistaken)
    give = compile_value({"each": "{{ result }}", "give": _template("entry")}, RESULT_ROOTS, _mistaken)
    table: list[Row] = []
    for count in counts:
        kept = [_kept(number) for number in range(count)]
        said = [_without_nulls(entry) for entry in shape({"result": kept, SHAPES: shapes})]
        gc.collect()
        gc.freeze()

        def scope(kept: Any = kept) -> Scope:
            return {"result": kept, SHAPES: shapes, WORK: Work()}

        ways: list[Callable[[], Any]] = [
            lambda said=said: schema.fill({"transactions": {"booked": said}}),
            lambda scope=scope: {"transactions": {"booked": shape(scope())}},
            lambda scope=scope: {"transactions": {"booked": give(scope())}},
        ]
        filled, shaped, given = (1e6 * seconds / count for seconds in _least(ways, rounds))
        gc.unfreeze()
        table += [
            Row(
                f"{count:,} entries shaped, with their JSON",
                f"{shaped:.2f} µs an entry",
                f"filled with null, {filled:.2f} µs",
                shaped / filled,
                greatest=MOST,
            ),
            Row(
                f"{count:,} entries by each and give, with their JSON",
                f"{given:.2f} µs an entry",
                "shaped",
                given / shaped,
                least=LEAST_FASTER,
            ),
        ]
    return table


def _least(ways: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """Return the CPU time in seconds of each variant with its JSON, measured in turn."""
    least = [float("inf")] * len(ways)
    for _ in range(rounds):
        for number, way in enumerate(ways):
            started = process_time()
            to_json(way())
            least[number] = min(least[number], process_time() - started)
    return least


def _template(root: str, members: Any = _MEMBERS) -> Any:
    if isinstance(members, dict):
        return {name: _template(root, inner) for name, inner in members.items()}
    return None if members is None else f"{{{{ {root}.{members} }}}}"


def _kept(number: int) -> dict[str, Any]:
    return {
        "id": f"G-{number}",
        "reference": f"R-{number}",
        "status": "BOOK",
        "booked_on": "2026-11-21",
        "value_on": "2026-11-21",
        "amount": {"amount": "-12.34", "currency": "EUR"},
        "counterparty": {"name": "Bäckerei Morgenrot", "account": {"scheme": "IBAN", "value": "AT051988000099000011"}},
        "end_to_end_id": f"E-{number}",
        "remittance": {"lines": ["Frühstück"]},
        "code": "PMNT",
        "text": "Danke",
    }


def _without_nulls(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _without_nulls(value) if isinstance(value, dict) else value
        for name, value in entry.items()
        if value is not None
    }


def _mistaken(*mistake: Any) -> None:
    raise ValueError(mistake)
