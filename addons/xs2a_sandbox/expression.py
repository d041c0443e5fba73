"""Expressions of cassettes and test data: Jinja2's, compiled when a file is loaded, evaluated in a sandbox.

Only `{{` starts one. What is missing is null; ordering or arithmetic with null gives null.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from jinja2 import nodes
from jinja2.exceptions import SecurityError, TemplateSyntaxError, UndefinedError
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from xs2a_sandbox.errors import ExpressionError

ROOTS = frozenset({"request", "path", "query", "headers", "body", "state", "testdata", "session", "clock"})
RESULT_ROOTS = ROOTS | {"result"}
ERROR_ROOTS = ROOTS | {"error"}
FUNCTIONS = frozenset({"uuid", "now", "today"})
FILTERS = frozenset(
    "abs capitalize count d default decimal dictsort first int items join last length list lower map max min reject "
    "rejectattr replace reverse round select selectattr sort string sum title trim unique upper urlencode".split()
)

MAX_SIZE = 100_000
"""Characters or entries that an expression may produce by multiplying."""
MAX_POWER = 64
MAX_BITS = 4096

Scope = dict[str, Any]
Render = Callable[[Scope], Any]


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
        return member(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return member(obj, argument)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, float) and isinstance(right, Decimal):
            left = Decimal(repr(left))
        elif isinstance(right, float) and isinstance(left, Decimal):
            right = Decimal(repr(right))
        if operator == "*":
            for sized, times in ((left, right), (right, left)):
                if isinstance(sized, str | list | tuple) and isinstance(times, int) and len(sized) * times > MAX_SIZE:
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
        return super().call_binop(context, operator, left, right)


def _environment() -> _Environment:
    # Block and comment marks nobody can type, so that `{%` and `{#` are text.
    environment = _Environment(
        block_start_string="\x00\x01",
        block_end_string="\x01\x00",
        comment_start_string="\x00\x02",
        comment_end_string="\x02\x00",
        keep_trailing_newline=True,
    )
    environment.globals.clear()
    environment.filters |= {
        "decimal": _decimal,
        "join": _join,
        "replace": _replace,
        "sum": _sum,
        "urlencode": lambda value: quote(str(value), safe=""),
    }
    for name in set(environment.filters) - FILTERS:
        del environment.filters[name]
    return environment


def _decimal(value: Any) -> Decimal | None:
    try:
        return None if value is None or isinstance(value, bool) else Decimal(str(value))
    except ArithmeticError:
        return None


def _sum(values: Iterable[Any]) -> Any:
    return sum((number for number in map(_decimal, values) if number is not None), Decimal())


def _join(values: Iterable[Any], separator: str = "") -> str:
    texts = [to_text(value) for value in values]
    if sum(map(len, texts)) + len(texts) * len(separator) > MAX_SIZE:
        raise SecurityError(f"a text of more than {MAX_SIZE} characters")
    return separator.join(texts)


def _replace(text: str, old: str, new: str) -> str:
    if len(text) + text.count(old) * len(new) > MAX_SIZE:
        raise SecurityError(f"a text of more than {MAX_SIZE} characters")
    return text.replace(old, new)


_ENVIRONMENT = _environment()


def compile_condition(source: str, roots: frozenset[str] = ROOTS) -> Callable[[Scope], bool]:
    """A `when`: bare expression text. Anything that fails on null is false."""
    tree = _parse("{{" + source + "}}", source)
    if len(tree) != 1 or isinstance(tree[0], nodes.TemplateData):
        raise ExpressionError(f"{source!r} is not one expression; a condition is written without {{{{ }}}}")
    evaluate = _compile(tree[0], roots, source)
    return lambda scope: bool(evaluate(scope))


@lru_cache(4096)
def compile_text(source: str, roots: frozenset[str] | None = ROOTS) -> Render | str:
    """Text with `{{ … }}` in it; the text itself where there is none.

    One whole `{{ … }}` keeps the type of its value; inside other text null is empty. With no `roots` any name goes.
    """
    if "{{" not in source:
        return source
    parts = [
        part.data if isinstance(part, nodes.TemplateData) else _compile(part, roots, source)
        for part in _parse(source, source)
    ]
    if len(parts) == 1:
        return parts[0]

    def render(scope: Scope) -> str:
        return "".join([part if isinstance(part, str) else to_text(part(scope)) for part in parts])

    return render


def compile_value(value: Any, roots: frozenset[str], report: Callable[[tuple[str | int, ...], str], None]) -> Any:
    """A tree of YAML whose texts may hold expressions, as one render function, or the tree itself where none does.

    `report(pointer, text)` is called for every expression that cannot be compiled.
    """
    return _compile_tree(value, roots, report, ())


def render(compiled: Any, scope: Scope) -> Any:
    return compiled(scope) if callable(compiled) else compiled


def to_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _compile_tree(
    value: Any,
    roots: frozenset[str],
    report: Callable[[tuple[str | int, ...], str], None],
    pointer: tuple[str | int, ...],
) -> Any:
    if isinstance(value, str):
        try:
            return compile_text(value, roots)
        except ExpressionError as error:
            report(pointer, str(error))
            return value
    if isinstance(value, dict):
        members = {k: _compile_tree(v, roots, report, (*pointer, k)) for k, v in value.items()}
        if not _any_callable(members.values()):
            return value
        items = tuple(members.items())
        return lambda scope: {k: v(scope) if callable(v) else v for k, v in items}
    if isinstance(value, list):
        entries = [_compile_tree(v, roots, report, (*pointer, i)) for i, v in enumerate(value)]
        if not _any_callable(entries):
            return value
        return lambda scope: [v(scope) if callable(v) else v for v in entries]
    return value


def _any_callable(values: Any) -> bool:
    return any(callable(v) for v in values)


def _parse(text: str, source: str) -> list[nodes.Expr]:
    try:
        template = _ENVIRONMENT.parse(text)
    except TemplateSyntaxError as error:
        raise ExpressionError(f"{error.message} in {source!r}") from None
    return [part for output in template.body if isinstance(output, nodes.Output) for part in output.nodes]


def _compile(expression: nodes.Expr, roots: frozenset[str] | None, source: str) -> Render:
    _check(expression, roots, source)
    chain = _chain(expression)
    if chain:
        root, keys = chain
        return _follow(root, keys)
    assign = nodes.Assign(nodes.Name("_value", "store", lineno=1), expression, lineno=1)
    tree = nodes.Template([assign], lineno=1)
    try:
        template = _ENVIRONMENT.from_string(tree)
    except (TemplateSyntaxError, AssertionError) as error:
        raise ExpressionError(f"{error} in {source!r}") from None

    def evaluate(scope: Scope) -> Any:
        context = template.new_context(scope, shared=True)
        try:
            for _ in template.root_render_func(context):
                pass
        except SecurityError as error:
            raise ExpressionError(f"{error} in {source!r}") from None
        except (TypeError, UndefinedError, ArithmeticError, ValueError):
            return None  # null, or another kind of value than the operator takes
        value = context.vars["_value"]
        if isinstance(value, Undefined):
            return None
        return list(value) if isinstance(value, Iterator) else value

    return evaluate


def _check(expression: nodes.Expr, roots: frozenset[str] | None, source: str) -> None:
    known = (roots or frozenset()) | FUNCTIONS
    for name in [expression, *expression.find_all(nodes.Name)]:
        if roots is not None and isinstance(name, nodes.Name) and name.name not in known:
            raise ExpressionError(f"unknown name {name.name!r} in {source!r}; there are {', '.join(sorted(known))}")
    for call in [expression, *expression.find_all(nodes.Call)]:
        if isinstance(call, nodes.Call) and not (isinstance(call.node, nodes.Name) and call.node.name in FUNCTIONS):
            raise ExpressionError(f"only uuid(), now() and today(days) can be called, in {source!r}")
    for used in [expression, *expression.find_all(nodes.Filter)]:
        if isinstance(used, nodes.Filter) and used.name not in FILTERS:
            raise ExpressionError(f"unknown filter {used.name!r} in {source!r}; there are {', '.join(sorted(FILTERS))}")


def _chain(expression: nodes.Node) -> tuple[str, tuple[Any, ...]] | None:
    """`result.account.iban` as its root and keys; most expressions are no more than that."""
    keys: list[Any] = []
    while not isinstance(expression, nodes.Name):
        if isinstance(expression, nodes.Getattr):
            keys.append(expression.attr)
        elif isinstance(expression, nodes.Getitem) and isinstance(expression.arg, nodes.Const):
            keys.append(expression.arg.value)
        else:
            return None
        expression = expression.node
    return None if expression.name in FUNCTIONS else (expression.name, tuple(reversed(keys)))


def _follow(root: str, keys: tuple[Any, ...]) -> Render:
    def evaluate(scope: Scope) -> Any:
        value = scope.get(root)
        for key in keys:
            value = value.get(key) if type(value) is dict else member(value, key)
        return value

    return evaluate
