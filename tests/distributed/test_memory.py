"""Workers that have too little memory, and a client that is closed, are said in one line."""

import os
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crossview import InputError
from crossview.distributed import cluster, connected, train


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(2):
        a = rng.normal(size=200)
        pq.write_table(pa.table({"a": a, "y": (a > 0).astype(int)}), tmp_path / f"{i}.parquet")
    return f"{tmp_path}/*.parquet"


def trained_with(files, waits=False, **limits):
    from distributed import Client, LocalCluster

    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        LocalCluster(**options, processes=False, silence_logs=50, **limits) as workers,
        Client(workers) as client,
    ):
        while waits and workers.scheduler.running:  # until all are paused
            time.sleep(0.05)
        return train(files, "y", client=client, n_rounds=1)


def test_workers_without_room_for_a_process_are_refused(files):
    with pytest.raises(InputError, match=r"may take 400 MB of memory, .* memory_limit='1GB'"):
        trained_with(files, memory_limit="400MB")


def test_workers_that_stay_paused_are_an_error(files, monkeypatch):
    import dask

    monkeypatch.setattr(cluster, "PAUSED_SECONDS", 0.5)
    monkeypatch.setattr(cluster, "LOOK_SECONDS", 0.2)
    with (
        dask.config.set({"distributed.worker.memory.pause": 1e-3}),
        pytest.raises(InputError, match=r"paused all workers, .* of its 1,000 MB of memory"),
    ):
        trained_with(files, waits=True, memory_limit="1GB")
    assert trained_with(files).rows > 300


def test_a_closed_client_is_named(files):
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as workers:
        client = Client(workers)
        client.close()
        with pytest.raises(InputError, match="client= is closed"):
            train(files, "y", client=client)


@pytest.mark.exhaustive  # processes that load everything again
def test_workers_that_die_at_each_try_are_an_error():
    with (
        connected("local:1") as client,
        pytest.raises(InputError, match=r"workers died 4 times at one task; if memory is short"),
    ):
        cluster.result(client, client.submit(os._exit, 1, pure=False))
