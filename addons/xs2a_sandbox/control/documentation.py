"""The documentation with all pages, including those on the control interface."""

from functools import cache

from xs2a_sandbox.control import openapi
from xs2a_sandbox.documentation import Site
from xs2a_sandbox.documentation.generated import GENERATED


@cache
def site() -> Site:
    return Site({**GENERATED, "control-openapi.yaml": openapi.text})
