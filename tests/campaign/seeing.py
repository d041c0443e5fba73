"""Sample runs as a campaign observes them."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.engine_client import an_engine
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.features.campaign.command import Ended
from xs2a_sandbox.features.campaign.run import Observed
from xs2a_sandbox.features.campaign.seen import Payments, Seen, SeenCall
from xs2a_sandbox.features.campaign.shown import Shown, ShownText, plain_kinds

INDEX = Index(an_engine().interface)
CONSENT = {"Consent-ID": "c", "PSU-IP-Address": "192.0.2.1"}


def call(
    operation: str,
    path: str = "",
    *,
    number: int = 1,
    method: str = "GET",
    status: int = 200,
    second: float = 0,
    consent: str | None = "c",
    headers: Mapping[str, str] = CONSENT,
    answer: Any = None,
    answered: Mapping[str, str] | None = None,
) -> SeenCall:
    summary: Any = {
        "number": number,
        "operation": operation,
        "method": method,
        "target": f"/s/run{path or '/v1/' + operation}",
        "status": status,
        "time": f"2026-11-21T09:00:{second:06.3f}+01:00",
        "milliseconds": 0.0,
    }
    made = SeenCall(Client(confdir=Path("nowhere")), summary, "run", INDEX)
    whole: Any = {
        "request": {"headers": [list(pair) for pair in headers.items()]},
        "answer": {"headers": [list(pair) for pair in (answered or {}).items()]},
    }
    if answer is not None:
        whole["answer"]["body"] = answer
    made.__dict__ |= {"whole": whole, "consent": consent}
    return made


def observed(
    *calls: SeenCall,
    status: int = 0,
    hung: bool = False,
    payments: Mapping[str, int] | None = None,
    assertions: tuple[Mapping[str, Any], ...] = (),
    rejected: Mapping[str, int] | None = None,
    all_payments: Mapping[str, int] | None = None,
    is_cut: bool = False,
    output: str = "",
    shown: str = "",
) -> Observed:
    """Return a run. `shown` are the lines of what the app shows."""
    rejections = Counter(rejected or {})
    made, made_in_session = (Payments(Counter(counts or {}), rejections) for counts in (payments, all_payments))
    seen = Seen(tuple(calls), made, made_in_session, is_cut)
    texts = tuple(ShownText(line, plain_kinds(line)) for line in shown.splitlines())
    made_visible = Shown(texts, tuple(output.splitlines()))
    return Observed(Ended(status, 1.0, hung, output), seen, hits=1, assertions=assertions, shown=made_visible)
