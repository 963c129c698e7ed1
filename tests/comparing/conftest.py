"""A comparison that several tests look at."""

import pytest

from comparisons import ONE, few_trees, make_views, thorough


@pytest.fixture(scope="module", autouse=True)
def trees_are_few():
    with few_trees():
        yield


@pytest.fixture(scope="session")
def answer():
    with few_trees():
        return thorough(*make_views(), cv=3, grid=ONE)
