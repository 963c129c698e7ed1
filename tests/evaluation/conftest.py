"""A comparison that several tests look at."""

import pytest

from comparing import ONE, compare, make_views


@pytest.fixture(scope="session")
def answer():
    return compare(*make_views(), grid=ONE)
