"""The root `let`. Its values are computed when an expression reads them."""

from xs2a_sandbox.cassette.evaluation.lets import lets_of


def test_values_are_computed_once_and_only_when_read() -> None:
    computed: list[str] = []

    def value(name: str, of: str = "") -> object:
        return lambda scope: computed.append(name) or f"{name}{scope['let'].get(of, '')}"

    root = lets_of({"a": value("a", "b"), "b": value("b"), "c": 3}, {})
    assert (len(root), sorted(root), "c" in root, "d" in root, computed) == (3, ["a", "b", "c"], True, False, [])
    assert (root["a"], root["b"], root["c"], root.get("d")) == ("ab", "b", 3, None)
    assert computed == ["a", "b"]


def test_own_values_override_those_of_the_dialect_but_are_not_used_by_them() -> None:
    root = lets_of({"a": lambda scope: scope["let"]["b"], "b": 1}, {})
    root["b"] = 2
    assert (root["a"], root["b"]) == (1, 2)
