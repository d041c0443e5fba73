import json
from typing import Any

import pytest

from xs2a_sandbox.compare.diff import contrast
from xs2a_sandbox.compare.identifiers import Counterparts
from xs2a_sandbox.compare.masking import Noise
from xs2a_sandbox.http import Response


def answer(body: Any, status: int = 200, **headers: str) -> Response:
    return Response(status, tuple(headers.items()), json.dumps(body).encode())


def left(first: Response, again: Response, sandbox: Response) -> list[tuple[str, str]]:
    """Return the remaining differences if the bank first answers `first` and then `again`."""
    noise = Noise(first, [again])
    differences = contrast(first, sandbox, Counterparts())
    return sorted((d.kind, d.where) for d in differences if noise.reason(d) is None)


@pytest.mark.parametrize(
    ("first", "again", "sandbox", "counts"),
    [
        ({"n": 1}, {"n": 2}, {"n": 3}, []),
        ({"n": 1, "m": 1}, {"n": 2, "m": 1}, {"n": 3, "m": 3}, [("value", "/m")]),
        ({"at": "2026-01-01"}, {"at": "2026-01-02"}, {"at": "soon"}, []),
        # A changed value is noise. A missing value or another type is not.
        ({"n": 1}, {"n": 2}, {}, [("member-missing", "/n")]),
        ({"n": 1}, {"n": 2}, {"n": "3"}, [("type", "/n")]),
        ({"n": "x"}, {"n": None}, {"n": "y"}, []),
        # A member that appears and disappears does not make its neighbours noise.
        ({"a": 1}, {"a": 1, "b": 1}, {"a": 1, "b": 1}, []),
        ({"a": 1, "b": 1}, {"a": 1}, {}, [("member-missing", "/a")]),
        ({"in": {"a": 1, "b": 1}}, {"in": {"a": 1}}, {"in": {"b": 1}}, [("member-missing", "/in/a")]),
        ({"in": {"a": 1}}, {}, {"in": {"a": 2}}, [("value", "/in/a")]),
        (["a", "b"], ["b", "a"], ["b", "a"], []),
        (["a", "b"], ["b", "a"], ["b", "a", "c"], [("length", "")]),
        (["a"], ["a", "b"], ["a", "b", "c"], []),
        (
            [{"iban": "x", "n": 1}],
            [{"iban": "x", "n": 2}],
            [{"iban": "y", "n": 0}, {"iban": "x", "n": 3}],
            [("element-extra", "/0")],
        ),
        ([{"iban": "x"}, {"iban": "y"}], [{"iban": "x"}], [{"iban": "x"}], []),
        ([{"iban": "x"}], [{"iban": "x"}, {"iban": "y"}], [{"iban": "y"}, {"iban": "x"}], []),
        ([{"iban": "x"}], [{"iban": "x"}, {"iban": "y"}], [{"iban": "z"}, {"iban": "x"}], [("element-extra", "/0")]),
    ],
)
def test_values_that_the_bank_changes_between_reads_are_masked_only_there(
    first: Any, again: Any, sandbox: Any, counts: list[tuple[str, str]]
) -> None:
    assert left(answer(first), answer(again), answer(sandbox)) == counts


def test_noise_in_headers_is_masked_individually() -> None:
    first, again = answer({}, ETag="1", Left="3", Node="a"), answer({}, Left="2", New="x")
    sandbox = answer({}, Left="9", New="y", Other="z")
    assert left(first, again, sandbox) == [("header-extra", "header Other")]


def test_a_page_instead_of_json_is_not_noise() -> None:
    page = Response(200, (), b"<h1>maintenance</h1>")
    assert left(answer({"a": 1}), page, page) == [("type", "")]
