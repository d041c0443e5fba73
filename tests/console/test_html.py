"""The console's pages load nothing of others, and run one script."""

import base64
import hashlib
import re

from xs2a_sandbox.features.console.html import render, show

VALUES = {
    "nav": "",
    "held": (),
    "moved_clock": "",
    "problem": "",
    "wrong": "",
    "prefix": "",
    "session": "",
    "heading": "<b>",
    "text": "a & b",
    "command": "",
}


TRAFFIC = {
    **VALUES,
    "text_searched": "",
    "chips": [],
    "terms": [],
    "keys": {},
    "opened": "",
    "corrected": None,
    "all_query": "",
    "exchanges": [],
    "found": 0,
    "last": 0,
    "query": "",
    "older": "",
    "is_live": True,
    "nav": "Traffic",
    "held": (),
}


def test_the_policy_names_the_script_and_the_style_that_are_there() -> None:
    response = show("traffic.html", TRAFFIC)
    policy = dict(response.headers)["Content-Security-Policy"]
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", response.body.decode(), re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r'(?:src|href)="https?:', response.body.decode())


def test_the_script_is_small_and_names_no_other_host() -> None:
    (script,) = re.findall(r"<script>(.*?)</script>", render("traffic.html", TRAFFIC), re.DOTALL)
    assert len(script) < 30_000
    assert "//" not in re.sub(r"// .*", "", script)
