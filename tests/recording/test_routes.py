from pathlib import Path

import pytest

from tests.support.taping import bank_of_things
from xs2a_sandbox.features.derive.routes import Routes, slug

UUID = "5f81d900-ca0e-4fc7-82e0-b86db4245024"


@pytest.mark.parametrize(
    ("target", "path", "parameters", "resource"),
    [
        ("/v1/things?x=y", "/v1/things", {}, "things"),
        ("/pagination/v1/things/a%20b", "/pagination/v1/things/{thing}", {"thing": "a b"}, "things"),
        ("/10050000/v1/things/", "/10050000/v1/things", {}, "things"),
        ("/v1/berlin-group/v1/things", "/v1/berlin-group/v1/things", {}, "things"),
        (f"/a%20b/v1/other/{UUID}", "/a%20b/v1/other/{id}", {"id": UUID}, "other"),
        ("/oauth2/token", "/oauth2/token", {}, "oauth2"),
    ],
)
def test_whole_routes_keep_the_prefix_of_the_interface(
    target: str, path: str, parameters: dict[str, str], resource: str, tmp_path: Path
) -> None:
    route = Routes(bank_of_things(tmp_path)).find_whole("GET", target)
    assert (route.path, dict(route.parameters), route.resource) == (path, parameters, resource)


@pytest.mark.parametrize(
    ("segment", "is_id"),
    [
        (UUID, True),
        ("AT459880000010204711", True),
        ("7", True),
        ("a1b2c3d4e5f60718", True),
        ("3dc3d5b3702348489829", True),
        ("qwer3456tzui7890", True),
        ("v1", False),
        ("v1.3", False),
        ("consents", False),
        ("sepa-credit-transfers", False),
        ("pain.001-sepa-credit-transfers", False),
        ("cancellation-authorisations", False),
    ],
)
def test_without_an_interface_ids_are_recognised_by_their_form(segment: str, is_id: bool) -> None:
    route = Routes(None).find("GET", f"/v1/payments/{segment}")
    assert route.path == ("/v1/payments/{id}" if is_id else f"/v1/payments/{segment}")


@pytest.mark.parametrize(
    ("path", "resource"), [("/", "other"), (f"/v1/{UUID}", "other"), ("/v1.2/Ä B/x", "b"), ("/1/a", "other")]
)
def test_unusual_paths_have_a_file_too(path: str, resource: str) -> None:
    assert Routes(None).find("GET", path).resource == resource


def test_a_slug_is_a_valid_file_name() -> None:
    assert [slug(text) for text in ("Signing Baskets", "../..", "ä", "x" * 99)] == [
        "signing-baskets",
        "other",
        "other",
        "x" * 60,
    ]
