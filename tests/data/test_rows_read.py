"""Rows have the same hash however they are cut and stored, and another one if anything differs."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from crossview import InputError, MultiView
from crossview.data.rows_read import MANY, ContentHash, RowsRead, hash_of
from crossview.readers.source import Batch

N = 60
RNG = np.random.default_rng(0)
WORDS = [f"w{i % 7}" * (i % 3) if i % 5 else None for i in range(N)]
COLUMNS = {
    "number": pa.array(RNG.normal(size=N), mask=np.arange(N) % 4 == 0),
    "small": pa.array(np.arange(N, dtype=np.int8)),
    "text": pa.array(WORDS),
    "truth": pa.array([None if i % 9 == 0 else i % 2 == 0 for i in range(N)]),
    "price": pa.array(np.arange(N)).cast(pa.decimal128(24, 2)),
    "nothing": pa.nulls(N),
    "nested": pa.array([[i] if i % 3 else None for i in range(N)]),
}
TABLE = pa.RecordBatch.from_pydict(COLUMNS)
WIDE = pa.RecordBatch.from_pydict(
    {f"n{i}": pa.array(RNG.normal(size=N), mask=np.arange(N) == i) for i in range(MANY + 1)}
)


def views(sparse, present):
    values = RNG.normal(size=(N, 3)) * (RNG.random((N, 3)) < 0.5)
    mask = np.array([[i % 4 > 0, True] for i in range(N)]) if present else None
    a = sp.csr_array(values[:, :2]) if sparse else values[:, :2]
    X = MultiView({"a": a, "b": values[:, 2:]})
    return MultiView.from_matrix(X.matrix, X.layout, present=mask)


def labels(i):
    """Whole numbers, and None among them in some batches."""
    return [np.arange(N) % 3, np.array([*range(N - 1), None], dtype=object)][i]


BATCHES = [
    Batch(TABLE, None, 0),
    Batch(WIDE, None, 0),
    Batch(views(False, False), None, 0, labels(0)),
    Batch(views(True, True), None, 0, labels(1), np.arange(N) / 7),
    Batch(views(False, True), None, 0, np.array([str(i) for i in range(N)])),
]


def part(batch, rows):
    some = batch.cut(rows.start, rows.stop)
    if some.y is not None and some.y.dtype.hasobject and None not in some.y:
        some = replace(some, y=some.y.astype(int))  # as a reader gives them
    return some


def parts(batch, cuts=(0, 1, 17, 18, 40, N)):
    return [part(batch, slice(a, b)) for a, b in pairwise(cuts)]


def hashed(batches):
    content = ContentHash()
    for batch in batches:
        content.add(batch)
    return content.digest()


@pytest.mark.parametrize("batch", BATCHES)
def test_cuts_do_not_matter(batch):
    assert hashed([batch]) == hashed(parts(batch))
    assert hashed([batch]) != hashed(parts(batch)[:-1])
    assert hashed([batch]) != hashed(parts(batch)[::-1])


def test_neither_dictionaries_nor_what_is_beneath_a_null_matter():
    for text in (COLUMNS["text"].dictionary_encode(), COLUMNS["text"].cast(pa.string_view())):
        same = TABLE.set_column(2, "text", text)
        assert hashed([Batch(same, None, 0)]) == hashed([BATCHES[0]])
    valid, values = COLUMNS["number"].buffers()
    beneath = np.frombuffer(values, dtype=float).copy()
    beneath[~np.isfinite(beneath) | (np.arange(N) % 4 == 0)] = 9.0
    other = pa.Array.from_buffers(pa.float64(), N, [valid, pa.py_buffer(beneath)])
    same = TABLE.set_column(0, "number", other)
    assert hashed([Batch(same, None, 0)]) == hashed([BATCHES[0]])


@pytest.mark.parametrize("row", [0, 33, N - 1])
@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "nothing"])
def test_each_cell_matters(name, row):
    values = COLUMNS[name].to_pylist()
    other = {"text": "ww", "truth": None, "nested": [-1]}.get(name, 99)
    values[row] = other if values[row] != other else True
    column = pa.array(values, COLUMNS[name].type)
    changed = TABLE.set_column(TABLE.schema.get_field_index(name), name, column)
    assert hashed([Batch(changed, None, 0)]) != hashed([BATCHES[0]])


def test_types_entries_labels_weights_and_missing_views_matter():
    narrow = TABLE.set_column(1, "small", COLUMNS["small"].cast(pa.int16()))
    assert hashed([Batch(narrow, None, 0)]) != hashed([BATCHES[0]])
    wide = WIDE.set_column(3, "n3", pa.array(np.ones(N)))
    assert hashed([Batch(wide, None, 0)]) != hashed([BATCHES[1]])
    rows = BATCHES[3]
    entry = rows.X.matrix.copy()
    entry.data[5] += 1.0
    weight, missing = rows.weight.copy(), rows.X.present.copy()
    weight[3], missing[3] = 8.0, False
    X = [MultiView.from_matrix(entry, rows.X.layout, present=rows.X.present)]
    X.append(MultiView.from_matrix(rows.X.matrix, rows.X.layout, present=missing))
    changed = [*({"X": one} for one in X), {"y": rows.y[::-1]}, {"weight": weight}]
    found = {hashed([replace(rows, **one)]) for one in ({}, *changed)}
    assert len(found) == 5
    assert len({hash_of(y) for y in (labels(0), labels(1), np.array(["a", "b"]))}) == 3


STARTS = {"a": [0, 20, 30], "empty": [0], "b": [0]}
WHERE = [("a", 0, 20), ("a", 20, 30), ("a", 30, 50), ("b", 50, N)]


def batches_of(table, cuts):
    """Batches of the files, of which one is the rows from 0 to 49, and the other the others."""
    for a, b in pairwise(cuts):
        for file, first, stop in (("a", 0, 50), ("b", 50, N)):
            lo, hi = max(a, first), min(b, stop)
            if lo < hi:
                yield Batch(table.slice(lo, hi - lo), file, lo - first)


def blocks_of(table, order):
    for file, lo, hi in (WHERE[i] for i in order):
        yield Batch(table.slice(lo, hi - lo), file, lo - (50 if file == "b" else 0))


def read(batches, shuffled=False, most=None):
    rows = RowsRead(STARTS)
    for _ in zip(range(most or 1000), rows.watch(batches, shuffled=shuffled), strict=False):
        pass
    return rows.get_state()


def compare(state, table, cuts=(0, 13, 26, 39, 52, N)):
    rows = RowsRead(STARTS)
    rows.compare(state, rows.watch(batches_of(table, cuts)), "kept.st")
    return rows.get_state()


STATES = {
    "all": lambda: read(batches_of(TABLE, (0, 7, 44, N))),
    "in order, 44 rows": lambda: read(batches_of(TABLE, (0, 7, 44, N)), most=2),
    "two row groups": lambda: read(blocks_of(TABLE, [2, 0, 3, 1]), True, 2),
    "all row groups": lambda: read(blocks_of(TABLE, [2, 0, 3, 1]), True),
}


@pytest.mark.parametrize("which", STATES)
def test_what_an_earlier_run_has_read_is_compared(which):
    state = STATES[which]()
    known = {0: 50, 1: 44, 2: 50, 3: N}[list(STATES).index(which)]
    again = compare(state, TABLE)
    seen = state["rows"] > 0
    assert (again["rows"] >= state["rows"]).all()
    # a run that goes on hashes what is new only, and comes to the same
    rows = RowsRead(STARTS)
    rows.compare(state, rows.watch(batches_of(TABLE, (0, 13, N))), "kept.st")
    list(rows.watch(batches_of(TABLE, (0, 31, N))))
    assert rows.get_state()["hashes"].tolist() == STATES["all"]()["hashes"].tolist()
    for row in range(N):
        number = next(i for i, (_, lo, hi) in enumerate(WHERE) if lo <= row < hi)
        number += number == 3  # after the empty file
        values = COLUMNS["small"].to_pylist()
        values[row] = -1
        changed = TABLE.set_column(1, "small", pa.array(values, pa.int8()))
        was_read = row < known if which == "in order, 44 rows" else seen[number]
        if was_read:
            with pytest.raises(
                InputError, match=r"^[ab]: its rows .* the run of kept\.st has read"
            ):
                compare(state, changed)
        else:
            compare(state, changed)


def test_a_row_that_moves_to_the_file_before_is_found():
    state = read(batches_of(TABLE, (0, 55, N)), most=2)
    moved = [Batch(TABLE.slice(0, 51), "a", 0), Batch(TABLE.slice(51, 9), "b", 0)]
    rows = RowsRead(STARTS)
    with pytest.raises(InputError, match="are not those"):
        rows.compare(state, rows.watch(moved), "kept.st")
    filled = [
        Batch(TABLE.slice(0, 50), "a", 0),
        Batch(TABLE.slice(0, 1), "empty", 0),
        Batch(TABLE.slice(50, 9), "b", 0),
    ]
    rows = RowsRead(STARTS)
    with pytest.raises(InputError, match="empty: its rows 0 to 0 are not those"):
        rows.compare(state, rows.watch(filled), "kept.st")


def test_other_files_and_damaged_states_are_refused():
    state = STATES["all"]()
    rows = RowsRead({"a": [0]})
    with pytest.raises(InputError, match=r"had 5 files or row groups, and has 1"):
        rows.compare(state, [], "kept.st")
    with pytest.raises(InputError, match="'rows' of the rows that were read"):
        RowsRead(STARTS).check(state | {"rows": -state["rows"]})
    with pytest.raises(InputError, match="lacks the array"):
        RowsRead(STARTS).check({})
