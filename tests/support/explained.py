"""Requests and their explanations, for small banks and for the bundled one."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.engine import Engine
from xs2a_sandbox.explain.explanation import Explanation, describe
from xs2a_sandbox.explain.request import read
from xs2a_sandbox.http import Request

UUID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"


def request(method: str, url: str, headers: Mapping[str, str] | None = None, body: Any = None) -> Request:
    return read({"method": method, "url": url, "headers": dict(headers or {}), "body": body})


def explained(engine: Engine, method: str, url: str, headers: Mapping[str, str] | None = None, body: Any = None) -> Any:
    """Return the explanation as JSON."""
    return describe(engine.explain(request(method, url, headers, body)))


def by(explanation: Explanation) -> str | None:
    return explanation.by.candidate.entry.id if explanation.by else None


def name(candidate: Mapping[str, Any]) -> str:
    return candidate.get("rule") or candidate["operation"]


def names(explanation: Mapping[str, Any]) -> list[str]:
    return [name(candidate) for candidate in explanation["nearest"]]


def codes(explanation: Mapping[str, Any]) -> set[str]:
    return {hint["code"] for hint in explanation["hints"]}
