"""The console's pages load nothing of others, and run one script."""

import base64
import hashlib
import re

from xs2a_sandbox.console.html import render, show

VALUES = {"nav": "", "problem": "", "heading": "<b>", "text": "a & b", "command": ""}


def test_the_policy_names_the_script_and_the_style_that_are_there() -> None:
    response = show(
        "traffic.html",
        VALUES
        | {"prefix": "", "session": "s", "exchanges": [], "found": 0, "last": 0}
        | {
            "filters": dict.fromkeys(("text", "method", "path", "status", "rule"), ""),
            "query": "",
            "nav": "Traffic",
        },
    )
    policy = dict(response.headers)["Content-Security-Policy"]
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", response.body.decode(), re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
        assert len(text) < 30_000
    assert "default-src 'none'" in policy
    assert not re.search(r'(?:src|href)="https?:', response.body.decode())


def test_what_is_shown_is_text() -> None:
    page = render("refused.html", VALUES)
    assert "&lt;b&gt;" in page
    assert "a &amp; b" in page
