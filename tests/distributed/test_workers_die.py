"""A worker that is killed changes nothing but the time."""

import os
import signal

import numpy as np
import pytest
from dask.delayed import delayed

from crossview import MultiViewSVMPerf, PassiveAggressiveClassifier
from crossview.distributed import connected, fit, fit_svm
from crossview.distributed.svm import RemoteParts


@pytest.mark.exhaustive  # processes that load everything again
def test_a_killed_worker_changes_no_bit(client, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X @ rng.normal(size=5) > 0).astype(int)

    def load(i, marker):
        """The rows of a block; the process that is first to read block 3 ends."""
        if i == 3 and marker is not None and not os.path.exists(marker):
            open(marker, "w").close()
            os._exit(1)
        return X[i::6], y[i::6]

    given = {"classes": [0, 1], "n_partitions": 3, "n_rounds": 2}
    calm = [delayed(load)(i, None) for i in range(6)]
    expected = fit(PassiveAggressiveClassifier(), calm, client=client, **given).model
    marker = str(tmp_path / "killed")
    with connected("local:2") as processes:
        blocks = [delayed(load)(i, marker) for i in range(6)]
        killed = fit(PassiveAggressiveClassifier(), blocks, client=processes, **given).model
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(killed.coef_, expected.coef_)


@pytest.mark.exhaustive  # processes that load everything again
def test_a_killed_worker_changes_no_bit_of_an_svm(client, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5))
    y = (X @ rng.normal(size=5) + rng.normal(size=300) > 0).astype(int)
    blocks = [delayed((X[i::4], y[i::4])) for i in range(4)]
    svm = MultiViewSVMPerf([2, 3], C2=0.01, calibration="none")
    expected = fit_svm(svm, blocks, client=client)
    each, asked = RemoteParts.each, []
    with connected("local:2") as processes:

        def kill(self, method, values):
            asked.append(method)
            if len(asked) in (4, 20, 33):  # one worker, the other one, then both
                pids = sorted(processes.run(os.getpid).values())
                for pid in pids if len(asked) == 33 else pids[len(asked) == 20 :][:1]:
                    os.kill(pid, signal.SIGKILL)
            return each(self, method, values)

        monkeypatch.setattr(RemoteParts, "each", kill)
        killed = fit_svm(svm, blocks, client=processes)
    assert len(asked) > 33
    np.testing.assert_array_equal(killed.coef_, expected.coef_)
    np.testing.assert_array_equal(killed.objective_history_, expected.objective_history_)
