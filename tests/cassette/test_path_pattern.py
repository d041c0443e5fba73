import pytest

from xs2a_sandbox.cassette.path_pattern import Pattern


@pytest.mark.parametrize(
    "path",
    [
        "v1",
        "/{a}/{a}",
        "/{rest*}/more",
        "/x{a}",
        "/{a}x",
        "/{}",
        "/{1}",
        "/a}",
        "/v1/accounts?withBalance=true",
        "/a#b",
    ],
)
def test_invalid_paths(path):
    with pytest.raises(ValueError, match=r"."):
        Pattern.parse(path)


@pytest.mark.parametrize(
    ("left", "right", "overlap", "covers"),
    [
        ("/a", "/a", True, True),
        ("/a", "/a/", True, True),
        ("/a", "/b", False, False),
        ("/a", "/a/b", False, False),
        ("/{x}", "/a", True, True),
        ("/a", "/{x}", True, False),
        ("/{x}", "/{y}", True, True),
        ("/{rest*}", "/a/b/c", True, True),
        ("/a/{rest*}", "/a", False, False),
        ("/a/{rest*}", "/a/{x}", True, True),
        ("/a/{x}", "/a/{rest*}", True, False),
        ("/a/{rest*}", "/{x}/b", True, False),
        ("/a/{rest*}", "/b/{rest*}", False, False),
        ("/{x}/{rest*}", "/{rest*}", True, False),
        ("/{rest*}", "/{x}/{rest*}", True, True),
    ],
)
def test_overlap_and_coverage(left, right, overlap, covers):
    mine, theirs = Pattern.parse(left), Pattern.parse(right)
    assert mine.overlaps(theirs) is theirs.overlaps(mine) is overlap
    assert mine.covers(theirs) is covers


def test_paths_with_more_literals_rank_higher_from_left_to_right():
    paths = ["/a/b", "/a/{x}", "/a/{rest*}", "/{x}/b", "/{x}/{y}", "/{x}/{rest*}", "/{rest*}"]
    assert sorted(paths, key=lambda path: Pattern.parse(path).rank, reverse=True) == paths
