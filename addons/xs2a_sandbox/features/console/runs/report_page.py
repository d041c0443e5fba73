"""Shows the HTML report of a run, with a policy that allows only the report's own script and style."""

import base64
import hashlib
import re

from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.runs.background import BackgroundRun
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.messages import NOT_KEPT, html

REPORT = "report.html"

_SCRIPTS = re.compile(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*?(script-src 'sha256-[\w+/=]+')")
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def show_report(run: BackgroundRun, name: str) -> Response:
    """Return the report. Raises Refused if the run has no report with this name."""
    try:
        if name != REPORT.partition(".")[0]:
            raise FileNotFoundError
        text = (run.folder / REPORT).read_text(encoding="utf-8")
    except OSError:
        raise Refused(404, "report-unknown", "This run has no report yet: it is written when the run ends.") from None
    return html(text, 200, *NOT_KEPT, ("Referrer-Policy", "no-referrer"), ("Content-Security-Policy", _policy(text)))


def _policy(text: str) -> str:
    # Only the head is trusted: the body quotes apps and banks.
    head = text.partition("</head>")[0]
    script = _SCRIPTS.search(head)
    style = _STYLE.search(head)
    allowed = [script[1]] if script else []
    if style:
        digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
        allowed.append(f"style-src 'sha256-{digest}'")
    # `sandbox` gives the report its own origin, so that its script cannot act as the signed-in user.
    never = ("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "sandbox allow-scripts")
    return "; ".join(("default-src 'none'", *allowed, *never))
