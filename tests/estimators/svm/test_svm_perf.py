"""MultiViewSVMPerf: what the estimator promises."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import shared_data
from crossview import InputError, Measure, MultiView, MultiViewSVMPerf, load, save


@pytest.mark.parametrize("measure", ["error_rate", "balanced_accuracy", "roc_auc"])
def test_a_row_of_weight_two_is_the_row_twice(measure):
    X, y = shared_data.ionosphere()
    weight = np.random.default_rng(8).integers(0, 3, len(y))
    twice = np.repeat(np.arange(len(y)), weight)
    model = MultiViewSVMPerf([17, 17], measure=measure, tol=1e-6)
    weighted = model.fit(X, y, weight).objective_history_[-1, 1]
    assert model.fit(X[twice], y[twice]).objective_history_[-1, 1] == pytest.approx(
        weighted, rel=3e-6
    )


def test_weights_without_a_meaning_are_an_error_and_weight_0_leaves_a_row_out():
    X, y = shared_data.ionosphere()
    weight = np.ones(len(y))
    weight[:50] = 0.0
    some = MultiViewSVMPerf().fit(X, y, weight)
    np.testing.assert_array_equal(some.coef_, MultiViewSVMPerf().fit(X[50:], y[50:]).coef_)
    weight[60] = 2.0
    with pytest.raises(InputError, match=r"not defined for measure='f1'.*error_rate"):
        MultiViewSVMPerf().fit(X, y, weight)


@pytest.mark.parametrize(("shift", "scale"), [(1e9, 1.0), (0.0, 1e300)])
def test_columns_of_which_squares_have_no_digits_are_refused(shift, scale):
    X, y = shared_data.ionosphere()
    with pytest.raises(InputError, match="too large, or too far from 0"):
        MultiViewSVMPerf([17, 17]).fit((X + shift) * scale, y)


def test_both_scalings_are_the_same_problem():
    X, y = shared_data.ionosphere()
    unit = 2 * y.sum()
    rows = MultiViewSVMPerf([17, 17], C1=0.5, tol=1e-7).fit(X, y)
    paper = MultiViewSVMPerf([17, 17], C1=0.5 / (4 * unit), tol=1e-7, scaling="published").fit(X, y)
    assert paper.objective_history_[-1, 1] * (2 * unit) ** 2 == pytest.approx(
        rows.objective_history_[-1, 1], rel=1e-6
    )
    np.testing.assert_allclose(paper.coef_ * 2 * unit, rows.coef_, atol=2e-3)


@pytest.mark.parametrize(
    ("measure", "k", "predicted"),
    [
        ("prbep", 0.1, 225),
        ("roc_auc", 0.1, 225),
        ("precision_at_k", 0.2, 70),
        ("recall_at_k", 9, 9),
    ],
)
def test_measures_of_the_highest_scores_predict_as_many_rows(measure, k, predicted):
    X, y = shared_data.ionosphere()
    model = MultiViewSVMPerf(measure=measure, k=k).fit(X, y)
    assert abs(int(model.predict(X).sum()) - predicted) <= 3  # rows with equal scores


def test_pos_label_is_the_positive_class():
    X, y = shared_data.ionosphere()
    bad = MultiViewSVMPerf(pos_label=False).fit(X, y)
    mirrored = MultiViewSVMPerf().fit(X, ~y)
    np.testing.assert_array_equal(bad.coef_, -mirrored.coef_)
    assert (bad.predict(X) == ~mirrored.predict(X)).all()
    with pytest.raises(InputError, match="pos_label='ham' is not among"):
        MultiViewSVMPerf(pos_label="ham").fit(X, y)


def test_a_missing_view_takes_no_part():
    X, y = shared_data.ionosphere()
    present = np.random.default_rng(9).random((len(y), 2)) < 0.8
    holes = X.copy()
    holes[np.repeat(~present, 17, axis=1)] = np.nan
    views = {"a": X[:, :17], "b": X[:, 17:]}
    by_nan = MultiViewSVMPerf([17, 17], tol=1e-5).fit(holes, y)
    by_mask = MultiViewSVMPerf(tol=1e-5).fit(MultiView(views, present=present), y)
    np.testing.assert_array_equal(by_nan.coef_, by_mask.coef_)
    own = by_nan.view_scores(holes)
    assert np.isnan(own[~present]).all()
    np.testing.assert_allclose(np.nansum(own, axis=1), by_nan.decision_function(holes))


def test_several_classes_are_one_problem_each(tmp_path):
    views, digits = shared_data.mfeat()
    some = np.flatnonzero(digits < 3)[::4]
    digits = digits[some]
    X = MultiView({name: views[name][some] / views[name].std() for name in ("mor", "zer", "fou")})
    model = MultiViewSVMPerf(C2=0.001).fit(X, digits)
    assert model.coef_.shape == (3, X.layout.n_columns)
    assert model.n_iter_.shape == model.dual_gap_.shape == model.working_set_size_.shape == (3,)
    assert [len(part) for part in model.objective_history_] == model.n_iter_.tolist()
    assert model.score(X, digits) > 0.97
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.dual_gap_.tolist() == model.dual_gap_.tolist()


def test_stopping_early_is_a_warning_that_says_what_to_do():
    X, y = shared_data.ionosphere()
    with pytest.warns(ConvergenceWarning, match=r"3 iterations with a gap of .*raise max_iter"):
        MultiViewSVMPerf(max_iter=3).fit(X, y)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lambda tp, fp, fn, tn: tp / (tp + fp), "is not finite"),
        (lambda tp, fp, fn, tn: fp + 0.0 * tp, "is better than no mistakes"),
        (lambda tp, fp, fn, tn: 0.5, "one value per table"),
        (lambda tp, fp, fn, tn: float(tp), "failed on arrays"),
        (Measure(lambda tp, fp, fn, tn: -np.sqrt(fn) - fp**2.0, concave=True), "not concave"),
    ],
)
def test_a_function_that_is_no_measure_is_an_error(measure, message):
    X, y = shared_data.ionosphere()
    with pytest.raises(InputError, match=message):
        MultiViewSVMPerf(measure=measure).fit(X, y)


def test_an_unknown_measure_is_an_error_that_names_all_in_order():
    model = MultiViewSVMPerf(measure="f2")
    with pytest.raises(ValueError, match=r"\{'average_precision', 'balanced_accuracy', .*'roc_"):
        model.fit(np.eye(4), [0, 1, 0, 1])


def test_k_beyond_the_rows_is_an_error():
    with pytest.raises(InputError, match="k=9 is more than the 4 rows"):
        MultiViewSVMPerf(measure="recall_at_k", k=9).fit(np.eye(4), [0, 1, 0, 1])
