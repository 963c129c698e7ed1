"""Whoever waits for a compiler is told."""

import numba
import pytest

from crossview import compiling

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing compiles")


def compile_something():
    inner = numba.njit(lambda x: x + 1)
    outer = numba.njit(lambda x: inner(x) + inner(x + 0.5))
    assert outer(1) == 4.5


def test_seconds_of_compiling_grow_only_with_what_compiles():
    before = compiling.seconds_of_compiling()
    sum(range(100_000))
    assert compiling.seconds_of_compiling() == before
    compile_something()
    assert compiling.seconds_of_compiling() > before


@pytest.mark.parametrize(("patience", "said"), [(0.0, 1), (1e6, 0)])
def test_whoever_waits_is_told_once(monkeypatch, patience, said):
    monkeypatch.setattr(compiling, "SECONDS_UNTOLD", patience)
    words = []
    with compiling.telling_of_compiling(lambda: words.append("compiling")):
        compile_something()
        compile_something()
    assert len(words) == said
    compile_something()
    assert len(words) == said
