"""About the compiled loops; the file's name puts it last, so that the whole suite has run them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from crossview import (
    FactorizationMachineClassifier,
    KeCoClassifier,
    MultiViewMachineClassifier,
    MultiViewPAClassifier,
    PAMClassifier,
    PassiveAggressiveClassifier,
    PegasosClassifier,
)
from crossview.algorithms import coupling, first_order, keco, machines, second_order
from crossview.kernels import gram, rows
from crossview.streams import encode

LOOPS = [
    first_order.learn_binary,
    first_order.learn_multiclass,
    coupling.learn_binary,
    coupling.learn_multiclass,
    second_order.learn,
    machines.learn,
    machines.score,
    keco.learn_from_gram,
    keco.learn_stream,
    keco.learn_explicit,
    gram.products,
    rows.score_views,
    encode._fill_rows,
]


@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_each_loop_was_compiled_once(loop):
    """Another type of argument would mean another compilation, of seconds, for some user."""
    X, y = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30)
    for classes in (2, 3):  # at least once, where this file runs alone
        for model in (
            PassiveAggressiveClassifier(),
            MultiViewPAClassifier([2, 2]),
            PAMClassifier(),
            MultiViewMachineClassifier([2, 2]),
            FactorizationMachineClassifier([2, 2], optimizer="sgd"),
            KeCoClassifier([2, 2]),
            KeCoClassifier([2, 2], kernel="linear"),
            KeCoClassifier([2, 2], approximation="fourier", schedule="stream"),
            PegasosClassifier([2, 2], schedule="stream"),
        ):
            model.fit(X, y % classes).predict(X)
    # machines have single precision with AdaGrad, and double with all else
    most = 2 if loop in (machines.learn, machines.score) else 1
    assert len(loop.signatures) <= most, loop.signatures


SELECTION = [
    "tests/test_first_order.py",
    "tests/test_contract.py",
    "tests/test_second_order.py",
    "-k",
    "slow_reference and PA-II or chunks and squared and not average or slow_reference and percep",
]


@pytest.mark.parametrize("setting", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_a_selection_passes_as_plain_python_and_with_bounds_checked(setting, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SELECTION],
        cwd=Path(__file__).parents[1],
        env=os.environ | {setting: "1", "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
