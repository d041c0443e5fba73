"""Media types and words with parameters."""

import pytest

from xs2a_sandbox.http.media_type import choose_type, is_json, media_type, split_parameters


@pytest.mark.parametrize(
    ("field", "media"),
    [
        (None, ""),
        ("", ""),
        (";charset=utf-8", ""),
        ("application/json", "application/json"),
        (" Application/JSON ; charset=UTF-8", "application/json"),
    ],
)
def test_a_content_type_names_one_type(field: str | None, media: str) -> None:
    assert media_type(field) == media


@pytest.mark.parametrize("media", ["application/json", "text/json", "application/problem+json"])
def test_types_of_json_are_recognised(media: str) -> None:
    assert is_json(media)


@pytest.mark.parametrize("media", ["", "text/html", "json", "application/jsonp", "application/x-ndjson"])
def test_other_types_are_not_json(media: str) -> None:
    assert not is_json(media)


@pytest.mark.parametrize(
    ("text", "word", "parameters"),
    [
        ("gzip", "gzip", {}),
        ("GZIP;q=0.5", "gzip", {"q": "0.5"}),
        ("text/html ; Level=1;Q = 0;", "text/html", {"level": "1", "q": "0"}),
        ('application/json; charset="UTF-8"; odd', "application/json", {"charset": "UTF-8", "odd": ""}),
    ],
)
def test_a_word_is_split_from_its_parameters(text: str, word: str, parameters: dict[str, str]) -> None:
    assert split_parameters(text) == (word, parameters)


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("application/json", "application/json"),
        ("*/*", "application/json"),
        ("text/plain;q=0.5, application/xml", "application/xml"),
        ("application/pdf, TEXT/*", "text/plain"),
        ("application/xml;q=0, application/*;q=0.1", "application/json"),
        ("application/json;q=0, */*", "application/xml"),
        ("*/*, application/json;q=0.1", "application/xml"),
        ("text/*;q=0, application/xml;q=0, */*;q=0.5", "application/json"),
        ("application/*;q=0, text/plain;q=0, */*", None),
        ("application/json;q=much", None),
        ("text/html", None),
        ("", None),
    ],
)
def test_the_preferred_type_is_chosen(accept: str, chosen: str | None) -> None:
    assert choose_type(accept, ("application/json", "application/xml", "text/plain")) == chosen
