"""Sketches of rows: what they follow from, and what they find again."""

import base64

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from crossview import InputError, MultiView, ViewEncoder
from crossview.data.row_sketch import SIZE, Found, RowSketch, hash_rows

RNG = np.random.default_rng(0)


def random_hashes(n):
    return RNG.integers(0, 2**64 - 1, n, dtype=np.uint64)


def same(a, b):
    return a.to_json() == b.to_json()


def test_it_follows_from_the_rows_in_any_order_and_parts():
    few, many = random_hashes(700), random_hashes(5000)
    hashes = np.concatenate([many, few, few])
    whole = RowSketch().with_rows(hashes)
    assert len(whole.hashes) == SIZE
    distinct, counts = np.unique(hashes, return_counts=True)
    assert whole.hashes.tolist() == distinct[:SIZE].tolist()
    assert whole.counts.tolist() == counts[:SIZE].tolist()
    assert set(whole.counts.tolist()) == {1, 2}
    parts = RowSketch()
    for part in np.array_split(RNG.permutation(hashes), 13):
        parts = parts.with_rows(part)
    assert same(parts, whole)
    merged = sum((RowSketch().with_rows(part) for part in np.array_split(hashes, 5)), RowSketch())
    assert same(merged, whole)
    assert same(RowSketch.from_json(whole.to_json()), whole)


@pytest.mark.parametrize("n", [60, 20_000])
def test_rows_that_were_learned_are_found_and_new_ones_are_not(n):
    learned, new = random_hashes(n), random_hashes(n)
    sketch = RowSketch().with_rows(learned)

    def share(hashes):
        return sketch.learned_share(sketch.find(hashes))

    assert share(learned) == share(learned[: n // 2]) == 1.0
    assert share(new) == 0.0
    assert share(np.concatenate([learned, new])) == pytest.approx(0.5, abs=0.1)
    assert share(learned[:0]) is None
    halves = sketch.find(learned[: n // 2]) + sketch.find(learned[n // 2 :])
    assert halves == sketch.find(learned)
    assert RowSketch().learned_share(Found()) is None


@pytest.mark.parametrize("n_kinds", [3, 40, 400, 4000])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_rows_that_are_equal_by_chance_are_not_called_learned(n_kinds, power):
    p = np.arange(1.0, n_kinds + 1) ** -power
    for n in (50, 300, 3000):
        wrong = 0
        for _ in range(40):
            kinds = random_hashes(n_kinds)
            learned, new = kinds[RNG.choice(n_kinds, (2, n), p=p / p.sum())]
            sketch = RowSketch().with_rows(learned)
            wrong += bool(sketch.learned_share(sketch.find(new)))
        assert wrong <= 2, n


@pytest.mark.parametrize("times", [2, 3, 7])
def test_rows_that_were_learned_several_times_are_found(times):
    often, once, new = (random_hashes(400) for _ in range(3))
    sketch = RowSketch().with_rows(np.concatenate([once, *[often] * times]))
    for rows, share in ((often, 1.0), (new, 0.0), (np.concatenate([often, new]), 0.5)):
        found = sketch.find(rows[::2]) + sketch.find(rows[1::2])
        assert found.times.keys() <= {times}
        assert sketch.learned_share(found) == pytest.approx(share, abs=0.15)


def test_a_row_that_comes_often_hides_no_others():
    rows = random_hashes(300)
    learned = np.concatenate([rows, np.repeat(rows[:1], 300)])
    sketch = RowSketch().with_rows(learned)
    assert sketch.learned_share(sketch.find(learned)) == 1.0


@pytest.mark.parametrize(
    "change",
    [
        {"hashes": 3},
        {"hashes": "no base64"},
        {"hashes": base64.b64encode(bytes(16)).decode()},  # twice the same
        {"hashes": base64.b64encode(bytes(15)).decode()},
        {"counts": [1]},
        {"counts": [0, 1]},
        {"counts": [1, 2**60]},
        {"counts": [1.5, 1]},
        {"more": 1},
    ],
)
def test_what_is_made_up_is_refused(change):
    known = RowSketch().with_rows(random_hashes(2)).to_json()
    RowSketch.from_json(known)
    with pytest.raises(InputError):
        RowSketch.from_json(known | change)
    many = RowSketch().with_rows(np.arange(SIZE + 1, dtype=np.uint64)).to_json()
    hashes = np.arange(SIZE + 1, dtype="<u8").tobytes()
    with pytest.raises(InputError):
        RowSketch.from_json({"hashes": base64.b64encode(hashes).decode(), "counts": [1] * 513})
    assert len(many["counts"]) == SIZE


def test_equal_rows_of_any_table_have_the_same_hash():
    frame = pd.DataFrame(
        {
            "a__x": [0.1, -0.0, np.nan, 3.0],
            "a__n": [1, 2, 3, 4],
            "b__c": ["red", None, "blue", "red"],
            "b__t": ["some words", "other words", None, "some words"],
            "b__yes": [True, False, True, True],
            "a__day": pd.to_datetime(["2024-01-01", "2024-02-03", None, "2025-05-05"]),
            "b__who": [7, 8, 9, 7],
        }
    )
    encoder = ViewEncoder(text=["b__t"], categorical=["b__who"])
    encoder.partial_fit(frame)
    hashes = hash_rows(frame, encoder)
    assert len(set(hashes.tolist())) == 4
    zero = frame.assign(a__x=[0.1, 0.0, np.nan, 3.0])
    wide = frame.astype({"a__n": "float64"})
    for other in (
        pa.Table.from_pandas(frame),
        pl.from_pandas(frame),
        frame[frame.columns[::-1]],
        frame.assign(more=1),
        frame.assign(b__c=frame["b__c"].astype("category")),
        zero,
        wide,
        frame.astype({"a__x": "float32"}),
        frame.assign(a__x=[0.1 + 1e-16, 0.0, np.nan, 3.0]),
    ):
        assert hash_rows(other, encoder).tolist() == hashes.tolist()
    assert hash_rows(frame[1:3], encoder).tolist() == hashes[1:3].tolist()
    encoder.partial_fit(frame[:2])  # whatever it has learned
    assert hash_rows(frame, encoder).tolist() == hashes.tolist()
    for column, value in (("a__x", 0.25), ("b__c", "blue"), ("b__t", "other"), ("b__who", 6)):
        changed = frame.copy()
        changed.loc[0, column] = value
        differ = hash_rows(changed, encoder) != hashes
        assert differ.tolist() == [True, False, False, False], column
    swapped = frame.rename(columns={"a__x": "a__n", "a__n": "a__x"})
    assert (hash_rows(swapped, encoder)[[0, 1, 3]] != hashes[[0, 1, 3]]).all()


def test_rows_of_views_have_the_same_hash_dense_and_sparse():
    x = RNG.normal(size=(50, 6)).round(2) * (RNG.random((50, 6)) < 0.5)
    x[1], x[2] = x[0], x[0][::-1]
    dense = MultiView({"a": x[:, :2], "b": x[:, 2:]})
    sparse = MultiView({"a": sp.csr_array(x[:, :2]), "b": sp.csr_array(x[:, 2:])})
    hashes = hash_rows(dense, None)
    assert hash_rows(sparse, None).tolist() == hashes.tolist()
    single = MultiView({"a": x[:, :2].astype(np.float32), "b": x[:, 2:].astype(np.float32)})
    assert hash_rows(single, None).tolist() == hashes.tolist()
    assert hash_rows(sparse[10:20], None).tolist() == hashes[10:20].tolist()
    assert hashes[0] == hashes[1] != hashes[2]
    # a missing view has no entries
    gone = x.copy()
    gone[5, :2] = np.nan
    missing = MultiView({"a": gone[:, :2], "b": gone[:, 2:]})
    gone[5, :2] = 0.0
    expected = hash_rows(MultiView({"a": gone[:, :2], "b": gone[:, 2:]}), None)
    assert hash_rows(missing, None).tolist() == expected.tolist()
