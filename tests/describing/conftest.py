"""The quick models that look for rows that are alike are small; test_neighbors.py is about them."""

import pytest

from crossview.scoring import neighbors


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(neighbors, "TREES", 5)
