"""Compiles the templates of shapes to Python functions, because a list may have a hundred thousand entries to shape.

Members, texts, conditions, comparisons, sums and the filters for single values become Python. Every other expression is
called as everywhere else. The results are the same.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from types import FunctionType
from typing import Any, NamedTuple

from jinja2 import nodes
from jinja2.exceptions import SecurityError

from xs2a_sandbox.cassette.evaluation.expressions import (
    ENVIRONMENT,
    INDEX,
    IT,
    KINDS,
    ON_DEMAND,
    ORDERINGS,
    SHALLOW,
    calculate,
    chain_of,
    check_part,
    compile_part,
    every,
    is_each,
    is_in_order,
    is_merge,
    is_plain,
    is_renamed,
    is_shaped,
    look_at_root,
    member,
    name_of_entry,
    null_for,
    parse_text,
)
from xs2a_sandbox.cassette.evaluation.values import merge_patch, to_text
from xs2a_sandbox.cassette.evaluation.work import allow, charge, charge_entries, spend
from xs2a_sandbox.errors import ExpressionError

Report = Callable[[tuple[str | int, ...], str], None]
Make = FunctionType
"""Applies a shape: takes a scope and a thing."""

_FILTERS = frozenset(
    "abs capitalize count d decimal default int join length lower replace round split string title trim upper "
    "urlencode".split()
)
_ENDS = frozenset({"first", "last"})
_DEEPEST = 40
"""The deepest nesting in the generated code. Python has a limit too."""
_LONGEST_LITERAL = 15
"""The most members of a dict literal. Above that, copying a dict and changing it takes half the time."""
_COMPARED = {"eq": "==", "ne": "!=", "in": "in", "notin": "not in"}
ALWAYS_THERE = ("{", "[", "'", '"')
"""How the Python of values begins that are never null."""


class Use(NamedTuple):
    """A use of a shape. `is_given` is true if the shape gets a thing, and false if it sees the current scope."""

    name: str
    pointer: tuple[str | int, ...]
    is_given: bool


@dataclass(slots=True)
class Written:
    """The roots that a template reads, the shapes that it uses, and whether it calls functions such as `now()`."""

    reads: set[str] = field(default_factory=set)
    uses: list[Use] = field(default_factory=list)
    calls: bool = False


class ShapeSource:
    """The source of all shape functions of a dialect, line by line, and the values in it."""

    def __init__(self, names: Sequence[str], roots: frozenset[str]) -> None:
        self.functions = {name: f"shape_{number}" for number, name in enumerate(names)}
        self.written: dict[str, Written] = {}
        self.roots = roots
        self.lines: list[str] = []
        self.values: dict[str, Any] = dict(_CALLED)
        self._count = 0

    def write(self, name: str, template: Any, report: Report) -> Written:
        """Add the function of one shape. Calls `report` with each mistake and its place in the template."""
        written = self.written[name] = Written()
        self.lines.append(f"def {self.functions[name]}(scope, it):")
        block = Block(self, written, report, 1, {IT: "it"})
        block.add(f"return {block.value(template, ())}")
        return written

    def compile(self) -> dict[str, tuple[Make, "ShapedThings | None"]]:
        """Return the functions by shape name, each with the cache of its results."""
        self.values |= {f"kept_{function}": self._memory(name) for name, function in self.functions.items()}
        exec(compile("\n".join(self.lines), "<shapes>", "exec"), self.values)
        made = self.functions.items()
        return {name: (self.values[function], self.values[f"kept_{function}"]) for name, function in made}

    def _memory(self, name: str) -> "ShapedThings | None":
        """Return a cache for the shape's results, or None if the same thing can give different results."""
        names = [name]
        for one in names:
            names += [use.name for use in self.written[one].uses if use.name not in names and use.name in self.written]
        written = [self.written[one] for one in names]
        return ShapedThings() if all(one.reads <= {IT} and not one.calls for one in written) else None

    def bind(self, value: Any) -> str:
        """Return a new name for an existing value."""
        name = self.fresh()
        self.values[name] = value
        return name

    def fresh(self) -> str:
        self._count += 1
        return f"v{self._count}"


def write_function(name: str, template: Any, roots: frozenset[str]) -> str:
    """Return the source of a template's function, for people: with its values after it."""
    source = ShapeSource([""], roots)
    source.functions[""] = name
    source.write("", template, lambda pointer, text: None)
    return "\n".join([*source.lines, *show_values(source.values)])


def show_values(values: Mapping[str, Any]) -> list[str]:
    """Return the lines that define the values of generated code, for people."""
    return [f"{name} = {_show_value(value)}" for name, value in values.items() if name not in _CALLED]


def _show_value(value: Any) -> str:
    if not callable(value):
        return repr(value)
    filters = (*ENVIRONMENT.filters.items(), *ENVIRONMENT.tests.items())
    name = next((name for name, own in filters if getattr(own, "__wrapped__", own) is value), None)
    return f"...  # {f'the filter {name}' if name else 'an expression of Jinja2'}"


class _Unwritten(Exception):
    """Raised for an expression that has no Python translation and must be evaluated in the ordinary way."""


class Block:
    """Lines of one indentation level. `variables` are the roots that are variables of the function."""

    def __init__(
        self,
        source: ShapeSource,
        written: Written,
        report: Report,
        indent: int,
        variables: Mapping[str, str],
        outer: "Block | None" = None,
    ) -> None:
        self._source = source
        self._written = written
        self._report = report
        self._indent = indent
        self._variables = variables
        self._outer = outer
        self._kept: dict[tuple[Any, ...], str] = {}

    def add(self, line: str) -> None:
        self._source.lines.append("    " * self._indent + line)

    def value(self, template: Any, pointer: tuple[str | int, ...]) -> str:
        """Return a Python expression for the template. The lines that it depends on are added to the block."""
        if isinstance(template, str):
            return self._text(template, pointer)
        if isinstance(template, dict):
            if is_merge(template):
                return f"merge(({self._entries(template['merge'], (*pointer, 'merge'))}))"
            if is_each(template):
                return self._each(template, pointer)
            if is_shaped(template):
                return self._shaped(template, pointer)
            if is_renamed(template):
                return self._renamed(template, pointer)
        if is_constant(template):
            return repr(template) if template is None else self._source.bind(template)
        if isinstance(template, dict):
            return self._mapping(template, pointer)
        return f"[{self._entries(template, pointer)}]"

    def _entries(self, templates: Sequence[Any], pointer: tuple[str | int, ...]) -> str:
        return "".join([f"{self.value(entry, (*pointer, number))}, " for number, entry in enumerate(templates)])

    def _mapping(self, template: Mapping[str, Any], pointer: tuple[str | int, ...]) -> str:
        values = {name: self.value(inner, (*pointer, name)) for name, inner in template.items()}
        first = next((position for position, name in enumerate(values) if name.endswith("?")), len(values))
        literal = self._literal(template, dict(list(values.items())[:first]))
        if first == len(values):
            return literal
        made = literal if literal.isidentifier() else self.keep(literal)
        for name, value in list(values.items())[first:]:
            if not name.endswith("?") or value.startswith(ALWAYS_THERE):
                self.add(f"{made}[{name.removesuffix('?')!r}] = {value}")
                continue
            there = value if value.isidentifier() else self.keep(value)
            self.add(f"if {there} is not None: {made}[{name.removesuffix('?')!r}] = {there}")
        return made

    def _literal(self, template: Mapping[str, Any], values: Mapping[str, str]) -> str:
        if len(values) <= _LONGEST_LITERAL:
            return f"{{{''.join(f'{name!r}: {value}, ' for name, value in values.items())}}}"
        usual = {name: template[name] if is_constant(template[name]) else None for name in values}
        made = self.keep(f"{self._source.bind(usual)}.copy()")
        for name, value in values.items():
            if not is_constant(template[name]):
                self.add(f"{made}[{name!r}] = {value}")
        return made

    def _shaped(self, template: Mapping[str, Any], pointer: tuple[str | int, ...]) -> str:
        is_member = self._variables[IT] != IT
        function = self._use(template["shape"], pointer, is_given="of" in template or is_member)
        if "of" not in template:
            return f"{function}(scope, {self._variables[IT]})"
        thing = self.keep(self.value(template["of"], (*pointer, "of")))
        return f"(None if {thing} is None else {function}(scope, {thing}))"

    def _renamed(self, template: Mapping[str, Any], pointer: tuple[str | int, ...]) -> str:
        """Return Python for `rename`: the members of a thing in their order, under new names where `rename` has one."""
        names: dict[str, str] = {}
        changed: dict[str, Any] = {}
        dropped: set[str] = set()
        for one, name in template["rename"].items():
            place = (*pointer, "rename", one)
            match name:
                case None:
                    dropped.add(one)
                    continue
                case str():
                    names[one] = name
                case dict() if len(name) == 1:
                    ((names[one], changed[one]),) = name.items()
                case _:
                    text = (
                        "rename a member with a name, with {NAME: VALUE} (`it` is the member's value), or with "
                        "null to leave it out"
                    )
                    self._report(place, text)
                    continue
            if list(names.values()).count(names[one]) > 1:
                self._report(place, f"two members have the same new name {names[one]}; rename one of them")
        if "of" in template:
            thing = self.keep(self.value(template["of"], (*pointer, "of")))
        else:
            thing = self._variables[IT]
            self._written.reads.add(IT)
        members = self.keep(f"{thing} if type({thing}) is dict else mapping({thing})")
        table, left_out = self._source.bind(names), self._source.bind(frozenset(dropped))
        made = f"{{{table}.get(key, key): value for key, value in {members}.items()"
        made += f" if key not in {left_out}}}" if dropped else "}"
        if not changed:
            untouched = self._source.bind(frozenset({*names, *dropped}).isdisjoint)
            return self.keep(f"{members} if {untouched}({members}) else {made}")
        made = self.keep(made)
        reads_it = IT in self._written.reads
        for one, value in changed.items():
            there = self.keep(f"{members}.get({one!r})")
            self.add(f"if {there} is not None:")
            variables = {**self._variables, IT: there}
            inner = Block(self._source, self._written, self._report, self._indent + 1, variables, self)
            name = names[one]
            inner.add(f"{made}[{name!r}] = {inner.value(value, (*pointer, 'rename', one, name))}")
        if not reads_it:
            self._written.reads.discard(IT)
        return made

    def _use(self, name: str, pointer: tuple[str | int, ...], *, is_given: bool) -> str:
        self._written.uses.append(Use(name, (*pointer, "shape"), is_given))
        return self._source.functions.get(name, "unknown")

    def _each(self, template: Mapping[str, Any], pointer: tuple[str | int, ...]) -> str:
        name = name_of_entry(template, lambda text: self._report((*pointer, "as"), text))
        listed = self.keep(self.value(template["each"], (*pointer, "each")))
        entry, index = self._source.fresh(), self._source.fresh()
        if "shape" in template and "when" not in template and self._is_inside(template["each"]):
            function = self._use(template["shape"], pointer, is_given=True)
            source = self._source.bind(template["each"])
            return self.keep(f"shape_all({function}, kept_{function}, scope, listed({listed}, allow, {source}))")
        made = self.keep("{}" if "key" in template else "[]")
        # A list within the thing is bounded by the thing; any other list would be iterated again for each thing.
        bound = "allow" if self._is_inside(template["each"]) else "spend"
        entries = f"listed({listed}, {bound}, {self._source.bind(template['each'])})"
        self.add(f"for {index}, {entry} in enumerate({entries}):")
        variables = {**self._variables, name: entry, INDEX: index}
        inner = Block(self._source, self._written, self._report, self._indent + 1, variables, self)
        if "when" in template:
            inner.add(f"if not {inner._condition(template['when'], (*pointer, 'when'))}: continue")
        if "key" in template:
            key = inner.keep(inner.value(template["key"], (*pointer, "key")))
            inner.add(f"if {key} is None: continue")
            inner.add(f"{made}[to_text({key})] = {inner.value(template['give'], (*pointer, 'give'))}")
        elif "give" in template:
            inner.add(f"{made}.append({inner.value(template['give'], (*pointer, 'give'))})")
        else:
            function = self._use(template["shape"], pointer, is_given=True)
            inner.add(f"{made}.append(None if {entry} is None else {function}(scope, {entry}))")
        return made

    def _is_inside(self, source: Any) -> bool:
        """Return whether the list is part of the thing itself."""
        try:
            parts = parse_text(source, source) if isinstance(source, str) else []
        except ExpressionError:
            return False
        chain = chain_of(parts[0]) if len(parts) == 1 else None
        return chain is not None and chain[0] in self._variables

    def _text(self, template: str, pointer: tuple[str | int, ...]) -> str:
        if "{{" not in template:
            return repr(template)
        try:
            parts = parse_text(template, template)
            values = [
                repr(part.data) if isinstance(part, nodes.TemplateData) else self._expression(part, template)
                for part in parts
            ]
        except ExpressionError as error:
            self._report(pointer, str(error))
            return "None"
        if len(parts) == 1:
            return values[0]
        return f"''.join(({''.join(f'{self._as_text(value)}, ' for value in values)}))"

    def _as_text(self, value: str) -> str:
        if value.startswith(("'", '"')):
            return value
        kept = value if value.isidentifier() else self.keep(value)
        return f"{kept} if type({kept}) is str else to_text({kept})"

    def _condition(self, source: str, pointer: tuple[str | int, ...]) -> str:
        try:
            (part,) = parse_text("{{ " + source + " }}", source)
            return self._expression(part, source)
        except ExpressionError as error:
            self._report(pointer, str(error))
        except ValueError:
            self._report(pointer, f"{source!r} is not a single expression; write conditions without {{{{ }}}}")
        return "None"

    def _expression(self, part: nodes.Expr, source: str) -> str:
        """Return Python for the expression. Raises ExpressionError if it cannot be compiled."""
        names = self._source.roots | self._variables.keys()
        try:
            check_part(part, names, source)
            self._written.calls = self._written.calls or bool(every(nodes.Call, part))
            self._written.reads |= {name.name for name in every(nodes.Name, part)} & (self._source.roots | {IT})
            if chain := chain_of(part):
                return self._follow(*chain)
            with self._as_before_if_unwritten():
                value = self._python(part, is_loose=True)
                if isinstance(part, nodes.Const):
                    return value
                return self._guard(value, source)
        except (_Unwritten, RecursionError):
            pass
        return self.keep(f"{self._source.bind(compile_part(part, names, source))}({self._scope()})")

    @contextmanager
    def _as_before_if_unwritten(self) -> Iterator[None]:
        length, kept = len(self._source.lines), dict(self._kept)
        try:
            yield
        except (_Unwritten, RecursionError):
            del self._source.lines[length:]
            self._kept = kept
            raise

    def _guard(self, value: str, source: str) -> str:
        made = self._source.fresh()
        self.add("try:")
        self.add(f"    {made} = {value}")
        self.add("except Exception as error:")
        self.add(f"    {made} = null_for(error, {self._source.bind(source)})")
        return made

    def keep(self, value: str) -> str:
        made = self._source.fresh()
        self.add(f"{made} = {value}")
        return made

    def _once(self, key: tuple[Any, ...], value: Callable[[], str]) -> str:
        """Return the variable that holds this value, so that it is computed only once."""
        block: Block | None = self
        while block:
            if key in block._kept:
                return block._kept[key]
            block = block._outer
        self._kept[key] = self.keep(value())
        return self._kept[key]

    def _scope(self) -> str:
        """Return Python for the scope that called expressions get."""
        given = "".join(f"{name!r}: {variable}, " for name, variable in self._variables.items())
        return self._once(("scope", given), lambda: f"{{**scope, {given}}}")

    def _follow(self, root: str, keys: tuple[Any, ...]) -> str:
        read = f"look_at_root(scope, {root!r})" if root in ON_DEMAND else f"scope.get({root!r})"
        place = self._variables.get(root) or self._once(("root", root), lambda: read)
        for key in keys[:-1]:
            place = self._once((place, key, type(key)), partial(self._member, place, key))
        return self._member(place, keys[-1]) if keys else place

    def _member(self, place: str, key: Any) -> str:
        if not isinstance(key, str):
            return f"member({place}, {key!r})"
        members = self._once((place, "members"), lambda: f"{place} if type({place}) is dict else members({place})")
        return f"{members}.get({key!r})"

    def _python(self, node: nodes.Node, depth: int = 0, *, is_loose: bool = False) -> str:
        """Return Python for the node. If `is_loose`, undefined values may become null. Raises _Unwritten."""
        if depth > _DEEPEST:
            raise _Unwritten
        if chain := chain_of(node):
            return self._follow(*chain)

        def python(inner: nodes.Node, *, is_loose: bool = False) -> str:
            return self._python(inner, depth + 1, is_loose=is_loose)

        match node:
            case nodes.Const(value=float(number)):
                return self._source.bind(_decimal(repr(number)))
            case nodes.Const(value=str() | int() | None as value):
                return repr(value)
            case nodes.Call(node=nodes.Name(name="wire"), args=[thing, state]):
                return f"scope['wire']({python(thing)}, {python(state, is_loose=True)})"
            case nodes.Getattr():
                return f"look_up({python(node.node, is_loose=True)}, {node.attr!r})"
            case nodes.Getitem(arg=nodes.Slice() as cut):
                ends = [_write_end(end) for end in (cut.start, cut.stop, cut.step)]
                return f"charge_entries({python(node.node, is_loose=True)})[{':'.join(ends)}]"
            case nodes.Getitem():
                return f"look_up({python(node.node, is_loose=True)}, {python(node.arg, is_loose=True)})"
            case nodes.CondExpr() if node.expr2 is not None or is_loose:
                test, value = python(node.test, is_loose=True), python(node.expr1, is_loose=is_loose)
                return f"({value} if {test} else {python(node.expr2, is_loose=is_loose) if node.expr2 else None})"
            case nodes.Or():
                return f"({python(node.left, is_loose=True)} or {python(node.right, is_loose=is_loose)})"
            case nodes.And():
                return f"({python(node.left, is_loose=is_loose)} and {python(node.right, is_loose=is_loose)})"
            case nodes.Not():
                return f"(not {python(node.node, is_loose=True)})"
            case nodes.Neg():
                return f"(-{python(node.node)})"
            case nodes.Concat():
                return f"concat(({''.join(python(part, is_loose=True) + ', ' for part in node.nodes)}))"
            case nodes.BinExpr(operator=str(operator)):
                return f"calculate({operator!r}, {python(node.left)}, {python(node.right)})"
            case nodes.Compare():
                return self._compare(node, python)
            case nodes.Test(args=None | [], kwargs=None | [], dyn_args=None, dyn_kwargs=None) if node.name in KINDS:
                return f"{self._source.bind(_plain(ENVIRONMENT.tests[node.name]))}({python(node.node)})"
            case nodes.Filter(node=nodes.Expr() as value, dyn_args=None, dyn_kwargs=None) if node.name in _FILTERS:
                is_default = node.name in ("d", "default")
                pay = "charge_entries" if node.name in SHALLOW else "charge"
                arguments = [f"{pay}({python(value, is_loose=is_default)})", *map(python, node.args)]
                arguments += [f"{pair.key}={python(pair.value)}" for pair in node.kwargs]
                return f"{self._source.bind(_plain(ENVIRONMENT.filters[node.name]))}({', '.join(arguments)})"
            case nodes.Filter(node=nodes.Expr() as value, args=[]) if node.name in _ENDS and is_loose:
                return f"{node.name}(charge_entries({python(value)}))"
            case nodes.List() | nodes.Dict() if (table := _constant(node)) is not None:
                return self._source.bind(table)
            case nodes.List():
                return f"[{''.join(python(entry) + ', ' for entry in node.items)}]"
            case nodes.Dict():
                return f"{{{''.join(f'{python(pair.key)}: {python(pair.value)}, ' for pair in node.items)}}}"
        raise _Unwritten

    def _compare(self, node: nodes.Compare, python: Callable[[nodes.Node], str]) -> str:
        operands = [node.expr, *(operand.expr for operand in node.ops)]
        is_small = len(operands) == 2 and any(isinstance(operand, nodes.Const) for operand in operands)
        first, *others = [python(one) if is_small else f"charge({python(one)})" for one in operands]
        operators = tuple(operand.op for operand in node.ops)
        if not ORDERINGS.isdisjoint(operators):
            return f"is_in_order({first}, {operators!r}, ({''.join(f'{other}, ' for other in others)}))"
        written = "".join(f" {_COMPARED[op]} {other}" for op, other in zip(operators, others, strict=True))
        return f"({first}{written})"


def is_constant(template: Any) -> bool:
    return is_plain(template) and not _has_expression(template)


def _has_expression(template: Any) -> bool:
    if isinstance(template, str):
        return "{{" in template
    inner = template.values() if isinstance(template, dict) else template if isinstance(template, list) else ()
    return any(map(_has_expression, inner))


def _write_end(end: nodes.Expr | None) -> str:
    """Return the end of a slice. Raises _Unwritten if it is computed."""
    match end:
        case None:
            return ""
        case nodes.Const(value=int(number)):
            return repr(number)
        case nodes.Neg(node=nodes.Const(value=int(number))):
            return repr(-number)
    raise _Unwritten


def _constant(node: nodes.List | nodes.Dict) -> list[Any] | dict[str, Any] | None:
    """Return the list or mapping, or None if it is not made of constants only."""
    pairs = node.items if isinstance(node, nodes.Dict) else ()
    parts = [part for pair in pairs for part in (pair.key, pair.value)] if pairs else node.items
    values = [part.value for part in parts if isinstance(part, nodes.Const) and not isinstance(part.value, float)]
    if len(values) != len(parts):
        return None
    return dict(zip(values[::2], values[1::2], strict=True)) if isinstance(node, nodes.Dict) else values


def _plain(function: Any) -> Callable[..., Any]:
    """Return the filter or test without the wrapper that counts its work."""
    own: Callable[..., Any] = function.__wrapped__
    return own


_decimal = _plain(ENVIRONMENT.filters["decimal"])
_join = _plain(ENVIRONMENT.filters["join"])


class _Members:
    """Gives access to the members of a value that is not a plain dict."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def get(self, key: str) -> Any:
        return member(self._value, key)


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _members(value: Any) -> Any:
    return _NOTHING if value is None else _Members(value)


_NOTHING: Mapping[str, Any] = {}


def _look_up(value: Any, key: Any) -> Any:
    return value.get(key) if type(value) is dict else member(value, key)


def _first(values: Iterable[Any]) -> Any:
    return next(iter(values), None)


def _last(values: Any) -> Any:
    return next(iter(reversed(values)), None)


_FREE = 1000
"""Characters of concatenated text that cost nothing."""


def _concat(values: Sequence[Any]) -> str:
    try:
        text = "".join(values)
    except TypeError:
        text = ""
    if 0 < len(text) < _FREE:
        return text
    joined: str = _join(charge(list(values)))
    return joined


def _merge(parts: Sequence[Any]) -> Any:
    first, *others = [part for part in parts if part is not None] or [None]
    return reduce(merge_patch, others, first)


_LONG = 1000
"""The least length of a list whose shaped entries are cached. Such lists are the bank's own and are read repeatedly."""
_MOST_KEPT = 2**15


class ShapedThings:
    """A cache of shaped things by identity.

    It holds a reference to each thing, so that no other can get the same id.
    """

    __slots__ = ("_held", "_shaped")

    def __init__(self) -> None:
        self._held: list[Any] = []
        self._shaped: dict[int, Any] = {}

    def shape(self, make: Make, scope: Mapping[str, Any], things: Sequence[Any]) -> list[Any]:
        shaped = list(map(self._shaped.get, map(id, things)))
        if None not in shaped:
            return shaped
        if len(self._held) > _MOST_KEPT:
            self._held, self._shaped = [], {}
        held, kept = self._held, self._shaped
        for position, it in enumerate(things):
            if it is not None and shaped[position] is None:
                held.append(it)
                shaped[position] = kept[id(it)] = make(scope, it)
        return shaped


def shape_all(make: Make, kept: ShapedThings | None, scope: Mapping[str, Any], things: Sequence[Any]) -> list[Any]:
    """Return each thing shaped. The entries of long lists are cached if the same thing always gives the same result."""
    if kept is not None and len(things) >= _LONG:
        return kept.shape(make, scope, things)
    return [None if it is None else make(scope, it) for it in things]


def _listed(value: Any, pay: Callable[[int], None], source: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        return ()
    try:
        pay(len(value))
    except SecurityError as error:
        raise ExpressionError(f"{error} in {source!r}") from None
    return value


_CALLED: Mapping[str, Any] = {
    "allow": allow,
    "calculate": calculate,
    "charge": charge,
    "charge_entries": charge_entries,
    "concat": _concat,
    "first": _first,
    "is_in_order": is_in_order,
    "last": _last,
    "listed": _listed,
    "look_at_root": look_at_root,
    "look_up": _look_up,
    "mapping": _mapping,
    "member": member,
    "members": _members,
    "merge": _merge,
    "null_for": null_for,
    "shape_all": shape_all,
    "spend": spend,
    "to_text": to_text,
}
UNMETERED = (_look_up, _mapping, _members, _merge, look_at_root, member, null_for, to_text)
"""The functions in the generated code that do not charge for their work."""
