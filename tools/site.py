"""Build the documentation site: `python -m tools.site` writes build/site, with a folder for each version."""

import html
import sys
from pathlib import Path

from packaging.version import Version
from sphinx.cmd.build import build_main

from xs2a_sandbox import __version__

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "site"
_FRONT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>xs2a-sandbox</title>
<h1>xs2a-sandbox</h1>
<p>The documentation of each version:</p>
<ul>
{versions}
</ul>
</html>
"""


def build(site: Path, sources: Path = ROOT) -> int:
    """Write the pages of this version into its folder, and the list of all versions; return the exit status."""
    options = ["-q", "-W", "--keep-going", "-b", "html", "-c", str(sources / "docs" / "site")]
    status: int = build_main([*options, str(sources), str(site / __version__)])
    versions = sorted((Version(folder.name) for folder in site.iterdir() if folder.is_dir()), reverse=True)
    items = (f'<li><a href="{html.escape(str(v))}/docs/index.html">{html.escape(str(v))}</a></li>' for v in versions)
    (site / "index.html").write_text(_FRONT.format(versions="\n".join(items)))
    return status


if __name__ == "__main__":
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else SITE
    status = build(site)
    print(f"The site is in {site}: open index.html.")
    sys.exit(status)
