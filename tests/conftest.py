"""What all tests share."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled equations away from the user's own cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLEXARM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
