"""Rows in random order: exact in memory, mixed by a buffer beyond it."""

import gc
import weakref
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crossview import InputError
from crossview.data import shuffle
from crossview.data.labeled_source import open_labeled
from crossview.data.shuffle import Shuffled, regroup


@dataclass
class Numbers:
    """Rows that are numbers, of 8 bytes each."""

    values: np.ndarray
    largest = 0

    def __len__(self):
        return len(self.values)

    @property
    def nbytes(self):
        return self.values.nbytes

    def take(self, rows):
        return Numbers(self.values[rows])

    def packed(self):
        return self

    @classmethod
    def join(cls, parts):
        whole = np.concatenate([part.values for part in parts])
        cls.largest = max(cls.largest, len(whole))
        return cls(whole)


def reader(n, cut, seen=None):
    """Rows 0 to n - 1 in batches; as blocks of a hundred if the order may be random."""

    def read(rng):
        if seen is not None:
            seen.append(rng is not None)
        blocks = [np.arange(n)] if rng is None else np.array_split(np.arange(n), n // 100)
        for i in range(len(blocks)) if rng is None else rng.permutation(len(blocks)):
            for start in range(0, len(blocks[i]), cut):
                yield Numbers(blocks[i][start : start + cut])

    return read


def values(batches):
    return np.concatenate([batch.values for batch in batches]).tolist()


def test_the_order_depends_on_seed_and_number_of_rows_only():
    orders = [
        values(Shuffled(reader(100, cut), seed=seed, batch_rows=rows))
        for cut, seed, rows in ((1, 0, 100), (7, 0, 3), (100, 0, 64), (7, 1, 3))
    ]
    assert orders[0] == orders[1] == orders[2] != orders[3]
    assert sorted(orders[0]) == list(range(100)) != orders[0]


def test_each_iteration_has_another_order_and_reads_only_once():
    seen = []
    rows = Shuffled(reader(50, 8, seen), seed=0, batch_rows=16)
    passes = [values(rows) for _ in range(3)]
    assert len(set(map(tuple, passes))) == 3
    assert seen == [False]
    assert rows.exact
    assert [len(batch) for batch in rows] == [16, 16, 16, 2]
    assert list(Shuffled(reader(0, 8), seed=0, batch_rows=16)) == []


@pytest.mark.parametrize("blocks", [True, False])
def test_rows_beyond_the_buffer_are_mixed_within_its_size(blocks, monkeypatch):
    monkeypatch.setattr(shuffle, "MAX_BYTES", 8 * 250)
    Numbers.largest = 0
    seen = []
    read = reader(4000, 10, seen)
    rows = Shuffled(read if blocks else lambda rng: read(None), seed=0, batch_rows=20)
    first, second = values(rows), values(rows)
    assert rows.exact is False
    assert sorted(first) == sorted(second) == list(range(4000))
    assert first != second
    assert Numbers.largest <= 260  # all that fits, and the batch that is too many
    assert seen == [False, blocks, blocks]
    # the first rows to leave come from everywhere if there are blocks, or from the first buffer
    spread = np.ptp(first[:60])
    assert spread > 1000 if blocks else 100 < spread < 140
    # rows in memory are not bounded
    rows = Shuffled(reader(4000, 10), seed=0, batch_rows=20, in_memory=True)
    assert np.ptp(values(rows)[:100]) > 3000
    assert rows.exact


def test_no_batch_outlives_its_use(monkeypatch):
    monkeypatch.setattr(shuffle, "MAX_BYTES", 8 * 1000)
    alive, most = set(), 0

    def counted(values):
        nonlocal most
        number = len(values), len(alive), object()
        alive.add(number)
        weakref.finalize(values, alive.discard, number)
        most = max(most, sum(n for n, *_ in alive))
        return values

    class Counted(Numbers):
        def take(self, rows):
            return Counted(counted(self.values[rows].copy()))

    def read(rng):
        for start in range(0, 20_000, 50):
            yield Counted(counted(np.arange(start, start + 50)))

    gc.disable()  # memory must not wait for the collector
    try:
        n = sum(len(batch) for batch in Shuffled(read, seed=0, batch_rows=50))
    finally:
        gc.enable()
    assert n == 20_000
    # the first attempt keeps all that fit, and the batch that is too many
    assert most <= 1050
    assert sum(n for n, *_ in alive) <= 50


@pytest.mark.parametrize("first", [0, 3, 40])
def test_regrouped_batches_do_not_depend_on_the_cuts(first):
    for cut in (1, 4, 10, 25):
        batches = list(regroup(reader(25, cut)(None), 10, first))
        assert values(batches) == list(range(25))
        sizes = {0: [10, 10, 5], 3: [3, 10, 10, 2], 40: [25]}
        assert [len(batch) for batch in batches] == sizes[first]


@pytest.mark.parametrize("y", ["y", np.arange(200) % 3])
def test_weights_in_memory_stay_with_their_rows_when_blocks_are_shuffled(y, tmp_path, monkeypatch):
    monkeypatch.setattr(shuffle, "MAX_BYTES", 800)
    monkeypatch.setattr("crossview.data.labeled.LabeledSource.batch_rows", 16)
    path = tmp_path / "a.parquet"
    table = pa.table({"a__x": np.arange(200.0), "y": np.arange(200) % 3})
    pq.write_table(table.select(["a__x", *([y] if isinstance(y, str) else [])]), path, 20)
    source = open_labeled(str(path), y, weight=np.arange(200.0))
    rows = list(source.shuffle(0))
    values = np.concatenate([part.X["a__x"].to_numpy() for part in rows])
    assert np.concatenate([part.weight for part in rows]).tolist() == values.tolist()
    assert np.concatenate([part.y for part in rows]).tolist() == (values % 3).tolist()
    assert sorted(values) == list(range(200))


def test_labels_in_memory_are_among_the_given_classes():
    table = pa.table({"a__x": [1.0, 2.0, 3.0]})
    source = open_labeled(table, np.array(["p", "q", "r"]), classes=["p", "q"])
    assert source.classes.tolist() == ["p", "q"]
    words = "label 'r' is not among the classes p, q; leave its rows out, or name .* classes="
    with pytest.raises(InputError, match=words) as error:
        list(source.read())
    assert error.value.row == 2
