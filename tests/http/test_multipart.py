"""Multipart bodies: their parts, and the boundary, which is not part of the content."""

import pytest

from xs2a_sandbox.http.multipart import parts, without_boundary


@pytest.mark.parametrize(
    ("field", "rest"),
    [
        ("multipart/form-data; boundary=abc", "multipart/form-data"),
        ('multipart/form-data; boundary="a b"; charset=utf-8', "multipart/form-data; charset=utf-8"),
        ("Multipart/Mixed;Boundary=x", "Multipart/Mixed"),
        ("application/json; boundary=x", "application/json; boundary=x"),
        ("text/plain", "text/plain"),
    ],
)
def test_the_boundary_is_removed(field: str, rest: str) -> None:
    assert without_boundary(field) == rest


def test_parts_without_a_name_are_numbered() -> None:
    first, second = parts(b"--x\r\n\r\none\r\n--x\nContent-Type: text/plain\n\ntwo\n--x--")

    assert (first.name, first.content) == ("0", b"one")
    assert (second.name, second.media, second.content) == ("1", "text/plain", b"two")
