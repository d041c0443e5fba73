import inspect
from pathlib import Path

import pytest

from xs2a_sandbox import errors
from xs2a_sandbox.errors import BankError, Problem, Unreadable


def test_exceptions_form_the_documented_tree() -> None:
    tree = [c for _, c in inspect.getmembers(errors, inspect.isclass) if c.__module__ == errors.__name__]
    exceptions = [c for c in tree if issubclass(c, Exception)]

    assert len(exceptions) > 5
    assert all(issubclass(c, errors.SandboxError) for c in exceptions)
    assert all(c.__name__ in (errors.__doc__ or "") for c in exceptions)


@pytest.mark.parametrize("kind", [errors.ConfigError, errors.Unreadable])
def test_errors_that_users_can_fix_are_user_mistakes(kind: type[Exception]) -> None:
    assert issubclass(kind, errors.UserMistake)


def test_a_problem_shows_its_place() -> None:
    problem = Problem(Path("a.yaml"), 3, 5, "code", "what is wrong", "key: valeu")

    assert str(problem).splitlines() == ["a.yaml:3:5: error code: what is wrong", "    key: valeu", "        ^"]
    assert str(Problem(Path("a.yaml"), 1, 1, "code", "text")) == "a.yaml:1:1: error code: text"


def test_all_problems_are_raised_together_in_order_of_place() -> None:
    places = [("b", 1, 1), ("a", 10, 1), ("a", 9, 2), ("a", 9, 1)]
    error = Unreadable([Problem(Path(file), line, column, "x", "y") for file, line, column in places])

    assert [p.place for p in error.problems] == ["a:9:1", "a:9:2", "a:10:1", "b:1:1"]
    assert len(str(error).splitlines()) == 4


def test_a_bank_error_has_a_name_and_values() -> None:
    error = BankError("consent-unknown", path="/x", id="1")

    assert (error.name, error.path, error.values) == ("consent-unknown", "/x", {"id": "1"})
    assert BankError("a", name="b").values == {"name": "b"}
