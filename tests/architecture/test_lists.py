"""Lists of the same things match. The tests name the places where a new entry is missing."""

import json
import re
from pathlib import Path

import pytest

from xs2a_sandbox.cassette.body_faults import BODY_FAULTS
from xs2a_sandbox.cassette.fault import FAULT_TEXTS
from xs2a_sandbox.config.checks import CHECK_NAMES
from xs2a_sandbox.config.modes import MODES
from xs2a_sandbox.config.readers import REPORTS
from xs2a_sandbox.features.campaign.plan import _CONTENT
from xs2a_sandbox.features.compare.reports.files import WRITERS
from xs2a_sandbox.features.console.faults import FAULTS

ROOT = Path(__file__).resolve().parents[2]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def test_all_lists_of_faults_match() -> None:
    schema = json.dumps(json.loads((ROOT / "schemas/cassette.schema.json").read_text()))
    enums = [set(json.loads(found)) for found in re.findall(r'\["reset"[^\]]*\]', schema)]
    assert enums
    assert all(enum == set(FAULTS) for enum in enums)
    assert set(FAULT_TEXTS) == set(FAULTS)
    assert set(FAULTS) >= BODY_FAULTS
    assert set(_CONTENT) == BODY_FAULTS


@pytest.mark.parametrize("name", ["answers.md", "control.md"])
def test_every_fault_is_on_its_page(name: str) -> None:
    assert not [fault for fault in FAULTS if f"`{fault}`" not in page(name)]


def test_every_content_fault_is_on_the_page_of_campaigns() -> None:
    assert not [fault for fault in BODY_FAULTS if f"`{fault}`" not in page("campaign.md")]


def test_every_check_is_on_the_page_about_strict_banks() -> None:
    assert not [check for check in CHECK_NAMES if f"`{check}`" not in page("strict.md")]


def test_every_mode_is_on_the_page_about_banks() -> None:
    assert not [mode for mode in MODES if f"`{mode}`" not in page("banks.md")]


def test_every_report_format_can_be_written() -> None:
    assert set(REPORTS) == set(WRITERS)


@pytest.mark.parametrize("name", ["compare.md", "command-line.md"])
def test_every_report_format_is_on_its_page(name: str) -> None:
    assert not [end for end in REPORTS if f"`{end}`" not in page(name) and f"report{end}" not in page(name)]
