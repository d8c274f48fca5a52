from collections.abc import Iterator

import pytest

from tests.distributed.crew import Crew, crew_of


@pytest.fixture(scope="package")
def crew() -> Iterator[Crew]:
    """Four processes for all tests of this folder."""
    with crew_of(4) as crew:
        yield crew
