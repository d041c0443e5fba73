"""Expressions of cassettes and test data: Jinja2's, compiled when a file is loaded, evaluated in a sandbox.

Only `{{` starts one. What is missing is null; ordering or arithmetic with null gives null.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import TemplateRuntimeError, TemplateSyntaxError, UndefinedError
from jinja2.visitor import NodeTransformer

from xs2a_sandbox import work
from xs2a_sandbox.environment import ENVIRONMENT, FILTERS, IN_ORDER, ORDERINGS, WEIGHED, is_missing, member, to_text
from xs2a_sandbox.errors import ExpressionError
from xs2a_sandbox.work import WORK, Work

ROOTS = frozenset({"request", "path", "query", "headers", "body", "state", "testdata", "session", "clock"})
RESULT_ROOTS = ROOTS | {"result"}
ERROR_ROOTS = ROOTS | {"error"}
FUNCTIONS = frozenset({"uuid", "now", "today"})

Scope = dict[str, Any]
Render = Callable[[Scope], Any]

_watching: ContextVar[list[tuple[str, str]] | None] = ContextVar("watching", default=None)


@contextmanager
def mismatches() -> Iterator[list[tuple[str, str]]]:
    """Expressions that meanwhile come out null because of a kind of value that they do not take, each with the reason.

    That null takes part in it is no such case: nobody need have sent what an expression looks at.
    """
    found: list[tuple[str, str]] = []
    before = _watching.set(found)
    try:
        yield found
    finally:
        _watching.reset(before)


def compile_condition(source: str, roots: frozenset[str] = ROOTS) -> Callable[[Scope], bool]:
    """A `when`: bare expression text. Anything that fails on null is false."""
    tree = _parse("{{ " + source + " }}", source)  # with blanks, since {{- is a mark of its own
    if len(tree) != 1 or isinstance(tree[0], nodes.TemplateData):
        raise ExpressionError(f"{source!r} is not one expression; a condition is written without {{{{ }}}}")
    evaluate = _compile(tree[0], roots, source)
    return lambda scope: bool(evaluate(scope))


@lru_cache(4096)
def compile_text(
    source: str, roots: frozenset[str] | None = ROOTS, functions: frozenset[str] = FUNCTIONS
) -> Render | str:
    """Text with `{{ … }}` in it; the text itself where there is none.

    One whole `{{ … }}` keeps the type of its value; inside other text null is empty. With no `roots` any name goes.
    """
    if "{{" not in source:
        return source
    parts = [
        part.data if isinstance(part, nodes.TemplateData) else _compile(part, roots, source, functions)
        for part in _parse(source, source)
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
) -> Any:
    """A tree of YAML whose texts may hold expressions, as one render function, or the tree itself where none does.

    `report(pointer, text)` is called for every expression that cannot be compiled.
    """
    return _compile_tree(value, roots, report, functions, ())


def members(source: str, root: str) -> set[str]:
    """The names that the expressions of a text, which can be compiled, read of this root: of `path.a`, `a`."""
    found = set()
    for part in _parse(source, source):
        for node in (part, *part.find_all((nodes.Getattr, nodes.Getitem))):
            if isinstance(node, nodes.Getattr | nodes.Getitem) and isinstance(node.node, nodes.Name):
                key = node.attr if isinstance(node, nodes.Getattr) else node.arg
                key = key.value if isinstance(key, nodes.Const) else key
                if node.node.name == root and isinstance(key, str):
                    found.add(key)
    return found


def render(compiled: Any, scope: Scope) -> Any:
    return compiled(scope) if callable(compiled) else compiled


def _compile_tree(
    value: Any,
    roots: frozenset[str],
    report: Callable[[tuple[str | int, ...], str], None],
    functions: frozenset[str],
    pointer: tuple[str | int, ...],
) -> Any:
    if isinstance(value, str):
        try:
            return compile_text(value, roots, functions)
        except ExpressionError as error:
            report(pointer, str(error))
            return value
    if isinstance(value, dict):
        members = {k: _compile_tree(v, roots, report, functions, (*pointer, k)) for k, v in value.items()}
        if not _any_callable(members.values()):
            return value
        items = tuple(members.items())
        return lambda scope: {k: v(scope) if callable(v) else v for k, v in items}
    if isinstance(value, list):
        entries = [_compile_tree(v, roots, report, functions, (*pointer, i)) for i, v in enumerate(value)]
        if not _any_callable(entries):
            return value
        return lambda scope: [v(scope) if callable(v) else v for v in entries]
    return value


def _any_callable(values: Any) -> bool:
    return any(callable(v) for v in values)


def _parse(text: str, source: str) -> list[nodes.Expr]:
    try:
        template = ENVIRONMENT.parse(text)
    except TemplateSyntaxError as error:
        raise ExpressionError(f"{error.message} in {source!r}") from None
    except (RecursionError, ValueError) as error:
        raise _unreadable(error, source) from None
    return [part for output in template.body if isinstance(output, nodes.Output) for part in output.nodes]


def _unreadable(error: Exception, source: str) -> ExpressionError:
    shown = source if len(source) <= 100 else source[:99] + "…"
    what = str(error) if isinstance(error, ValueError) else "nested too deeply, or too long,"
    return ExpressionError(f"{what} in {shown!r}")


class _Exact(NodeTransformer):
    """Numbers with a point are decimals, what `~` puts together is text as it is elsewhere, where null is empty, and
    times are ordered by when they are.
    """

    def visit_Const(self, node: nodes.Const) -> nodes.Expr:
        if not isinstance(node.value, float):
            return node
        return nodes.Filter(nodes.Const(repr(node.value), lineno=1), "decimal", [], [], None, None, lineno=1)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:
        self.generic_visit(node)
        return nodes.Filter(nodes.List(node.nodes, lineno=1), "join", [], [], None, None, lineno=1)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Expr:
        self.generic_visit(node)
        operators = tuple(operand.op for operand in node.ops)
        if ORDERINGS.isdisjoint(operators):
            others = [nodes.Operand(operand.op, _weighed(operand.expr)) for operand in node.ops]
            return nodes.Compare(_weighed(node.expr), others, lineno=1)
        values = nodes.List([operand.expr for operand in node.ops], lineno=1)
        return nodes.Filter(node.expr, IN_ORDER, [nodes.Const(operators), values], [], None, None, lineno=1)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Expr:
        self.generic_visit(node)
        return (
            nodes.Getitem(_weighed(node.node), node.arg, node.ctx, lineno=1)
            if isinstance(node.arg, nodes.Slice)
            else node
        )


def _weighed(node: nodes.Expr) -> nodes.Expr:
    if isinstance(node, nodes.Const):
        return node
    return nodes.Filter(node, WEIGHED, [], [], None, None, lineno=1)


def _compile(
    expression: nodes.Expr, roots: frozenset[str] | None, source: str, functions: frozenset[str] = FUNCTIONS
) -> Render:
    try:
        _check(expression, roots, source, functions)
        if chain := _chain(expression):
            return _follow(*chain)
        assign = nodes.Assign(nodes.Name("_value", "store", lineno=1), _Exact().visit(expression), lineno=1)
        template = ENVIRONMENT.from_string(nodes.Template([assign], lineno=1))
    except (TemplateSyntaxError, AssertionError) as error:
        raise ExpressionError(f"{error} in {source!r}") from None
    except (RecursionError, MemoryError, SyntaxError) as error:
        raise _unreadable(error, source) from None

    def evaluate(scope: Scope) -> Any:
        context = template.new_context(scope, shared=True)
        before = work.begin(scope.get(WORK) or Work())
        try:
            for _ in template.root_render_func(context):
                pass
            value = context.vars["_value"]
            if isinstance(value, Iterator):
                value = list(value)
        except (TypeError, UndefinedError, ArithmeticError, ValueError, AttributeError, LookupError) as error:
            # Null, or another kind of value than the operator takes.
            if isinstance(error, TypeError) and "NoneType" not in str(error):
                found = _watching.get()
                if found is not None:
                    found.append((source, str(error)))
            return None
        except TemplateRuntimeError as error:
            raise ExpressionError(f"{error} in {source!r}") from None
        finally:
            work.end(before)
        return None if is_missing(value) else value

    return evaluate


def _check(
    expression: nodes.Expr, roots: frozenset[str] | None, source: str, functions: frozenset[str] = FUNCTIONS
) -> None:
    known = (roots or frozenset()) | functions
    for name in [expression, *expression.find_all(nodes.Name)]:
        if isinstance(name, nodes.Name) and name.name in FUNCTIONS - functions:
            instead = "a value in its place, or a date as today(days)"
            raise ExpressionError(
                f"{name.name}() has no value before there is a request: write {instead}, in {source!r}"
            )
        if roots is not None and isinstance(name, nodes.Name) and name.name not in known:
            raise ExpressionError(f"unknown name {name.name!r} in {source!r}; there are {', '.join(sorted(known))}")
    calls = [call for call in [expression, *expression.find_all(nodes.Call)] if isinstance(call, nodes.Call)]
    called = {id(call.node) for call in calls}
    for name in [expression, *expression.find_all(nodes.Name)]:
        if isinstance(name, nodes.Name) and name.name in FUNCTIONS and id(name) not in called:
            raise ExpressionError(f"{name.name} is a function; write {name.name}() in {source!r}")
    for call in calls:
        if not (isinstance(call.node, nodes.Name) and call.node.name in FUNCTIONS):
            raise ExpressionError(f"only uuid(), now() and today(days) can be called, in {source!r}")
    for used in [expression, *expression.find_all(nodes.Filter)]:
        if isinstance(used, nodes.Filter) and used.name not in FILTERS:
            raise ExpressionError(f"unknown filter {used.name!r} in {source!r}; there are {', '.join(sorted(FILTERS))}")
        if isinstance(used, nodes.Filter):
            _check_named(used, source)


_NAMED = {"map": 0, "select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}
"""Which argument names another filter or test."""


def _check_named(used: nodes.Filter, source: str) -> None:
    named = used.args[_NAMED[used.name] :][:1] if used.name in _NAMED else []
    kind, known = ("filter", FILTERS) if used.name == "map" else ("test", ENVIRONMENT.tests.keys())
    for name in named:
        if not isinstance(name, nodes.Const) or name.value not in known:
            there = ", ".join(sorted(known))
            raise ExpressionError(f"{used.name} names no known {kind} in {source!r}; there are {there}")


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
