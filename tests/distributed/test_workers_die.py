"""A worker that is killed changes nothing but the time."""

import numpy as np
import pytest
from dask.delayed import delayed

from crossview import PassiveAggressiveClassifier
from crossview.distributed import connected, fit


@pytest.mark.exhaustive  # processes that load everything again
def test_a_killed_worker_changes_no_bit(client, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X @ rng.normal(size=5) > 0).astype(int)

    def load(i, marker):
        """The rows of a block; the process that is first to read block 3 ends."""
        import os

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
