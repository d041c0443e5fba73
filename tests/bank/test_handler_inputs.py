"""The bank reads all inputs of a handler at once."""

import asyncio
from collections.abc import Collection
from typing import Any

import pytest

from tests.support.engine_client import an_engine
from xs2a_sandbox.cassette.inputs import Inputs, Readable
from xs2a_sandbox.http import Headers, Request


def test_the_inputs_of_an_operation_are_read_by_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    read, asked = Inputs.read, list[str]()

    def note(inputs: Inputs, handler: str, names: Collection[str], call: Readable) -> dict[str, Any]:
        asked.append(handler)
        return read(inputs, handler, names, call)

    monkeypatch.setattr(Inputs, "read", note)
    engine = an_engine()
    ids = (("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"),)
    asyncio.run(engine.answer(Request("GET", "/v1/consents/unknown/status", Headers(ids))))

    assert asked == ["consents.status"]
