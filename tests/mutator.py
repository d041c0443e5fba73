"""Plants differences and noise into answers, and knows itself what it has done.

It shares no code with what it tests: its own idea of places and kinds.
"""

import copy
import json
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Planted = tuple[str, str]
"""Kind, and place in the sandbox's answer; how severe it is, the oracle of tests/compare judges."""

IDENTIFYING = {
    "resourceId",
    "transactionId",
    "cardTransactionId",
    "entryReference",
    "consentId",
    "paymentId",
    "authorisationId",
    "authenticationMethodId",
    "iban",
    "maskedPan",
}
KEYS = [*sorted(IDENTIFYING), "balanceType"]


@dataclass
class Side:
    status: int
    headers: list[tuple[str, str]]
    body: Any
    target: str = "/unknown"
    """What it answers."""


@dataclass(frozen=True)
class Spot:
    """The same object or array on both sides."""

    bank: Any
    sandbox: Any
    inside: tuple[int, ...]
    """Marks of what it is in."""


@dataclass
class Case:
    """One base answer on its way to two different ones."""

    random: random.Random
    bank: Side
    sandbox: Side
    expected: list[Callable[[], Planted]] = field(default_factory=list)
    touched: set[int] = field(default_factory=set)
    renamed: dict[int, bool] = field(default_factory=dict)
    spots: list[Spot] = field(default_factory=list)
    reads: list[Callable[[Side], None]] = field(default_factory=list)
    """What another read of the bank changes in its answer."""
    spelling: list[Callable[[Any, str], str]] = field(default_factory=list)
    texts: list[tuple[str, str, str]] = field(default_factory=list)
    """Identifiers: as the base has it, as the bank says it, as the sandbox says it."""

    def __post_init__(self) -> None:
        self.spots = list(spots(self.bank.body, self.sandbox.body))

    def plant(self, kind: str, where: Callable[[], str]) -> None:
        self.expected.append(lambda: (kind, where()))

    def place(self, container: Any, *steps: Any) -> Callable[[], str]:
        """Where it will stand in the sandbox's answer when everything is planted."""
        return lambda: pointer(self.sandbox.body, container) + "".join(f"/{escape(step)}" for step in steps)

    def bank_place(self, container: Any, *steps: Any) -> Callable[[], str]:
        return lambda: pointer(self.bank.body, container) + "".join(f"/{escape(step)}" for step in steps)

    def free(self, spot: Spot) -> bool:
        return not self.touched & {id(spot.bank), *spot.inside}

    def objects(self) -> list[Spot]:
        return [s for s in self.spots if isinstance(s.bank, dict) and self.free(s)]

    def arrays(self, at_least: int) -> list[Spot]:
        """Untouched, and nothing inside is touched."""
        return [
            s
            for s in self.spots
            if isinstance(s.bank, list)
            and len(s.bank) >= at_least
            and self.free(s)
            and not any(id(s.bank) in other.inside and id(other.bank) in self.touched for other in self.spots)
        ]

    def touch(self, spot: Spot) -> None:
        self.touched.add(id(spot.bank))


def spots(bank: Any, sandbox: Any, inside: tuple[int, ...] = ()) -> Iterator[Spot]:
    if isinstance(bank, dict | list):
        yield Spot(bank, sandbox, inside)
        steps = list(bank) if isinstance(bank, dict) else range(len(bank))
        for step in steps:
            yield from spots(bank[step], sandbox[step], (*inside, id(bank)))


def escape(step: Any) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")


def pointer(tree: Any, container: Any) -> str:
    steps = _search(tree, container)
    assert steps is not None
    return steps


def _search(tree: Any, container: Any) -> str | None:
    if tree is container:
        return ""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for step, below in inner:
        if (steps := _search(below, container)) is not None:
            return f"/{escape(step)}{steps}"
    return None


def key_of(elements: list[Any]) -> str | None:
    for key in KEYS:
        values = [e.get(key) if isinstance(e, dict) else None for e in elements]
        if all(isinstance(v, str) and v for v in values) and len(set(values)) == len(values):
            return key
    return None


# Changes


def _member(case: Case, fits: Callable[[str, Any], bool]) -> tuple[Spot, str] | None:
    members = [
        (spot, name)
        for spot in case.objects()
        for name, value in spot.bank.items()
        if name not in IDENTIFYING
        and not name.startswith("_")
        and name not in ("href", "balanceType")
        and name in spot.sandbox
        and fits(name, value)
        and not (isinstance(value, str) and any(text in value for text, *_ in case.texts))
    ]
    return case.random.choice(members) if members else None


def _either(case: Case, spot: Spot) -> Any:
    return case.random.choice([spot.bank, spot.sandbox])


def member_gone(case: Case) -> bool:
    """From the sandbox it is missing, from the bank it is extra."""
    if (chosen := _member(case, lambda name, value: value is not None and not isinstance(value, dict | list))) is None:
        return False
    spot, name = chosen
    side = _either(case, spot)
    del side[name]
    case.plant("member-missing" if side is spot.sandbox else "member-extra", case.place(spot.sandbox, name))
    case.touch(spot)
    return True


def member_new(case: Case) -> bool:
    if not (holders := case.objects()):
        return False
    spot = case.random.choice(holders)
    side = _either(case, spot)
    name = case.random.choice(["brandNew", "a/b", "x~y", "ünï", "with space"])
    side[name] = case.random.choice(["text", 1, True, {"deep": [1]}, []])
    case.plant("member-extra" if side is spot.sandbox else "member-missing", case.place(spot.sandbox, name))
    case.touch(spot)
    return True


def type_changed(case: Case) -> bool:
    if (chosen := _member(case, lambda name, value: not isinstance(value, dict | list))) is None:
        return False
    spot, name = chosen
    others: list[Any] = ["text", 7, True, None, {}, []]
    kinds = [o for o in others if type(o) is not type(spot.bank[name])]
    _either(case, spot)[name] = case.random.choice(kinds)
    case.plant("type", case.place(spot.sandbox, name))
    case.touch(spot)
    return True


def value_changed(case: Case) -> bool:
    if (chosen := _member(case, lambda name, value: isinstance(value, str | bool | int | float))) is None:
        return False
    spot, name = chosen
    value = spot.bank[name]
    if isinstance(value, bool):
        new: Any = not value
    elif isinstance(value, int | float):
        new = value + case.random.choice([1, -1, 0.01])
    elif is_date(value):
        new = "2001-02-03"
    elif is_amount(value):
        new = case.random.choice(["1234.56", "-0.07"])
    elif is_moment(value):
        new = "2001-02-03T04:05:06Z"
    else:
        new = value + case.random.choice([" ", "'", '"', "O'Brien", "\\", "ß", "!"])
    _either(case, spot)[name] = new
    case.plant("value", case.place(spot.sandbox, name))
    case.touch(spot)
    return True


def format_changed(case: Case) -> bool:
    if (chosen := _member(case, lambda name, value: is_date(value) or is_amount(value))) is None:
        return False
    spot, name = chosen
    value = spot.bank[name]
    new = f"{value[8:10]}.{value[5:7]}.{value[:4]}" if is_date(value) else value.replace(".", ",") + " EUR"
    _either(case, spot)[name] = new
    case.plant("format", case.place(spot.sandbox, name))
    case.touch(spot)
    return True


def null_or_absent(case: Case) -> bool:
    if (chosen := _member(case, lambda name, value: value is None)) is None:
        return False
    spot, name = chosen
    del _either(case, spot)[name]
    case.plant("null", case.place(spot.sandbox, name))
    case.touch(spot)
    return True


def status_changed(case: Case) -> bool:
    if case.bank.status != case.sandbox.status:
        return False
    side = case.random.choice([case.bank, case.sandbox])
    side.status = case.random.choice([s for s in (200, 201, 202, 400, 403, 500) if s != side.status])
    case.plant("status", lambda: "status")
    return True


def header_changed(case: Case) -> bool:
    """Headers that the interface names, and others; missing, extra, changed."""
    used = {name.lower() for name, _ in (*case.bank.headers, *case.sandbox.headers)}
    names = [n for n in ("Location", "ASPSP-SCA-Approach", "X-Bank-Extra", "Retry-After") if n.lower() not in used]
    if not names:
        return False
    name = case.random.choice(names)
    written = case.random.choice([name, name.lower(), name.upper()])
    what = case.random.choice(["missing", "extra", "changed"])
    if what != "extra":
        case.bank.headers.append((written, "one"))
    if what != "missing":
        case.sandbox.headers.append((name, "two"))
    header = name if what == "extra" else written
    case.plant(f"header-{what}", lambda: f"header {header.lower()}")
    return True


def element_gone(case: Case) -> bool:
    """By key: the element; else the array is of another length."""
    if not (lists := case.arrays(3)):
        return False
    spot = case.random.choice(lists)
    side = _either(case, spot)
    position = case.random.randrange(len(side))
    by_key = key_of(spot.bank) and not case.renamed.get(id(spot.bank))
    other = spot.sandbox if side is spot.bank else spot.bank
    gone = other[position]
    del side[position]
    if not by_key:
        case.plant("length", case.place(spot.sandbox))
    elif side is spot.sandbox:
        case.plant("element-missing", lambda: pointer(case.bank.body, spot.bank) + f"/{index(spot.bank, gone)}")
    else:
        case.plant("element-extra", lambda: pointer(case.sandbox.body, spot.sandbox) + f"/{index(spot.sandbox, gone)}")
    case.touch(spot)
    case.touched |= {id(below.bank) for below in case.spots if id(spot.bank) in below.inside}
    return True


def elements_swapped(case: Case) -> bool:
    lists = [
        s
        for s in case.arrays(3)
        if not case.renamed.get(id(s.bank)) and len({json.dumps(e) for e in s.bank}) == len(s.bank)
    ]
    if not lists:
        return False
    spot = case.random.choice(lists)
    side = _either(case, spot)
    one, other = case.random.sample(range(len(side)), 2)
    side[one], side[other] = side[other], side[one]
    case.plant("order", case.place(spot.sandbox))
    case.touch(spot)
    case.touched |= {id(below.bank) for below in case.spots if id(spot.bank) in below.inside}
    return True


def key_changed(case: Case) -> bool:
    """What tells an element apart, and is no name that each side gives."""
    arrays = [(s, key_of(s.bank)) for s in case.arrays(2) if not case.renamed.get(id(s.bank))]
    keys = [(spot, key) for spot, key in arrays if key in ("iban", "maskedPan", "balanceType")]
    if not keys:
        return False
    spot, key = case.random.choice(keys)
    position = case.random.randrange(len(spot.bank))
    side = _either(case, spot)
    side[position][key] = "AT001234567890123456" if key == "iban" else "another"
    case.plant("value", case.place(spot.sandbox[position], key))
    case.touch(spot)
    case.touched |= {id(below.bank) for below in case.spots if id(spot.bank) in below.inside}
    return True


def body_gone(case: Case) -> bool:
    """Instead of it comes a page, or nothing."""
    if case.expected or case.texts or not isinstance(case.bank.body, dict):
        return False
    side = case.random.choice([case.bank, case.sandbox])
    side.body = None
    case.plant("type", lambda: "")
    case.touched |= {id(spot.bank) for spot in case.spots}
    case.spots = []
    return True


CHANGES = [
    key_changed,
    body_gone,
    member_gone,
    member_new,
    type_changed,
    value_changed,
    format_changed,
    null_or_absent,
    status_changed,
    header_changed,
    element_gone,
    elements_swapped,
]


def index(elements: list[Any], one: Any) -> int:
    return next(n for n, element in enumerate(elements) if element is one)


def is_date(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 10 and value[4] == value[7] == "-" and value[:4].isdigit()


def is_amount(value: Any) -> bool:
    return isinstance(value, str) and "." in value and value.lstrip("-").replace(".", "", 1).isdigit()


def is_moment(value: Any) -> bool:
    return isinstance(value, str) and len(value) > 18 and value[10] == "T"


# Noise: none of it may be reported


def volatile_headers(case: Case) -> None:
    for name in ("Date", "X-Request-ID", "Server", "traceparent", "X-B3-TraceId", "CF-Ray"):
        case.bank.headers.append((name, f"bank-{case.random.random()}"))
    case.sandbox.headers.append(("x-request-id", "other"))


def transport_headers(case: Case) -> None:
    case.bank.headers += [("Transfer-Encoding", "chunked"), ("Connection", "keep-alive"), ("Via", "1.1 gateway")]
    case.sandbox.headers += [("Content-Length", "1"), ("X-Sandbox-Rule", "r"), ("X-Sandbox-Source", "rule")]


def cookies(case: Case) -> None:
    case.bank.headers.append(("Set-Cookie", f"s={case.random.random()}"))


def etag(case: Case) -> None:
    case.bank.headers.append(("ETag", f'"{case.random.random()}"'))
    case.sandbox.headers.append(("ETag", '"x"'))


def header_case(case: Case) -> None:
    case.bank.headers = [(name.upper(), value) for name, value in case.bank.headers]


def charset(case: Case) -> None:
    case.bank.headers = [
        (name, "Application/JSON; charset=utf-8" if name.lower() == "content-type" else value)
        for name, value in case.bank.headers
    ]


def whitespace(case: Case) -> None:
    case.spelling.append(lambda body, text: json.dumps(json.loads(text), indent=3))


def escapes(case: Case) -> None:
    case.spelling.append(lambda body, text: text.replace("/", "\\/"))


def member_order(case: Case) -> None:
    def mixed(value: Any) -> Any:
        if isinstance(value, dict):
            names = list(value)
            case.random.shuffle(names)
            return {name: mixed(value[name]) for name in names}
        return [mixed(v) for v in value] if isinstance(value, list) else value

    case.spelling.append(lambda body, text: json.dumps(mixed(json.loads(text))))


def number_spelling(case: Case) -> None:
    _new_member(case, "wholeNumber", 100, 100)
    case.spelling.append(lambda body, text: text.replace('"wholeNumber": 100', '"wholeNumber": 1.000E+2'))


def uuids(case: Case) -> None:
    _new_member(case, "traceReference", str(uuid.UUID(int=case.random.getrandbits(128))), str(uuid.uuid4()))


def consent_names(case: Case) -> None:
    """Whatever the answer calls what it has made, the other side calls it differently, in links too."""
    for name in ("consentId", "paymentId", "authorisationId", "basketId"):
        for spot in case.spots:
            if isinstance(spot.bank, dict) and isinstance(base := spot.bank.get(name), str):
                case.texts.append((base, f"B{case.random.randrange(10**6)}x", f"s-{case.random.randrange(10**9)}"))
                return


def transaction_names(case: Case) -> None:
    for spot in case.spots:
        if isinstance(spot.bank, list) and spot.bank and key_of(spot.bank) == "transactionId":
            for number, element in enumerate(spot.bank):
                text = element["transactionId"]
                case.texts.append((text, f"BK{number:04}", f"SB-{case.random.randrange(10**6)}-{number}"))
            case.renamed[id(spot.bank)] = True


def counter(case: Case) -> None:
    name = _new_member(case, "accessCounter", case.random.randrange(10**6), 0)
    if name:
        case.reads.append(lambda side: name(side).update(accessCounter=10**6 + case.random.randrange(10**6)))


def moment(case: Case) -> None:
    name = _new_member(case, "answeredAt", "2026-11-21T10:11:12.131Z", "2026-11-22T10:11:12Z")
    if name:
        case.reads.append(lambda side: name(side).update(answeredAt="2026-11-21T10:11:13.999Z"))


def day(case: Case) -> None:
    name = _new_member(case, "tomorrow", "2026-11-21", "2026-11-23")
    if name:
        case.reads.append(lambda side: name(side).update(tomorrow="2026-11-22"))


def nested_state(case: Case) -> None:
    name = _new_member(case, "timing", {"a": {"ms": 1.5}}, {"a": {"ms": 7}})
    if name:
        case.reads.append(lambda side: name(side).update(timing={"a": {"ms": 2.25}}))


def flickering_member(case: Case) -> None:
    name = _new_member(case, "hint", "look", None, both=False)
    if name:
        case.reads.append(lambda side: name(side).pop("hint"))


def flickering_null(case: Case) -> None:
    name = _new_member(case, "maybe", None, None, both=False)
    if name:
        case.reads.append(lambda side: name(side).pop("maybe"))


def flickering_type(case: Case) -> None:
    name = _new_member(case, "mood", "good", "bad")
    if name:
        case.reads.append(lambda side: name(side).update(mood=None))


def shuffled_list(case: Case) -> None:
    name = _new_member(case, "unordered", ["a", "b", "c", "d"], ["d", "b", "a", "c"])
    if name:
        case.reads.append(lambda side: name(side).update(unordered=["c", "a", "d", "b"]))


def shuffled_objects(case: Case) -> None:
    things = [{"resourceId": f"r{n}", "n": n} for n in range(4)]
    name = _new_member(case, "unorderedThings", things, things[::-1])
    if name:
        case.reads.append(lambda side: name(side).update(unorderedThings=[things[n] for n in (2, 0, 3, 1)]))


def growing_list(case: Case) -> None:
    name = _new_member(case, "events", ["x", "y"], ["x"])
    if name:
        case.reads.append(lambda side: name(side).update(events=["x", "y", "z"]))


def changing_header(case: Case) -> None:
    case.bank.headers.append(("X-Remaining-Accesses", "4"))
    case.sandbox.headers.append(("X-Remaining-Accesses", "99"))
    case.reads.append(lambda side: side.headers.append(("X-Remaining-Accesses", "3")))


def flickering_header(case: Case) -> None:
    case.bank.headers.append(("X-Node-Warning", "busy"))
    case.reads.append(lambda side: side.headers.pop(index_of(side.headers, "X-Node-Warning")))


def index_of(headers: list[tuple[str, str]], name: str) -> int:
    return next(n for n, (other, _) in enumerate(headers) if other.lower() == name.lower())


def absolute_links(case: Case) -> None:
    case.spelling.append(lambda body, text: text.replace('"/v1/', '"https://bank.example/xs2a/v1/'))


NOISE = [
    volatile_headers,
    transport_headers,
    cookies,
    etag,
    header_case,
    charset,
    whitespace,
    escapes,
    member_order,
    number_spelling,
    uuids,
    consent_names,
    transaction_names,
    counter,
    moment,
    day,
    nested_state,
    flickering_member,
    flickering_null,
    flickering_type,
    shuffled_list,
    shuffled_objects,
    growing_list,
    changing_header,
    flickering_header,
    absolute_links,
]


def _new_member(
    case: Case, name: str, bank: Any, sandbox: Any, both: bool = True
) -> Callable[[Side], dict[str, Any]] | None:
    """Put into some object of both sides; a function that finds that object in a copy of the bank's answer."""
    found = [s for s in case.spots if isinstance(s.bank, dict) and isinstance(s.sandbox, dict) and not s.inside]
    if not found:
        return None
    spot = found[0]
    spot.bank[name] = bank
    if both:
        spot.sandbox[name] = sandbox
    return lambda side: side.body


# A whole case


@dataclass(frozen=True)
class Answers:
    """What the two sides send, and what has to be found in it."""

    bank: tuple[int, list[tuple[str, str]], bytes]
    again: tuple[int, list[tuple[str, str]], bytes]
    sandbox: tuple[int, list[tuple[str, str]], bytes]
    expected: list[Planted]
    what: list[str]
    target: str


def make(seed: int, bases: list[Side], changes: int | None = None, noise: int | None = None) -> Answers:
    """`changes` and `noise`: how many, when that is not the seed's to say."""
    chance = random.Random(seed)
    base = chance.choice(bases)
    case = Case(chance, enriched(base), enriched(base))
    what = []
    kinds = chance.sample(NOISE, chance.randint(0, 8) if noise is None else noise)
    early = [consent_names, transaction_names]  # they decide what an array is told apart by
    for one in sorted(kinds, key=lambda n: n not in early):
        if one in early:
            one(case)
            what.append(one.__name__)
    for change in chance.choices(CHANGES, k=chance.choice([0, 1, 1, 1, 2, 3, 5]) if changes is None else changes):
        if change(case):
            what.append(change.__name__)
    for one in kinds:
        if one not in early:
            one(case)
            what.append(one.__name__)
    expected = [tell() for tell in case.expected]
    again = copy.deepcopy(case.bank)
    for read in case.reads:
        read(again)
    return Answers(
        _sent(case, case.bank, 1, True),
        _sent(case, again, 1, True),
        _sent(case, case.sandbox, 2, False),
        expected,
        what,
        base.target,
    )


def enriched(base: Side) -> Side:
    """With arrays whose elements have no keys, and scalars of every type."""
    body = copy.deepcopy(base.body)
    if isinstance(body, dict):
        body["tags"] = ["red", "green", "blue", "white", "black"]
        body["entries"] = [
            {
                "line": n,
                "label": f"line {n} of many",
                "sum": f"{n}.50",
                "on": f"2026-01-0{n}",
                "note": None,
                "ok": n > 2,
            }
            for n in range(1, 6)
        ]
        body["limits"] = {"perDay": 4, "rate": 1.25, "flag": True, "deep": {"deeper": {"value": "x y", "none": None}}}
        body["things"] = [{"maskedPan": f"XX{n}", "name": f"thing {n}", "size": n, "fit": n == 1} for n in range(7)]
    return Side(base.status, list(base.headers), body)


def _sent(case: Case, side: Side, number: int, spelled: bool) -> tuple[int, list[tuple[str, str]], bytes]:
    text = "<h1>Ünavailable</h1>" if side.body is None else json.dumps(side.body)
    headers = list(side.headers)
    for names in case.texts:
        text = text.replace(names[0], names[number])
        headers = [(name, value.replace(names[0], names[number])) for name, value in headers]
    if spelled and side.body is not None:
        for spell in case.spelling:
            text = spell(side.body, text)
    return side.status, headers, text.encode()
