import gc
import json
import re
import time
import weakref
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.doors import limits
from tests.support.writing import SCHEMAS, ask, check, engine, rule_of, rules
from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.state import MemoryStore

KEYS = ["a", "b"]
TEXTS = ["x", "y", "xy"]
MATCHERS = st.one_of(
    st.sampled_from(TEXTS),
    st.lists(st.sampled_from(TEXTS), min_size=1, max_size=2, unique=True).map(lambda texts: {"in": texts}),
    st.sampled_from(["^x", "y$", "."]).map(lambda text: {"regex": text}),
    st.booleans().map(lambda there: {"exists": there}),
)
RULES = st.tuples(
    st.integers(0, 2),  # layer
    st.integers(-1, 1),  # priority
    st.dictionaries(st.sampled_from(KEYS), MATCHERS, max_size=2),
    st.sampled_from(["query", "headers"]),
)


def fits(matcher, value):
    """The rules of precedence in the design, implemented as simply as possible."""
    if isinstance(matcher, str):
        return value == matcher
    ((operator, operand),) = matcher.items()
    if operator == "exists":
        return (value is not None) is operand
    if value is None:
        return False
    return value in operand if operator == "in" else re.search(operand, value) is not None


def strength(matcher):
    return 8 if isinstance(matcher, str) else {"in": 4, "regex": 2, "exists": 1}[next(iter(matcher))]


@given(st.lists(RULES, max_size=6), st.randoms(use_true_random=False))
def test_the_strongest_matching_rule_answers_regardless_of_the_order_of_files(specs, random):
    written = [
        {"id": f"r{i}", "priority": priority, "match": {"operation": "list", part: match}, "respond": {"body": i}}
        for i, (_, priority, match, part) in enumerate(specs)
    ]
    layers: list[dict] = [{}, {}, {}]
    for rule, spec in sorted(zip(written, specs, strict=True), key=lambda _: random.random()):
        file = layers[spec[0]].setdefault(f"{random.choice('mnop')}.yaml", {"cassette": 1, "rules": []})
        file["rules"].append(rule)
    with TemporaryDirectory() as directory:
        read, problems = check(Path(directory), *layers)
    codes = {problem.code for problem in problems}
    assert codes <= {"unreachable", "ambiguous"}
    unreachable = {p.text.split("'")[3] for p in problems if p.code == "unreachable"}
    bank = Engine(Parts(Banks(Bank(read, SCHEMAS)), MemoryStore(), TestData({}, ()), limits=limits()))
    for a in [None, *TEXTS]:
        for b in [None, *TEXTS]:
            sent = {name: value for name, value in (("a", a), ("b", b)) if value is not None}
            fitting = [
                (layer, priority, sum(map(strength, match.values())), f"r{i}")
                for i, (layer, priority, match, _) in enumerate(specs)
                if all(fits(matcher, sent.get(name)) for name, matcher in match.items())
            ]
            best = max((entry[:3] for entry in fitting), default=None)
            winners = {entry[3] for entry in fitting if entry[:3] == best} or {"list"}
            target = "/v1/things?" + "&".join(f"{name}={value}" for name, value in sent.items())
            answered = rule_of(ask(bank, target, headers=list(sent.items())))
            assert answered in winners
            assert answered not in unreachable
            if "ambiguous" not in codes:
                assert len(winners) == 1, "lint accepted rules that conflict"


def separate(count):
    return rules(*({"id": f"r{i}", "match": {"operation": "one", "where": {"thing": f"t{i}"}}} for i in range(count)))


def test_two_thousand_rules_behave_like_twenty(tmp_path):
    few, lots = engine(tmp_path / "few", separate(20)), engine(tmp_path / "lots", separate(2000))
    for bank in (few, lots):
        assert rule_of(ask(bank, "/v1/things/t19")) == "r19"
        assert rule_of(ask(bank, "/v1/things/none")) == "one"
    assert rule_of(ask(lots, "/v1/things/t1999")) == "r1999"

    def candidates(bank, thing):
        lookup = Index(bank.interface).find("GET", ("v1", "things", thing))
        ((bucket, parameters),) = lookup.rules
        return bucket.candidates(lambda place: [parameters[place.name]])

    assert len(candidates(few, "t7")) == len(candidates(lots, "t7")) == 1
    assert candidates(lots, "none") == []


def test_two_thousand_rules_with_different_paths_are_read_quickly(tmp_path):
    specs = [{"id": f"r{i}", "match": {"path": f"/other/p{i}"}} for i in range(2000)]
    started = time.perf_counter()
    bank = engine(tmp_path, rules(*specs))
    assert time.perf_counter() - started < 30
    assert rule_of(ask(bank, "/other/p1234")) == "r1234"


def test_keys_repeated_hundreds_of_times_are_looked_up_quickly(tmp_path):
    match = {"operation": "list", "query": {"a": "x", "b": "x", "c": "x"}}
    bank = engine(tmp_path, rules({"id": "three", "match": match}))
    query = "&".join(f"{key}={i}" for key in "abc" for i in range(400))
    started = time.perf_counter()
    assert rule_of(ask(bank, f"/v1/things?{query}")) == "list"
    assert rule_of(ask(bank, f"/v1/things?{query}&a=x&b=x&c=x")) == "three"
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("target", "answered"),
    [
        ("/v1/things", "list"),
        ("/v1/things/", "list"),
        ("/psd2/bank/v1/things", "list"),
        ("/v1/v1/things", "list"),
        ("/v1/nothing/v1/things", "list"),
        ("/v1/things/v1", "one"),
        ("/v1/things/v1/things", "list"),
        ("/v1/things/a%2Fb", "one"),
        ("/v1/things/%76", "one"),
        ("/%761/things", "list"),
        ("/v1/things?x=/v1/things/5", "list"),
        ("/v1//things", None),
        ("/v1/things//", None),
        ("/v1/../v1/things", "list"),
        ("/v1/things/..", "one"),
        ("/V1/things", None),
        ("/things", None),
        ("/v1", None),
        ("/", None),
        ("//", None),
        ("/oauth/token", "own"),
        ("/oauth/token/", "own"),
        ("/prefix/oauth/token", None),
        ("/files/a/b%2Fc", "tail"),
        ("/files", None),
        ("/prefix/v1/extra", "inside"),
        ("/v1/extra", "inside"),
    ],
)
def test_paths_can_have_a_prefix(tmp_path, target, answered):
    own = rules(
        {"id": "own", "match": {"path": "/oauth/token"}},
        {"id": "tail", "match": {"path": "/files/{rest*}"}},
        {"id": "inside", "match": {"path": "/v1/extra"}},
    )
    response = ask(engine(tmp_path, own), target)
    assert rule_of(response) == answered
    assert response.status == (200 if answered else 404)


WHOLE = """
cassette: 1
rules:
  - {id: pagination, match: {path: /pagination/v1/things}, respond: {body: pagination}}
  - {id: any, match: {path: "/{bank}/v1/things", query: {page: "2"}}, respond: {body: any}}
  - {id: group, match: {path: /v1/group/v1/things}, respond: {body: group}}
  - {id: things, match: {path: /v1/things, query: {page: "2"}, headers: {a: b}}, respond: {body: things}}
"""


@pytest.mark.parametrize(
    ("target", "answered"),
    [
        ("/pagination/v1/things", "pagination"),
        ("/pagination/v1/things?page=2", "pagination"),
        ("/berlingroup/v1/things?page=2", "any"),
        ("/berlingroup/v1/things", "list"),
        ("/v1/things?page=2", "things"),
        ("/a/berlingroup/v1/things?page=2", "things"),
        ("/a/pagination/v1/things", "list"),
        ("/v1/group/v1/things", "group"),
        ("/a/v1/group/v1/things", "list"),
    ],
)
def test_a_path_that_includes_the_prefix_is_matched_as_a_whole_first(tmp_path, target, answered):
    sandbox = engine(tmp_path, {"whole.yaml": WHOLE})
    assert json.loads(ask(sandbox, target, headers=[("a", "b")]).body) == answered


@pytest.mark.parametrize(
    ("target", "answered", "product"),
    [
        ("/v1/x/a", "literal", None),
        ("/v1/x/b", "first", "b"),
        ("/v1/y/a", "second", "y"),
        ("/v1/y/b", "both", "b"),
        ("/v1/y/b/c", "rest", "y/b/c"),
        ("/v1/y/b%2Fc", "both", "b/c"),
    ],
)
def test_literals_take_precedence_over_parameters_from_left_to_right(tmp_path, target, answered, product):
    say = {"body": "{{ path.p }}"}
    own = rules(
        {"id": "rest", "match": {"path": "/v1/{p*}"}, "respond": say},
        {"id": "both", "match": {"path": "/v1/{q}/{p}"}, "respond": say},
        {"id": "second", "match": {"path": "/v1/{p}/a"}, "respond": say},
        {"id": "first", "match": {"path": "/v1/x/{p}"}, "respond": say},
        {"id": "literal", "match": {"path": "/v1/x/a"}, "respond": say},
    )
    response = ask(engine(tmp_path, own), target)
    assert rule_of(response) == answered
    assert response.body.decode() == ("null" if product is None else f'"{product}"')


def test_methods_and_405(tmp_path):
    change = {"path": "/x", "method": ["PUT", "PATCH"]}
    own = rules({"id": "any", "match": {"path": "/x"}}, {"id": "change", "match": change, "priority": 1})
    bank = engine(tmp_path, own)
    answered = {method: rule_of(ask(bank, "/x", method)) for method in ("GET", "PUT", "PATCH", "DELETE")}
    assert answered == {"GET": "any", "PUT": "change", "PATCH": "change", "DELETE": "any"}
    assert b"method-not-offered" in ask(bank, "/v1/things", "DELETE").body
    assert rule_of(ask(bank, "/v1/things", "POST")) == "make"


def test_an_operation_of_a_later_layer_takes_precedence_on_the_same_path(tmp_path):
    own = {"id": "mine", "method": "GET", "path": "/v1/things", "respond": {"body": "mine"}}
    assert rule_of(ask(engine(tmp_path, {"o.yaml": {"cassette": 1, "operations": [own]}}))) == "mine"


def test_long_paths_are_found_and_not_cached(tmp_path):
    index = Index(engine(tmp_path, rules({"id": "r", "match": {"path": "/v1/{a}/{b}/{c*}"}})).interface)
    for long in (("v1", "x" * 2000, "y", "z"), ("v1", "x", "y", *[""] * 2000)):
        assert index.find("GET", long).rules
    assert index._find_again.cache_info().currsize == 0


def test_an_unused_index_is_released_without_garbage_collection(tmp_path):
    index = Index(engine(tmp_path, rules({"id": "r", "match": {"path": "/v1/a"}})).interface)
    assert index.find("GET", ("v1", "a")).rules
    paths = weakref.ref(index._paths)
    gc.disable()
    try:
        del index
        assert paths() is None
    finally:
        gc.enable()
