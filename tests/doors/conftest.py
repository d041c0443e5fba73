"""Run the modules that use `proxy_engine` with both engines of the proxy and the TLS door."""

from collections.abc import Iterator

import pytest

from tests.support import roads


@pytest.fixture(scope="module", params=roads.ENGINES)
def proxy_engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The engine of all doors in the module that do not choose one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roads, "engine", request.param)
        yield request.param
