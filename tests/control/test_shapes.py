"""The shapes of the control interface: each is used, and answers have exactly its members."""

from typing import Any, get_args, get_type_hints, is_typeddict

import pytest

from tests.support.admin import CONSENT, Admin, governed
from tests.support.engine_client import Client
from xs2a_sandbox.control import shapes
from xs2a_sandbox.control.api import ROUTES

OPENED = {"number": "1"}
READS = [
    route
    for route in ROUTES
    if route.method == "GET" and is_typeddict(route.answers.get(200)) and set(route.path.split("{")[1:]) <= {"number}"}
]


@pytest.fixture
def admin() -> Admin:
    return Admin(Client(governed()))


def named_by(shape: Any) -> set[str]:
    """Return the shapes that a type consists of."""
    if is_typeddict(shape):
        inner = set().union(*(named_by(hint) for hint in get_type_hints(shape).values()))
        return {shape.__name__, *(base.__name__ for base in getattr(shape, "__orig_bases__", ())), *inner}
    return set().union(*(named_by(argument) for argument in get_args(shape)))


def test_every_shape_belongs_to_a_route() -> None:
    declared = {
        name for name, value in vars(shapes).items() if is_typeddict(value) and value.__module__ == shapes.__name__
    }
    used = set().union(*(named_by(shape) for route in ROUTES for shape in (route.body, *route.answers.values())))
    assert declared - used == {"ErrorShape"}  # every refusal has this shape


@pytest.mark.parametrize("route", READS, ids=lambda route: route.id)
def test_an_answer_has_exactly_the_members_of_its_shape(route: Any, admin: Admin) -> None:
    admin.client.get("/v1/accounts")
    answer = admin.get(route.path.format(**OPENED))
    shape = route.answers[200]
    assert shape.__required_keys__ <= answer.keys() <= get_type_hints(shape).keys()


def test_a_list_has_entries_of_the_declared_shape(admin: Admin) -> None:
    admin.client.get("/v1/accounts")
    admin.client.delete(f"/v1/consents/{CONSENT}")
    for exchange in admin.get("journal")["exchanges"]:
        assert exchange.keys() == get_type_hints(shapes.ExchangeSummary).keys()
    (session,) = admin.get("sessions")["sessions"]
    assert session.keys() == get_type_hints(shapes.SessionShape).keys()
