"""Ways to break a product: each asks the engine that works, and spoils what goes in or what comes out."""

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from xs2a_sandbox.http.messages import Headers, Request, Response

type Ask = Callable[[Request], Awaitable[Response]]
"""The engine that works."""


@dataclass(frozen=True, slots=True)
class When:
    """Which requests something happens to; `words` follow the operation."""

    words: str
    holds: Callable[[Request], bool]

    def __call__(self, request: Request) -> bool:
        return self.holds(request)

    def __and__(self, other: "When") -> "When":
        words = " ".join(filter(None, (self.words, other.words)))
        return When(words, lambda request: self(request) and other(request))


ALWAYS = When("", lambda _: True)


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a value."""

    words: str
    made: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Breaker:
    """A product with one fault. `name` says in words what it does wrong."""

    name: str
    answer: Callable[[Ask, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Operation:
    """`path` as it ends; `*` stands for a segment, for any text inside one, and as the method for all of them."""

    method: str
    path: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def matches(self, request: Request) -> bool:
        if self.method not in ("*", request.method):
            return False
        return _pattern(self.path).fullmatch(request.target.partition("?")[0]) is not None


@cache
def _pattern(path: str) -> re.Pattern[str]:
    segments = ["[^/]+" if name == "*" else re.escape(name).replace(r"\*", "[^/]*") for name in path.split("/")]
    return re.compile(f".*?{'/'.join(segments)}/?", re.DOTALL)


class _Removed:
    def __repr__(self) -> str:
        return "(left out)"


REMOVED: Any = _Removed()
"""The value of a member or header that is not there."""

# Requests


def path(request: Request) -> str:
    """From /v1/ on, without a slash at the end."""
    bare = request.target.partition("?")[0]
    return bare[max(bare.find("/v1/"), 0) :].rstrip("/")


def query(request: Request) -> str:
    return request.target.partition("?")[2]


def header(request: Request, name: str) -> str:
    return request.headers.get(name) or ""


def session(request: Request) -> str:
    return header(request, "X-Sandbox-Session")


def content(message: Request | Response) -> Any:
    """Its JSON; an empty object if there is none."""
    try:
        return json.loads(message.body)
    except ValueError:
        return {}


def with_content(request: Request, value: Any) -> Request:
    return replace(request, body=json.dumps(value).encode())


def with_header(request: Request, name: str, value: str) -> Request:
    """`value` may be REMOVED."""
    others = [pair for pair in request.headers if pair[0].lower() != name.lower()]
    return replace(request, headers=Headers(others if value is REMOVED else [*others, (name, value)]))


def with_path(request: Request, method: str, path: str) -> Request:
    """Another one of the same session."""
    return replace(request, method=method, target=path, body=b"")


# Members


def member(value: Any, pointer: str) -> Any:
    """REMOVED if there is none."""
    for name in pointer.split("/")[1:]:
        value = value.get(name, REMOVED) if isinstance(value, dict) else REMOVED
    return value


def altered(value: Any, pointer: str, to: Any) -> Any:
    """A copy with the member set, or what the Change makes of it; `*` is every entry, a number one of them."""
    copied = deepcopy(value)
    _alter(copied, pointer.split("/")[1:], to)
    return copied


def _alter(value: Any, names: Sequence[str], to: Any) -> None:
    name, *below = names
    places: list[Any]
    if isinstance(value, list):
        places = list(range(len(value))) if name == "*" else [int(name)] if value and name.lstrip("-").isdigit() else []
    else:
        places = [name] if isinstance(value, dict) else []
    for place in places:
        if below:
            _alter(value[place] if isinstance(value, list) else value.get(place), below, to)
        elif isinstance(to, Change):
            if isinstance(value, list) or place in value:
                value[place] = to.made(value[place])
        elif to is REMOVED:
            if isinstance(value, list) or place in value:
                del value[place]
        else:
            value[place] = to


# Answers


def with_body(response: Response, value: Any) -> Response:
    """The same answer with another body."""
    return replace(response, body=json.dumps(value).encode())


def with_answer_header(response: Response, name: str, value: str) -> Response:
    others = tuple(pair for pair in response.headers if pair[0].lower() != name.lower())
    return replace(response, headers=others if value is REMOVED else (*others, (name, value)))


def answering(request: Request, status: int, body: Any = None) -> Response:
    """One of the breaker's own."""
    headers = [("X-Request-ID", id) for id in request.headers.all("X-Request-ID")[:1]]
    if body is None:
        return Response(status, tuple(headers))
    return Response(status, (*headers, ("Content-Type", "application/json")), json.dumps(body).encode())


def error(request: Request, status: int, code: str) -> Response:
    """In the documented shape."""
    text = "{sensitive} XS2A901E: this is not taken"
    message = {"category": "ERROR", "code": code, "path": None, "text": text}
    return answering(request, status, {"tppMessages": [message], "_links": None})


def code(response: Response) -> str:
    """That of an error."""
    return str(message(response).get("code", ""))


def number(response: Response) -> str:
    """That of an error, as XS2A017E."""
    in_text = re.search(r"XS2A\d{3}E", str(message(response).get("text", "")))
    return in_text[0] if in_text else ""


def message(response: Response) -> dict[str, Any]:
    body = content(response) if response.status >= 400 else {}
    messages = body.get("tppMessages") if isinstance(body, dict) else None
    return messages[0] if messages else {}


# What products do wrong


def good(status: int) -> bool:
    return status < 300


def bad(status: int) -> bool:
    return status >= 400


def name_of(operation: Operation, when: When, fault: str) -> str:
    return " ".join(filter(None, (str(operation), when.words, fault)))


def words_of(value: Any) -> str:
    return value.words if isinstance(value, Change) else str(value) if value is REMOVED else json.dumps(value)


def spoils(
    operation: Operation,
    fault: str,
    spoilt: Callable[[Request, Response], Response],
    *,
    when: When = ALWAYS,
    of: Callable[[int], bool] = good,
) -> Breaker:
    """Its answers of these statuses are changed."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if operation.matches(request) and of(response.status) and when(request):
            return spoilt(request, response)
        return response

    return Breaker(name_of(operation, when, fault), answer)


def says(
    operation: Operation, pointer: str, to: Any, *, when: When = ALWAYS, of: Callable[[int], bool] = good
) -> Breaker:
    """Its answers have another value at `pointer`, see `altered`."""
    return spoils(
        operation,
        f"says {pointer} {words_of(to)}",
        lambda _, response: with_body(response, altered(content(response), pointer, to)) if response.body else response,
        when=when,
        of=of,
    )


def leaves_out(operation: Operation, *pointers: str, when: When = ALWAYS) -> list[Breaker]:
    """A product for each of the members."""
    return [says(operation, pointer, REMOVED, when=when) for pointer in pointers]


def drops_nulls(operation: Operation, *, when: When = ALWAYS) -> Breaker:
    """Leaves out every member that is null."""

    def lean(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: lean(inner) for name, inner in value.items() if inner is not None}
        return [lean(entry) for entry in value] if isinstance(value, list) else value

    return spoils(
        operation,
        "leaves out what is null",
        lambda _, response: with_body(response, lean(content(response))) if response.body else response,
        when=when,
    )


def turns(operation: Operation, status: int, to: int, *, when: When = ALWAYS) -> Breaker:
    """Answers with another status than this one."""
    return spoils(
        operation,
        f"answers {to} instead of {status}",
        lambda _, response: replace(response, status=to, body=b"" if to in (204, 304) else response.body),
        when=when,
        of=lambda answered: answered == status,
    )


def sends(
    operation: Operation, name: str, value: str, *, when: When = ALWAYS, of: Callable[[int], bool] = good
) -> Breaker:
    """Another header, or none (REMOVED)."""
    return spoils(
        operation,
        f"sends {name}: {value}",
        lambda _, response: with_answer_header(response, name, value),
        when=when,
        of=of,
    )


def refuses(operation: Operation, when: When = ALWAYS, status: int = 400, code: str = "FORMAT_ERROR") -> Breaker:
    """Answers an error where it must not."""
    return instead(operation, f"is refused, {status}", lambda request: error(request, status, code), when=when)


def pretends(operation: Operation, status: int, body: Any = None, *, when: When = ALWAYS) -> Breaker:
    """Answers as if it had done what was asked for, and does nothing."""
    return instead(
        operation, f"is answered {status} and not done", lambda request: answering(request, status, body), when=when
    )


def instead(
    operation: Operation, fault: str, answered: Callable[[Request], Response], *, when: When = ALWAYS
) -> Breaker:
    """The engine is not asked at all."""

    async def answer(ask: Ask, request: Request) -> Response:
        return answered(request) if operation.matches(request) and when(request) else await ask(request)

    return Breaker(name_of(operation, when, fault), answer)


def takes(operation: Operation, what: str, repaired: Callable[[Request], Request], *, when: When = ALWAYS) -> Breaker:
    """Takes what it must refuse, or does not heed what it must: the engine gets another request."""

    async def answer(ask: Ask, request: Request) -> Response:
        return await ask(repaired(request) if operation.matches(request) and when(request) else request)

    return Breaker(name_of(operation, when, f"takes {what}"), answer)


def ignores(operation: Operation, header: str, *, when: When = ALWAYS) -> Breaker:
    """As if the header had not been sent."""
    return takes(
        operation,
        f"no notice of {header}",
        lambda request: with_header(request, header, REMOVED),
        when=when,
    )


def overlooks(operation: Operation, pointer: str, value: Any, *, when: When = ALWAYS) -> Breaker:
    """Takes any value, as if it were this one: only asks with it when the engine names the member as wrong.

    `pointer` as in `altered`.
    """
    wrong = re.compile(re.escape(pointer).replace(r"\*", r"\d+") + "(/.*)?")

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if not operation.matches(request) or not when(request):
            return response
        if response.status == 400 and wrong.fullmatch(str(message(response).get("path"))):
            body = content(request)
            if isinstance(body, dict):
                return await ask(with_content(request, altered(body, pointer, value)))
        return response

    return Breaker(name_of(operation, when, f"takes any {pointer}"), answer)


def forgives(
    operation: Operation, errors: Sequence[str], status: int, body: Any = None, *, when: When = ALWAYS
) -> Breaker:
    """Answers this where it should answer one of the errors, named by their codes."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if operation.matches(request) and code(response) in errors and when(request):
            return answering(request, status, body)
        return response

    return Breaker(name_of(operation, when, f"answers {status} instead of {' or '.join(errors)}"), answer)


def misnames(
    number_: str, member: str = "code", to: Any = "WRONG", *, status: int | None = None, when: When = ALWAYS
) -> Breaker:
    """Says the error of this number with another member of its message, or another status."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if number(response) != number_ or not when(request):
            return response
        if status:
            return replace(response, status=status)
        return with_body(response, altered(content(response), f"/tppMessages/0/{member}", to))

    fault = f"status {status}" if status else f"{member} {words_of(to)}"
    return Breaker(" ".join(filter(None, ("error", number_, when.words, f"has the {fault}"))), answer)


def limits(operation: Operation, count: int, *, when: When = ALWAYS) -> Breaker:
    """Answers 429 to a session that asks more often."""
    seen: Counter[str] = Counter()

    async def answer(ask: Ask, request: Request) -> Response:
        if operation.matches(request) and when(request):
            seen[session(request)] += 1
            if seen[session(request)] > count:
                return error(request, 429, "ACCESS_EXCEEDED")
        return await ask(request)

    return Breaker(name_of(operation, when, f"is answered {count} times at most"), answer)
