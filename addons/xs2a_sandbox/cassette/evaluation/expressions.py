"""Expressions of cassettes and test data: Jinja2 expressions, compiled when a file is loaded, evaluated in a sandbox.

Only `{{` starts one. A missing value is null; comparing or calculating with null gives null.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import lru_cache, reduce
from typing import Any, Protocol
from urllib.parse import quote

from jinja2 import Template, nodes, pass_context
from jinja2.exceptions import SecurityError, TemplateRuntimeError, TemplateSyntaxError, UndefinedError
from jinja2.filters import do_map
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from xs2a_sandbox.cassette.evaluation import work
from xs2a_sandbox.cassette.evaluation.id_form import is_form
from xs2a_sandbox.cassette.evaluation.state_words import STATES
from xs2a_sandbox.cassette.evaluation.text_forms import has_format, matches, sha256, strftime, strptime
from xs2a_sandbox.cassette.evaluation.values import as_time, merge_patch, to_text
from xs2a_sandbox.cassette.evaluation.work import WORK, Work, charge, charge_entries, meter, size, spend
from xs2a_sandbox.errors import ExpressionError

FILTERS = frozenset(
    "abs capitalize count d default decimal dictsort first has_format int items join last length list lower map "
    "matches max min reject rejectattr replace reverse round select selectattr sha256 sort split strftime string "
    "strptime sum title trim unique upper urlencode".split()
)

SHALLOW = frozenset(
    "count d default first items last length list map reject rejectattr reverse select selectattr".split()
)
"""Filters that look only at the entries of their argument, not inside them."""

KINDS = frozenset("boolean defined float integer iterable mapping none number sequence string undefined".split())
"""Tests that check only the type of their argument."""

IN_ORDER = "<"
"""The filter that replaces comparisons with one of ORDERINGS. Nobody can type its name."""
WEIGHED = "="
"""The filter that values pass before Python compares them. Nobody can type its name either."""
CUT = "["
"""The filter that values pass before Python slices them."""
ORDERINGS = frozenset({"gt", "gteq", "lt", "lteq"})

MAX_SIZE = 100_000
"""The most characters or entries that multiplication may produce."""
MAX_POWER = 64
MAX_BITS = 4096
MAX_DIGITS = 1000


def member(value: Any, key: Any) -> Any:
    """Return a member of a mapping or an entry of a list, or null if there is none."""
    if type(value) is dict:  # checked before Mapping, because that check takes three times as long
        return value.get(key)
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
        weigh = charge_entries if operator == "+" else charge
        weigh(left)
        weigh(right)
        if operator == "*":
            for sized, times in ((left, right), (right, left)):
                if (
                    isinstance(sized, str | list | tuple)
                    and isinstance(times, int)
                    and size(sized, MAX_SIZE) * times > MAX_SIZE
                ):
                    raise SecurityError(f"a product of more than {MAX_SIZE} characters or entries")
            if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > MAX_BITS:
                raise SecurityError(f"a product of more than {MAX_BITS} bits")
        elif operator == "**":
            if isinstance(right, int | float | Decimal) and not -MAX_POWER <= right <= MAX_POWER:
                raise SecurityError(f"a power above {MAX_POWER}")
            if isinstance(left, int) and left.bit_length() > MAX_BITS // MAX_POWER:
                raise SecurityError("a power of a number above 64 bits")
        elif operator == "%" and isinstance(left, str):
            raise SecurityError("% on a string")
        if isinstance(left, int) and isinstance(right, int) and (operator == "/" or (operator == "**" and right < 0)):
            left = Decimal(left)  # because Python would convert it to a binary fraction
        return super().call_binop(context, operator, left, right)


def _environment() -> _Environment:
    # Use marks for blocks and comments that nobody can type, so that `{%` and `{#` are plain text.
    environment = _Environment(
        block_start_string="\x00\x01",
        block_end_string="\x01\x00",
        comment_start_string="\x00\x02",
        comment_end_string="\x02\x00",
        keep_trailing_newline=True,
        optimized=False,  # because an expensive expression would be evaluated again and again while a file is read
    )
    environment.globals.clear()
    environment.filters |= {
        "d": _default,
        "decimal": _decimal,
        "default": _default,
        "has_format": has_format,
        "int": _int,
        "join": _join,
        "map": _map,
        "matches": matches,
        "replace": _replace,
        "round": _round,
        "sha256": sha256,
        "split": _split,
        "strftime": lambda value, pattern: None if is_missing(value) else strftime(value, pattern),
        "string": _string,
        "strptime": strptime,
        "sum": _sum,
        "urlencode": lambda value: quote(value, safe=""),
    }
    for name in "capitalize has_format lower matches replace sha256 split strptime title trim upper urlencode".split():
        environment.filters[name] = _on_text(environment.filters[name])
    for name in set(environment.filters) - FILTERS:
        del environment.filters[name]
    environment.filters |= {IN_ORDER: is_in_order, WEIGHED: lambda value: value, CUT: lambda value: value}
    for name, function in environment.filters.items():
        environment.filters[name] = meter(function, is_shallow=name in SHALLOW | {CUT})
    tests: dict[str, Any] = environment.tests
    tests |= {name: meter(function, is_shallow=name in KINDS) for name, function in tests.items()}
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


def is_in_order(first: Any, operators: Sequence[str], others: Sequence[Any]) -> bool:
    """Evaluate `first < second <= third`. Times with an offset are compared as times, not as text."""
    for name, left, right in zip(operators, (first, *others), others, strict=False):
        pair = (as_time(left), as_time(right)) if name in ORDERINGS else (None, None)
        if not (_OPERATORS[name](left, right) if None in pair else _OPERATORS[name](*pair)):
            return False
    return True


def is_missing(value: Any) -> bool:
    return value is None or isinstance(value, Undefined)


def _on_text(convert: Callable[..., Any]) -> Callable[..., Any]:
    return lambda value, *args, **keywords: None if is_missing(value) else convert(to_text(value), *args, **keywords)


def _default(value: Any, default: Any = "", boolean: bool = False) -> Any:
    return default if is_missing(value) or (boolean and not value) else value


def _string(value: Any) -> str | None:
    if is_missing(value):
        return None
    text = to_text(value) if size(value, MAX_SIZE) <= MAX_SIZE else None
    if text is None or len(text) > MAX_SIZE:
        raise SecurityError(f"a string of more than {MAX_SIZE} characters")
    return text


@pass_context
def _map(context: Context, values: Iterable[Any], *args: Any, **keywords: Any) -> Iterator[Any]:
    total = 0
    for value in do_map(context, values, *args, **keywords):
        charge(value)
        total += size(value, MAX_SIZE)
        if total > 10 * MAX_SIZE:
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
        raise SecurityError(f"round takes at most {MAX_POWER} digits and one of {', '.join(_ROUNDINGS)}")
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
    if isinstance(start, list):
        return [*start, *(entry for part in numbers if isinstance(part, list | tuple) for entry in part)]
    return sum((number for number in map(_decimal, numbers) if number is not None), _decimal(start) or Decimal())


def _join(values: Iterable[Any], d: str = "", attribute: str | None = None) -> str:
    entries = list(values) if attribute is None else [member(value, attribute) for value in values]
    if size(entries, MAX_SIZE) + len(entries) * len(d) > MAX_SIZE:
        raise SecurityError(f"a string of more than {MAX_SIZE} characters")
    return d.join(map(to_text, entries))


def _split(text: str, at: str) -> list[str]:
    if not at or text.count(at) >= MAX_SIZE:
        raise SecurityError(f"split needs a separator, and returns at most {MAX_SIZE} parts")
    return text.split(at)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    if len(text) + text.count(old) * len(new) > MAX_SIZE:
        raise SecurityError(f"a string of more than {MAX_SIZE} characters")
    return text.replace(old, new, count)


ENVIRONMENT = _environment()


def calculate(operator: str, left: Any, right: Any) -> Any:
    """Return the result of one of the operators `+ - * / // % **` in expressions."""
    return ENVIRONMENT.call_binop(_NO_CONTEXT, operator, left, right)


_NO_CONTEXT = Context(ENVIRONMENT, {}, None, {})

ROOTS = frozenset(
    {
        *("request", "path", "query", "headers", "body", "form", "token", "input"),
        *("let", "state", "testdata", "session", "clock"),
    }
)
SOURCE_ROOTS = ROOTS - {"input"}
"""The roots for the expressions of inputs."""
ON_DEMAND = frozenset({"form", "token"})
"""Roots that are functions in a scope, because few expressions use them. Each may return null."""
RESULT_ROOTS = ROOTS | {"result"}
ERROR_ROOTS = ROOTS | {"error"}
HEADERS = "headers"
FUNCTIONS = frozenset({"uuid", "new_id", "now", "today", "jwt", "patched", "signed", "verifies", "wire"})
_ARGUMENTS = {
    "jwt": "jwt(text)",
    "patched": "patched(value, steps)",
    "signed": "signed(claims, header)",
    "verifies": "verifies(text, keys)",
    "wire": "wire(thing, state)",
}
"""The functions with required arguments, and how they are called."""

IT = "it"
"""The root that holds the thing in a shape."""

Scope = dict[str, Any]
Render = Callable[[Scope], Any]

SHAPES = "\0shapes"
"""The key in a scope for the shapes of the dialect by name. Nobody can type it."""


class Shape(Protocol):
    """A named template of a dialect, which turns a value into its form in the interface."""

    def one(self, scope: Scope, it: Any) -> Any: ...

    def many(self, scope: Scope, things: Sequence[Any]) -> Sequence[Any]:
        """Apply the shape to each thing. Return the same list if the shape changes nothing."""


_watching: ContextVar[list[tuple[str, str]] | None] = ContextVar("watching", default=None)


@contextmanager
def mismatches() -> Iterator[list[tuple[str, str]]]:
    """Collect expressions that return null because a value has the wrong type, each with the reason.

    Null operands do not count: the request need not have what an expression reads.
    """
    seen: list[tuple[str, str]] = []
    before = _watching.set(seen)
    try:
        yield seen
    finally:
        _watching.reset(before)


def compile_condition(source: str, roots: frozenset[str] = ROOTS) -> Callable[[Scope], bool]:
    """Compile a `when`: an expression without braces. If evaluating it fails because of a null, it is false."""
    tree = parse_text("{{ " + source + " }}", source)  # with spaces, because {{- has a different meaning
    if len(tree) != 1 or isinstance(tree[0], nodes.TemplateData):
        raise ExpressionError(f"{source!r} is not a single expression; write conditions without {{{{ }}}}")
    evaluate = compile_part(tree[0], roots, source)
    return lambda scope: bool(evaluate(scope))


@lru_cache(4096)
def compile_text(
    source: str, roots: frozenset[str] | None = ROOTS, functions: frozenset[str] = FUNCTIONS
) -> Render | str:
    """Compile text with `{{ … }}` in it. Text without any is returned unchanged.

    A single `{{ … }}` keeps the type of its value; within other text null is empty. If `roots` is None, any name is
    allowed.
    """
    if "{{" not in source:
        return source
    parts = [
        part.data if isinstance(part, nodes.TemplateData) else compile_part(part, roots, source, functions)
        for part in parse_text(source, source)
    ]
    if len(parts) == 1:
        return parts[0]

    def render(scope: Scope) -> str:
        return "".join([part if isinstance(part, str) else to_text(part(scope)) for part in parts])

    return render


def compile_value(
    value: Any,
    roots: frozenset[str],
    report: Callable[[tuple[str | int, ...], str], None],
    functions: frozenset[str] = FUNCTIONS,
    pointer: tuple[str | int, ...] = (),
) -> Any:
    """Compile YAML with expressions in its texts to a render function.

    A value without expressions is returned as it is.

    Calls `report(pointer, text)` for every expression that cannot be compiled.
    """
    if isinstance(value, str):
        try:
            return compile_text(value, roots, functions)
        except ExpressionError as error:
            report(pointer, str(error))
            return value
    if isinstance(value, dict):
        if is_merge(value):
            return _compile_merge(compile_value(value["merge"], roots, report, functions, (*pointer, "merge")))
        if is_each(value):
            return _compile_each(value, roots, report, functions, pointer)
        if is_shaped(value):
            return _compile_shaped(value, roots, report, functions, pointer)
        if is_renamed(value):
            report(
                (*pointer, "rename"),
                "members can be renamed only in a shape: define one under `shapes`, and use it here",
            )
        items = tuple((k, compile_value(v, roots, report, functions, (*pointer, k))) for k, v in value.items())
        if any(name.endswith("?") for name in value):
            return _without_missing(tuple((k.removesuffix("?"), k.endswith("?"), v) for k, v in items))
        if any(callable(v) for _, v in items):
            return lambda scope: {k: v(scope) if callable(v) else v for k, v in items}
    elif isinstance(value, list):
        entries = [compile_value(v, roots, report, functions, (*pointer, i)) for i, v in enumerate(value)]
        if any(map(callable, entries)):
            return lambda scope: [v(scope) if callable(v) else v for v in entries]
    return value


def is_plain(value: Any) -> bool:
    """Return whether no mapping in the value uses a keyword of the language: `name?`, `merge`, `each`, `shape`."""
    if isinstance(value, dict):
        special = is_special(value) or any(name.endswith("?") for name in value)
        return not special and all(map(is_plain, value.values()))
    return all(map(is_plain, value)) if isinstance(value, list) else True


def is_special(value: Mapping[str, Any]) -> bool:
    """Return whether the mapping is a keyword construct that is replaced with another value."""
    return is_merge(value) or is_each(value) or is_shaped(value) or is_renamed(value)


def is_merge(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("merge"), list) and len(value) == 1


def is_each(value: Any) -> bool:
    return isinstance(value, dict) and (
        {"each", "give"} <= value.keys() <= _EACH
        or ({"each", "shape"} <= value.keys() <= _EACH_SHAPED and isinstance(value["shape"], str))
    )


def is_shaped(value: Mapping[str, Any]) -> bool:
    return value.keys() <= _SHAPED and isinstance(value.get("shape"), str)


def is_with_shapes(template: Any) -> bool:
    """Return whether the template uses shapes anywhere."""
    if isinstance(template, dict):
        return (is_special(template) and "shape" in template) or any(map(is_with_shapes, template.values()))
    return isinstance(template, list) and any(map(is_with_shapes, template))


def is_renamed(value: Mapping[str, Any]) -> bool:
    return value.keys() <= _RENAMED and isinstance(value.get("rename"), dict)


_EACH = {"each", "as", "when", "key", "give"}
_EACH_SHAPED = {"each", "as", "when", "shape"}
_SHAPED = {"shape", "of"}
_RENAMED = {"rename", "of"}
ENTRY, INDEX = "entry", "index"
"""The root for the current entry of a list if `as` does not name it, and the root for its position, counted from 0."""


def _without_missing(items: tuple[tuple[str, bool, Any], ...]) -> Render:
    """Compile a mapping. Members with a question mark are left out if their value is null."""

    def mapping(scope: Scope) -> dict[str, Any]:
        rendered = ((name, is_optional, render(value, scope)) for name, is_optional, value in items)
        return {name: value for name, is_optional, value in rendered if not (is_optional and value is None)}

    return mapping


def _compile_merge(parts: Any) -> Render:
    """Compile a merge: each part is a JSON Merge Patch on the result of those before it.

    A part that is null does nothing.
    """

    def merge(scope: Scope) -> Any:
        first, *others = [part for part in render(parts, scope) if part is not None] or [None]
        return reduce(merge_patch, others, first)

    return merge


def _compile_each(
    spec: Mapping[str, Any],
    roots: frozenset[str],
    report: Callable[[tuple[str | int, ...], str], None],
    functions: frozenset[str],
    pointer: tuple[str | int, ...],
) -> Render:
    """Compile a list, or with `key` a mapping, made from a list, entry by entry.

    The result is empty if the source is not a list. Entries whose key is null are left out.
    """
    name = name_of_entry(spec, lambda text: report((*pointer, "as"), text))
    inner = roots | {name, INDEX}
    entries = compile_value(spec["each"], roots, report, functions, (*pointer, "each"))
    result = compile_value(spec.get("give"), inner, report, functions, (*pointer, "give"))
    key = compile_value(spec.get("key"), inner, report, functions, (*pointer, "key"))
    shape = spec.get("shape")
    if shape is not None and not roots:
        report((*pointer, "shape"), _NO_SHAPES)
    holds = None
    try:
        holds = compile_condition(spec["when"], inner) if "when" in spec else None
    except ExpressionError as error:
        report((*pointer, "when"), str(error))

    def each(scope: Scope) -> Any:
        listed = render(entries, scope)
        if not isinstance(listed, list | tuple):
            listed = []
        if shape is not None and holds is None:
            return _shape(scope, shape).many(scope, listed)
        before = work.begin(scope.get(WORK) or Work())
        try:
            spend(len(listed))
        except SecurityError as error:
            raise ExpressionError(f"{error} in {spec['each']!r}") from None
        finally:
            work.end(before)
        scopes = ({**scope, name: entry, INDEX: index} for index, entry in enumerate(listed))
        fitting = (inner for inner in scopes if holds is None or holds(inner))
        if shape is not None:
            return _shape(scope, shape).many(scope, [inner[name] for inner in fitting])
        if "key" not in spec:
            return [render(result, inner) for inner in fitting]
        keyed = ((render(key, inner), inner) for inner in fitting)
        return {to_text(one): render(result, inner) for one, inner in keyed if one is not None}

    return each


def name_of_entry(spec: Mapping[str, Any], report: Callable[[str], None]) -> str:
    """Return the name of the root for the current entry. Reports an invalid name."""
    name = spec.get("as", ENTRY)
    if isinstance(name, str) and name.isidentifier() and name not in ROOTS | FUNCTIONS | {"result", "let", IT, INDEX}:
        return name
    report(f"{name!r} cannot be the name of an entry: choose a word that expressions do not use")
    return ENTRY


_NO_SHAPES = "test data cannot use shapes: write the value itself"


def _compile_shaped(
    spec: Mapping[str, Any],
    roots: frozenset[str],
    report: Callable[[tuple[str | int, ...], str], None],
    functions: frozenset[str],
    pointer: tuple[str | int, ...],
) -> Render:
    """Compile the use of a shape on a thing. The result is null if the thing is null.

    Without a thing the shape sees the current scope.
    """
    if not roots:
        report((*pointer, "shape"), _NO_SHAPES)
    name: str = spec["shape"]
    if "of" not in spec:
        return lambda scope: _shape(scope, name).one(scope, None)
    of = compile_value(spec["of"], roots, report, functions, (*pointer, "of"))

    def shaped(scope: Scope) -> Any:
        it = render(of, scope)
        return None if it is None else _shape(scope, name).one(scope, it)

    return shaped


def _shape(scope: Scope, name: str) -> Shape:
    shapes: Mapping[str, Shape] = scope[SHAPES]
    return shapes[name]


Key = str | int | None
"""A key that an expression looks up, or None if the key itself is computed."""


@lru_cache(4096)
def chains(source: str) -> tuple[tuple[str, tuple[Key, ...]], ...]:
    """Return the roots that the expressions in a string read, each with its keys, such as `path` and `a`."""
    looks: list[nodes.Node] = []
    for part in parse_text(source, source):
        looks += [*every(nodes.Name, part), *every(nodes.Getattr, part), *every(nodes.Getitem, part)]
    inner = {id(node.node) for node in looks if isinstance(node, nodes.Getattr | nodes.Getitem)}
    outer = (_keys(node) for node in looks if id(node) not in inner)
    return tuple([chain for chain in outer if chain])


_NO_INDEXES: Mapping[str, int] = {}


def find_alternatives(source: str, indexes: Mapping[str, int] = _NO_INDEXES) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the alternatives of `{{ path.id or headers['Id'] }}`, each as root and keys.

    Returns an empty list if the expression is anything else. A computed key may be one of the `indexes`. Raises
    ExpressionError.
    """
    chains = [_spelled(end, indexes) for end in _alternatives(source)]
    found = [chain for chain in chains if chain]
    return found if len(found) == len(chains) else []


@lru_cache(4096)
def _alternatives(source: str) -> tuple[nodes.Node, ...]:
    """Return the operands of `or`. Cached, because every request asks for the places of its inputs.

    Raises ExpressionError.
    """
    parts = parse_text(source, source)
    return tuple(_ends(parts[0])) if len(parts) == 1 else ()


def _ends(node: nodes.Node) -> list[nodes.Node]:
    return [*_ends(node.left), *_ends(node.right)] if isinstance(node, nodes.Or) else [node]


def _keys(node: nodes.Node) -> tuple[str, tuple[Key, ...]] | None:
    keys: list[Key] = []
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        key = node.attr if isinstance(node, nodes.Getattr) else node.arg
        value = key.value if isinstance(key, nodes.Const) else key
        keys.append(value if isinstance(value, str | int) else None)
        node = node.node
    return (node.name, _as_found(node.name, keys[::-1])) if isinstance(node, nodes.Name) else None


def render(compiled: Any, scope: Scope) -> Any:
    return compiled(scope) if callable(compiled) else compiled


_CHAIN = re.compile(r"\{\{ (\w+)((?:\.[A-Za-z_]\w*)*) \}\}", re.ASCII)
_DAY = re.compile(r"\{\{ today\((-?)([1-9][0-9]*)\) \}\}", re.ASCII)
_NO_NAME = re.compile(r"\d|(?i:and|else|false|if|in|is|none|not|or|recursive|true)\Z")


def _parse_usual(text: str) -> nodes.Expr | None:
    """Return what Jinja2 makes of `{{ a.b }}` and `{{ today(-1) }}`, which are two thirds of all texts, in a fifth of
    the time.
    """
    expression: nodes.Expr
    if (chain := _CHAIN.fullmatch(text)) and not _NO_NAME.match(chain[1]):
        expression = nodes.Name(chain[1], "load", lineno=1)
        for member in chain[2].split(".")[1:]:
            expression = nodes.Getattr(expression, member, "load", lineno=1)
    elif day := _DAY.fullmatch(text):
        days: nodes.Expr = nodes.Const(int(day[2]), lineno=1)
        days = nodes.Neg(days, lineno=1) if day[1] else days
        expression = nodes.Call(nodes.Name("today", "load", lineno=1), [days], [], None, None, lineno=1)
    else:
        return None
    expression.set_environment(ENVIRONMENT)
    return expression


def parse_text(text: str, source: str) -> list[nodes.Expr]:
    if usual := _parse_usual(text):
        return [usual]
    try:
        template = ENVIRONMENT.parse(text)
    except TemplateSyntaxError as error:
        raise ExpressionError(f"{error.message} in {source!r}") from None
    except (RecursionError, ValueError) as error:
        raise _wrap_error(error, source) from None
    return [part for output in template.body if isinstance(output, nodes.Output) for part in output.nodes]


def _wrap_error(error: Exception, source: str) -> ExpressionError:
    excerpt = source if len(source) <= 100 else source[:99] + "…"
    what = str(error) if isinstance(error, ValueError) else "nested too deeply, or too long,"
    return ExpressionError(f"{what} in {excerpt!r}")


class _Exact(NodeTransformer):
    """Adapts Jinja2 to exact values: numbers with a point become decimals, `~` treats null as empty text, times are
    ordered chronologically, and header names are case-insensitive.
    """

    def visit_Name(self, node: nodes.Name) -> nodes.Expr:
        return nodes.Call(node, [], [], None, None, lineno=1) if node.name in ON_DEMAND else node

    def visit_Const(self, node: nodes.Const) -> nodes.Expr:
        if not isinstance(node.value, float):
            return node
        return _filter(nodes.Const(repr(node.value), lineno=1), "decimal")

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:
        self.generic_visit(node)
        return _filter(nodes.List(node.nodes, lineno=1), "join")

    def visit_Compare(self, node: nodes.Compare) -> nodes.Expr:
        self.generic_visit(node)
        operators = tuple(operand.op for operand in node.ops)
        if ORDERINGS.isdisjoint(operators):
            others = [nodes.Operand(operand.op, _weigh(operand.expr)) for operand in node.ops]
            return nodes.Compare(_weigh(node.expr), others, lineno=1)
        values = nodes.List([operand.expr for operand in node.ops], lineno=1)
        return _filter(node.expr, IN_ORDER, nodes.Const(operators), values)

    def visit_Getattr(self, node: nodes.Getattr) -> nodes.Expr:
        self.generic_visit(node)
        if _is_headers(node.node):
            node.attr = node.attr.lower()
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Expr:
        self.generic_visit(node)
        if _is_headers(node.node) and isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            node.arg = nodes.Const(node.arg.value.lower())
        if isinstance(node.arg, nodes.Slice):
            node.node = node.node if isinstance(node.node, nodes.Const) else _filter(node.node, CUT)
        return node


def _is_headers(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == HEADERS


def _as_found(root: str, keys: Sequence[Any]) -> tuple[Any, ...]:
    """Return the keys as they are looked up: names of headers in lower case."""
    if root == HEADERS and keys and isinstance(keys[0], str):
        return (keys[0].lower(), *keys[1:])
    return tuple(keys)


def _filter(node: nodes.Expr, name: str, *arguments: nodes.Expr) -> nodes.Expr:
    return nodes.Filter(node, name, list(arguments), [], None, None, lineno=1)


def _weigh(node: nodes.Expr) -> nodes.Expr:
    return node if isinstance(node, nodes.Const) else _filter(node, WEIGHED)


def compile_part(
    expression: nodes.Expr, roots: frozenset[str] | None, source: str, functions: frozenset[str] = FUNCTIONS
) -> Render:
    try:
        check_part(expression, roots, source, functions)
        if chain := chain_of(expression):
            return _follow(*chain)
        if isinstance(expression, nodes.CondExpr) and (test := chain_of(expression.test)):
            branches = (expression.expr1, expression.expr2)
            made = [compile_part(one, roots, source, functions) for one in branches if one is not None]
            return _choose(_follow(*test), *made)
        if all(chains := [chain_of(end) for end in _ends(expression)]):
            return _find_first([_follow(*chain) for chain in chains if chain])
        if told := told_state(expression):
            return _tell(*told)
        if equality := _equality(expression):
            return _compare(*equality)
        if (days := _days(expression)) is not None:
            return lambda scope: _day(scope, days)
        template = None if _is_sure_to_compile(expression) else _compile_template(expression)
    except (TemplateSyntaxError, AssertionError) as error:
        raise ExpressionError(f"{error} in {source!r}") from None
    except (RecursionError, MemoryError, SyntaxError) as error:
        raise _wrap_error(error, source) from None

    def evaluate(scope: Scope) -> Any:
        nonlocal template
        if template is None:
            template = _compile_template(expression)
        context = template.new_context(scope, shared=True)
        before = work.begin(scope.get(WORK) or Work())
        try:
            for _ in template.root_render_func(context):
                pass
            value = context.vars["_value"]
            if isinstance(value, Iterator):
                value = list(value)
        except (*_FAILURES, TemplateRuntimeError) as error:
            return null_for(error, source)
        finally:
            work.end(before)
        return None if is_missing(value) else value

    return evaluate


def _is_sure_to_compile(expression: nodes.Expr) -> bool:
    """Return whether the expression can be compiled at its first use, because Jinja2 and Python will accept it."""
    inside = walk(expression)
    return len(inside) < _SURE and not any(isinstance(node, nodes.Test | nodes.Keyword) for node in inside)


_SURE = 100
"""An expression with so many nodes may be nested too deeply."""


def _compile_template(expression: nodes.Expr) -> Template:
    assign = nodes.Assign(nodes.Name("_value", "store", lineno=1), _Exact().visit(expression), lineno=1)
    return ENVIRONMENT.from_string(nodes.Template([assign], lineno=1))


_FAILURES = (TypeError, UndefinedError, ArithmeticError, ValueError, AttributeError, LookupError)


def null_for(error: Exception, source: str) -> None:
    """Return null if the expression failed because of null or a value of the wrong type.

    Raises ExpressionError if the sandbox forbids the operation; any other error is raised again.
    """
    if isinstance(error, TemplateRuntimeError) and not isinstance(error, UndefinedError):
        raise ExpressionError(f"{error} in {source!r}") from None
    if not isinstance(error, _FAILURES):
        raise error
    if isinstance(error, TypeError) and "NoneType" not in str(error):
        seen = _watching.get()
        if seen is not None:
            seen.append((source, str(error)))


def every[N: nodes.Node](kind: type[N], expression: nodes.Node) -> list[N]:
    """Return the nodes of that type in the expression, including the expression itself."""
    return [node for node in walk(expression) if isinstance(node, kind)]


def walk(expression: nodes.Node) -> list[nodes.Node]:
    """Return the expression and all nodes in it, in the order of the text. Jinja2's `find_all` is slower."""
    found: list[nodes.Node] = []

    def add(node: nodes.Node) -> None:
        found.append(node)
        for name in node.fields:
            field = getattr(node, name, None)
            if isinstance(field, list):
                for child in field:
                    if isinstance(child, nodes.Node):
                        add(child)
            elif isinstance(field, nodes.Node):
                add(field)

    add(expression)
    return found


def check_part(
    expression: nodes.Expr, roots: frozenset[str] | None, source: str, functions: frozenset[str] = FUNCTIONS
) -> None:
    """Check that all names, filters and calls exist. Raises ExpressionError."""
    inside = walk(expression)
    names, calls = (roots or frozenset()) | functions, [node for node in inside if isinstance(node, nodes.Call)]
    called = {id(call.node) for call in calls}
    for name in [node for node in inside if isinstance(node, nodes.Name)]:
        if name.name in FUNCTIONS - functions:
            instead = "a value in its place, or a date as today(days)"
            raise ExpressionError(
                f"{name.name}() has a value only in a request: write {instead} instead, in {source!r}"
            )
        if roots is not None and name.name not in names:
            raise ExpressionError(f"unknown name {name.name!r} in {source!r}; the names are {', '.join(sorted(names))}")
        if name.name in FUNCTIONS and id(name) not in called:
            raise ExpressionError(f"{name.name} is a function; write {name.name}() in {source!r}")
    for call in calls:
        if not (isinstance(call.node, nodes.Name) and call.node.name in FUNCTIONS):
            possible = ", ".join(("uuid()", "new_id(form)", "now()", "today(days)", *_ARGUMENTS.values()))
            raise ExpressionError(f"only {possible} can be called, in {source!r}")
        usual = _ARGUMENTS.get(call.node.name)
        if usual and (len(call.args) != 1 + usual.count(",") or call.kwargs or call.dyn_args or call.dyn_kwargs):
            raise ExpressionError(f"call {call.node.name} as {usual}, in {source!r}")
        if call.node.name == "wire" and (text := _lacks_thing(call.args[0])):
            raise ExpressionError(f"{text}, in {source!r}")
        if call.node.name == "new_id" and not _names_form(call):
            raise ExpressionError(
                f"new_id needs a form, such as '{{digits:12}}', '{{hex:32}}' or 'PAY-{{capitals:10}}', in {source!r}"
            )
    for used in [node for node in inside if isinstance(node, nodes.Filter)]:
        if used.name not in FILTERS:
            raise ExpressionError(
                f"unknown filter {used.name!r} in {source!r}; the filters are {', '.join(sorted(FILTERS))}"
            )
        _check_names(used, source)
    if isinstance(expression, nodes.Name) and expression.name == "state":
        text = "the whole state is not a value; name a collection and an id, as in state.consents[path.consentId]"
        raise ExpressionError(f"{text}, in {source!r}")


def _names_form(call: nodes.Call) -> bool:
    """Return whether the only argument is a form of ids.

    A computed argument is accepted, because it is checked later.
    """
    match call:
        case nodes.Call(args=[nodes.Const(value=form)], kwargs=[]):
            return is_form(form)
    return len(call.args) == 1 and not call.kwargs


def _lacks_thing(thing: nodes.Expr) -> str | None:
    if not isinstance(thing, nodes.Const) or thing.value in STATES:
        return None
    return f"wire can convert only the states of {', '.join(STATES)}, not of {thing.value!r}"


_NAMED = {"map": 0, "select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}
"""Filters whose argument is the name of another filter or test, and the position of that argument."""


def _check_names(used: nodes.Filter, source: str) -> None:
    arguments = used.args[_NAMED[used.name] :][:1] if used.name in _NAMED else []
    kind, names = ("filter", FILTERS) if used.name == "map" else ("test", ENVIRONMENT.tests.keys())
    for name in arguments:
        if not isinstance(name, nodes.Const) or name.value not in names:
            there = ", ".join(sorted(names))
            raise ExpressionError(f"{used.name} is used with an unknown {kind} in {source!r}; choose one of: {there}")


def chain_of(expression: nodes.Node) -> tuple[str, tuple[Any, ...]] | None:
    """Return `result.account.iban` as root and keys. Most expressions have this form."""
    chain = _spelled(expression)
    return chain and (chain[0], _as_found(*chain))


def _spelled(expression: nodes.Node, indexes: Mapping[str, int] = _NO_INDEXES) -> tuple[str, tuple[Any, ...]] | None:
    """Return root and keys as they are written, although header names are looked up in lower case."""
    keys: list[Any] = []
    while not isinstance(expression, nodes.Name):
        if isinstance(expression, nodes.Getattr):
            keys.append(expression.attr)
        elif isinstance(expression, nodes.Getitem) and isinstance(expression.arg, nodes.Const):
            keys.append(expression.arg.value)
        elif isinstance(expression, nodes.Getitem) and isinstance(index := expression.arg, nodes.Name):
            if index.name not in indexes:
                return None
            keys.append(indexes[index.name])
        else:
            return None
        expression = expression.node
    return None if expression.name in FUNCTIONS else (expression.name, tuple(keys[::-1]))


def _days(expression: nodes.Expr) -> int | None:
    """Return the number in `today(-3)`.

    Test data has hundreds of these, and compiling each one would slow down the start.
    """
    match expression:
        case nodes.Call(node=nodes.Name(name="today"), args=[number], kwargs=[], dyn_args=None, dyn_kwargs=None):
            match number:
                case nodes.Const(value=int(days)):
                    return days
                case nodes.Neg(node=nodes.Const(value=int(days))):
                    return -days
    return None


def _day(scope: Scope, days: int) -> Any:
    try:
        return scope["today"](days)
    except (ArithmeticError, LookupError):  # the date is out of range, or the scope has no clock
        return None


def told_state(expression: nodes.Node) -> tuple[str, tuple[str, tuple[Any, ...]]] | None:
    """Return the thing, and the root and keys of its state, in `wire('consent', result.status)`."""
    match expression:
        case nodes.Call(node=nodes.Name(name="wire"), args=[nodes.Const(value=str(thing)), state]):
            chain = chain_of(state)
            return (thing, chain) if chain else None
    return None


def _equality(expression: nodes.Node) -> tuple[str, tuple[Any, ...], str] | None:
    """Return root, keys and text of `query.status == 'booked'`. Most conditions have this form."""
    match expression:
        case nodes.Compare(expr=left, ops=[nodes.Operand(op="eq", expr=nodes.Const(value=str(text)))]):
            chain = chain_of(left)
            return (*chain, text) if chain else None
    return None


def _compare(root: str, keys: tuple[Any, ...], text: str) -> Render:
    look = _follow(root, keys)
    return lambda scope: look(scope) == text


def _tell(thing: str, chain: tuple[str, tuple[Any, ...]]) -> Render:
    state = _follow(*chain)
    return lambda scope: scope["wire"](thing, state(scope))


def _choose(test: Render, one: Render, other: Render = lambda _: None) -> Render:
    return lambda scope: one(scope) if test(scope) else other(scope)


def _find_first(ends: Sequence[Render]) -> Render:
    """Compile `or`: the first operand that is true, or the last one."""

    def evaluate(scope: Scope) -> Any:
        value = None
        for end in ends:
            if value := end(scope):
                break
        return value

    return evaluate


def look_at_root(scope: Scope, root: str) -> Any:
    """Return the value of a root that is computed on demand."""
    compute = scope.get(root)
    return None if compute is None else compute()


def _follow(root: str, keys: tuple[Any, ...]) -> Render:
    is_on_demand = root in ON_DEMAND

    def evaluate(scope: Scope) -> Any:
        value = look_at_root(scope, root) if is_on_demand else scope.get(root)
        for key in keys:
            value = value.get(key) if type(value) is dict else member(value, key)
        return value

    return evaluate


def follow(value: Any, keys: Iterable[Any]) -> Any:
    """Return the value below these keys, or null if there is none."""
    return reduce(member, keys, value)
