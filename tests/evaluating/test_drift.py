"""Whether views of new rows are distributed as in training: no false alarm, and the right name."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import crossview
from crossview import InputError, MultiView
from crossview.scoring import drift
from crossview.scoring.drift import (
    Drift,
    DriftCounter,
    drift_warnings,
    find_parts,
    limit_of_index,
    make_reference,
    population_stability_index,
    read_reference,
    scores_of_views,
)
from crossview.scoring.models.fitted_model import FittedModel
from shared_data import movielens

VIEWS = ("a", "b")


def draw(rng, n, *, shift=0.0, scale=1.0, missing=0.0):
    """Two views, of which the second one may have moved; NaN where it is missing."""
    a, b = rng.normal(size=(n, 3)), scale * rng.normal(size=(n, 2)) + shift
    b[rng.random(n) < missing] = np.nan
    return MultiView({"a": a, "b": b})


def drifts_of(learner, reference, X):
    counter = DriftCounter(VIEWS, read_reference({"reference": reference}, VIEWS))
    counter.count(counter.locate(X, scores_of_views(learner, X)))
    return counter.drifts()


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(0)
    X = draw(rng, 3000, missing=0.1)
    y = X["a"][:, 0] + np.nan_to_num(X["b"][:, 0]) > 0
    learner = crossview.AROWClassifier(random_state=0).fit(X, y)
    return learner, make_reference(learner, X[-1000:], 3000, with_scores=True)


def test_the_index_is_that_of_the_definition():
    before, now = np.array([30, 50, 20]), np.array([10, 60, 0])
    p, q = (before + 0.5) / 101.5, (now + 0.5) / 71.5
    assert population_stability_index(before, now) == pytest.approx(((q - p) * np.log(q / p)).sum())
    assert population_stability_index(before, 7 * before) < 1e-4


def test_without_drift_few_draws_are_warned_of_and_the_view_that_moved_is(trained):
    learner, reference = trained
    rng = np.random.default_rng(1)
    sizes = [20, 60, 200, 2000]
    warned = sum(
        bool(drift_warnings(drifts_of(learner, reference, draw(rng, n, missing=0.1))))
        for n in 50 * sizes
    )
    assert warned <= 4  # of 200
    for moved in ({"shift": 2.0}, {"scale": 3.0}, {"missing": 0.7}):
        for n in sizes[1:]:
            X = draw(rng, n, **({"missing": 0.1} | moved))
            (line,) = drift_warnings(drifts_of(learner, reference, X))
            assert line.startswith("view 'b' is not as in training: ")
            assert ("missing in" in line) == ("missing" in moved)


def test_a_view_of_few_values_has_not_moved_where_nothing_has():
    """In the pass an encoder spreads them, as it learns; the reference is of the one of the end."""
    rng = np.random.default_rng(0)

    def draw_table(n, kids=5):
        y = rng.random(n) < 0.3
        table = {"a__x": rng.normal(size=n) + y, "b__kids": rng.integers(0, kids, n)}
        return pd.DataFrame({**table, "b__city": rng.choice(["Oslo", "Bonn"], n), "y": y})

    trained = crossview.train(draw_table(600), "y", model="pa:squared")
    assert crossview.evaluate(trained, draw_table(600)).warnings == []
    (line,) = crossview.evaluate(trained, draw_table(600, kids=9)).warnings
    assert "view 'b' is not as in training: its inputs" in line


@pytest.mark.parametrize("model", ["stacking", "arow:diagonal", "pa:independent"])
def test_rows_that_are_known_by_heart_are_no_reference_of_scores(model):
    """As texts, which have more words than there are rows: the scores of new ones are smaller."""
    rng = np.random.default_rng(0)
    likely = rng.normal(size=2000)

    def draw_texts(n):
        words = sparse.random_array((n, 2000), density=0.01, rng=rng).sign()
        y = words @ likely > 0
        return MultiView({"words": words.tocsr()}), y

    trained = crossview.train(*draw_texts(1500), model=model)
    found = crossview.evaluate(trained, *draw_texts(1500), views=False)
    assert drift_warnings(found.drift) == []
    assert {one.what for one in found.drift} == {"inputs", "missing"}


def test_scores_of_rows_that_are_not_known_by_heart_are_compared():
    rng = np.random.default_rng(0)

    def draw_table(n, shift=0.0):
        x, z, noise = rng.normal(size=(3, n))
        return pd.DataFrame({"a__x": x + shift, "a__z": z, "y": x + noise > 0})

    trained = crossview.train(draw_table(2000), "y")
    assert drift_warnings(crossview.evaluate(trained, draw_table(1000)).drift) == []
    (line,) = drift_warnings(crossview.evaluate(trained, draw_table(1000, shift=1.5)).drift)
    assert "its scores moved" in line


COLUMNS = {
    "null": (lambda t: t.assign(a__x=np.nan), "column 'a__x' .*100% of its rows are null, in tr"),
    "new ids": (lambda t: t.assign(b__id="u" + t.b__id), "'b__id' .*100% of its values are new to"),
    "days": (
        lambda t: t.assign(b__at=t.b__at.dt.floor("D")),
        "'b__at' .*100% of its times are mid",
    ),
    "no view": (lambda t: t.drop(columns=["b__id", "b__at", "b__session"]), None),
    "as before": (lambda t: t, None),
}


@pytest.mark.parametrize("change", COLUMNS)
@pytest.mark.parametrize("model", ["arow", "logistic-regression"])
def test_columns_that_are_null_or_have_new_values_are_said(change, model, tmp_path):
    rng = np.random.default_rng(0)

    def draw_table(n, first):
        x, noise = rng.normal(size=(2, n))
        at = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**7, n), "s")
        table = pd.DataFrame({"a__x": x, "a__z": rng.normal(size=n), "b__at": at, "y": x > noise})
        table["b__id"] = rng.integers(0, 50, n).astype(str)
        table["b__session"] = [f"s{first + i}" for i in range(n)]  # always new
        return table

    file = str(tmp_path / "m.cv")
    crossview.train(draw_table(2000, 0), "y", model=model, output=file)
    changed, expected = COLUMNS[change]
    table = changed(draw_table(200, 2000))
    found = crossview.evaluate(file, table, views=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        crossview.predict(file, table)
    for given in (found.warnings, [str(one.message) for one in said]):
        lines = [line for line in given if line.startswith("column")]
        assert len(lines) == (expected is not None)
        assert not lines or re.search(expected, lines[0])
    kinds = {(one["column"], one["what"]) for one in found.to_dict()["drift"]}
    own = {("b__id", "missing"), ("b__id", "unknown"), ("b__at", "midnight")}
    assert own & kinds == (set() if change == "no view" else own)


def test_many_columns_that_changed_are_named_in_one_line():
    moved = [Drift("a", "missing", 9.0, 0.25, 0.0, 1.0, 99, column=f"c{i}") for i in range(8)]
    lines = drift_warnings(moved)
    assert len(lines) == 6
    assert lines[-1] == "3 more columns are not as in training: c5, c6, c7"
    whole = Drift("a", "missing", 9.0, 0.25, 0.0, 1.0, 99)
    assert len(drift_warnings([whole, *moved])) == 1


@pytest.mark.parametrize("in_order", [None, True])
def test_all_rows_that_are_fitted_at_once_are_the_reference_unless_they_have_an_order(in_order):
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(4000) // 4, "D")
    table = pd.DataFrame({"day": day, "a": rng.normal(size=4000)})
    table["y"] = np.where(table.a + rng.normal(size=4000) > 0, "u", "v")
    trained = crossview.train(table, "y", model="logistic-regression", in_order=in_order)
    counter = FittedModel(trained).drift_counter()
    X = trained.encoder.transform(table)
    counter.count(counter.locate(X, scores_of_views(trained.learner, X)))
    assert bool(drift_warnings(counter.drifts())) == bool(in_order)


def test_chance_is_what_the_limit_allows_for():
    """The distribution of the index where nothing has moved (Yurdakul and Naranjo 2020)."""
    rng = np.random.default_rng(2)
    shares = np.full(10, 0.1)
    pairs = [(rng.multinomial(300, shares), rng.multinomial(100, shares)) for _ in range(300)]
    indices = [population_stability_index(*pair) for pair in pairs]
    assert np.mean(indices) == pytest.approx(9 * (1 / 300 + 1 / 100), rel=0.1)
    limits = [limit_of_index(before, now) for before, now in pairs]
    assert limits[0] > drift.MOVED
    assert np.mean(np.array(indices) > limits) < 0.02


def test_edges_lie_between_values_that_differ():
    """Not inside what is the same but for rounding, such as the norms of one category."""
    rng = np.random.default_rng(3)
    levels = rng.choice([1.0, 2.0, 5.0], size=900) * (1.0 + 1e-9 * rng.normal(size=900))
    parts = find_parts(levels)
    assert [round(edge, 6) for edge in parts.edges] == [1.5, 3.5]
    assert parts.counts.sum() == 900
    assert len(find_parts(np.ones(100)).counts) == 1
    even = find_parts(rng.normal(size=1000)).counts
    assert len(even) == 10
    assert even.min() > 50


def test_a_reference_is_made_of_enough_rows_and_checked_when_it_is_read(trained):
    learner, reference = trained
    X = draw(np.random.default_rng(4), 60)
    assert (
        make_reference(learner, X, 60, with_scores=True) is None
    )  # the first half was scaled otherwise
    assert make_reference(learner, X, 1000, with_scores=False)["a"][drift.SCORES] is None
    assert read_reference({}, VIEWS) is None
    for wrong in (
        {},
        {"a": 1, "b": 2},
        reference | {"a": reference["a"] | {"rows": -1}},
        reference | {"b": reference["b"] | {"inputs": {"edges": [2.0, 1.0], "counts": [1, 2, 3]}}},
        reference | {"b": reference["b"] | {drift.SCORES: {"edges": [], "counts": [float("nan")]}}},
    ):
        with pytest.raises(InputError, match="damaged reference"):
            read_reference({"reference": wrong}, VIEWS)


@pytest.mark.parametrize("model", ["pa:squared", "linear"])
def test_real_rows_in_random_order_have_not_moved_and_rare_films_have(model, tmp_path):
    X, rating, _, film = movielens()
    y = rating > 3
    path = tmp_path / "model.st"
    crossview.train(X[:20_000], y[:20_000], model=model, in_order=True, output=path)
    rest = slice(20_000, 30_000)
    assert crossview.evaluate(path, X[rest], y[rest], views=False).warnings == []
    rare = 20_000 + np.flatnonzero(film[rest] > 1000)
    lines = crossview.evaluate(path, X[rare], y[rare], views=False).warnings
    assert any(line.startswith("view 'item'") for line in lines)


def test_the_view_that_decides_between_several_classes_has_the_largest_scores():
    """Log probabilities of a class of which a view is sure are near 0."""
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=600)
    X = MultiView({"a": np.eye(3)[y] + 0.1 * rng.normal(size=(600, 3)), "b": rng.random((600, 2))})
    learner = crossview.OnlineStackingClassifier(random_state=0).fit(X, y)
    a, b = np.abs(scores_of_views(learner, X)).mean(axis=0)
    assert a > 5 * b


def test_scores_that_were_kept_in_another_form_are_not_compared(trained):
    learner, reference = trained
    old = {
        view: {"scores" if name == drift.SCORES else name: value for name, value in one.items()}
        for view, one in reference.items()
    }
    X = draw(np.random.default_rng(4), 200)
    assert {one.what for one in drifts_of(learner, reference, X)} == {"missing", "inputs", "scores"}
    assert {one.what for one in drifts_of(learner, old, X)} == {"missing", "inputs"}


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (1.04, 1.53, "moved: their median was 1.04 and is 1.53"),
        (1.0001, 1.0004, "moved: their median was 1.0001 and is 1.0004"),
        (1.0, 1.0, "are spread otherwise; their median is still about 1"),
    ],
)
def test_medians_of_what_moved_are_shown_so_that_they_differ(before, now, words):
    assert words in Drift("a", "scores", 9.0, 0.25, before, now, 99).words
