"""The benchmarks' data sets, for tests: a test whose data set is absent is skipped."""

from functools import wraps

import pytest

from benchmarks import data


def __getattr__(name):
    found = getattr(data, name)
    if not callable(found):
        return found

    @wraps(found)
    def load(*given):
        try:
            return found(*given)
        except data.AbsentError as reason:
            pytest.skip(str(reason))

    return load
