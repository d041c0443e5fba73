"""One request while it is answered: its parts, parsed at first use, and the state that it may change."""

import json
import math
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec
from msgspec import structs

from xs2a_sandbox.cassette.dialect.authorisation import Authorisation
from xs2a_sandbox.cassette.evaluation.expressions import SHAPES, Scope, Shape
from xs2a_sandbox.cassette.evaluation.id_form import UUID as UUID_FORM
from xs2a_sandbox.cassette.evaluation.id_form import as_uuid, make_id
from xs2a_sandbox.cassette.evaluation.lets import lets_of
from xs2a_sandbox.cassette.evaluation.state_words import StateWords
from xs2a_sandbox.cassette.evaluation.work import WORK, Work, charge, spend
from xs2a_sandbox.cassette.inputs import InputPlace, InputSource
from xs2a_sandbox.cassette.matchers import RequestPart
from xs2a_sandbox.cassette.things import Things
from xs2a_sandbox.clock import Clock, instant
from xs2a_sandbox.config.checks import NONE, Checks
from xs2a_sandbox.documents.json_pointer import Pointer, at_pointer, parse_pointer, pointer_text
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Headers, Request, body_members, to_json
from xs2a_sandbox.http.body_members import FORM, Member
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.http.multipart import without_boundary
from xs2a_sandbox.http.target import Target
from xs2a_sandbox.random_bytes import SIZE, draw
from xs2a_sandbox.state import Document, Transaction
from xs2a_sandbox.state.session import DEFAULT
from xs2a_sandbox.state.store import StateView

if TYPE_CHECKING:
    from xs2a_sandbox.tpp.certificate import TppCertificate

MAX_DEPTH = 64
NO_INPUTS: Mapping[str, InputSource] = {}
_LAST_NUMBER = ("_session", "number")
_TOKENS = "tokens"
_SIGNATURE = 20_000
"""Units of work that checking a signature against some keys costs."""
_SIGNING = 10_000
"""Units of work that signing costs."""
_NO_THINGS = Things()
_NO_WORDS = StateWords()
_NO_AUTHORISATION = Authorisation()

type Sign = Callable[[Mapping[str, Any], Mapping[str, Any]], str]
"""Signs claims with the bank's key. Takes the claims and more members of the header, and returns a JSON Web Token."""


class Session(NamedTuple):
    """The owner of the state.

    `url` is the base of its pages: the public URL, followed by the session's name if it has one.
    """

    id: str
    url: str

    @classmethod
    def from_name(cls, name: str, public_url: str) -> "Session":
        return cls(name, public_url if name == DEFAULT else f"{public_url}/s/{name}")


class CallbackOutbox(Protocol):
    """Queues the requests to apps that the changes of a call cause.

    `fault` is what goes wrong with those about the resources that the call changes. `queued` maps the id of each to its
    fault. `has_noted` says whether there are any, or an address for later ones.
    """

    fault: str | None
    queued: dict[str, str | None]
    has_noted: bool

    def note(self, call: "Call", *, is_event: bool = False) -> None:
        """Queue those of the changes since the last call."""
        ...


class Call:
    """A request as handlers and expressions see it.

    `self_path` is the path from `/v1` on, without a trailing slash; `path` holds the path parameters; `options` is the
    value of `with` in the operation or rule; `inputs` give the place of each handler input in the request, and `taken`
    are those that have been read for the handler that is running; `static` keeps accounts as they are in the test data;
    `authorising` is how customers decide; `checks` are checks beyond the documented interface, and `objections` the
    errors that those checks only warn about. `drew` is true when an id or a secret has been generated. `lets` are the
    compiled values that the dialect names for all expressions, and `shapes` are its templates; `things` are the places
    of consents, payments and so on in its interface, and `states` the names of their states. `sign` signs tokens of the
    bank; without it they are null. `outbox` takes the bank's requests to apps; it is None in dialects without any.
    """

    __slots__ = (
        "_body", "_client", "_input_scope", "_members", "_queries", "_roots", "authorising", "checks", "clock", "drew",
        "headers", "inputs", "lets", "objections", "operation", "options", "outbox", "path", "query", "request",
        "segments", "session", "shapes", "sign", "state", "states", "static", "taken", "things", "warnings",
    )  # fmt: skip

    def __init__(
        self,
        request: Request,
        target: Target,
        session: Session,
        clock: Clock,
        state: Transaction,
        *,
        static: bool = False,
        authorising: Authorisation = _NO_AUTHORISATION,
        inputs: Mapping[str, InputSource] = NO_INPUTS,
        checks: Checks = NONE,
        things: Things = _NO_THINGS,
        states: StateWords = _NO_WORDS,
        sign: Sign | None = None,
        outbox: CallbackOutbox | None = None,
    ) -> None:
        self.request = request
        self.headers: Mapping[str, str] = request.headers.first
        self.segments = target.segments
        self.session = session
        self.clock = clock
        self.state = state
        self.static = static
        self.authorising = authorising
        self.checks = checks
        self.things = things
        self.states = states
        self.sign = sign
        self.outbox = outbox
        self.objections: list[BankError] = []
        self.drew = False
        self.lets: Mapping[str, Any] = {}
        self.shapes: Mapping[str, Shape] = {}
        self.operation: str | None = None
        self.path: dict[str, str] = {}
        self.options: Mapping[str, Any] = {}
        self.inputs = inputs
        self.taken: Mapping[str, Any] = {}
        self._queries = target.query
        self.query = dict(reversed(target.query)) if target.query else {}
        self._body: tuple[Any, ...] | BankError | None = None
        self._client: tuple[TppCertificate | None] | None = None
        self._input_scope: Scope | None = None
        self._roots: Scope | None = None
        self._members: tuple[Member | None] | None = None
        self.warnings: list[str] = []

    def with_request(self, request: Request, target: Target) -> "Call":
        """Return a copy of the call for another request."""
        other = Call(
            request,
            target,
            self.session,
            self.clock,
            self.state,
            static=self.static,
            authorising=self.authorising,
            inputs=self.inputs,
            checks=self.checks,
            things=self.things,
            states=self.states,
            sign=self.sign,
            outbox=self.outbox,
        )
        other.operation, other.path, other.lets, other.shapes = self.operation, self.path, self.lets, self.shapes
        return other

    def replace_headers(self, headers: Headers) -> None:
        self.request = structs.replace(self.request, headers=headers)
        self.headers = headers.first

    @property
    def self_path(self) -> str:
        return "/" + "/".join(self.segments)

    @property
    def body(self) -> Any:
        """The JSON body. Raises BankError if there is no body or it is not JSON."""
        if self._body is None:
            try:
                self._body = (parse_json(self.request.body, self.warnings),)
            except BankError as error:
                self._body = error
        if isinstance(self._body, BankError):
            raise self._body
        return self._body[0]

    @property
    def body_or_null(self) -> Any:
        try:
            return self.body
        except BankError:
            return None

    @property
    def sent(self) -> Any:
        """The JSON body, or null if the request has none. Raises BankError if it is not JSON."""
        if type(self._body) is tuple:
            return self._body[0]
        return self.body if self.request.body.strip() else None

    def take(self, input: str) -> Any:
        """Return the value of a handler's input, or null if the request does not have it. Raises BankError."""
        if input in self.taken:
            return self.taken[input]
        source = self.inputs.get(input)
        return source.read(self) if source else None

    def need(self, input: str) -> Any:
        """Return the value of a handler's input. Raises BankError `format-error` if the request does not have it."""
        if (value := self.take(input)) is None:
            place = self.place_of(input)
            raise BankError("format-error", path=self.pointer_of(input), expected=f"{place} is missing")
        return value

    def find_all(self, input: str) -> Iterator[Any]:
        """Return the values that the request has at any of the places of the input."""
        source = self.inputs.get(input)
        found = (alternative.read(self) for alternative in source.alternatives) if source else ()
        return (value for value in found if value)

    def is_sent(self, input: str) -> bool:
        """Return whether the input comes from the request, rather than being a constant of the dialect."""
        return bool(self._places(input))

    def place_of(self, input: str) -> str:
        """Return the place of the input in words, such as `the header Accept`."""
        return " or ".join(place.in_words for place in self._places(input)) or f"the {input}"

    def name_of(self, input: str, *steps: str | int) -> str:
        """Return the name of the header, parameter or member with the input, or of the member at `steps` in it."""
        if steps:
            pointer = self._locate(input, *steps)
            return str((pointer or steps)[-1])
        return " or ".join(place.name for place in self._places(input)) or input

    def pointer_of(self, input: str, *steps: str | int) -> str | None:
        """Return the JSON Pointer to the input, or to the member that `steps` lead to within it.

        None if it is not in the body.
        """
        pointer = self._locate(input, *steps)
        return None if pointer is None else pointer_text(pointer)

    def _locate(self, input: str, *steps: str | int) -> Pointer | None:
        source = self.inputs.get(input)
        return source.locate(*steps) if source else None

    def _places(self, input: str) -> Sequence[InputPlace]:
        """Return the places of the input, without path parameters that this path does not have."""
        source = self.inputs.get(input)
        places = source.places if source else ()
        return [place for place in places if place.part.part != "where" or place.part.name in self.path]

    @property
    def members(self) -> Member | None:
        """The members of a form, a multipart body or XML, or None if the body has another type or is malformed."""
        if self._members is None:
            try:
                self._members = (body_members.members(self.request.body, self.headers.get("content-type")),)
            except ValueError:
                self._members = (None,)
        return self._members[0]

    @property
    def form(self) -> dict[str, str] | None:
        """The fields of a form, or None if the body is not a form. If a name is repeated, the first field counts."""
        if media_type(self.headers.get("content-type")) != FORM or (members := self.members) is None:
            return None
        return {name: fields[0].value for name, fields in members.below.items()}

    @property
    def token(self) -> Document | None:
        """The stored token that the request presents, or None if there is none or it is unknown or expired."""
        fields = self.request.headers.all("authorization")
        scheme, _, secret = fields[0].partition(" ") if len(fields) == 1 else ("", "", "")
        if scheme.lower() not in ("bearer", "dpop") or not (id := secret.strip()):
            return None
        kept = self.state.get(_TOKENS, id)
        if kept and "expires" in kept and datetime.fromisoformat(kept["expires"]) <= self.clock.now():
            return None
        return kept

    @property
    def client(self) -> "TppCertificate | None":
        """The client's certificate, or None if there is none or it cannot be read."""
        if self._client is None:
            self._client = (_read_certificate(self.request.certificates) if self.request.certificates else None,)
        return self._client[0]

    def values(self, place: RequestPart, path: Mapping[str, str] | None = None) -> Sequence[Any]:
        """Return all values that the request has at this place."""
        if place.part == "headers":
            values = self.request.headers.all(place.name)
            return [without_boundary(value) for value in values] if place.name == "content-type" else values
        if place.part == "query":
            return [value for name, value in self._queries if name == place.name]
        if place.part == "tls":
            certificate_members = self.client.members() if self.client else {}
            if place.name == "role":
                return self.client.roles if self.client else ()
            return [certificate_members[place.name]] if certificate_members.get(place.name) else ()
        if place.part == "where":
            parameters = self.path if path is None else path
            return (parameters[place.name],) if place.name in parameters else ()
        if not self.request.body:
            return ()
        if place.name and (members := self.members):
            return tuple(body_members.at(members, parse_pointer(place.name)))
        return at_pointer(self.body_or_null, parse_pointer(place.name))

    def judges(self, check: str) -> bool:
        """Return whether the check is turned on, by the dialect's option of that name or by the settings."""
        return check in self.checks.warning or self.refuses(check)

    def refuses(self, check: str) -> bool:
        """Return whether a failed check rejects the request, instead of only adding a warning."""
        return check in self.checks.refusing or bool(self.options.get(check.replace("-", "_")))

    def object(self, check: str, error: BankError) -> None:
        """Raise the error, or only record it if the check is set to warn."""
        if self.refuses(check):
            raise error
        self.objections.append(error)

    def new_id(self, form: str = UUID_FORM) -> str:
        """Return a new id in that form, generated from the seed if the session's clock is frozen and has one.

        Raises ValueError.
        """
        return self._new_uuid() if form == UUID_FORM else make_id(form, self._new_uuid, self.new_text)

    def _new_uuid(self) -> str:
        self.drew = True
        return as_uuid(self._draw())

    def new_secret(self) -> str:
        """Return a random string. It is reproducible if the session's clock has a seed."""
        self.drew = True
        return urlsafe_b64encode(self._draw()).decode().rstrip("=")

    def new_text(self, alphabet: str, length: int) -> str:
        """Return a random string of that length. Like ids, it is reproducible if the clock has a seed."""
        self.drew = True
        draws = [self._draw() for _ in range(0, length, SIZE)]
        number = int.from_bytes(b"".join(draws))
        characters = []
        for _ in range(length):
            number, position = divmod(number, len(alphabet))
            characters.append(alphabet[position])
        return "".join(characters)

    def _draw(self) -> bytes:
        if not self.clock.seed:
            return draw()
        return blake2b(f"{self.clock.seed}|{self.next_number()}".encode(), digest_size=SIZE).digest()

    def next_number(self) -> int:
        """Return the session's next number, which is greater than all before it."""
        number: int = (self.state.get_own(*_LAST_NUMBER) or {"number": 0})["number"] + 1
        self.state.put(*_LAST_NUMBER, {"number": number})
        return number

    def scope(self) -> Scope:
        """Return the roots, functions and shapes that expressions can use."""
        if self._roots is None:
            self._roots = self._make_roots()
        return self._add_lets({**self._roots, "path": self.path, SHAPES: self.shapes, WORK: Work()})

    def _make_roots(self) -> Scope:
        """Return the part that all scopes of the call share."""
        return {
            "request": _LazyMapping(self._request_view),
            "query": self.query,
            "headers": self.headers,
            "body": self.body_or_null if self.request.body else None,
            "form": lambda: self.form,
            "token": lambda: self.token,
            "input": _Inputs(self),
            "state": StateView(self.state),
            "testdata": _LazyMapping(self.state.testdata),
            "session": {"id": self.session.id, "url": self.session.url, "checks": sorted(self.checks.refusing)},
            "clock": _LazyMapping(self._clock_view),
            "uuid": self._new_uuid,
            "new_id": self.new_id,
            "now": self.now,
            "today": self._today,
            "jwt": _read_jwt,
            "patched": patched,
            "signed": self._signed,
            "verifies": _verifies,
            "wire": self.states.word,
        }

    def input_scope(self) -> Scope:
        """Return the scope for inputs. It is cached, because a handler takes a dozen inputs."""
        if self._input_scope is None or self._input_scope["path"] is not self.path:
            self._input_scope = self.scope()
        return self._input_scope

    def drop_scopes(self) -> None:
        """Drop the cached scopes. They refer to the call, and only the garbage collector could free such a cycle."""
        self._roots = self._input_scope = None

    def with_path(self, scope: Scope, path: Mapping[str, str]) -> Scope:
        """Return the scope with other path parameters, which the dialect's named values see, too."""
        return self._add_lets({**scope, "path": path})

    def _add_lets(self, scope: Scope) -> Scope:
        scope["let"] = lets_of(self.lets, scope) if self.lets else {}
        return scope

    def _request_view(self) -> dict[str, Any]:
        request = self.request
        return {
            "method": request.method,
            "path": self.self_path,
            "url": f"{request.scheme}://{request.host}{request.target}",
            "host": request.host,
            "door": request.door,
            "text": request.body.decode(errors="replace"),
            "sha256": b64encode(sha256(request.body).digest()).decode(),
            "client": self.client.members() if self.client else None,
        }

    def _clock_view(self) -> dict[str, Any]:
        return {
            "now": self.now(),
            "today": self._today(),
            "seconds": int(self.clock.timestamp()),
            "real": int(instant()),
        }

    def now(self) -> str:
        return self.clock.text()

    def _signed(self, claims: Any, header: Any) -> str | None:
        if self.sign is None or not isinstance(claims, dict):
            return None
        spend(_SIGNING)
        return self.sign(charge(claims), charge(header) or {})

    def _today(self, days: int = 0) -> str:
        return self.clock.today(days).isoformat()


def _read_certificate(certificates: Sequence[bytes]) -> "TppCertificate | None":
    # Imported only if there is a certificate, because the import is slow.
    from xs2a_sandbox.tpp import certificate

    return certificate.try_read(certificates[0])


def _read_jwt(text: Any) -> dict[str, Any] | None:
    from xs2a_sandbox.signatures import jwt  # imported here because few requests need it and it is slow

    return jwt.read(charge(text))


def _verifies(text: Any, keys: Any) -> bool:
    from xs2a_sandbox.signatures import jwt

    spend(_SIGNATURE)
    return jwt.is_signed_by(charge(text), charge(keys))


def patched(value: Any, steps: Any) -> Any:
    """Return the value with a JSON Patch (RFC 6902), or null if the patch is malformed or does not fit."""
    from jsonpatch import JsonPatch, JsonPatchException, JsonPointerException

    if not isinstance(steps, list):
        return None
    try:
        for step in charge(steps):
            # One step at a time, because each can double the value.
            value = charge(JsonPatch([step]).apply(value))
    except (JsonPatchException, JsonPointerException, TypeError, AttributeError):
        return None
    return value


def parse_json(body: bytes, warnings: list[str]) -> Any:
    """Parse JSON, with decimals as `Decimal`. Raises BankError `format-error` with the mistake and its place."""
    try:
        value = _decode(body)
        # A member that is sent twice is lost, and with it a colon. No other colons differ, unless one is escaped.
        is_plain = to_json(value).count(b":") == body.count(b":") and b"\\u003" not in body
    except (ValueError, RecursionError):
        is_plain = False
    if not is_plain:
        value = _read_with_care(body, warnings)
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise _too_deep()
    return value


def _read_with_care(body: bytes, warnings: list[str]) -> Any:
    """Parse JSON ten times as slowly, but with warnings for repeated members and with the place of each mistake."""
    if not body.strip():
        raise BankError("format-error", expected="a JSON body is required")

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        merged = dict(pairs)
        if len(merged) != len(pairs):
            seen: set[str] = set()
            warnings.extend(
                f"the member {name!r} is sent twice; the bank uses the last one"
                for name, _ in pairs
                if name in seen or seen.add(name)  # type: ignore[func-returns-value]
            )
        return merged

    try:
        value = json.loads(
            body.decode(), parse_float=_parse_finite, parse_constant=_refuse_constant, object_pairs_hook=members
        )
    except UnicodeDecodeError as error:
        raise BankError("format-error", expected=f"the body must be UTF-8; byte {error.start} is invalid") from None
    except json.JSONDecodeError as error:
        what = "a byte order mark" if error.msg.startswith("Unexpected UTF-8 BOM") else error.msg
        text = f"the body must be JSON: {what} at line {error.lineno} column {error.colno}"
        raise BankError("format-error", expected=text) from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise BankError("format-error", expected=f"{error}{_place_of(_CONSTANT, body)}") from None
    if b"\\ud" in body.lower() and not _is_text(value):
        half = _place_of(_HALF_PAIR, body)
        raise BankError("format-error", expected=f"the body must not contain half of a surrogate pair{half}")
    return value


_TEXT = r'"(?:[^"\\]|\\.)*"'
_CONSTANT = re.compile(rf"{_TEXT}|(-?Infinity|NaN)")
_HALF_PAIR = re.compile(r"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|\\[^u]|(\\u[dD][89a-fA-F]\w\w)")


def _place_of(pattern: re.Pattern[str], body: bytes) -> str:
    """Return the place of the pattern's first match with a group, as ` at line 1 column 2`."""
    text = body.decode()
    start = next((match.start(1) for match in pattern.finditer(text) if match[1]), None)
    if start is None:
        return ""
    line = text.count("\n", 0, start)
    return f" at line {line + 1} column {start - text.rfind('\n', 0, start)}"


def _parse_finite(text: str) -> Decimal:
    if math.isinf(float(text)):
        raise ValueError(f"the number {text[:40]} is too large")
    return Decimal(text)


_decode = msgspec.json.Decoder(float_hook=_parse_finite).decode


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"the body must be JSON: {text} is not a JSON value")


def _is_text(value: Any) -> bool:
    """Return whether every string can be encoded as UTF-8. JSON escapes can name code points that cannot."""
    try:
        to_json(value)
    except UnicodeEncodeError:
        return False
    return True


def _too_deep() -> BankError:
    return BankError("format-error", expected=f"the body must not be nested deeper than {MAX_DEPTH}")


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [v for v in level if isinstance(v, dict | list)]:
        depth += 1
        level = [inner for v in level for inner in (v.values() if isinstance(v, dict) else v)]
    return depth


class _Inputs(Mapping[str, Any]):
    """The inputs of handlers by name. Each is read from the request at first use."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def __getitem__(self, name: str) -> Any:
        if name not in self._call.inputs:
            raise KeyError(name)
        return self._call.take(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._call.inputs)

    def __len__(self) -> int:
        return len(self._call.inputs)


class _LazyMapping(Mapping[str, Any]):
    """A mapping that is made at first use."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], Mapping[str, Any]]) -> None:
        self._make = make

    def __getitem__(self, key: str) -> Any:
        return self._make()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._make())

    def __len__(self) -> int:
        return len(self._make())

    def __repr__(self) -> str:
        return repr(self._make())
