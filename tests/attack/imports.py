"""Attack with files to import. Each file must cause one error that names it, and nothing is written."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mitmproxy.io import tnetstring
from mitmproxy.test import tflow

from tests.support.taping import taped
from xs2a_sandbox.http import har

COMMAND = str(Path(sys.executable).with_name("xs2a-sandbox"))
MEMORY = 2 * 1024**3
"""Maximum memory that `import` may use for any file, in bytes."""
PATIENCE = 60
"""Seconds."""


def document(**members: Any) -> dict[str, Any]:
    """Return a HAR document with one valid entry and these changes: `response__status` changes `response.status`."""
    one = har.log([taped("/v1/accounts")])
    for name, value in members.items():
        *outer, last = name.split("__")
        inner = one["log"]["entries"][0]
        for step in outer:
            inner = inner[step]
        inner[last] = value
    return one


def collection(variables: dict[str, str], raw: str = "{{base}}/v1", **request: Any) -> dict[str, Any]:
    listed = [{"key": key, "value": value} for key, value in {"base": "https://bank.example", **variables}.items()]
    item = {"method": "GET", "url": {"raw": raw}, **request}
    return {"variable": listed, "item": [{"name": "one", "request": item, "response": [{"code": 200, "body": "{}"}]}]}


def mapping(request: Any = None, response: Any = None) -> dict[str, Any]:
    return {"request": {"method": "GET", "url": "/a", **(request or {})}, "response": response or {"status": 200}}


def dump(**request: Any) -> bytes:
    """Return one flow with these changes of its request."""
    state: Any = tflow.tflow(resp=True).get_state()
    state["request"] |= request
    return tnetstring.dumps(state)


def replaced(where: str, value: Any) -> bytes:
    state: Any = tflow.tflow(resp=True).get_state()
    state["response"][where] = value
    return tnetstring.dumps(state)


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def nested_flow(depth: int) -> bytes:
    value = b""
    for _ in range(depth):
        value = b"%d:%s]" % (len(value), value)
    return value


DOUBLING = {f"v{i}": f"{{{{v{i + 1}}}}}" * 100 for i in range(30)} | {"v30": "x" * 1000}

HOSTILE: dict[str, bytes | str | Any] = {
    "JSON nested 10,000 deep": nested(10_000),
    "JSON nested 300 deep": f'{{"log": {{"entries": {nested(300)}}}}}',
    "JSON nested in a folder of Postman": '{"item": [' * 500 + "]}" * 500,
    "JSON of many values": '{"log": [' + "{}," * 11_000_000 + "0]}",
    "a number of 5,000 digits": '{"log": {"entries": [1' + "0" * 5000 + "]}}",
    "an exponent of twenty digits": '{"log": {"entries": [1e99999999999999999999]}}',
    "JSON that breaks off": json.dumps(document())[:-9],
    "a HAR time that is none in UTC": document(startedDateTime="0001-01-01T00:00:00+23:59"),
    "a HAR time of 1e300": document(startedDateTime=1e300),
    "a HAR status that is a list": document(response__status=[200]),
    "a HAR status of 400 digits": document(response__status=10**400),
    "a HAR header that is a number": document(request__headers=[7]),
    "HAR content that is not base64": document(response__content={"text": "\xe4", "encoding": "base64"}),
    "Postman variables that grow": collection(DOUBLING, "{{base}}/{{v0}}"),
    "Postman variables that grow in a body": collection(DOUBLING, body={"mode": "raw", "raw": "{{v0}}"}),
    "Postman variables that grow in a header": collection(DOUBLING, header=[{"key": "A", "value": "{{v0}}"}]),
    "a Postman value of 1 MB a thousand times": collection({"v": "x" * 1_000_000}, "{{base}}/" + "{{v}}" * 1000),
    "a Postman path that grows": collection(
        {}, url={"raw": "https://a/" + "/:v" * 2000, "variable": [{"key": "v", "value": "x" * 1_000_000}]}
    ),
    "Postman variables in a circle": collection({"a": "{{b}}{{b}}", "b": "{{a}}"}, "{{base}}/{{a}}"),
    "a Postman variable of spaces": collection({}, "{{base}}/{{" + " " * 200_000 + "{{none}}"),
    "Postman fields that are a number": collection({}, body={"mode": "urlencoded", "urlencoded": 7}),
    "a WireMock path that grows": {
        "request": {
            "method": "GET",
            "urlPathTemplate": "/{a}" * 2000,
            "pathParameters": {"a": {"equalTo": "x" * 1_000_000}},
        },
        "response": {"status": 200},
    },
    "a WireMock path of alternatives": {"request": {"urlPattern": "/(a|b)" * 9_000}, "response": {}},
    "a WireMock request of many parameters": mapping(
        {"queryParameters": {f"a{number}": {"equalTo": "b"} for number in range(50_000)}}
    ),
    "a WireMock matcher in matchers": mapping(
        {"queryParameters": {"a": json.loads('{"not": ' * 200 + '{"equalTo": "x"}' + "}" * 200)}}
    ),
    "a WireMock regular expression that explodes": mapping({"queryParameters": {"a": {"matches": "(a{1000}){1000}"}}}),
    "WireMock JSON nested 10,000 deep": mapping({"bodyPatterns": [{"equalToJson": nested(10_000)}]}),
    "a WireMock template of spaces": mapping(response={"body": "{{ " + " " * 200_000}),
    "a WireMock priority of 400 digits": mapping() | {"priority": 10**400},
    "more WireMock mappings than are held against each other": {"mappings": [mapping()] * 2_001},
    "a WireMock name with commands to a terminal": mapping(response={"status": "200"}) | {"name": "\x1b[2J\n" * 9_000},
    "a WireMock file outside": mapping(response={"bodyFileName": "../../etc/passwd"}),
    "a WireMock file that is absolute": mapping(response={"bodyFileName": "/etc/passwd"}),
    "a WireMock file that is a pipe": mapping(response={"bodyFileName": "pipe"}),
    "a WireMock file with a NUL": mapping(response={"bodyFileName": "a\0b"}),
    "a WireMock status that is text": mapping(response={"status": "200"}),
    "WireMock's base64 that is none": mapping(response={"base64Body": "\xe4"}),
    "a flow of 10^18 bytes": b"1000000000000000000:x",
    "a flow of 10^18 - 1 bytes": b"999999999999999999:x",
    "a flow of 10^12 - 1 bytes": b"999999999999:x",
    "a flow of negative length": b"-5:x,",
    "flows of negative length in one another": b"320:" + b"-1:" * 80 + b"]" * 80 + b"]",
    "lists of negative length in one another": b"160:" + b"-1:" * 40 + b"]" * 40 + b"]",
    "a flow nested deep": nested_flow(5000),
    "a flow of many values": b"6000000:" + b"0:~" * 2_000_000 + b"]",
    "a flow that breaks off": dump()[:-30],
    "a flow that is a number": b"1:7#",
    "a flow without a version": b"0:}",
    "a flow at 1e300": dump(timestamp_start=1e300),
    "a flow at NaN": dump(timestamp_start=float("nan")),
    "a flow at -1e300": dump(timestamp_start=-1e300),
    "a flow at a text": dump(timestamp_start="now"),
    "a flow with headers that are a number": dump(headers=7),
    "a flow with a body that is a number": dump(content=7),
    "a flow with a status that is a text": replaced("status_code", "200"),
    "a flow with a body that is a text": replaced("content", "text"),
}


def written(content: Any, folder: Path) -> Path:
    folder.joinpath("mappings").mkdir(parents=True)
    folder.joinpath("__files").mkdir()
    os.mkfifo(folder / "__files" / "pipe")
    file = folder / "mappings" / "hostile-file"
    content = content if isinstance(content, bytes | str) else json.dumps(content)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(file: Path, to: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "import", str(file), "--to", str(to)],
        cwd=to.parent,
        env={**os.environ, "XS2A_SANDBOX_CONFDIR": str(to.parent / "confdir")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        preexec_fn=limit,
    )


def refused(name: str, directory: Path) -> Iterator[str]:
    """Return the problem with the result of `import` for this file, if there is one."""
    try:
        ended = run(written(HOSTILE[name], directory / "stubs"), directory / "out")
    except subprocess.TimeoutExpired:
        yield f"import has not ended within {PATIENCE} s"
        return
    errors = [line for line in ended.stderr.splitlines() if not line.startswith("left out: ")]
    if ended.returncode != 2 or len(errors) != 1 or "hostile-file" not in errors[0] or len(errors[0]) >= 1000:
        yield f"import ends with {ended.returncode} and says {ended.stderr[-2000:]}"
    if "Traceback" in ended.stderr:
        yield f"a traceback: {ended.stderr[-2000:]}"
    if (directory / "out").exists():
        yield "a recording was begun"
