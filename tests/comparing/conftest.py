"""A comparison that several tests look at."""

import pytest

from comparisons import ONE, few_trees, make_views, thorough
from crossview.scoring import neighbors


@pytest.fixture(scope="module", autouse=True)
def trees_are_few():
    with few_trees():
        yield


@pytest.fixture(autouse=True)
def trees_of_neighbors_are_few(monkeypatch):
    """Those that look for rows that are alike; test_neighbors.py is about them."""
    monkeypatch.setattr(neighbors, "TREES", 5)


@pytest.fixture(scope="session")
def answer():
    with few_trees():
        return thorough(*make_views(), cv=3, grid=ONE)
