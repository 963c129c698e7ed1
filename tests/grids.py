"""Which combinations of parameters `make test` runs; `make test-all` runs the others, too."""

from itertools import combinations, count, product

import pytest


def pairwise(*axes):
    """Return a few combinations in which any two values of two axes meet at least once.

    Most mistakes need one value, or two that meet; three axes of ten values take about 120
    combinations instead of 1,000.
    """
    everything = list(product(*(range(len(axis)) for axis in axes)))

    def pairs(combination):
        return set(combinations(enumerate(combination), 2))

    missing = set().union(*map(pairs, everything))
    chosen = []
    while missing:
        best = max(everything, key=lambda combination: len(pairs(combination) & missing))
        chosen.append(best)
        missing -= pairs(best)
    return [tuple(axis[i] for axis, i in zip(axes, row, strict=True)) for row in chosen]


def parametrize_pairwise(**axes):
    """Parametrize a test by the grid of its axes, of which `make test` runs pairs only.

    A value may be a ``pytest.param`` with an id and marks; what is marked ``exhaustive`` takes no
    part in the pairs.
    """
    axes = {name: [_param(value) for value in values] for name, values in axes.items()}
    quick = [[value for value in values if not value.marks] for values in axes.values()]
    chosen = {tuple(value.id for value in row) for row in pairwise(*quick)}
    grid = []
    for row in product(*axes.values()):
        ids = tuple(value.id for value in row)
        marks = [] if ids in chosen else [pytest.mark.exhaustive]
        values = [value.values[0] for value in row]
        grid.append(pytest.param(*values, id="-".join(ids), marks=marks))
    return pytest.mark.parametrize(list(axes), grid)


_unnamed = count()


def _param(value):
    if isinstance(value, type(pytest.param())):
        return value
    simple = isinstance(value, str | int | float | bool | type(None))
    name = str(value) if simple else getattr(value, "__name__", f"value{next(_unnamed)}")
    return pytest.param(value, id=name)
