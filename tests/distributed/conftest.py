"""One cluster of threads for the tests of a module, and one of a single worker."""

import pytest

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'dask[distributed]'")


def _client(n_workers):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=False,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    yield from _client(2)


@pytest.fixture(scope="module")
def one_worker():
    yield from _client(1)
