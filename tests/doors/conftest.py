"""Both engines of the proxy and the TLS door, for the modules that ask for `proxy_engine`."""

from collections.abc import Iterator

import pytest

from tests.support import roads


@pytest.fixture(scope="module", params=roads.ENGINES)
def proxy_engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The one that all doors of the module have which do not choose one themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roads, "engine", request.param)
        yield request.param
