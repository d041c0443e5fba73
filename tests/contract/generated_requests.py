"""Requests that schemathesis generates from an OpenAPI document, and the checks for every answer."""

import itertools
import os
from collections import Counter
from http import HTTPStatus
from typing import Any

import requests
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

CASES = int(os.environ.get("XS2A_TEST_CASES", "5000"))
SEED = os.environ.get("XS2A_TEST_SEED")
FEW = 4
ENOUGH = 30
"""Number of cases from which on an operation must have succeeded at least once."""
_CHECKED = (
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
)
_MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
_numbers = itertools.count()


class ExploredSandbox:
    """A sandbox with its own port, and the interface loaded by schemathesis."""

    def __init__(self, url: str, client: requests.Session, schema: Any) -> None:
        self.url = url
        self.client = client
        self.schema = schema
        load_all_checks()
        self.checks = [check for check in CHECKS.get_all() if getattr(check, "__name__", "") in _CHECKED]
        assert len(self.checks) == len(_CHECKED)

    def headers(self) -> dict[str, str]:
        return {"X-Sandbox-Session": f"case-{next(_numbers)}"}

    def call(self, case: Case) -> int:
        """Send the case, run all checks, and return the status. Each case has its own session."""
        response = case.call(base_url=self.url, session=self.client, headers=self.headers())
        status = response.status_code
        assert status < 500 or status == HTTPStatus.NOT_IMPLEMENTED, (status, response.text, case.as_curl_command())
        case.validate_response(response, checks=self.checks)
        return status

    def call_often(self, method: str, path: str, cases: int) -> Counter[int]:
        """Return how often each status was answered. Half of the requests are valid."""
        operation = self.schema[path][method]
        statuses: Counter[int] = Counter()
        for mode, count in zip(_MODES, (cases - cases // 2, cases // 2), strict=True):

            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(
                max_examples=count,
                deadline=None,
                database=None,
                derandomize=SEED is None,
                phases=[Phase.generate, Phase.shrink],
                suppress_health_check=list(HealthCheck),
            )
            def call(case: Case) -> None:
                statuses[self.call(case)] += 1

            (seed(SEED)(call) if SEED else call)()
        assert statuses.total() >= cases, "schemathesis generated fewer cases than requested"
        return statuses
