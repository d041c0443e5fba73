"""A typical script for mitmdump that answers one path."""

import json
import os
from pathlib import Path

from mitmproxy import http

WORK = json.loads(Path(os.environ["WORKLOAD"]).read_text())["consent"]


def request(flow: http.HTTPFlow) -> None:
    if flow.request.method == "GET" and flow.request.path == WORK["path"]:
        flow.response = http.Response.make(200, WORK["body"], {"Content-Type": "application/json"})
    else:
        flow.response = http.Response.make(404)
