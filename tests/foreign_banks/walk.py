"""Walk a journey step by step and note what each answer should be and was.

A journey goes on after a wrong answer, so that its steps show everything that differs. What an answer lacks is `None`.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from typing import Any

import httpx

from tests.foreign_banks.server import BEGINS

type Wait = Callable[[timedelta], None]
"""Let time pass at the bank."""

type Expected = Mapping[str, Any]
"""Values by place: `a.0.b` in the body, `a.#` for a length, `@Location` for a header, `page` for the whole body.

A value may be a pattern, which is searched for, or a type.
"""

DAY = timedelta(days=1)
PAGE = {"@Content-Type": re.compile("text/html")}


class _Form(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        if tag == "input" and (name := named.get("name")):
            self.fields.setdefault(name, []).append(named.get("value") or "")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: httpx.Headers
    text: str

    @property
    def document(self) -> Any:
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    def find(self, place: str) -> Any:
        if place.startswith("@"):
            return self.headers.get(place[1:])
        if place == "page":
            return self.text
        found = self.document
        for part in place.split("."):
            if part == "#":
                found = len(found) if isinstance(found, list | dict) else None
            elif isinstance(found, dict):
                found = found.get(part)
            elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
                found = found[int(part)]
            else:
                found = None
        return found

    def pick(self, place: str, **wanted: Any) -> dict[str, Any]:
        """The first object with these members in a list, or the first at all, or an empty one.

        In a redacted recording, an account that the app knows by its number has another one.
        """
        rows = self.find(place)
        objects = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        return next((row for row in objects if wanted.items() <= row.items()), next(iter(objects), {}))

    @property
    def fields(self) -> dict[str, list[str]]:
        """The values of the inputs in a page."""
        form = _Form()
        form.feed(self.text)
        return form.fields


@dataclass(frozen=True)
class Step:
    name: str
    request: str
    status: int
    members: Expected
    answer: Answer

    @property
    def differences(self) -> list[str]:
        found = [] if self.answer.status == self.status else [f"status is {self.answer.status}, not {self.status}"]
        for place, expected in self.members.items():
            value = self.answer.find(place)
            if isinstance(expected, re.Pattern):
                is_right = value is not None and bool(expected.search(str(value)))
            elif isinstance(expected, type):
                is_right = isinstance(value, expected)
            else:
                is_right = value == expected
            if not is_right:
                found.append(f"{place} is {value!r}, not {expected!r}")
        return found


class Walk:
    """A client of a bank, and the steps that it has gone."""

    def __init__(self, client: httpx.Client, wait: Wait) -> None:
        self._client = client
        self.wait = wait
        self.steps: list[Step] = []

    @property
    def now(self) -> datetime:
        """The bank's time, from its last answer."""
        told = self.steps[-1].answer.find("@Date") if self.steps else None
        return parsedate_to_datetime(told) if told else BEGINS

    def step(
        self, name: str, method: str, url: Any, status: int, members: Expected | None = None, **request: Any
    ) -> Answer:
        """Send a request. `request` has the parameters of `httpx.Client.request`. Redirects are not followed."""
        response = self._client.request(method, str(url), follow_redirects=False, **request)
        answer = Answer(response.status_code, response.headers, response.text)
        sent = json.dumps(request["json"], ensure_ascii=False) if "json" in request else ""
        self.steps.append(Step(name, f"{method} {url} {sent}".rstrip(), status, members or {}, answer))
        return answer
