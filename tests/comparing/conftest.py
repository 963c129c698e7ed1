"""A comparison that several tests look at."""

import pytest

from comparisons import ONE, make_views, thorough


@pytest.fixture(scope="session")
def answer():
    return thorough(*make_views(), cv=3, grid=ONE)
