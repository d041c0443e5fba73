"""The site that `make docs` builds from the pages."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_every_page_is_listed_once_in_the_contents() -> None:
    contents = yaml.safe_load((ROOT / "docs" / "site" / "contents.yaml").read_text())
    entries = [entry["file"] for subtree in contents["subtrees"] for entry in subtree["entries"]]
    pages = {page.relative_to(ROOT).with_suffix("").as_posix() for page in (ROOT / "docs").glob("**/*.md")}
    assert len(entries) == len(set(entries))
    assert pages - {contents["root"]} == {entry for entry in entries if entry.startswith("docs/")}
