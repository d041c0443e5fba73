"""The documentation, as it comes with the package: pages in Markdown, shown as HTML, and those made of what runs."""

from xs2a_sandbox.documentation.site import Site

__all__ = ["Site"]
