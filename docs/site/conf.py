"""How Sphinx makes the site of these pages: `make docs`."""

from docutils import nodes
from sphinx.application import Sphinx

from xs2a_sandbox import __version__

project = "xs2a-sandbox"
author = "the xs2a-sandbox authors"
version = release = __version__
language = "en"

extensions = ["myst_parser", "sphinx_external_toc", "sphinx_copybutton"]
external_toc_path = "docs/site/contents.yaml"
# The pages link to files next to docs/, as in the repository.
include_patterns = [
    "docs/**",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "bench/*.md",
    "tests/clients/README.md",
]
exclude_patterns = [".*", "addons", "build", "cassettes", "requirements", "schemas", "tools", "docs/site/*.md"]
source_suffix = {".md": "markdown"}

# Links to headings are those that the repository's own view makes of them.
myst_heading_anchors = 4
nitpicky = True

html_theme = "furo"
html_title = f"xs2a-sandbox {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"footer_icons": [], "top_of_page_buttons": []}
copybutton_exclude = ".linenos, .gp"
templates_path = ["templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
# Answers in the pages are cut with an ellipsis, which is not JSON.
suppress_warnings = ["misc.highlighting_failure"]


def _without_drawings(app: Sphinx, document: nodes.document) -> None:
    """Leave out the diagrams: they would need a script of three megabytes, and the table below each says the same."""
    for block in [block for block in document.findall(nodes.literal_block) if block.get("language") == "mermaid"]:
        block.parent.remove(block)


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", _without_drawings)
