"""About the compiled loops; the file's name puts it last, after all that may compile them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from compiled_loops import LOOPS, signatures
from crossview import (
    FactorizationMachineClassifier,
    KeCoClassifier,
    MultiViewMachineClassifier,
    MultiViewPAClassifier,
    MultiViewSVMPerf,
    PAMClassifier,
    PassiveAggressiveClassifier,
    PegasosClassifier,
    ViewEncoder,
)


@pytest.fixture(scope="module")
def every_loop_ran():
    X, y = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30)
    ViewEncoder().fit_transform(pd.DataFrame(X, columns=["a__x", "a__y", "b__x", "b__y"]))
    for classes in (2, 3):
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
            MultiViewSVMPerf([2, 2], measure="g_mean"),
            MultiViewSVMPerf([2, 2], measure="average_precision"),
        ):
            model.fit(X, y % classes).predict(X)


@pytest.mark.usefixtures("every_loop_ran")
@pytest.mark.parametrize("loop", LOOPS)
def test_each_loop_was_compiled_once(loop):
    """And by the tests of all processes together: see conftest.py."""
    assert len(signatures(loop)) == LOOPS[loop], signatures(loop)


SELECTION = [
    "tests/algorithms/test_online.py",
    "tests/test_contract.py",
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
