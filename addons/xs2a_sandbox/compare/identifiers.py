"""Ids of the same thing on two sides: learned from pairs of answers, and inserted into later requests."""

import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from msgspec import structs

from xs2a_sandbox.cassette.dialect.things import default_things
from xs2a_sandbox.cassette.things import Things
from xs2a_sandbox.documents.formats import is_uuid
from xs2a_sandbox.http import Headers, Request, body, to_json
from xs2a_sandbox.http.media_type import media_type

_IDENTIFIER = re.compile(r"[A-Za-z0-9._~:+/=-]{1,200}")
_DELIMITERS = re.compile(r"([/?&=#:;,\s\"'()<>]+)")
_QUERY_NAME = re.compile(r"(?:.*[_-])?id|.*I[dD]")
_SESSION = re.compile(r"^/s/[A-Za-z0-9._-]{1,64}(?=/)")
_UNMISTAKABLE = 6
"""Strings of this length are ids, not coincidences, anywhere in a request."""
_FREE_TEXT = frozenset("authorization digest signature".split())
_MOST = 100_000
_MOST_ADDRESSES = 20


class Counterparts:
    """Pairs of ids. `base` of a side is the URL with which its own absolute links begin. `things` is how the interface
    names its things, by default that of the bundled dialect.

    An id keeps its counterpart, unless `learn_created` says that there is a new one. `on_learn` is called for each
    pair.
    """

    def __init__(
        self,
        left_base: str = "",
        right_base: str = "",
        on_learn: Callable[[str, str], None] | None = None,
        things: Things | None = None,
    ) -> None:
        self.things = things or default_things()
        # Ordered, because a plain dict scans its deleted entries to find the first.
        self._to_right: OrderedDict[str, str] = OrderedDict()
        self._to_left: dict[str, str] = {}
        # Only what differs, so that a request costs the same however many ids are known.
        self._changed_to_right: dict[str, str] = {}
        self._changed_to_left: dict[str, str] = {}
        self._left_base = left_base.rstrip("/")
        self._right_bases = [right_base.rstrip("/")]
        self._on_learn = on_learn

    def is_also_at(self, right_base: str) -> None:
        """Add another address of the right side, because its links contain the host of the request."""
        if right_base not in self._right_bases:
            self._right_bases.append(right_base)
            del self._right_bases[1:-_MOST_ADDRESSES]

    def learn(self, left: str, right: str) -> None:
        self.adopt(left, right)
        if self._on_learn:
            self._on_learn(left, right)

    def adopt(self, left: str, right: str) -> None:
        """Add a pair that was learned elsewhere."""
        if len(self._to_right) >= _MOST:
            oldest, other = self._to_right.popitem(last=False)
            self._changed_to_right.pop(oldest, None)
            self._to_left.pop(other, None)
            self._changed_to_left.pop(other, None)
        self._to_right[left] = right
        self._to_left[right] = left
        _put_change(self._changed_to_right, left, right)
        _put_change(self._changed_to_left, right, left)

    def learn_created(self, left: Any, right: Any) -> None:
        """Learn the ids of the things that each side has just created, from their answers.

        A bank creates a new id each time; the sandbox may return an existing thing.
        """
        if isinstance(left, dict) and isinstance(right, dict):
            for name, mine in left.items():
                theirs = right.get(name)
                if name not in self.things.identifiers or not isinstance(mine, str) or not isinstance(theirs, str):
                    continue
                if mine != theirs and (mine not in self._to_right or theirs not in self._to_left):
                    self.learn(mine, theirs)

    # Methods of Identity, for `contrast`: the left side is the bank.

    def is_same(self, name: str, bank: str, sandbox: str, learn: bool = True) -> bool:
        if self._to_right.get(bank) == sandbox:
            return True
        if (is_named := self._is_identifier(name, bank, sandbox)) or (is_uuid(bank) and is_uuid(sandbox)):
            return self._pair(bank, sandbox, learn and is_named)
        return self._text(bank, sandbox, learn) or (name in self.things.pages and _elsewhere(bank, sandbox))

    def confirm(self, identifier: str) -> None:
        if identifier not in self._to_right and identifier not in self._to_left:
            self.learn(identifier, identifier)

    def twin(self, bank: str) -> str:
        return self._to_right.get(bank, bank)

    def is_known(self, identifier: str) -> bool:
        return identifier in self._to_right or identifier in self._to_left

    def _is_identifier(self, name: str, bank: str, sandbox: str) -> bool:
        """Return whether the member contains an id. UUIDs count if the name suggests an id."""
        is_id = _QUERY_NAME.fullmatch(name) is not None and is_uuid(bank) and is_uuid(sandbox)
        return name in self.things.identifiers or is_id

    def _pair(self, left: str, right: str, learn: bool) -> bool:
        has_counterpart = left in self._to_right or right in self._to_left
        if has_counterpart or not (_IDENTIFIER.fullmatch(left) and _IDENTIFIER.fullmatch(right)):
            return False
        if learn:
            self.learn(left, right)
        return True

    def _text(self, left: str, right: str, learn: bool) -> bool:
        """Return whether texts are equal except for counterparts: links, and sentences that contain ids."""
        right_base = next((base for base in self._right_bases if _own(right, base) != right), self._right_bases[0])
        mine, theirs = _own(left, self._left_base), _own(right, right_base)
        if mine == theirs or self._are_alike(mine, theirs, learn):
            return True
        # A link that is relative on one side only may still lead to the same third address on both.
        left, right = (
            base + own if own != text else text
            for text, own, base in ((left, mine, self._left_base), (right, theirs, right_base))
        )
        return (mine, theirs) != (left, right) and self._are_alike(left, right, learn)

    def _are_alike(self, left: str, right: str, learn: bool) -> bool:
        ours, others = _DELIMITERS.split(left), _DELIMITERS.split(right)
        if len(ours) != len(others) or len(ours) == 1 or ours[1::2] != others[1::2]:
            return False
        is_link = left.startswith(("/", "http://", "https://"))
        fresh = []
        for position in range(0, len(ours), 2):
            mine, other = ours[position], others[position]
            if mine == other or self._to_right.get(mine) == other:
                continue
            alike = is_uuid(mine) and is_uuid(other)
            if alike and not self._pair(mine, other, False):
                return False
            if not alike and not (is_link and _names_something(ours, position) and self._pair(mine, other, False)):
                return False
            fresh.append((mine, other))
        if learn and is_link:
            for mine, other in fresh:
                self.learn(mine, other)
        return True

    # Requests

    def to_right(self, request: Request) -> Request:
        """Return the request with the ids of the right side."""
        return _rewrite(request, self._changed_to_right, self.things.identifiers)

    def to_left(self, request: Request) -> Request:
        return _rewrite(request, self._changed_to_left, self.things.identifiers)


def _put_change(changed: dict[str, str], before: str, after: str) -> None:
    """Add a name that changes, and remove one that stays the same."""
    if before != after:
        changed[before] = after
    else:
        changed.pop(before, None)


def names_in(request: Request, things: Things) -> Iterator[str]:
    """Yield everything that may be an id: segments, query values, header values, and ids in the body."""
    yield from path_names_in(request)
    yield from identifiers_in(body.read(request.body).value, things)
    yield from (value for _, value in parse_qsl(request.target.partition("?")[2]))
    yield from (value for _, value in request.headers)


def path_names_in(request: Request) -> Iterator[str]:
    """Yield the decoded segments of the request's path."""
    yield from map(unquote, request.target.partition("?")[0].split("/"))


def identifiers_in(value: Any, things: Things) -> Iterator[str]:
    """Yield the ids anywhere in a body."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield from (text for name, text in part.items() if name in things.identifiers and isinstance(text, str))
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _own(text: str, base: str) -> str:
    """Return the link without the base URL of this side and its session."""
    if base and text.startswith(base) and text[len(base) : len(base) + 1] in ("", "/", "?"):
        return _SESSION.sub("", text[len(base) :], count=1) or "/"
    return text


def _elsewhere(one: str, other: str) -> bool:
    """Return whether two URLs have different hosts."""
    try:
        mine, theirs = urlsplit(one), urlsplit(other)
    except ValueError:
        return False
    return bool(mine.scheme and mine.netloc and theirs.scheme and theirs.netloc) and mine.netloc != theirs.netloc


def _names_something(parts: list[str], position: int) -> bool:
    """Return whether a piece of a link is an id: a path segment with a digit, or a query value named like one."""
    before = parts[position - 1] if position else ""
    if "=" in before:
        return _QUERY_NAME.fullmatch(parts[position - 2]) is not None
    piece = parts[position]
    return "/" in before and "//" not in before and len(piece) > 2 and any(letter.isdigit() for letter in piece)


def _rewrite(request: Request, names: Mapping[str, str], identifiers: Collection[str]) -> Request:
    """Return the request with other names. `names` has no name that stays the same."""
    if not names:
        return request

    def put(text: str) -> str:
        if text in names:
            return names[text]
        parts = _DELIMITERS.split(text)
        if len(parts) == 1:
            return text
        return "".join(names.get(part, part) if len(part) >= _UNMISTAKABLE else part for part in parts)

    path, mark, query = request.target.partition("?")
    target = "/".join(_encode(segment, lambda text: names.get(text, text)) for segment in path.split("/"))
    if mark:
        target += "?" + _form(query, put)
    headers = Headers((name, value if name.lower() in _FREE_TEXT else put(value)) for name, value in request.headers)
    return structs.replace(request, target=target, headers=headers, body=_body(request, put, identifiers))


def _encode(text: str, put: Callable[[str], str]) -> str:
    """Replace the ids in a percent-encoded string."""
    plain = unquote(text)
    changed = put(plain)
    return text if changed == plain else quote(changed, safe="")


def _form(query: str, put: Callable[[str], str]) -> str:
    pairs = (pair.partition("=") for pair in query.split("&"))
    return "&".join(f"{name}{mark}{_encode(value, put)}" for name, mark, value in pairs)


def _body(request: Request, put: Callable[[str], str], identifiers: Collection[str]) -> bytes:
    if media_type(request.headers.get("content-type")) == "application/x-www-form-urlencoded":
        try:
            return _form(request.body.decode("ascii"), put).encode()
        except UnicodeDecodeError:
            return request.body
    read = body.read(request.body)
    if read.kind != "json":
        return request.body
    try:
        changed = _value(read.value, "", put, identifiers)
        return request.body if changed == read.value else to_json(changed)
    except RecursionError:
        return request.body


def _value(value: Any, name: str, put: Callable[[str], str], identifiers: Collection[str]) -> Any:
    if isinstance(value, dict):
        return {inner: _value(below, inner, put, identifiers) for inner, below in value.items()}
    if isinstance(value, list):
        return [_value(below, name, put, identifiers) for below in value]
    if isinstance(value, str) and (name in identifiers or len(value) >= _UNMISTAKABLE):
        return put(value)
    return value
