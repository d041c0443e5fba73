"""Splits request targets so that they can be matched with the paths of cassettes."""

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from xs2a_sandbox.http.messages import Request

_WORD = re.compile(r"[a-z]{1,20}(-[a-z]{1,20})*|v[0-9.]{1,6}")


class Target(NamedTuple):
    """A split request target: each segment is percent-decoded once, without the trailing slash."""

    segments: tuple[str, ...]
    query: tuple[tuple[str, str], ...]


def split_target(target: str) -> Target:
    path, _, query = target.partition("?")
    parts = _split(path)
    segments = tuple([unquote(p) for p in parts] if "%" in path else parts)
    return Target(segments, tuple(parse_qsl(query, keep_blank_values=True)) if query else ())


def cut_target(target: str, count: int) -> tuple[str, str]:
    """Split a target before the last `count` segments of the path. Return the end and the start, unchanged."""
    path, mark, query = target.partition("?")
    parts = path.removeprefix("/").split("/")
    skipped = len(_split(path)) - count
    return "".join(f"/{part}" for part in parts[:skipped]), "/" + "/".join(parts[skipped:]) + mark + query


def outline(target: str) -> str:
    """Return a path for logs of failures, without query: words are kept, possible ids and secrets become `…`."""
    parts = target.partition("?")[0].split("/")
    return "/".join(part if not part or _WORD.fullmatch(part) else "…" for part in parts)


def client_url(request: Request, count: int) -> str:
    """Return the client's URL before the last `count` segments: `http://127.0.0.1:8081/s/mine`."""
    before, _ = cut_target(request.target, count)
    return f"{request.scheme}://{request.headers.get('Host') or request.host}{before}"


def _split(path: str) -> list[str]:
    return path.removeprefix("/").removesuffix("/").split("/") if path.strip("/") else []
