"""The sandbox that expressions are evaluated in: Jinja2's immutable one, with bounds, and null for the missing."""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any
from urllib.parse import quote

from jinja2 import pass_context
from jinja2.exceptions import SecurityError
from jinja2.filters import do_map
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from xs2a_sandbox.formats import is_date_time
from xs2a_sandbox.work import metered, spend, weighed

FILTERS = frozenset(
    "abs capitalize count d default decimal dictsort first int items join last length list lower map max min reject "
    "rejectattr replace reverse round select selectattr sort string sum title trim unique upper urlencode".split()
)

IN_ORDER = "<"
"""The filter that comparisons with one of ORDERINGS become; nobody can type its name."""
WEIGHED = "="
"""The filter that values go through before Python itself compares or cuts them; nobody can type its name either."""
ORDERINGS = frozenset({"gt", "gteq", "lt", "lteq"})

MAX_SIZE = 100_000
"""Characters or entries that an expression may produce by multiplying."""
MAX_POWER = 64
MAX_BITS = 4096
MAX_DIGITS = 1000


def to_text(value: Any) -> str:
    if is_missing(value):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def member(value: Any, key: Any) -> Any:
    """A mapping's member or a list's entry; null where there is none."""
    if isinstance(value, Mapping):
        return value.get(key)
    if isinstance(value, list | tuple) and isinstance(key, int) and -len(value) <= key < len(value):
        return value[key]
    return None


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def getattr(self, obj: Any, attribute: str) -> Any:
        spend(1)
        return member(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        spend(1)
        return member(obj, argument)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        weighed(left)
        weighed(right)
        if operator == "*":
            for sized, times in ((left, right), (right, left)):
                if isinstance(sized, str | list | tuple) and isinstance(times, int) and _size(sized) * times > MAX_SIZE:
                    raise SecurityError(f"a product of more than {MAX_SIZE} characters or entries")
            if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > MAX_BITS:
                raise SecurityError(f"a product of more than {MAX_BITS} bits")
        elif operator == "**":
            if isinstance(right, int | float | Decimal) and not -MAX_POWER <= right <= MAX_POWER:
                raise SecurityError(f"a power above {MAX_POWER}")
            if isinstance(left, int) and left.bit_length() > MAX_BITS // MAX_POWER:
                raise SecurityError("a power of a number above 64 bits")
        elif operator == "%" and isinstance(left, str):
            raise SecurityError("% on a text")
        if isinstance(left, int) and isinstance(right, int) and (operator == "/" or (operator == "**" and right < 0)):
            left = Decimal(left)  # Python would make a binary fraction of it
        return super().call_binop(context, operator, left, right)


def _environment() -> _Environment:
    # Block and comment marks nobody can type, so that `{%` and `{#` are text.
    environment = _Environment(
        block_start_string="\x00\x01",
        block_end_string="\x01\x00",
        comment_start_string="\x00\x02",
        comment_end_string="\x02\x00",
        keep_trailing_newline=True,
        optimized=False,  # what is expensive would be tried again and again while a file is read
    )
    environment.globals.clear()
    environment.filters |= {
        "d": _default,
        "decimal": _decimal,
        "default": _default,
        "int": _int,
        "join": _join,
        "map": _map,
        "replace": _replace,
        "round": _round,
        "string": _string,
        "sum": _sum,
        "urlencode": lambda value: quote(value, safe=""),
    }
    for name in ("capitalize", "lower", "replace", "title", "trim", "upper", "urlencode"):
        environment.filters[name] = _on_text(environment.filters[name])
    for name in set(environment.filters) - FILTERS:
        del environment.filters[name]
    environment.filters |= {IN_ORDER: _in_order, WEIGHED: lambda value: value}
    tables: tuple[dict[str, Any], ...] = (environment.filters, environment.tests)
    for table in tables:
        table |= {name: metered(function) for name, function in table.items()}
    return environment


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "gt": operator.gt,
    "gteq": operator.ge,
    "in": lambda left, right: left in right,
    "lt": operator.lt,
    "lteq": operator.le,
    "ne": operator.ne,
    "notin": lambda left, right: left not in right,
}


def _in_order(first: Any, operators: Sequence[str], others: Sequence[Any]) -> bool:
    """`first < second <= third`. Of two times with an offset the earlier one is less, though as text it need not be."""
    for name, left, right in zip(operators, (first, *others), others, strict=False):
        pair = (_time(left), _time(right)) if name in ORDERINGS else (None, None)
        if not (_OPERATORS[name](left, right) if None in pair else _OPERATORS[name](*pair)):
            return False
    return True


def _time(value: Any) -> datetime | None:
    return datetime.fromisoformat(value.upper()) if isinstance(value, str) and is_date_time(value) else None


def _size(value: Any) -> int:
    """Characters and entries, those inside included; the count ends above MAX_SIZE."""
    total, found = 0, [value]
    while found and total <= MAX_SIZE:
        one = found.pop()
        if isinstance(one, str | list | tuple | dict):
            total += len(one)
        if isinstance(one, list | tuple | dict):
            found += one.values() if isinstance(one, dict) else one
    return total


def is_missing(value: Any) -> bool:
    return value is None or isinstance(value, Undefined)


def _on_text(convert: Callable[..., str]) -> Callable[..., str | None]:
    return lambda value, *args, **named: None if is_missing(value) else convert(to_text(value), *args, **named)


def _default(value: Any, default: Any = "", boolean: bool = False) -> Any:
    return default if is_missing(value) or (boolean and not value) else value


def _string(value: Any) -> str | None:
    if is_missing(value):
        return None
    text = to_text(value) if _size(value) <= MAX_SIZE else None
    if text is None or len(text) > MAX_SIZE:
        raise SecurityError(f"a text of more than {MAX_SIZE} characters")
    return text


@pass_context
def _map(context: Context, values: Iterable[Any], *args: Any, **named: Any) -> Iterator[Any]:
    size = 0
    for value in do_map(context, values, *args, **named):
        size += _size(value)
        if size > 10 * MAX_SIZE:
            raise SecurityError(f"a list of more than {10 * MAX_SIZE} characters and entries")
        yield value


def _int(value: Any, default: Any = 0, base: int = 10) -> Any:
    if isinstance(value, str) and base != 10:
        try:
            return int(value[:1000], base)
        except ValueError:
            return default
    number = _decimal(value)
    if number is None:
        return int(value) if isinstance(value, bool) else default
    if number.adjusted() > MAX_DIGITS:
        raise SecurityError(f"a number of more than {MAX_DIGITS} digits")
    return int(number)


_ROUNDINGS = {"common": ROUND_HALF_EVEN, "ceil": ROUND_CEILING, "floor": ROUND_FLOOR}


def _round(value: Any, precision: int = 0, method: str = "common") -> Any:
    number = _decimal(value)
    if number is None or (isinstance(value, int) and precision >= 0):
        return value if isinstance(value, int) else None
    if abs(precision) > MAX_POWER or method not in _ROUNDINGS:
        raise SecurityError(f"round takes up to {MAX_POWER} digits, and one of {', '.join(_ROUNDINGS)}")
    rounded = number.quantize(Decimal(1).scaleb(-precision), _ROUNDINGS[method])
    return rounded if precision >= 0 else rounded.quantize(Decimal(1))


def _decimal(value: Any) -> Decimal | None:
    try:
        number = None if value is None or isinstance(value, bool) else Decimal(str(value))
    except ArithmeticError:
        return None
    return number if number is None or number.is_finite() else None


def _sum(values: Iterable[Any], attribute: str | None = None, start: Any = 0) -> Any:
    numbers = values if attribute is None else (member(value, attribute) for value in values)
    return sum((number for number in map(_decimal, numbers) if number is not None), _decimal(start) or Decimal())


def _join(values: Iterable[Any], d: str = "", attribute: str | None = None) -> str:
    entries = list(values) if attribute is None else [member(value, attribute) for value in values]
    if _size(entries) + len(entries) * len(d) > MAX_SIZE:
        raise SecurityError(f"a text of more than {MAX_SIZE} characters")
    return d.join(map(to_text, entries))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    if len(text) + text.count(old) * len(new) > MAX_SIZE:
        raise SecurityError(f"a text of more than {MAX_SIZE} characters")
    return text.replace(old, new, count)


ENVIRONMENT = _environment()
