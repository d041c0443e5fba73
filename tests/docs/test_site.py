"""The site that `make docs` makes of the pages."""

from pathlib import Path

import yaml

from xs2a_sandbox.documentation.generated import GENERATED

ROOT = Path(__file__).parents[2]


def test_every_page_stands_once_in_the_contents() -> None:
    contents = yaml.safe_load((ROOT / "docs" / "site" / "contents.yaml").read_text())
    entries = [entry["file"] for subtree in contents["subtrees"] for entry in subtree["entries"]]
    pages = {page.relative_to(ROOT).with_suffix("").as_posix() for page in (ROOT / "docs").glob("**/*.md")}
    pages |= {f"docs/{name.removesuffix('.md')}" for name in GENERATED if name.endswith(".md")}
    assert len(entries) == len(set(entries))
    assert pages - {contents["root"]} == {entry for entry in entries if entry.startswith("docs/")}
