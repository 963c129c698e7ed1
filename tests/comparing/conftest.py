"""A comparison that several tests look at."""

import pytest

from comparisons import ONE, make_views, thorough
from crossview.catalog.learners import LEARNERS


@pytest.fixture(scope="session")
def answer():
    with pytest.MonkeyPatch.context() as patch:  # fewer trees, which take most of the time
        for learner in LEARNERS:
            if learner.name.startswith("trees"):
                patch.setitem(learner.fixed, "max_iter", 30)
        return thorough(*make_views(), cv=3, grid=ONE)
