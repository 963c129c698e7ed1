"""``train --dask`` and ``compare --dask``."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import run
from crossview import load
from crossview.cli.words import Options
from crossview.distributed.cluster import task
from crossview.errors import argument, spell_arguments


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    for f in range(2):
        x, z = rng.normal(size=(2, 200))
        click = np.where(x + z + 0.3 * rng.normal(size=200) > 0, "yes", "no")
        table = pa.table({"click": click, "a__x": x, "b__z": z})
        pq.write_table(table, folder / f"{f}.parquet", row_group_size=50)
    return folder / "*.parquet"


def test_train_and_compare_on_a_cluster(client, files, tmp_path, capsys):
    address = client.cluster.scheduler_address
    model = tmp_path / "m.safetensors"
    train = ["train", files, "--label", "click", "--model", "pa:squared", "-o", model]
    cluster = ["--dask", address, "--partitions", 3, "--rounds", 2]
    status, _, err = run(capsys, *train, *cluster, "--progress")
    assert status == 0
    assert [line.split(":")[0] for line in err[:2]] == ["round 1", "round 2"]
    assert err[-1] == f"wrote {model}"
    headline = next(line for line in err if line.endswith("; held-out rows"))
    assert re.match(r"f1 of 'yes' \(\d+ of 400 rows\) 0\.", headline)
    assert load(model)[-1].classes_.tolist() == ["no", "yes"]
    status, here, _ = run(capsys, "evaluate", model, files, "--by", "click")
    assert status == 0
    page = tmp_path / "page.html"
    given = ["--by", "click", "--dask", address, "--partitions", 3, "--report", page]
    status, there, _ = run(capsys, "evaluate", model, files, *given)
    assert (status, there) == (0, here)
    assert page.exists()
    scores = {}
    for where, options in (("here", []), ("cluster", ["--dask", address])):
        stored = tmp_path / f"{where}.json"
        compare = ["compare", files, "--label", "click", "--model", "pa:squared", "--thorough"]
        few = ["--cv", 2, "--jobs", 1 if where == "here" else -1]
        assert run(capsys, *compare, *few, *options, "--json", stored)[0] == 0
        rows = json.loads(stored.read_text())["rows"]
        scores[where] = {row["model"]: row["scores"] for row in rows}
    assert scores["here"] == scores["cluster"]


def test_what_does_not_go_with_a_cluster_is_one_line(files, capsys):
    train = ["train", files, "--label", "click", "-o", "m.safetensors"]
    for options, message in (
        (["--dask", "local:2", "--epochs", 2], "--epochs does not go with --dask"),
        (["--dask", "local:2", "--checkpoint", "c"], "--checkpoint does not go with --dask"),
        (["--dask", "local:2", "--partitions", 0], "--partitions 0; give 1 or more"),
        (["--rounds", 2], "--rounds is about a cluster; add --dask"),
        (["--dask", "local:2", "--model", "keco"], "learns all rows at once"),
        (["--dask", "nowhere", "--model", "pa:squared"], "no Dask scheduler answers"),
    ):
        status, _, err = run(capsys, *train, *options)
        assert status != 0
        assert len(err) == 1, err
        assert message in err[0]


def test_what_does_not_go_with_an_evaluation_on_a_cluster_is_one_line(files, capsys, tmp_path):
    model = tmp_path / "m.safetensors"
    trained = ["train", files, "--label", "click", "--model", "pa:squared", "-o", model]
    assert run(capsys, *trained)[0] == 0
    for options, message in (
        (["--partitions", 2], "--partitions is about a cluster; add --dask"),
        (["--dask", "local:2", "--partitions", 0], "--partitions 0; give 1 or more"),
        (["--dask", "local:2", "--source", files], "--source does not go with --dask"),
        (["--dask", "nowhere"], "no Dask scheduler answers"),
    ):
        status, _, err = run(capsys, "evaluate", model, files, *options)
        assert status != 0
        assert len(err) == 1, err
        assert message in err[0]


def test_tasks_name_arguments_as_the_process_that_asks(client):
    try:
        spell_arguments(Options({"encoding": ("--encoding", "--encoding", False)}))
        call = task(argument)("encoding")
        spell_arguments(None)
        assert client.compute(call).result() == "--encoding"
        spell_arguments(None)  # its workers are threads of this process
        assert client.compute(task(argument)("encoding")).result() == "encoding="
    finally:
        spell_arguments(None)
