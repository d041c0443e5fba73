"""The Markdown pages of the package, shown as HTML."""

from xs2a_sandbox.documentation.site import page_names, read_page, respond

__all__ = ["page_names", "read_page", "respond"]
