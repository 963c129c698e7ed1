"""Columns of numbers that are mostly 0: which are, and their one scale."""

import runpy

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import crossview
from command_line import run
from crossview import MultiViewPAClassifier, ViewEncoder, export, make_pipeline

N, WORDS = 300, 120


def counts(n_words=WORDS, zeros=0.9, n=N):
    rng = np.random.default_rng(0)
    return (rng.random((n, n_words)) >= zeros) * rng.integers(1, 5, (n, n_words)).astype(float)


def table(words, **more):
    columns = {f"page__w{k}": column for k, column in enumerate(words.T)}
    length = np.random.default_rng(1).normal(50.0, 9.0, len(words))
    return pa.table({**columns, "page__length": length, "link__age": length[::-1], **more})


def few(n_sparse):
    """Sparse columns, and others that are nonzero in half of the rows."""
    words = counts()
    words[:, n_sparse:] = counts(zeros=0.5)[:, n_sparse:]
    return words


@pytest.mark.parametrize(
    ("words", "n_sparse"),
    [
        (counts(), WORDS),
        (few(101), 101),
        (few(100), 0),
        (-counts(), 0),
        (counts(zeros=0.7), 0),
        (counts(n=19), 0),
        (np.where(np.arange(N)[:, None] % 3, counts(), np.nan), WORDS),
    ],
)
def test_columns_of_a_wide_view_that_are_mostly_zero(words, n_sparse):
    rows = table(np.nan_to_num(words))
    if np.isnan(words).any():
        rows = table(words).to_pandas()
    assert ViewEncoder().fit(rows).column_kinds()["page"].get("sparse", 0) == n_sparse


def test_what_is_declared_is_not_guessed():
    rows = table(counts())
    assert ViewEncoder(sparse=[]).fit(rows).column_kinds()["page"] == {"numeric": WORDS + 1}
    own = ViewEncoder(numeric=["page__w?", "page__w1?"], sparse=["link__age"]).fit(rows)
    own = own.column_kinds()
    assert own == {"page": {"numeric": WORDS + 1}, "link": {"sparse": 1}}  # 100 are left


def test_zeros_and_proportions_stay_beside_standardized_numbers():
    words = counts()
    X = ViewEncoder(scale_views=False, bins=4).fit_transform(table(words))
    page = X["page"].toarray()
    np.testing.assert_allclose(page[:, :WORDS], words / np.sqrt(words.var(axis=0).mean()))
    assert page[:, WORDS].std() == pytest.approx(1.0)
    first_bin = 2 * (WORDS + 1)
    assert not page[:, first_bin : first_bin + 4 * WORDS].any()
    assert page[:, first_bin + 4 * WORDS :].sum(axis=1) == pytest.approx(1.0)


def test_a_stream_row_by_row_in_batches_and_saved():
    rows = table(counts())
    options = {"sparse": ["page__w*"], "bins": 4}
    whole, single, cut = (ViewEncoder(**options) for _ in range(3))
    expected = whole.partial_fit_transform(rows)
    cut.partial_fit(rows.slice(0, 7))
    header, state = cut.get_header(), cut.get_state()
    cut = ViewEncoder(**options)
    cut.set_header(header)
    cut.set_state(state)
    rest = cut.partial_fit_transform(rows.slice(7)).matrix
    assert (rest != expected.matrix[7:]).nnz == 0
    for i, row in enumerate(rows.to_pylist()):
        one, same = single.partial_fit_transform_one(row), expected.matrix[[i]]
        assert (one.columns, one.values) == (same.indices.tolist(), same.data.tolist())


def test_an_exported_model_has_the_same_scale(tmp_path):
    words = counts()
    rows, y = table(words), words[:, 0] + words[:, 1] > 0
    model = make_pipeline(ViewEncoder(), MultiViewPAClassifier()).fit(rows, y)
    export(model, tmp_path / "model.py")
    predict_proba = runpy.run_path(str(tmp_path / "model.py"))["predict_proba"]
    found = [predict_proba(row) for row in rows.slice(0, 50).to_pylist()]
    expected = model.predict_proba(rows.slice(0, 50))
    np.testing.assert_allclose([list(one.values()) for one in found], expected, atol=1e-9)


def test_the_command_line_says_it_and_an_option_changes_it(tmp_path, capsys):
    words = counts()
    rows = table(words, y=np.where(words[:, 0] + words[:, 1] > 0, "hit", "miss"))
    pyarrow.parquet.write_table(rows, tmp_path / "rows.parquet")
    train = ["train", tmp_path / "rows.parquet", "--label", "y", "-o", tmp_path / "m"]
    said = "read as sparse, since most rows have 0 in them: 120 columns (page__w0, ..., page__w119)"
    status, _, err = run(capsys, *train)
    assert status == 0
    assert any(said in line for line in err)
    kinds = crossview.load(tmp_path / "m")[0].column_kinds()
    assert kinds["page"] == {"sparse": WORDS, "numeric": 1}
    _, _, err = run(capsys, *train, "--numeric", "page__*")
    assert not any("sparse" in line for line in err)
    _, _, err = run(capsys, *train, "--sparse", "page__length", "--numeric", "page__w*")
    assert crossview.load(tmp_path / "m")[0].column_kinds()["page"]["sparse"] == 1
    kinds = {one.name: one.kind for one in crossview.describe(rows, "y").columns}
    assert (kinds["page__w3"], kinds["page__length"]) == ("sparse", "numeric")
