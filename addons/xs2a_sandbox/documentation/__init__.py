"""The documentation in the package: Markdown pages, shown as HTML, and generated pages."""

from xs2a_sandbox.documentation.site import Site

__all__ = ["Site"]
