import pytest

from xs2a_sandbox.http.target import split_target


@pytest.mark.parametrize(
    ("target", "segments"),
    [
        ("/", ()),
        ("", ()),
        ("/v1/accounts", ("v1", "accounts")),
        ("/v1/accounts/", ("v1", "accounts")),
        ("/v1//accounts", ("v1", "", "accounts")),
        ("/v1/../accounts", ("v1", "..", "accounts")),
        ("/v1/a%2Fb", ("v1", "a/b")),
        ("/v1/a%252Fb", ("v1", "a%2Fb")),
        ("/v1/%C3%A9", ("v1", "é")),
        ("/v1/a%20b+c", ("v1", "a b+c")),
        ("/v1/100%", ("v1", "100%")),
        ("/v1/%7Bx%7D", ("v1", "{x}")),
    ],
)
def test_segments_are_decoded_once_and_a_trailing_slash_does_not_matter(target, segments):
    assert split_target(target).segments == segments
    assert split_target(target + "?a=/b/").segments == segments


@pytest.mark.parametrize(
    ("query", "pairs"),
    [
        ("", ()),
        ("a=1&a=2", (("a", "1"), ("a", "2"))),
        ("a", (("a", ""),)),
        ("a=%20%2B", (("a", " +"),)),
        ("a=b=c&%61=d", (("a", "b=c"), ("a", "d"))),
        ("a=1?2", (("a", "1?2"),)),
    ],
)
def test_queries_are_split(query, pairs):
    assert split_target("/v1?" + query).query == pairs
