"""The documentation with all its pages, those of the control interface included."""

from functools import cache

from xs2a_sandbox.control import openapi
from xs2a_sandbox.documentation import Site
from xs2a_sandbox.documentation.generated import GENERATED


@cache
def site() -> Site:
    return Site({**GENERATED, "control-openapi.yaml": openapi.text})
