"""ViewEncoder: what a cell becomes, whatever the container, and what is refused."""

import ast
import itertools
import json
import pickle
import re
from decimal import Decimal
from functools import partial

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import crossview
from crossview import (
    AROWClassifier,
    GuessWarning,
    InputError,
    MultiView,
    MultiViewPAClassifier,
    PassiveAggressiveClassifier,
    UnusedColumnsWarning,
    ViewEncoder,
    ViewScaler,
    open_table,
)
from crossview.encoding import hashing
from crossview.encoding.plan import Plan
from crossview.encoding.rows import fill
from crossview.tables.columns import Column, as_matrix, as_numbers

BITS = 10
PLAIN = [Column(f"v__{name}", "v", "numeric", False) for name in "ab"]
# what a cell becomes, before its view is scaled
unscaled = partial(ViewEncoder, scale_views=False)


def slot(name, bits=BITS):
    """The slot of a name, by scikit-learn alone."""
    hasher = FeatureHasher(2**bits, input_type="string", alternate_sign=False)
    return int(hasher.transform([[name]]).indices[0])


def same(a, b):
    """Equal to the last bit, mask included."""
    assert a.layout == b.layout
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(a.matrix, part), getattr(b.matrix, part))
    np.testing.assert_array_equal(a.present, b.present)


def named(encoder, X, row=0):
    """The entries of one row by their names."""
    found = {}
    for view in X.keys():  # noqa: SIM118 (a MultiView is no mapping)
        block = X[view][[row]]
        for column, value in zip(block.indices, block.data, strict=True):
            found[f"{view}/{encoder.feature_name(view, int(column))}"] = value
    return found


PEOPLE = {
    "user_age": [30.0, None, 50.0, 40.0, None],
    "user_city": ["Oslo", "Bonn", None, "Oslo", None],
    "ad_price": [1.0, 2.0, 3.0, 4.0, 5.0],
    "ad_new": [True, None, False, True, True],
    "page_title": ["cheap flights", "weather in Oslo", "", None, "Oslo Oslo flights"],
    "clicked": [1, 0, 0, 1, 0],
}
VIEWS = {"user": "user_*", "ad": ["ad_price", "ad_new"], "page": "page_title"}


def encoder(**changed):
    return unscaled(
        **{"views": VIEWS, "text": ["page_*"], "hash_bits": BITS, "tf_idf": False, **changed}
    )


def test_more_columns_than_can_be_numbered_are_refused_as_columns():
    table = pa.table({f"v{i}__word": ["a", "b"] for i in range(8)})
    with pytest.raises(InputError, match=r"^hash_bits=28 gives 2,147,483,648 columns in all views"):
        unscaled(hash_bits=28).fit(table)


# --- what a cell becomes -------------------------------------------------------------------


def test_a_row_by_hand():
    table = pa.table(PEOPLE)
    fitted = encoder().fit(table)
    X = fitted.transform(table)
    assert X.layout.names == ("user", "ad", "page")
    assert X.layout.widths == (2 + 2**BITS, 2 + 2**BITS, 2**BITS)
    ages = np.array([30.0, 50.0, 40.0])
    root = np.sqrt(0.5)
    assert named(fitted, X, 0) == pytest.approx(
        {
            "user/user_age": (30 - 40) / ages.std(),
            "user/user_city=Oslo": 1,
            "ad/ad_price": (1 - 3) / np.sqrt(2),
            "ad/ad_new=true": 1,
            "page/page_title:cheap": root,
            "page/page_title:flights": root,
        }
    )
    assert named(fitted, X, 1) == pytest.approx(
        {
            "user/user_age is missing": 1,
            "user/user_city=Bonn": 1,
            "ad/ad_price": (2 - 3) / np.sqrt(2),
            "page/page_title:weather": 1 / np.sqrt(3),
            "page/page_title:in": 1 / np.sqrt(3),
            "page/page_title:oslo": 1 / np.sqrt(3),
        }
    )
    assert named(fitted, X, 4) == pytest.approx(
        {
            "ad/ad_price": np.sqrt(2),
            "ad/ad_new=true": 1,
            "page/page_title:oslo": 2 / np.sqrt(5),
            "page/page_title:flights": 1 / np.sqrt(5),
        }
    )
    # an empty text is there, a null is not; a view is missing when all its columns are
    assert X.present.tolist() == [
        [True, True, True],
        [True, True, True],
        [True, True, True],
        [True, True, False],
        [False, True, True],
    ]


@given(
    rows=st.lists(st.tuples(*[st.sampled_from(["a", "b", "cc dd", None])] * 6), min_size=1),
    text=st.lists(st.sampled_from(["v__0", "w__0", "w__1"]), unique=True),
    bits=st.integers(1, 4),
)
def test_the_matrix_is_canonical_csr_with_int32_indices(rows, text, bits):
    names = ["v__0", "v__1", "v__2", "w__0", "w__1", "w__2"]
    table = pa.table(
        {n: pa.array(c, pa.string()) for n, c in zip(names, zip(*rows, strict=True), strict=True)}
    )
    X = unscaled(text=text, hash_bits=bits).fit_transform(table)
    assert isinstance(X.matrix, sp.csr_array)
    assert X.matrix.dtype == np.float64
    assert X.matrix.indices.dtype == X.matrix.indptr.dtype == np.int32
    assert X.matrix.indptr[-1] == len(X.matrix.indices) == len(X.matrix.data)
    for i in range(len(rows)):  # rising, and so without duplicates
        assert (np.diff(X.matrix.indices[X.matrix.indptr[i] : X.matrix.indptr[i + 1]]) > 0).all()
    for k, view in enumerate("vw"):
        there = [any(v is not None for v in row[3 * k : 3 * k + 3]) for row in rows]
        present = np.ones((len(rows), 2), dtype=bool) if X.present is None else X.present
        assert present[:, k].tolist() == there
        # "a" and "b" are no words of two letters; each other category counts 1
        categories = [i for i in range(3 * k, 3 * k + 3) if names[i] not in text]
        expected = [sum(row[i] is not None for i in categories) for row in rows]
        if not any(name.startswith(view) for name in text):
            assert X[view].sum(axis=1).tolist() == expected


@given(
    values=st.lists(st.one_of(st.none(), st.text(max_size=5)), min_size=1, max_size=30),
    bits=st.integers(1, 12),
)
def test_slots_are_those_of_feature_hasher(values, bits):
    table = pa.table({"v__c": pa.array(values, pa.string())})
    X = unscaled(hash_bits=bits).fit_transform(table)
    expected = np.zeros((len(values), 2**bits))
    for row, value in enumerate(values):
        if value is not None:
            expected[row, slot(f"v__c={value}", bits)] += 1
    np.testing.assert_array_equal(X.matrix.toarray(), expected)


def test_hashing_never_changes():
    # by MurmurHash3 (x86, 32 bits, seed 0); a change here breaks saved models
    table = pa.table({"city": ["Oslo"], "page": ["weather"]})
    X = unscaled({"a": "city", "b": "page"}, text=["page"]).fit_transform(table)
    assert X.matrix.indices.tolist() == [223137, 2**18 + 41559]


def test_two_categories_in_one_slot_add_up():
    columns = {f"v__{c}": ["x"] for c in range(20)}
    X = unscaled(hash_bits=2).fit_transform(pa.table(columns))
    expected = np.bincount([slot(f"{name}=x", 2) for name in columns], minlength=4)
    np.testing.assert_array_equal(X.matrix.toarray(), [expected])


def test_words_and_categories_of_a_view_share_its_slots():
    table = pa.table({"v__text": ["aa bb aa", "cc"], "v__kind": ["x", "y"]})
    X = unscaled(text=["v__text"], hash_bits=1, tf_idf=False).fit_transform(table)
    expected = np.zeros((2, 2))
    for word, count in (("aa", 2), ("bb", 1)):
        expected[0, slot(f"v__text:{word}", 1)] += count
    expected[0] /= np.linalg.norm(expected[0])
    expected[1, slot("v__text:cc", 1)] += 1
    expected[0, slot("v__kind=x", 1)] += 1
    expected[1, slot("v__kind=y", 1)] += 1
    np.testing.assert_allclose(X.matrix.toarray(), expected, rtol=1e-15)


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2), (2, 3)])
def test_text_is_counted_as_count_vectorizer_does(ngram_range):
    texts = ["the cat sat on the mat", "a dog, the Dog", "", "42 cats & 1 dog"]
    fitted = unscaled({"page": "body"}, text=["body"], ngram_range=ngram_range, tf_idf=False).fit(
        pa.table({"body": texts})
    )
    X = fitted.transform(pa.table({"body": texts}))
    counts = CountVectorizer(ngram_range=ngram_range).fit(texts)
    for row, text in enumerate(texts):
        expected = counts.transform([text]).toarray()[0]
        norm = np.linalg.norm(expected) or 1
        assert named(fitted, X, row) == pytest.approx(
            {
                f"page/body:{word}": expected[k] / norm
                for word, k in counts.vocabulary_.items()
                if expected[k]
            }
        )


def test_tf_idf_is_that_of_scikit_learn():
    texts = ["the cat sat on the mat", "a dog, the Dog", "", "42 cats & 1 dog", "the dog"] * 3
    table = pa.table({"v__a": [*texts, None, None], "v__b": [None, "the", *texts]})
    fitted = unscaled(text=["v__*"], hash_bits=18, tf_idf=True)
    X = fitted.fit_transform(table)
    same(fitted.transform(table), X)
    expected = np.zeros(X.matrix.shape)
    names = fitted.get_feature_names_out().tolist()
    for column in ("v__a", "v__b"):
        counts = CountVectorizer().fit(texts)
        values = table[column].to_pylist()
        known = [row for row, value in enumerate(values) if value is not None]
        weights = TfidfTransformer(sublinear_tf=True).fit_transform(
            counts.transform([values[i] for i in known])
        )
        slots = [names.index(f"{column}:{word}") for word in counts.get_feature_names_out()]
        expected[np.ix_(known, slots)] += weights.toarray()
    np.testing.assert_allclose(X.matrix.toarray(), expected, rtol=1e-12)
    # a stream: each row by the rows up to itself
    stream = unscaled(text=["v__*"], hash_bits=18, tf_idf=True).partial_fit_transform(table)
    first = unscaled(text=["v__*"], hash_bits=18, tf_idf=True).fit_transform(table.slice(0, 9))
    np.testing.assert_array_equal(stream.matrix[[8]].toarray(), first.matrix[[8]].toarray())
    # what contradicts itself is refused
    header, state = fitted.get_header(), fitted.get_state()
    other = clone(fitted)
    other.set_header(header)
    for change in (
        {"df.0": state["df.0"] + 100},
        {"df_slots.1": np.zeros_like(state["df_slots.1"])},
        {"texts": -state["texts"]},
    ):
        with pytest.raises(InputError, match=r"contradict each other|texts"):
            other.set_state(state | change)


def test_each_text_column_has_length_one_by_itself():
    table = pa.table({"v__title": ["aa bb"], "v__body": ["cc dd ee ff"]})
    X = unscaled(text=["v__*"], hash_bits=18).fit_transform(table)
    assert X.matrix.power(2).sum() == pytest.approx(2)


# --- numbers -------------------------------------------------------------------------------

numbers = st.lists(
    st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-5, 5).map(float)),
    min_size=1,
    max_size=40,
)


@given(values=numbers, cuts=st.lists(st.integers(0, 40), max_size=3))
def test_moments_in_pieces_are_those_of_the_whole(values, cuts):
    array = pa.array(values, pa.float64())
    pieces = unscaled()
    ends = [*sorted(c for c in cuts if c < len(values)), len(values)]
    for start, stop in zip([0, *ends], ends, strict=False):
        pieces.partial_fit(pa.table({"v__a": array[start:stop]}))
    whole = unscaled().fit(pa.table({"v__a": array}))
    there = np.array([v for v in values if v is not None])
    assert pieces.count_ == whole.count_ == len(there)
    if len(there):
        assert pieces.mean_[0] == pytest.approx(there.mean(), rel=1e-12, abs=1e-9)
        assert pieces.get_state()["m2"][0] == pytest.approx(
            there.var() * len(there), rel=1e-9, abs=1e-9 * max(1, np.abs(there).max())
        )


@given(values=numbers)
def test_standardized_numbers_are_those_of_standard_scaler(values):
    array = pa.array(values, pa.float64())
    X = unscaled().fit_transform(pa.table({"v__a": array})).matrix.toarray()
    column = np.array(values, dtype=float)[:, None]
    missing = np.isnan(column[:, 0])
    if missing.all():
        assert not X.any()
        return
    expected = np.nan_to_num(StandardScaler().fit_transform(column)[:, 0])
    if len(set(column[~missing, 0])) == 1:  # there the scaler leaves what rounding leaves
        expected[:] = 0
    np.testing.assert_allclose(X[:, 0], expected, rtol=1e-6, atol=1e-6)
    assert not X[:, 1].any()  # a view of one column is missing with it


@given(value=st.floats(-1e99, 1e99), n=st.integers(1, 50))
def test_a_constant_becomes_zero(value, n):
    table = pa.table({"v__a": [value] * n, "v__b": [1.0] * n})
    assert unscaled().fit_transform(table).matrix.nnz == 0


def test_what_differs_by_rounding_only_is_constant():
    rows = [0.3, 0.1 + 0.2] * 3
    assert len({*rows}) == 2
    encoder = unscaled().fit(pa.table({"v__a": rows, "v__b": [1.0, 2.0] * 3}))
    later = pa.table({"v__a": [0.5, 300.0], "v__b": [1.5, 1.5]})
    assert encoder.transform(later).matrix.nnz == 0
    assert encoder.transform_one({"v": {"a": 0.5, "b": 1.5}}).values == []
    center, scale = encoder._rows.moments.center_and_scale()
    assert scale[0] == np.inf
    assert (center[1], scale[1]) == (1.5, 0.5)
    small = unscaled().fit(pa.table({"v__a": [1e12, 1e12 + 1.0] * 300}))  # no rounding
    assert small.transform(pa.table({"v__a": [1e12]})).matrix.toarray()[0, 0] == pytest.approx(-1.0)


@given(st.lists(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=9), min_size=1, max_size=3))
def test_no_number_ever_becomes_nan_or_infinite(batches):
    fitted = unscaled()
    for values in batches:
        X = fitted.partial_fit(pa.table({"v__a": values})).transform(pa.table({"v__a": values}))
        assert np.isfinite(X.matrix.data).all()


def test_without_standardizing_numbers_stay_as_they_are():
    table = pa.table({"v__a": [3.0, None, 0.0], "v__b": [1, 2, 3]})
    X = unscaled(standardize=False).fit_transform(table)
    np.testing.assert_array_equal(X.matrix.toarray(), [[3, 1, 0, 0], [0, 2, 1, 0], [0, 3, 0, 0]])
    assert X.feature_names == {"v": ("v__a", "v__b", "v__a is missing", "v__b is missing")}
    assert X.present is None


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1, None, 3], pa.int8()),
        pa.array([1, None, 3], pa.uint64()),
        pa.array([1, None, 3], pa.float32()),
        pa.array([Decimal(1), None, Decimal(3)]),
        pa.chunked_array([[1], [None, 3]]),
    ],
    ids=lambda array: str(array.type),
)
def test_every_type_of_number_is_the_same_number(array):
    plain = unscaled().fit_transform(pa.table({"v__a": [1.0, None, 3.0], "v__b": [1, 2, 3]}))
    same(unscaled().fit_transform(pa.table({"v__a": array, "v__b": [1, 2, 3]})), plain)


@pytest.mark.parametrize("declared", [{}, {"categorical": ["v__b"]}], ids=str)
def test_booleans_may_be_written_in_other_ways_later(declared):
    """They were categories that no row had, without a word, or refused."""
    values = [True, None, False, True]
    rows = pa.table({"v__b": values, "v__x": [1.0, 2.0, 3.0, 4.0]})
    encoder = ViewEncoder(hash_bits=BITS, **declared).fit(rows)
    restored = clone(encoder)
    restored.set_header(json.loads(json.dumps(encoder.get_header())))
    restored.set_state(encoder.get_state())
    expected = encoder.transform(rows).matrix.toarray()
    words = {True: "true", False: "false"}
    ways = [
        [None if b is None else kind(b) for b in values]
        for kind in (int, float, str, words.get, lambda b: str(b).upper(), lambda b: str(int(b)))
    ]
    ways += [["yes", None, "no", "yes"], ["Y", None, "N", "Y"], ["t", None, "f", "t"]]
    for cells in [values, *ways]:
        column = pa.array(cells)
        for array in (column, column.dictionary_encode(), pa.chunked_array([column])):
            table = rows.set_column(0, "v__b", array)
            for own in (encoder, restored):
                np.testing.assert_array_equal(own.transform(table).matrix.toarray(), expected)
        single = rows.set_column(0, "v__b", column).to_pylist()
        found = [encoder.transform_one(row).as_views().matrix.toarray()[0] for row in single]
        np.testing.assert_array_equal(found, expected)
        together = encoder.transform(encoder.table_of(single))
        np.testing.assert_array_equal(together.matrix.toarray(), expected)
        hashes = encoder.hash_rows(rows.set_column(0, "v__b", column))
        np.testing.assert_array_equal(hashes, encoder.hash_rows(rows))
    mixed = rows.set_column(0, "v__b", pa.array(["True", None, "0", "true"]))
    np.testing.assert_array_equal(encoder.transform(mixed).matrix.toarray(), expected)
    for wrong in (7, 0.5):
        with pytest.raises(InputError, match=f"row 2, column 'v__b': {wrong} is neither true nor"):
            encoder.transform(rows.set_column(0, "v__b", pa.array([1, None, wrong, 0])))
        with pytest.raises(InputError, match=f"{wrong} is neither true nor false: give one"):
            encoder.transform_one({"v__b": wrong})
    # text that is neither is a category that no row had
    other = encoder.transform(pa.table({"v__b": ["maybe"], "v__x": [1.0]}))
    assert other.matrix.nnz == 2
    made_up = encoder.get_header()
    made_up["columns"][0][-1] = "words"
    with pytest.raises(InputError, match="which is of no kind"):
        restored.set_header(made_up)


def test_true_and_false_where_yes_and_no_were_learned_are_refused():
    """They were categories that no row had, without a word."""
    for words in (["yes", "no", None], ["F", "F", None], ["y", "n", "n"]):
        encoder = ViewEncoder(hash_bits=BITS).fit(
            pa.table({"v__b": words, "v__x": [1.0, 2.0, 3.0]})
        )
        for cells in ([True, None], ["false", "true"]):
            rows = pa.table({"v__b": cells, "v__x": [1.0, 2.0]})
            for method in (encoder.transform, encoder.partial_fit):
                with pytest.raises(
                    InputError, match=r"column 'v__b': holds true and false, and .* learned"
                ):
                    method(rows)
        encoder.transform(pa.table({"v__b": pa.nulls(1, pa.bool_()), "v__x": [1.0]}))
    encoder = ViewEncoder(hash_bits=BITS).fit(pa.table({"v__b": ["red", "no"]}))
    assert encoder.transform(pa.table({"v__b": ["true"]})).matrix.nnz == 1  # a color


def test_numbers_in_strings_and_booleans_when_said_so():
    table = pa.table(
        {
            "v__a": ["1.5", None, "3"],
            "v__b": [True, False, None],
            "v__c": pa.array(["1", "2", "1"]).dictionary_encode(),
        }
    )
    X = unscaled(numeric=["v__*"], standardize=False).fit_transform(table)
    np.testing.assert_array_equal(
        X.matrix.toarray(), [[1.5, 1, 1, 0, 0, 0], [0, 0, 2, 1, 0, 0], [3, 0, 1, 0, 1, 0]]
    )
    with pytest.raises(InputError, match="row 1, column 'v__a': 'two' is not a number"):
        unscaled(numeric=["v__a"]).fit(pa.table({"v__a": ["1", "two"]}))


# --- the same values in other containers ---------------------------------------------------


def containers():
    table = pa.table(PEOPLE)
    chunked = pa.concat_tables([table.slice(0, 2), table.slice(2, 0), table.slice(2)])
    dictionaries = pa.table(
        {
            name: column.dictionary_encode() if column.type == pa.string() else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )
    unified = pa.concat_tables(
        [
            pa.table(
                {
                    n: c.combine_chunks().slice(a, b)
                    for n, c in zip(table.column_names, part.columns, strict=True)
                }
            )
            for a, b in ((0, 2), (2, 3))
            for part in [dictionaries]
        ]
    )
    frame = pd.DataFrame(PEOPLE)
    return {
        "record batch": table.to_batches()[0],
        "chunks": chunked,
        "dictionaries": dictionaries,
        "sliced dictionaries": unified,
        "large strings": table.set_column(
            1, "user_city", table["user_city"].cast(pa.large_string())
        ),
        "string views": table.set_column(1, "user_city", table["user_city"].cast(pa.string_view())),
        "pandas": frame,
        "pandas categories": frame.astype({"user_city": "category", "ad_new": "category"}),
        "polars": pl.DataFrame(PEOPLE),
        "polars categories": pl.DataFrame(PEOPLE).with_columns(
            pl.col("user_city").cast(pl.Categorical)
        ),
        "other column order": table.select(sorted(table.column_names)),
        "read-only": pa.Table.from_batches(pa.ipc.open_stream(_ipc(table)).read_all().to_batches()),
    }


def _ipc(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("name", list(containers()))
def test_every_container_gives_the_same_matrix(name):
    plain = encoder().fit_transform(pa.table(PEOPLE))
    frame = containers()[name]
    if name == "pandas categories":
        frame = frame.astype({"ad_new": "object"})
    same(encoder().fit_transform(frame), plain)
    same(encoder().fit(pa.table(PEOPLE)).transform(frame), plain)


def test_a_dictionary_may_hold_null_unused_and_repeated_values():
    plain = pa.table({"v__c": ["x", None, "y", None], "v__n": [1, 2, 3, 4]})
    odd = pa.DictionaryArray.from_arrays(
        pa.array([2, None, 0, 3], pa.int8()), pa.array(["y", "unused", "x", None])
    )
    same(
        unscaled().fit_transform(plain.set_column(0, "v__c", odd)),
        unscaled().fit_transform(plain),
    )


def test_an_array_has_columns_called_x0_x1_and_nan_is_missing():
    array = np.array([[1.0, 2.0, np.nan], [3.0, np.nan, np.nan]])
    fitted = unscaled({"a": slice(0, 2), "b": ["x2"]}, standardize=False).fit(array)
    X = fitted.transform(array)
    np.testing.assert_array_equal(X.matrix.toarray(), [[1, 2, 0, 0, 0, 0], [3, 0, 0, 1, 0, 0]])
    assert X.present.tolist() == [[True, False], [True, False]]
    assert fitted.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    with pytest.raises(InputError, match=r"no column 'x1', 'x2' .*missing_columns='null'"):
        fitted.transform(array[:, :1])


def test_ids_are_categories_when_said_so_with_and_without_gaps():
    whole = pa.table({"v__id": [7, 12, 7], "v__n": [1, 2, 3]})
    gaps = pd.DataFrame({"v__id": [7.0, np.nan, 2.5], "v__n": [1, 2, 3]})
    fitted = unscaled(categorical=["v__id"], hash_bits=BITS).fit(whole)
    assert "v/v__id=7" in named(fitted, fitted.transform(whole), 0)
    assert "v/v__id=7" in named(fitted, fitted.transform(gaps), 0)
    assert fitted.transform(gaps)["v"].toarray()[2, 2 + slot("v__id=2.5")] == 1


def test_zero_rows():
    fitted = encoder().fit(pa.table(PEOPLE))
    X = fitted.transform(pa.table(PEOPLE).slice(0, 0))
    assert X.shape == (0, fitted.layout_.n_columns)


def test_input_is_left_as_it_was():
    frame = pd.DataFrame(PEOPLE)
    before = frame.copy()
    encoder().fit_transform(frame)
    pd.testing.assert_frame_equal(frame, before)
    array = np.array([[1.0, np.nan], [2.0, 3.0]])
    array.flags.writeable = False
    unscaled({"v": "x*"}).fit_transform(array)


def test_a_frame_changed_in_place_is_read_again():
    frame = pd.DataFrame({"v__a": [1.0, 2.0]})
    fitted = unscaled(standardize=False).fit(frame)
    frame.loc[0, "v__a"] = 5.0
    assert fitted.transform(frame).matrix.toarray()[0, 0] == 5


# --- streams -------------------------------------------------------------------------------


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_batches_give_what_the_whole_gives(sizes):
    table = pa.concat_tables([pa.table(PEOPLE)] * 3).slice(0, sum(sizes))
    fitted = encoder().fit(pa.table(PEOPLE))
    whole = fitted.transform(table)
    start = 0
    for size in sizes:
        rows = slice(start, start + size)
        part, expected = fitted.transform(table.slice(start, size)), whole[rows]
        np.testing.assert_array_equal(part.matrix.toarray(), expected.matrix.toarray())
        for X in (part, expected):
            if X.present is None:
                X.present = np.ones((len(X), 3), dtype=bool)
        np.testing.assert_array_equal(part.present, expected.present)
        start += size


def test_transform_learns_nothing():
    fitted = encoder().fit(pa.table(PEOPLE).slice(0, 2))
    before = pickle.dumps((fitted.get_header(), fitted.get_state()))
    fitted.transform(pa.table(PEOPLE))
    assert pickle.dumps((fitted.get_header(), fitted.get_state())) == before


def test_names_are_learnt_also_of_a_dictionary_that_was_transformed_before():
    table = pa.table({"v__c": ["x", "y"]})
    fitted = unscaled(hash_bits=BITS).fit(pa.table({"v__c": ["z"]}))
    fitted.transform(table)
    assert fitted.feature_name("v", slot("v__c=x")) == f"slot {slot('v__c=x')}"
    fitted.partial_fit(table)
    assert fitted.feature_name("v", slot("v__c=x")) == "v__c=x"


def test_a_dictionary_is_hashed_once_while_it_stays_the_same(monkeypatch):
    hashed = []
    real = hashing.hash_strings
    monkeypatch.setattr(
        hashing, "hash_strings", lambda start, *text: hashed.append(start) or real(start, *text)
    )
    values = pa.array(["x", "y"])
    fitted = unscaled(hash_bits=BITS)
    for codes in ([0, 1], [1, 1, 0], [0]):
        batch = pa.record_batch({"v__c": pa.DictionaryArray.from_arrays(codes, values)})
        fitted.partial_fit(batch).transform(batch)
    assert hashed == ["v__c="]
    other = pa.record_batch({"v__c": pa.DictionaryArray.from_arrays([0], pa.array(["y"]))})
    X = fitted.transform(other)
    assert X.matrix.indices.tolist() == [slot("v__c=y")]


def test_many_categories_of_a_view_are_sorted():
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 9, size=(70, 20))
    columns = {
        f"v__c{c}": pa.array([None if k < 0 else f"k{k}" for k in own.tolist()])
        for c, own in enumerate(codes)
    }
    matrix = unscaled(hash_bits=BITS).fit_transform(pa.table(columns)).matrix
    for i in range(20):
        known = [f"{name}={column[i]}" for name, column in columns.items() if column[i].is_valid]
        slots, counts = np.unique([slot(name) for name in known], return_counts=True)
        row = matrix[[i]]
        assert (row.indices.tolist(), row.data.tolist()) == (slots.tolist(), counts.tolist())


def test_a_dictionary_without_these_codes():
    values = pa.array(["x", "y"])
    fitted = unscaled().fit(pa.table({"v__c": values}))
    column = pa.DictionaryArray.from_arrays(pa.array([0, 7]), values, safe=False)
    with pytest.raises(InputError, match="not in its dictionary"):
        fitted.transform(pa.table({"v__c": column}))


def test_fit_forgets_and_partial_fit_goes_on():
    first, second = pa.table({"v__a": [0.0, 2.0]}), pa.table({"v__a": [10.0, 14.0]})
    fitted = unscaled().fit(first).fit(second)
    assert (fitted.mean_[0], fitted.count_[0]) == (12, 2)
    fitted.partial_fit(first)
    assert (fitted.mean_[0], fitted.count_[0]) == (6.5, 4)


def test_from_file_to_views(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("user_age,user_city,label\n30,Oslo,1\n,Bonn,0\n,,1\n")
    fitted = unscaled({"user": "user_*"}, hash_bits=BITS)
    for batch in open_table(path):
        fitted.partial_fit(batch.X)
        X = fitted.transform(batch.X)
    assert X.present.tolist() == [[True], [True], [False]]
    assert named(fitted, X, 1) == {"user/user_age is missing": 1, "user/user_city=Bonn": 1}


def test_a_batch_in_which_a_column_is_all_null_may_have_any_type():
    fitted = encoder().fit(pa.table(PEOPLE))
    nothing = pa.nulls(2)
    batch = pa.table(dict.fromkeys(PEOPLE, nothing))
    X = fitted.transform(batch)
    assert not X.present.any()
    assert X.matrix.nnz == 0
    strings = batch.set_column(0, "user_age", pa.array([None, None], pa.string()))
    assert not fitted.partial_fit(strings).transform(strings).present.any()


# --- views and kinds -----------------------------------------------------------------------


def test_views_by_prefix_leave_other_columns_out():
    table = pa.table({"user__age": [1.0], "ad__c": ["x"], "label": [1], "__index_0__": [0]})
    with pytest.warns(UnusedColumnsWarning, match="not used.*: label, __index_0__; views="):
        fitted = unscaled(hash_bits=BITS).fit(table)
    assert fitted.layout_.names == ("user", "ad")
    assert fitted.layout_.widths == (2, 2**BITS)
    assert fitted.n_features_in_ == 4


def test_one_column_with_a_prefix_does_not_take_the_others_away():
    table = pa.table({"price": [1.0], "utm__c": ["x"]})
    with pytest.warns(GuessWarning, match="'rest' has the columns without a prefix: price; views="):
        fitted = unscaled(hash_bits=BITS).fit(table)
    assert fitted.view_columns() == {"utm": ["utm__c"], "rest": ["price"]}
    row = fitted.transform_one({"price": 1.0, "utm": {"c": "x"}})
    np.testing.assert_array_equal(row.values, fitted.transform(table).matrix.data)
    frame = pd.DataFrame({"price": [0.0, 1.0, 0.0, 1.0], "utm__c": [0.0, 0.0, 1.0, 1.0]})
    with pytest.warns(GuessWarning, match="rest"):
        learner = PassiveAggressiveClassifier().fit(frame, [0, 1, 0, 1])
    assert np.ptp(learner.decision_function(frame.assign(utm__c=0.0))) > 0.0


def test_without_prefixes_all_columns_are_one_view():
    fitted = unscaled().fit(pa.table({"user_age": [1], "clicked": [0]}))
    assert fitted.view_columns() == {"all": ["user_age", "clicked"]}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"views": {"user": "user_*", "all": "*"}}, "is in view 'user' and again in 'all'"),
        ({"views": {"user": "usr_*"}}, "no column is called 'usr_\\*'"),
        ({"text": ["page_titel"]}, "text= names 'page_titel'.*did you mean 'page_title'"),
        ({"text": ["clicked"]}, "which is in no view"),
        ({"categorical": ["page_*"]}, "'page_title': is named in text= and categorical="),
        ({"text": ["user_age"]}, "is text, and holds double"),
        ({"hash_bits": 0}, "hash_bits=0"),
        ({"hash_bits": 2.5}, "hash_bits=2.5"),
        ({"ngram_range": (2, 1)}, "ngram_range"),
        ({"ngram_range": 2}, "ngram_range"),
        ({"remember_names": -1}, "remember_names=-1"),
        ({"sparse": True}, "sparse= is a bool; give a name or a list of names or None"),
    ],
)
def test_parameters_that_do_not_fit(parameters, message):
    with pytest.raises(InputError, match=message):
        encoder(**parameters).fit(pa.table(PEOPLE))


def test_one_name_may_stand_for_a_list():
    same(
        encoder(text="page_title").fit_transform(pa.table(PEOPLE)),
        encoder().fit_transform(pa.table(PEOPLE)),
    )


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0], pa.time32("s")),
        pa.array([["a", "b"]]),
        pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        pa.array([b"x"]),
    ],
    ids=lambda values: str(values.type),
)
def test_other_types_are_refused_with_what_to_do(values):
    message = "in SQL, .*, or leave it out: ignore='when'"
    with pytest.raises(InputError, match=message) as caught:
        unscaled({"v": ["when", "n"]}).fit(pa.table({"when": values, "n": [1]}))
    assert caught.value.column == "when"
    unscaled({"v": "n"}).fit_transform(pa.table({"when": values, "n": [1]}))


def test_a_column_without_values_needs_its_kind():
    table = pa.table({"v__a": pa.nulls(2), "v__b": [1, 2]})
    with pytest.raises(InputError, match="column 'v__a': has no value in any row"):
        unscaled().fit(table)
    assert unscaled(numeric=["v__a"]).fit_transform(table).present is None


def test_all_columns_of_no_use_are_named_at_once():
    lists = pa.array([[1], [2]])
    table = pa.table({"a": pa.nulls(2), "it's": lists, "b": pa.nulls(2), "n": [1, 2], "c": lists})
    with pytest.raises(InputError) as caught:
        unscaled().fit(table)
    left_out = re.findall(r"ignore=('[^']*'|\"[^\"]*\")", str(caught.value))
    assert list(map(ast.literal_eval, left_out)) == ["a", "b", "it's", "c"]
    unscaled(ignore=["a", "b", "it's", "c"]).fit(table)


# --- bad values ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, None, float("nan")], "row 2, column 'v__b': NaN is not a missing value: write null"),
        ([1.0, None, float("inf")], "row 2, column 'v__b': inf is too large"),
        ([-1e200, None, 1.0], "row 0, column 'v__b': -1e\\+200 is too large"),
    ],
)
def test_nan_and_infinity_are_errors_with_row_and_column(values, message):
    good = {"v__a": [1.0, 2.0, 3.0], "v__b": [1.0, None, 3.0]}
    for frame in (pa.table, pl.DataFrame):
        bad = frame({**good, "v__b": values})
        with pytest.raises(InputError, match=message):
            unscaled().fit(bad)
        fitted = unscaled().fit(frame(good))
        with pytest.raises(InputError, match=message):
            fitted.transform(bad)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.uint64()])
def test_columns_of_numbers_at_once_are_what_they_are_one_by_one(kind):
    one = pa.array([2, None, 127, 0], type=kind)
    columns = {"v__a": pa.array([0.1, 2.0, -3e99, None]), "v__b": one}
    expected = [[0.1, 2.0], [2.0, np.nan], [-3e99, 127.0], [np.nan, 0.0]]
    whole = pa.table(columns)
    for X in (whole, whole.to_batches()[0], pa.concat_tables([whole[:1], whole[1:]])):
        values = as_matrix(X)
        if kind == pa.uint64():
            assert values is None
        else:
            np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(Plan(PLAIN, 0, 0).decode(X).values, expected)
    big = pa.table(columns | {"v__b": pa.array([2**53 + 1, -(2**63), 2**62 + 1, 0])})
    by_one = [as_numbers(PLAIN[1], big.column(1).chunk(0))]
    np.testing.assert_array_equal(as_matrix(big)[:, 1:].T, by_one)


def test_nan_in_a_category_is_an_error():
    table = pa.table({"v__id": [1.0, None, float("nan")]})
    with pytest.raises(InputError, match="row 2, column 'v__id': NaN is not a missing value"):
        unscaled(categorical=["v__id"]).fit(table)


def test_a_bad_batch_changes_nothing():
    fitted = encoder().fit(pa.table(PEOPLE))
    before = pickle.dumps(fitted.get_state())
    bad = {**PEOPLE, "ad_price": [1.0, 2.0, 3.0, 4.0, float("nan")]}
    with pytest.raises(InputError):
        fitted.partial_fit(pa.table(bad))
    assert pickle.dumps(fitted.get_state()) == before


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"user_age": ["a"] * 5}, "'user_age': was numeric in the first rows, and holds string"),
        ({"user_city": [1] * 5}, "'user_city': was categorical in the first rows, and holds int64"),
        ({"page_title": [1] * 5}, "'page_title': is text, and holds int64"),
    ],
)
def test_a_column_that_changes_its_kind_is_named(changed, message):
    fitted = encoder().fit(pa.table(PEOPLE))
    with pytest.raises(InputError, match=message):
        fitted.transform(pa.table({**PEOPLE, **changed}))
    with pytest.raises(InputError, match=message):
        fitted.partial_fit(pa.table({**PEOPLE, **changed}))


def test_an_absent_column_is_named_and_another_one_is_no_matter():
    fitted = encoder().fit(pa.table(PEOPLE))
    table = pa.table(PEOPLE)
    with pytest.raises(InputError, match="no column 'user_age'"):
        fitted.transform(table.drop_columns("user_age"))
    wide = table.append_column("extra", pa.array([{"a": 1}] * 5)).drop_columns("clicked")
    same(fitted.transform(wide), fitted.transform(table))


def test_what_is_no_table():
    with pytest.raises(InputError, match="cannot read a table from list"):
        unscaled({"v": "a"}).fit([[1, 2]])
    for columns in (np.arange(3), np.rec.array([(1, 2), (3, 4)])):
        with pytest.raises(InputError, match=r"an array of 1 dimensions.* pandas.DataFrame\(X\)"):
            unscaled({"v": "x0"}).fit(columns)
    with pytest.raises(InputError, match=r"a table from Series; .* of a series by .to_frame\(\)"):
        unscaled({"v": "x0"}).fit(pd.Series([1, 2]))
    with pytest.raises(InputError, match="two columns are called 'a'"):
        unscaled({"v": "a"}).fit(pa.table([[1], [2]], names=["a", "a"]))


# --- names ---------------------------------------------------------------------------------


def test_names_of_all_columns():
    table = pa.table({"user__age": [1], "user__city": ["Oslo"], "ad price": [2]})
    fitted = unscaled({"user": "user__*", "ad": "ad price"}, hash_bits=2).fit(table)
    k = slot("user__city=Oslo", 2)
    slots = ["user__city=Oslo" if i == k else f"user__slot {i}" for i in range(4)]
    assert fitted.get_feature_names_out().tolist() == [
        "user__age",
        "user__age is missing",
        *slots,
        "ad__ad price",
        "ad__ad price is missing",
    ]
    with pytest.raises(InputError, match="no view 'usr'; did you mean 'user'"):
        fitted.feature_name("usr", 0)
    for column in (-1, 6):
        with pytest.raises(InputError, match=f"no column {column}"):
            fitted.feature_name("user", column)


@pytest.mark.parametrize("most", [0, 3])
def test_no_more_names_are_kept_than_asked_for(most):
    table = pa.table({"v__c": [str(i) for i in range(50)], "v__t": ["aa bb cc"] * 50})
    fitted = unscaled(text=["v__t"], remember_names=most).fit(table)
    known = {n for n in fitted.get_feature_names_out() if not n.startswith("v__slot ")}
    assert known == set(["v__c=0", "v__t:aa", "v__t:bb"][:most])


def test_a_slot_keeps_its_first_name():
    fitted = unscaled(hash_bits=1)
    for value in "abcdefgh":
        fitted.partial_fit(pa.table({"v__c": [value]}))
    first = {}
    for value in "abcdefgh":
        first.setdefault(slot(f"v__c={value}", 1), f"v__c={value}")
    assert fitted.get_feature_names_out().tolist() == [first[0], first[1]]


def names_and_collisions(rows, most, bits):
    """By the definition: the first value of each slot, and which slots had another one, too."""
    names, collisions = {}, set()
    for city, text in rows:
        values = [] if city is None else [f"v__c={city}"]
        values += [f"v__t:{word}" for word in (text or "").split()]
        for value in values:
            stored = names.get(slot(value, bits))
            if stored is None and len(names) < most:
                names[slot(value, bits)] = value
            elif stored not in (None, value):
                collisions.add(slot(value, bits))
    return names, collisions


@pytest.mark.parametrize("most", [9, 1000])
def test_names_and_collisions_do_not_depend_on_batches(most):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(12)]
    rows = [
        (
            rng.choice([*"abcdefgh", None]),
            rng.choice([None, " ".join(rng.choice(words, rng.integers(4)))]),
        )
        for _ in range(40)
    ]
    cities, texts = (pa.array(column, pa.string()) for column in zip(*rows, strict=True))
    # in one dictionary, and with values that no row has, in another order than that of the rows
    shared = pa.array(["unused", *sorted("abcdefgh", reverse=True)])
    as_dictionary = pa.DictionaryArray.from_arrays(
        pa.compute.index_in(cities, shared).cast(pa.int32()), shared
    )
    expected = names_and_collisions(rows, most, bits=4)
    assert expected[1]
    for column in (cities, as_dictionary):
        table = pa.table({"v__t": texts, "v__c": column, "w__x": cities})
        # of the same row, the columns in the order of the view
        views = {"v": ["v__c", "v__t"], "w": "w__x"}
        for cuts in ([0, 40], [0, 1, 2, 17, 17, 40], [*range(41)]):
            one = unscaled(views, text=["v__t"], hash_bits=4, remember_names=most)
            for lo, hi in itertools.pairwise(cuts):
                one.partial_fit(table.slice(lo, hi - lo))
                if lo == 17:  # stopped, and goes on
                    header, state = one.get_header(), one.get_state()
                    one = clone(one)
                    one.set_header(header)
                    one.set_state(state)
                    one.transform(table)  # knows the dictionary, and remembers nothing
            slots = {
                slot: (meaning.name, meaning.collides)
                for slot, meaning in enumerate(one.explain_columns("v", range(16)))
                if meaning.column is not None
            }
            assert slots == {k: (v, k in expected[1]) for k, v in expected[0].items()}
            state = pickle.dumps(one.get_state())
            if cuts == [0, 40]:
                first = state
            assert state == first


def test_columns_in_parts():
    v__a, v__c, v__t = [1.0, None, 2.0, 3.0], ["x=y", *3 * [None]], [*3 * [None], "hello"]
    table = pa.table({"v__a": v__a, "v__c": v__c, "v__t": v__t})
    fitted = unscaled(text=["v__t"], bins=2, hash_bits=BITS).fit(table)
    found = fitted.explain_columns("v", [0, 1, 2, 4 + slot("v__c=x=y"), 4 + slot("v__t:hello")])
    assert [tuple(meaning) for meaning in found] == [
        ("v__a", "v__a", None, None, False),
        ("v__a is missing", "v__a", "is missing", None, False),
        ("v__a near 1.5", "v__a", "near 1.5", None, False),
        ("v__c=x=y", "v__c", "x=y", slot("v__c=x=y"), False),
        ("v__t:hello", "v__t", "hello", slot("v__t:hello"), False),
    ]


def test_a_stream_has_bins_of_few_numbers_and_fit_has_none():
    few, many = (np.random.default_rng(0).normal(size=(100, n)) for n in (2, 101))
    assert ViewEncoder().fit(few).n_bins_ == 0
    assert ViewEncoder(bins=3).fit(few).n_bins_ == 3
    assert ViewEncoder().partial_fit(many).n_bins_ == 0
    assert ViewEncoder(bins=None).partial_fit(few).n_bins_ == 0
    streamed = ViewEncoder().partial_fit(few)
    assert streamed.n_bins_ == 10
    again = clone(streamed)
    again.set_header(json.loads(json.dumps(streamed.get_header())))
    again.set_state(streamed.get_state())
    np.testing.assert_array_equal(
        again.transform(few).matrix.toarray(), streamed.transform(few).matrix.toarray()
    )
    with pytest.raises(InputError, match="bins=None, and its columns 10"):
        ViewEncoder(bins=None).set_header(streamed.get_header())


# --- as an estimator, and in a model file --------------------------------------------------


def test_transform_before_fit():
    with pytest.raises(NotFittedError):
        unscaled().transform(pa.table(PEOPLE))
    with pytest.raises(NotFittedError):
        unscaled().get_feature_names_out()


@pytest.mark.parametrize("travel", ["pickle", "state"])
def test_an_encoder_that_traveled_goes_on_like_the_one_that_stayed(travel):
    table = pa.table(PEOPLE)
    stayed = encoder(categorical=["ad_new"], hash_bits=np.int64(BITS)).fit(table.slice(0, 3))
    if travel == "pickle":
        gone = pickle.loads(pickle.dumps(stayed))
    else:
        header = json.loads(json.dumps(stayed.get_header()))
        state = {key: array.copy() for key, array in stayed.get_state().items()}
        for array in state.values():
            assert array.ndim == 1
            array.flags.writeable = False
        gone = unscaled(**stayed.get_params())
        gone.set_header(header)
        gone.set_state(state)
    same(gone.transform(table), stayed.transform(table))
    for one in (gone, stayed):
        one.partial_fit(table.slice(3))
    same(gone.transform(table), stayed.transform(table))
    assert gone.get_header() == stayed.get_header()
    assert gone.feature_names_in_.tolist() == stayed.feature_names_in_.tolist()
    assert gone.get_feature_names_out().tolist() == stayed.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    "options",
    [{}, {"text": ["a__text"], "bins": 4}, {"per": "a__user"}, {"per": "a__user", "max_users": 5}],
)
def test_an_encoder_whose_arrays_joblib_maps_into_memory_goes_on(options, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a__user": rng.integers(9, size=90).astype(str),
            "a__text": rng.choice(["red wine", "white wine", "beer"], 90),
            "b__number": rng.normal(size=90),
        }
    )
    y = np.arange(90) % 2
    model = crossview.make_pipeline(ViewEncoder(**options), AROWClassifier(covariance="diagonal"))
    model.partial_fit(frame[:60], y[:60], classes=[0, 1])
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    for one in (model, mapped):
        one.partial_fit(frame[60:], y[60:])
        for row, label in zip(frame[:3].to_dict("records"), y[:3], strict=True):
            one.learn_one(row, label)
    expected, scores = (one.decision_function(frame) for one in (model, mapped))
    np.testing.assert_array_equal(scores, expected)


def test_a_pickle_carries_no_batch():
    table = pa.table({"v__c": [f"value {i}" for i in range(20_000)]})
    fitted = unscaled(hash_bits=4, remember_names=0).fit(table)
    fitted.transform(table)
    assert len(pickle.dumps(fitted)) < 5000


def test_clone_keeps_the_parameters_only():
    fitted = encoder().fit(pa.table(PEOPLE))
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "layout_")


class Nearest(ClassifierMixin, BaseEstimator):
    """The class whose mean row is nearest; takes views and nothing else."""

    def __init__(self, power=2):
        self.power = power

    def fit(self, X, y):
        assert isinstance(X, MultiView)
        self.classes_ = np.unique(y)
        dense, y = X.matrix.toarray(), np.asarray(y)
        self.means_ = np.array([dense[y == c].mean(axis=0) for c in self.classes_])
        return self

    def predict(self, X):
        gaps = np.abs(X.matrix.toarray()[:, None] - self.means_) ** self.power
        return self.classes_[gaps.sum(axis=2).argmin(axis=1)]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_in_a_pipeline_and_a_grid_search(kind):
    y = np.array(["no", "yes"] * 10)
    frame = kind({"v__n": np.where(y == "yes", 1.0, 2.0), "v__c": [f"c{i % 3}" for i in range(20)]})
    model = make_pipeline(unscaled(), Nearest())
    search = GridSearchCV(model, {"viewencoder__hash_bits": [4, 8], "nearest__power": [1, 2]}, cv=2)
    assert search.fit(frame, y).best_score_ == 1
    assert search.predict(frame).tolist() == y.tolist()


@pytest.mark.parametrize("step", [ViewEncoder(), ViewScaler()])
def test_views_are_no_data_frame(step):
    y = np.array(["no", "yes"] * 10)
    frame = pd.DataFrame({"v__a": np.arange(20.0), "v__b": np.arange(20.0) % 3})
    X = MultiView({"v": sp.csr_array(frame.to_numpy())}) if isinstance(step, ViewScaler) else frame
    model = make_pipeline(step, Nearest())
    for container in ("pandas", "polars"):
        with pytest.raises(InputError, match=f"'{container}'.*returns views.*'default'"):
            model.set_output(transform=container)
        with config_context(transform_output=container):  # views, where nobody asked this step
            assert isinstance(clone(step).fit_transform(X), MultiView)
    assert len(model.set_output(transform="default").fit(X, y).predict(X)) == 20


# --- the compiled loop ---------------------------------------------------------------------


def test_the_loop_is_compiled_once_and_equals_plain_python(monkeypatch):
    table = pa.table(PEOPLE)
    compiled = encoder().fit_transform(table)
    assert len(getattr(fill.fill_rows, "signatures", [0])) == 1
    plain = getattr(fill.fill_rows, "py_func", fill.fill_rows)
    monkeypatch.setattr("crossview.encoding.rows.row_encoder.fill_rows", plain)
    same(encoder().fit_transform(table), compiled)


# --- scaled views, bins, and one row after the other ----------------------------------------


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.gamma(4, 10, n)
    age[rng.random(n) < 0.1] = np.nan
    return pa.table(
        {
            "user__age": pa.array(age, from_pandas=True),
            "user__city": rng.choice(["Oslo", "Bonn"], n),
            "page__title": rng.choice(["cheap flights", "weather in Oslo", "news"], n),
            "page__price": pa.array(rng.normal(5, 2, n)),
        }
    )


def test_each_view_has_the_mean_norm_of_one():
    table = people()
    fitted = ViewEncoder(text=["page__title"], hash_bits=BITS)
    X = fitted.fit_transform(table)
    plain = unscaled(text=["page__title"], hash_bits=BITS).fit_transform(table)
    for v, view in enumerate(X.layout.names):
        norms = sp.linalg.norm(plain[view], axis=1)
        mean = norms[norms > 0].mean()
        assert fitted.mean_norm_[v] == pytest.approx(mean)
        np.testing.assert_allclose(X[view].toarray(), plain[view].toarray() / mean, rtol=1e-12)
    same(fitted.transform(table), X)


@given(cuts=st.lists(st.integers(1, 99), max_size=3), bins=st.sampled_from([None, 4]))
def test_a_stream_is_encoded_the_same_however_it_is_cut(cuts, bins):
    table = people(100, seed=1)
    options = {"text": ["page__title"], "hash_bits": BITS, "bins": bins, "tf_idf": bins is None}
    whole, cut = ViewEncoder(**options), ViewEncoder(**options)
    expected = whole.partial_fit_transform(table)
    found = []
    ends = sorted({0, *cuts, 100})
    for a, b in itertools.pairwise(ends):
        found.append(cut.partial_fit_transform(table.slice(a, b - a)).matrix)
        header, state = json.loads(json.dumps(cut.get_header())), cut.get_state()
        cut = clone(cut)
        cut.set_header(header)
        cut.set_state(state)
    matrix = sp.csr_array(sp.vstack(found))
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(matrix, part), getattr(expected.matrix, part))
    same(cut.transform(table), whole.transform(table))


def test_a_row_of_a_stream_is_standardized_by_the_rows_up_to_itself():
    price = np.random.default_rng(2).normal(5, 2, 60)
    X = unscaled().partial_fit_transform(pa.table({"v__price": price}))
    expected = [
        0.0 if i == 0 else (price[i] - price[: i + 1].mean()) / price[: i + 1].std()
        for i in range(60)
    ]
    np.testing.assert_allclose(X.matrix.toarray()[:, 0], expected, rtol=1e-9, atol=1e-12)


def test_bins_by_hand():
    age = [10.0, 20.0, 30.0, 40.0, None, 25.0]
    fitted = unscaled(bins=2, standardize=False).fit(pa.table({"v__age": [0.0, 20.0, 40.0, 60.0]}))
    X = fitted.transform(pa.table({"v__age": age, "other": [1] * 6}))
    # knots at ranks 1/4 and 3/4
    assert [fitted.feature_name("v", c) for c in range(4)] == [
        "v__age",
        "v__age is missing",
        "v__age near 15",
        "v__age near 45",
    ]
    np.testing.assert_allclose(
        X.matrix.toarray(),
        [
            [10, 0, 1, 0],
            [20, 0, 5 / 6, 1 / 6],
            [30, 0, 1 / 2, 1 / 2],
            [40, 0, 1 / 6, 5 / 6],
            [0, 0, 0, 0],  # the view is missing
            [25, 0, 2 / 3, 1 / 3],
        ],
    )
    assert X.present[:, 0].tolist() == [True, True, True, True, False, True]
    assert X.feature_names["v"][2] == "v__age near 15"


@pytest.mark.parametrize("none", [0, None])
def test_no_bins(none, tmp_path):
    encoder = ViewEncoder(bins=none).partial_fit(pa.table({"v__age": [0.0, 20.0, 40.0]}))
    assert encoder.n_bins_ == 0
    saved = crossview.make_pipeline(encoder, AROWClassifier())
    saved.partial_fit(pa.table({"v__age": [1.0, 2.0]}), [0, 1], classes=[0, 1])
    crossview.save(saved, tmp_path / "m.safetensors")
    assert crossview.load(tmp_path / "m.safetensors")[0].bins == none


def test_bins_keep_their_places_beside_categories():
    table = people()
    X = unscaled(text=["page__title"], hash_bits=4, bins=5).fit_transform(table)
    plain = unscaled(text=["page__title"], hash_bits=4).fit_transform(table)
    for view in ("user", "page"):
        wide, narrow = X[view].toarray(), plain[view].toarray()
        np.testing.assert_array_equal(wide[:, :2], narrow[:, :2])
        np.testing.assert_array_equal(wide[:, 7:], narrow[:, 2:])
        there = wide[:, 1] == 0
        np.testing.assert_allclose(wide[there, 2:7].sum(axis=1), 1)
        assert not wide[~there, 2:7].any()
    # numbers of few values have fewer bins; the others stay empty and say so
    few = unscaled(bins=5).fit(pa.table({"v__n": [0, 0, 0, 0, 0, 0, 0, 1, 1, 1]}))
    assert few.feature_name("v", 6) == "v__n bin 4 (unused)"


@pytest.mark.parametrize("bins", [1, 2.5, "ten"])
def test_bins_that_are_none_are_refused(bins):
    with pytest.raises(InputError, match="bins="):
        ViewEncoder(bins=bins).fit(people(5))


def test_a_curve_needs_bins():
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 1000))
    table = pa.table({"a__x": x, "b__z": z})
    y = np.abs(x) < 0.67

    def accuracy(bins):
        model = make_pipeline(ViewEncoder(bins=bins), MultiViewPAClassifier(random_state=0))
        return model.fit(table[:700], y[:700]).score(table[700:], y[700:])

    assert accuracy(None) < 0.7
    assert accuracy(10) > 0.9
