"""Check whether a cassette depends on the value of X-Request-ID, or only on its format."""

from typing import Any

import pytest

from xs2a_sandbox.bank.handlers.table import HANDLERS
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import request_ids
from xs2a_sandbox.cassette.dialect.layers import keep_for_reads
from xs2a_sandbox.documents import yaml_reader


@pytest.mark.parametrize(
    "written",
    [
        {"require": {"headers": {"X-Request-ID": {"format": "uuid"}}}},
        {"every_answer": {"headers": {"x-request-id": "{{ headers['x-request-id'] }}"}}},
        {"every_answer": {"headers": {"X-Request-ID": "{{ headers['x-request-id'] or uuid() }}"}}},
        {"doc": "all headers and X-Request-ID {{ headers }}"},
        {"examples": [{"request": {"headers": {"X-Request-ID": "no"}}}]},
        {"when": "headers['psu-id'] == 'x' and headers.accept"},
        {"respond": {"body": "the headers of each X"}},
    ],
)
def test_using_only_the_format_and_the_echo_does_not_count(written: Any) -> None:
    assert not request_ids.heeds(written)


@pytest.mark.parametrize(
    "written",
    [
        {"match": {"headers": {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}}},
        {"match": {"headers": {"x-request-id": {"regex": "^a"}}}},
        {"match": {"headers": {"X-Request-ID": {"not": {"format": "uuid"}}}}},
        {"when": "headers['x-request-id'] > 'a'"},
        {"when": "headers | length > 3"},
        {"when": "headers['x-request' ~ '-id'] > 'a'"},
        {"when": r"headers['x\x2drequest-id'] > 'a'"},
        {"respond": {"body": "{{ headers }}"}},
        {"respond": {"headers": {"X-Request-ID": "{{ headers['x-request-id'] | upper }}"}}},
        {"respond": {"headers": {"X-Trace": "{{ headers['x-request-id'] }}"}}},
        {"rules": [{"effects": [{"set": "state.seen['{{ headers[\"x-request-id\"] }}']", "to": {}}]}]},
    ],
)
def test_any_other_use_counts(written: Any) -> None:
    assert request_ids.heeds(written)


def test_no_handler_reads_the_request_id() -> None:
    reads = {str(part) for handler in HANDLERS.values() for part in handler.deeds.reads}
    assert f"headers.{request_ids.NAME}" not in reads


@pytest.mark.parametrize("dialect", ["xs2a-1.84", "berlin-group-1.3"])
def test_the_bundled_dialects_do_not_depend_on_it(dialect: str) -> None:
    folder = bundled("cassettes") / dialect
    for file in folder.glob("*.yaml"):
        assert not request_ids.heeds(keep_for_reads(yaml_reader.read(file, folder=folder).value)), file
