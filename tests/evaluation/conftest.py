"""A comparison that several tests look at."""

import pytest

from comparing import ONE, make_views
from crossview import compare


@pytest.fixture(scope="session")
def answer():
    return compare(*make_views(), grid=ONE)
