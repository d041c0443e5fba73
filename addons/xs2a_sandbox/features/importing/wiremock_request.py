"""Converts the `request` of a WireMock mapping to the `match` of a rule."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, unquote_plus, urlencode

from xs2a_sandbox.documents.json_pointer import at_pointer, pointer_text
from xs2a_sandbox.documents.yaml_writer import write_exactly
from xs2a_sandbox.features.derive.telling_headers import telling_headers
from xs2a_sandbox.http import to_json
from xs2a_sandbox.http.body_members import FORM, leaves, members
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.recording.har import NoExchange

URLS = ("url", "urlPath", "urlPattern", "urlPathPattern", "urlPathTemplate")
_BASIC = ("basicAuth", "basicAuthCredentials")
_REQUEST = frozenset(
    ("method", *URLS, "pathParameters", "queryParameters", "formParameters", "headers", "bodyPatterns", *_BASIC)
)
_TEMPLATED = re.compile(r"\{([^{}/]+)\}")
_META = re.compile(r"[.*+?()|\[\]{}^$\\]")
_ALTERNATIVES = re.compile(r"\(([^()]*)\)")
_ANYTHING = re.compile(r"\^?\(?\.\*\)?\$?")
_WILD = re.compile(r"\(\.\*\)|\.\*")
_STEP = r"""(?:\.[A-Za-z_][\w-]*|\[(?:'[^']+'|"[^"]+"|\d+)\])"""
_STEPS = re.compile(r"""\.([\w-]+)|\['([^']+)'\]|\["([^"]+)"\]|\[(\d+)\]""")
_JSON_PATH = re.compile(rf"\$({_STEP}*)")
_FILTER = re.compile(rf"\$({_STEP}*)\.?\[\?\((.+)\)\]")
_TEST = re.compile(
    rf"""\s*@({_STEP}+)(?:\s*==\s*(true|false|null|-?\d+(?:\.\d+)?|'[^'\\]*'|"[^"\\]*")|\s*=~\s*/((?:[^/\\]|\\.)*)/)?\s*"""
)
_FIELD = re.compile(r"[\w.-]+(=[^\s{}<>]*)?")
_FIELD_WITH_VALUE = re.compile(r"[\w.-]+=[^\s{}<>]*")
_FIELD_PATTERN = re.compile(r"[\w-]+(=[^\s<>\"]*)?")
_FIELD_PATTERN_WITH_VALUE = re.compile(r"[\w-]+=[^\s<>\"]*")
_WORD = re.compile(r"[^\W\d_][\w-]{2,}|[\w-]{8,}")
_CLASS = re.compile(r"\\.|\[[^]]*\]")
_PLACEHOLDER = re.compile(r"(?s)[$#]\{json-unit\.(?P<kind>[\w-]+)(?::[^}]*)?\}(?P<regex>(?<=regex\}).*)?")
_PLACEHOLDERS: Mapping[str, Mapping[str, Any]] = {
    "ignore": {"exists": True},
    "ignore-element": {"any": [{"exists": True}, {"absent": True}]},
    "any-string": {"regex": "^"},
    "any-number": {"any": [{"gte": 0}, {"lt": 0}]},
    "any-boolean": {"in": [True, False]},
}
_XML_PLACEHOLDER = re.compile(r"\s*[$#]\{xmlunit\.(?:ignore|isNumber|isDateTime|matchesRegex\([^)]*\))\}\s*")
_MOST_SEGMENTS = 100


@dataclass(frozen=True, slots=True)
class Censored:
    """Redacts values as in a recording: a path with its query, a body with its media type, a header."""

    target: Callable[[str], str]
    body: Callable[[bytes, str], bytes]
    header: Callable[[str, str], str | None]


@dataclass(slots=True)
class Match:
    """A rule's `match` under construction.

    `lesser` are matchers on headers that count only if requests differ, `ignored` headers never count.
    """

    parts: dict[str, Any] = field(default_factory=dict)
    conditions: list[str] = field(default_factory=list)
    lesser: dict[str, Any] = field(default_factory=dict)
    ignored: set[str] = field(default_factory=set)

    def put(self, part: str, name: str, matcher: Any) -> None:
        """Add a matcher. If the place already has one, both must match."""
        places = self.parts.setdefault(part, {})
        if name in places and places[name] != matcher:
            matcher = {
                "all": [
                    condition if isinstance(condition, dict) else {"equals": condition}
                    for condition in (places[name], matcher)
                ]
            }
        places[name] = matcher

    def build(self) -> dict[str, Any]:
        """Return the `match` with its conditions, in the usual order of keys."""
        keys = ("method", "path", "where", "query", "headers", "body")
        parts = {key: self.parts[key] for key in keys if key in self.parts}
        return {**parts, "when": " and ".join(dict.fromkeys(self.conditions))} if self.conditions else parts


def read_request(request: Mapping[str, Any], censored: Censored) -> Match:
    """Convert a request. Raises NoExchange with the reason if no rule can express it."""
    if unknown := sorted(request.keys() - _REQUEST):
        raise NoExchange(f"a rule cannot match {', '.join(unknown)}")
    match = Match()
    method = str(request.get("method", "ANY")).upper()
    if method != "ANY":
        match.parts["method"] = method
    _read_url(request, match, censored)
    for name, pattern in _matchers(request.get("queryParameters"), "query parameter"):
        match.put("query", name, _matcher(pattern, f"its query parameter {name}", _of_query(name, censored), censored))
    for name, pattern in _matchers(request.get("headers"), "header"):
        _read_header(name, pattern, match, censored)
    for name, pattern in _matchers(request.get("formParameters"), "form parameter"):
        seen = _of_field(name, censored)
        match.put("body", pointer_text((name,)), _matcher(pattern, f"its form parameter {name}", seen, censored))
    for key in _BASIC:
        if key in request:
            _read_basic(request[key], match, censored)
    is_form = FORM in write_exactly(request.get("headers"))
    for pattern in _list(request.get("bodyPatterns"), "bodyPatterns"):
        _read_body(pattern, match, censored, is_form=is_form)
    return match


def _matchers(matchers: Any, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, matcher in (matchers or {}).items() if isinstance(matchers or {}, Mapping) else ():
        if not isinstance(matcher, Mapping):
            raise ValueError(f"the matcher of its {kind} {name} must be an object, not {matcher!r}")
        yield str(name), matcher


def _list(value: Any, name: str) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list")
    return value


def _read_url(request: Mapping[str, Any], match: Match, censored: Censored) -> None:
    urls = [key for key in URLS if key in request]
    if len(urls) > 1:
        raise ValueError(f"it can have only one of {' and '.join(urls)}")
    if not urls:
        match.parts["path"] = "/{path*}"
        return
    (key,) = urls
    url = str(request[key])
    if key == "urlPathTemplate":
        _read_template(url, request.get("pathParameters"), match, censored)
        return
    if "Pattern" in key:
        path, question_mark, query = url.removeprefix("^").removesuffix("$").partition("\\?")
        _read_pattern(path, match, censored)
    else:
        path, question_mark, query = url.partition("?")
        if not path.startswith("/"):
            raise ValueError(f"its path {path!r} must start with /")
        if "{" in path or "}" in path:
            raise NoExchange("its path contains braces, which are parameters in a rule")
        match.parts["path"] = censored.target(path)
    if key in ("urlPath", "urlPathPattern"):
        return
    if key == "url":
        pairs = split_target(censored.target(url)).query if question_mark else []
        for name, value in pairs:
            match.put("query", name, value)
        match.conditions.append(f"query | length == {len(dict(pairs))}")
    else:
        _read_query_pattern(query if question_mark else "", match, censored)


def _read_template(url: str, parameters: Any, match: Match, censored: Censored) -> None:
    names = _TEMPLATED.findall(url)
    matchers = dict(_matchers(parameters, "path parameter"))
    safe = {name: re.sub(r"[^\w-]", "-", name) if name[:1].isalpha() else f"p-{name}" for name in names}
    # Only the words: `{name}` is not a word that could have been sent.
    words = "/".join(part if "{" in part else censored.target("/" + part)[1:] for part in url.split("/"))
    match.parts["path"] = _TEMPLATED.sub(lambda place: "{" + safe[place[1]] + "}", words)
    for name, pattern in matchers.items():
        if name in safe:
            match.put(
                "where", safe[name], _matcher(pattern, f"its path parameter {name}", _of_segment(censored), censored)
            )


def _literal(pattern: str) -> str | None:
    """Return the only text that a regular expression matches, or None if there are several."""
    plain = re.sub(r"\\([^A-Za-z0-9])", lambda place: f"\0{ord(place[1])}\0", pattern)
    if _META.search(plain.replace(".", "") if _only_dots(plain) else plain):
        return None
    return re.sub("\0(\\d+)\0", lambda place: chr(int(place[1])), plain)


def _only_dots(pattern: str) -> bool:
    """Return whether all dots are literal, as in a host or a version, where they are rarely escaped."""
    return not re.search(r"\.[*+?{]", pattern)


def _alternatives(pattern: str) -> list[str] | None:
    """Return the texts in `(a|b)`."""
    group = _ALTERNATIVES.fullmatch(pattern)
    texts = [_literal(text) for text in group[1].split("|")] if group else []
    return [text for text in texts if text is not None] if texts and None not in texts else None


def _cut(pattern: str, at: str) -> list[str]:
    """Split a pattern at this character, outside of groups and classes."""
    parts, depth, in_class, start, position = [], 0, False, 0, 0
    while position < len(pattern):
        sign = pattern[position]
        if sign == "\\":
            position += 1
        elif in_class:
            in_class = sign != "]"
        elif sign == "[":
            in_class = True
        elif sign in "()":
            depth += 1 if sign == "(" else -1
        elif sign == at and not depth:
            parts.append(pattern[start:position])
            start = position + 1
        position += 1
    return [*parts, pattern[start:]]


def _read_pattern(pattern: str, match: Match, censored: Censored) -> None:
    first, *parts = _cut(pattern.replace("\\/", "/"), "/")
    if first or not parts:
        # It may start with anything.
        match.parts["path"] = "/{path*}"
        match.put("where", "path", {"regex": _match_whole(pattern.removeprefix("/"))})
        _check_words(pattern, censored)
        return
    if len(parts) > _MOST_SEGMENTS:
        raise NoExchange(f"its path has more than {_MOST_SEGMENTS} segments")
    path = ""
    for position, part in enumerate(parts):
        text = _literal(part)
        name = f"id{position or ''}" if len(parts) > 1 else "id"
        if text is not None:
            path += "/" + censored.target("/" + quote(text, safe=":@!$&'()*+,;=~-._%"))[1:]
            continue
        texts = _alternatives(part)
        if texts is None and re.search(r"(?<!\\)\.[*+{]|\[\^(?![^\]]*/)", part):
            # It can match several segments, so the rest is matched as a whole.
            rest = "/".join(parts[position:])
            path += "/{rest*}"
            if not _ANYTHING.fullmatch(rest):
                match.put("where", "rest", {"regex": _match_whole(rest)})
                _check_words(rest, censored)
            break
        path += "/{" + name + "}"
        if texts is not None:
            match.put("where", name, {"in": [unquote(censored.target("/" + quote(text))[1:]) for text in texts]})
        else:
            match.put("where", name, {"regex": _match_whole(part)})
            _check_words(part, censored)
    match.parts["path"] = path


def _read_query_pattern(pattern: str, match: Match, censored: Censored) -> None:
    parts = [part for part in pattern.split("&") if part]
    names = set()
    for part in parts:
        name, equals, value = part.partition("=")
        plain = _literal(name)
        if plain is None or not equals:
            raise NoExchange("a rule cannot match a pattern for the query that does not consist of name=value")
        name = unquote(plain)
        names.add(name)
        text = _literal(value)
        if text is not None:
            match.put("query", name, _of_query(name, censored)(unquote(text.replace("+", " "))))
        elif _ANYTHING.fullmatch(value):
            match.put("query", name, {"exists": True})
        elif "%" in value:
            raise NoExchange(
                f"a rule cannot match a pattern with percent-encoded characters in its query parameter {name}"
            )
        else:
            _check_words(value, censored)
            match.put("query", name, {"regex": _match_whole(value)})
    # A pattern that ends with a wildcard also matches further parameters.
    if not parts or not _ANYTHING.fullmatch(parts[-1].partition("=")[2]):
        match.conditions.append(f"query | length == {len(names)}")


def _match_whole(pattern: str) -> str:
    return f"^(?:{pattern.removeprefix('^').removesuffix('$')})$"


def _check_words(pattern: str, censored: Censored) -> None:
    """Check that a recording may contain the words of a pattern. Raises NoExchange."""
    for word in _WORD.findall(_CLASS.sub(" ", pattern)):
        if censored.target("/" + word) != "/" + word:
            raise NoExchange("its pattern may contain personal data; use --no-redact to keep it")


def _require_harmless(text: str, censored: Censored) -> str:
    """Return a string for a condition, if a recording may contain it. Raises NoExchange otherwise."""
    if _of_query("text", censored)(text) != text:
        raise NoExchange("the text in its body may contain personal data; use --no-redact to keep it")
    return json.dumps(text, ensure_ascii=False)


def _of_query(name: str, censored: Censored) -> Callable[[str], str | None]:
    def value(text: str) -> str | None:
        pairs = split_target(censored.target("/?" + urlencode({name: text}))).query
        return pairs[0][1] if pairs else None

    return value


def _of_segment(censored: Censored) -> Callable[[str], str]:
    return lambda text: unquote(censored.target("/" + quote(text, safe=""))[1:])


def _of_header(name: str, censored: Censored) -> Callable[[str], str | None]:
    return lambda text: censored.header(name, text)


def _matcher(pattern: Mapping[str, Any], what: str, seen: Callable[[str], str | None], censored: Censored) -> Any:
    """Return a matcher on a string. `seen` redacts a value as in a recording."""
    if not isinstance(pattern, Mapping):
        raise ValueError(f"the matcher of {what} must be an object, not {pattern!r}")
    operators = {key: operand for key, operand in pattern.items() if key != "caseInsensitive"}
    if len(operators) != 1:
        raise NoExchange(f"{what} must have exactly one matcher, not {', '.join(sorted(pattern)) or 'none'}")
    ((operator, operand),) = operators.items()
    ignores_case = pattern.get("caseInsensitive") is True
    match operator:
        case "absent":
            return {"absent": operand is True}
        case "equalTo":
            value = seen(str(operand))
            if value is None:
                raise NoExchange(f"redaction removes {what}; use --no-redact to keep it")
            return {"regex": f"(?i)^{re.escape(value)}$"} if ignores_case else value
        case "matches":
            _check_words(str(operand), censored)
            return {"exists": True} if _ANYTHING.fullmatch(str(operand)) else {"regex": _match_whole(str(operand))}
        case "doesNotMatch":
            _check_words(str(operand), censored)
            return {"not": {"regex": _match_whole(str(operand))}, "exists": True}
        case "contains":
            return {"regex": re.escape(seen(str(operand)) or "")}
        case "doesNotContain":
            return {"not": {"regex": re.escape(seen(str(operand)) or "")}, "exists": True}
        case "and" | "or":
            inner = [_matcher(item, what, seen, censored) for item in _list(operand, operator)]
            return {
                "all" if operator == "and" else "any": [
                    matcher if isinstance(matcher, dict) else {"equals": matcher} for matcher in inner
                ]
            }
        case "not":
            inner = _matcher(operand, what, seen, censored)
            return {"not": inner if isinstance(inner, dict) else {"equals": inner}}
    raise NoExchange(f"a rule cannot match {what} with {operator}")


def _read_header(name: str, pattern: Mapping[str, Any], match: Match, censored: Censored) -> None:
    lower, telling = name.lower(), telling_headers(None)
    if lower in telling.always:
        match.put("headers", name, _matcher(pattern, f"its header {name}", _of_header(name, censored), censored))
    elif lower in telling.differing:
        match.lesser[name] = _matcher(pattern, f"its header {name}", _of_header(name, censored), censored)
    else:
        match.ignored.add(lower)


def _read_basic(credentials: Any, match: Match, censored: Censored) -> None:
    if not isinstance(credentials, Mapping):
        raise ValueError(f"its credentials must be an object, not {credentials!r}")
    plain = f"{credentials.get('username')}:{credentials.get('password')}"
    value = censored.header("Authorization", "Basic " + b64encode(plain.encode(errors="replace")).decode())
    if value is None:
        # A redacted recording contains no credentials, so requests are matched without.
        match.ignored.add("authorization")
    else:
        match.put("headers", "Authorization", value)


def _read_body(pattern: Any, match: Match, censored: Censored, *, is_form: bool) -> None:
    if not isinstance(pattern, Mapping):
        raise ValueError("a body pattern must be an object")
    if "equalToJson" in pattern:
        _read_json(pattern, match, censored)
    elif "equalToXml" in pattern:
        _read_xml(str(pattern["equalToXml"]), match, censored)
    elif "matchesJsonPath" in pattern:
        _read_json_path(pattern["matchesJsonPath"], match, censored)
    elif "equalTo" in pattern:
        text = str(pattern["equalTo"])
        if not _read_fields(text, match, censored, is_form=is_form):
            match.conditions.append(f"request.text == {_require_harmless(text, censored)}")
    elif "contains" in pattern:
        text = str(pattern["contains"])
        if not _read_fields(text, match, censored, is_form=is_form):
            match.conditions.append(f"{_require_harmless(text, censored)} in request.text")
    elif "doesNotContain" in pattern:
        match.conditions.append(f"{_require_harmless(str(pattern['doesNotContain']), censored)} not in request.text")
    elif "matches" in pattern:
        _read_text_pattern(str(pattern["matches"]), match, censored, is_form=is_form)
    else:
        raise NoExchange(f"a rule cannot match its body with {', '.join(sorted(pattern))}")


def _read_text_pattern(pattern: str, match: Match, censored: Censored, *, is_form: bool) -> None:
    """Convert a pattern of form fields, or of a string surrounded by anything."""
    whole = pattern.removeprefix("^").removesuffix("$")
    pieces = [piece for part in _cut(whole, "&") for piece in _WILD.split(part) if piece]
    if all((_FIELD_PATTERN if is_form else _FIELD_PATTERN_WITH_VALUE).fullmatch(piece) for piece in pieces):
        for name, _, value in (piece.partition("=") for piece in pieces):
            match.put("body", pointer_text((name,)), _field_matcher(name, value, censored))
        return
    first, *others = _WILD.split(whole)
    texts = [_literal(piece) for piece in (first, *others)]
    if None in texts or len([text for text in texts if text]) > 1 or (others and (first or others[-1])):
        raise NoExchange("a rule cannot match its body with this regular expression")
    for text in filter(None, texts):
        quoted = _require_harmless(text, censored)
        match.conditions.append(f"{quoted} in request.text" if others else f"request.text == {quoted}")


def _field_matcher(name: str, pattern: str, censored: Censored) -> Any:
    text = _literal(pattern)
    if not pattern:
        return {"exists": True}
    if text is not None:
        return _of_field(name, censored)(unquote_plus(text))
    if "%" in pattern or "+" in re.sub(r"[\])}\w.]\+", "", pattern):
        raise NoExchange(f"a rule cannot match a pattern with percent-encoded characters in its form field {name}")
    _check_words(pattern, censored)
    return {"regex": _match_whole(pattern)}


def _fields(text: str, *, is_form: bool) -> list[tuple[str, str]]:
    """Return the form fields in a string, or an empty list if it contains none. Values may be truncated."""
    parts = [part for part in text.split("&") if part]
    pattern = _FIELD if is_form else _FIELD_WITH_VALUE
    return [part.partition("=")[::2] for part in parts] if all(map(pattern.fullmatch, parts)) else []


def _read_fields(text: str, match: Match, censored: Censored, *, is_form: bool) -> bool:
    """Add matchers on the form fields in the text, at any place in the form. Returns False if there are none."""
    fields = _fields(text, is_form=is_form)
    for name, value in fields:
        seen = _of_field(unquote_plus(name), censored)
        match.put("body", pointer_text((unquote_plus(name),)), seen(unquote_plus(value)) if value else {"exists": True})
    return bool(fields)


def _of_field(name: str, censored: Censored) -> Callable[[str], str]:
    def value(text: str) -> str:
        fields = parse_qsl(censored.body(urlencode({name: text}).encode(), FORM).decode(), keep_blank_values=True)
        if not fields:
            raise NoExchange(f"redaction removes the form field {name}; use --no-redact to keep it")
        return fields[0][1]

    return value


def _read_json(pattern: Mapping[str, Any], match: Match, censored: Censored) -> None:
    extra, any_order = pattern.get("ignoreExtraElements") is True, pattern.get("ignoreArrayOrder") is True
    written = pattern["equalToJson"]
    if isinstance(written, str) and "${json-unit." in written.strip()[:12]:
        raise NoExchange("a rule cannot match a body that is a single placeholder")
    written = _parse(written)
    if _has_placeholder(written):
        if any_order and _has_list(written):
            raise NoExchange("a rule cannot match lists with placeholders in any order")
        _read_placeholders(written, (), match, censored, extra=extra)
        return
    value = _parse(censored.body(to_json(written), "application/json"))
    if (extra or any_order) and extra != any_order and _has_list(value):
        raise NoExchange(
            "a rule can match the lists in its body only with both ignoreExtraElements and "
            "ignoreArrayOrder, or with neither"
        )
    if extra:
        match.put("body", "contains", value)
        return
    if not isinstance(value, dict | list):
        raise NoExchange("a rule cannot match a body that is a single value")
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        match.put("body", pointer_text((step,)), {"equals": inner})
    match.conditions.append(f"body | length == {len(value)}")


def _has_placeholder(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_placeholder, value.values()))
    if isinstance(value, list):
        return any(map(_has_placeholder, value))
    return isinstance(value, str) and _PLACEHOLDER.fullmatch(value) is not None


def _read_placeholders(
    value: Any, steps: tuple[str | int, ...], match: Match, censored: Censored, *, extra: bool
) -> None:
    """Add a matcher for each member, and a condition that excludes other members."""
    if isinstance(value, dict | list) and value:
        place = "".join(f"[{json.dumps(step, ensure_ascii=False)}]" for step in steps)
        if not extra or isinstance(value, list):
            match.conditions.append(f"body{place} | length == {len(value)}")
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            _read_placeholders(inner, (*steps, step), match, censored, extra=extra)
        return
    if not steps:
        raise NoExchange("a rule cannot match a body that is a single placeholder")
    placeholder = _PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    if placeholder is None:
        match.put("body", pointer_text(steps), {"equals": _member(value, steps, censored)})
    elif placeholder["regex"] is not None:
        _check_words(placeholder["regex"], censored)
        match.put("body", pointer_text(steps), {"regex": _match_whole(placeholder["regex"])})
    elif placeholder["kind"] in _PLACEHOLDERS:
        match.put("body", pointer_text(steps), _PLACEHOLDERS[placeholder["kind"]])
    else:
        raise NoExchange(f"a rule cannot match the placeholder {value} in its body")


def _read_xml(text: str, match: Match, censored: Censored) -> None:
    """Add a matcher for each element and attribute with text."""
    redacted = censored.body(text.encode(errors="replace"), "application/xml")
    try:
        before, after = (
            dict(leaves(member)) if (member := members(content, "application/xml")) else {}
            for content in (text.encode(errors="replace"), redacted)
        )
    except ValueError as error:
        raise NoExchange(f"the XML that must match its body is invalid: {error}") from None
    if not before or before.keys() != after.keys():
        raise NoExchange("redaction removes the XML that must match its body; use --no-redact to keep it")
    for steps, value in before.items():
        is_any = not value or _XML_PLACEHOLDER.fullmatch(str(value)) is not None
        match.put("body", pointer_text(steps), {"exists": True} if is_any else {"equals": after[steps]})


def _has_list(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_list, value.values()))
    return isinstance(value, list)


def _parse(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str | bytes) else value


def _read_json_path(operand: Any, match: Match, censored: Censored) -> None:
    expression = operand.get("expression") if isinstance(operand, Mapping) else operand
    if not isinstance(expression, str):
        raise ValueError("matchesJsonPath must have an expression")
    inner = (
        {key: value for key, value in operand.items() if key != "expression"} if isinstance(operand, Mapping) else {}
    )
    if place := _JSON_PATH.fullmatch(expression):
        steps = _steps(place[1])
        if not steps:
            raise NoExchange(f"a rule cannot match its body with {expression}")
        match.put("body", pointer_text(steps), _at_path(inner, steps, censored) if inner else {"exists": True})
        return
    filtered = _FILTER.fullmatch(expression)
    tests = [_TEST.fullmatch(test) for test in filtered[2].split("&&")] if filtered and not inner else [None]
    for test in tests:
        if filtered is None or test is None:
            raise NoExchange(f"a rule cannot match its body with the JSONPath {expression}")
        steps, text = _steps(filtered[1] + test[1]), test[2]
        matcher: dict[str, Any] = {"exists": True}
        if test[3] is not None:
            _check_words(test[3], censored)
            matcher = {"regex": _match_whole(test[3])}
        if text is not None:
            value = text[1:-1] if text[0] in "'\"" else json.loads(text)
            matcher = {"equals": _member(value, steps, censored)}
        match.put("body", pointer_text(steps), matcher)


def _steps(path: str) -> tuple[str | int, ...]:
    """Return the steps of a JSONPath, with indices as numbers."""
    places = _STEPS.finditer(path)
    return tuple(int(place[4]) if place[4] else place[1] or place[2] or place[3] for place in places)


def _at_path(inner: Mapping[str, Any], steps: tuple[str | int, ...], censored: Censored) -> Any:
    if "equalToJson" in inner:
        value = _parse(inner["equalToJson"])
        if len(inner) > 1 and _has_list(value):
            raise NoExchange("a rule cannot match lists in any order here")
        value = _member(value, steps, censored)
        return {"contains": value} if inner.get("ignoreExtraElements") is True else {"equals": value}
    return _matcher(
        inner, f"its body at {pointer_text(steps)}", lambda text: str(_member(text, steps, censored)), censored
    )


def _member(value: Any, steps: tuple[str | int, ...], censored: Censored) -> Any:
    whole = value
    for step in reversed(steps):
        # As the only entry of a list, it represents the meant one.
        whole = [whole] if isinstance(step, int) else {step: whole}
    kept = ["0" if isinstance(step, int) else step for step in steps]
    members = at_pointer(_parse(censored.body(to_json(whole), "application/json")), kept)
    if not members:
        raise NoExchange(f"redaction removes the member {pointer_text(steps)} of its body; use --no-redact to keep it")
    return members[0]
