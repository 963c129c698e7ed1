"""What each column contributes to the score of a row, and the weights, of every learner."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from contract.instances import COLUMN_NAMES, N_COLUMNS, has_kernel, learn, linear, make_rows, new
from crossview import InputError, MultiView, OnlineStackingClassifier, PassiveAggressiveClassifier


def predicted_score(model, X):
    """The score of the class with the highest one in these rows, as a function of other rows."""
    if not hasattr(model, "decision_function"):
        return model.predict
    if (scores := model.decision_function(X)).ndim == 1:
        return model.decision_function
    best = scores.argmax(axis=1)
    return lambda other: model.decision_function(other)[np.arange(len(best)), best]


def test_a_contribution_is_what_the_score_loses_without_the_column(any_learner, table):
    """By brute force, in rows whose views all keep another column: an empty one takes no part."""
    X, y = table
    model = learn(any_learner, X, y)
    if has_kernel(model) and model.kernel != "linear":
        with pytest.raises(InputError, match="has no weight per column, but"):
            model.column_weights()
    X = np.where(X[:8] == 0.0, 0.5, X[:8])
    score = predicted_score(model, X)
    found = model.contributions(X)
    assert sp.issparse(found)
    for column in range(N_COLUMNS):
        without = X.copy()
        without[:, column] = 0.0
        expected = score(X) - score(without)
        np.testing.assert_allclose(found[:, [column]].toarray()[:, 0], expected, atol=1e-9)
    np.testing.assert_array_equal(model.contributions(sp.csr_array(X)).toarray(), found.toarray())


def test_contributions_and_intercepts_add_up_to_the_score(linear_learner):
    X, y = make_rows(4)
    model = learn(linear_learner, X, y)
    X = X[np.abs(X).reshape(len(X), -1)[:, [0, 5, 8]].all(axis=1)]  # no view is empty
    scores = model.decision_function(X)
    best = scores.argmax(axis=1)
    intercepts = np.asarray(model.intercept_)
    if intercepts.ndim > 1:  # one per view and class
        mean = getattr(model, "coupling", "") in ("squared", "absolute")
        intercepts = intercepts.mean(axis=-1) if mean else intercepts.sum(axis=-1)
    total = np.asarray(model.contributions(X).sum(axis=1)).ravel() + intercepts[best]
    np.testing.assert_allclose(total, scores[np.arange(len(X)), best], atol=1e-9)
    weights = model.column_weights()
    np.testing.assert_array_equal(weights.weight, model.coef_)
    has_covariance = hasattr(model, "covariance_form_") or hasattr(model, "full_columns")
    assert (weights.variance is not None) == has_covariance


@pytest.mark.parametrize("name", ["squared", "MVM", "FM"])
def test_columns_of_data_frames_and_missing_views(name):
    X, y = make_rows(4)
    views = {"a": COLUMN_NAMES[6:8], "b": COLUMN_NAMES[:5]}
    model = new(name)
    frame = pd.DataFrame(X, columns=COLUMN_NAMES)
    model.set_params(views=views).fit(frame, y)
    found = model.contributions(frame)
    assert not found[:, [5, *range(8, N_COLUMNS)]].nnz
    plain = [*range(6, 8), *range(5)]
    gone = MultiView({"a": X[:, 6:8], "b": np.where(np.arange(80)[:, None] < 40, np.nan, X[:, :5])})
    other = new(name).set_params(views=None).fit(gone, y)
    rest = other.contributions(gone)
    assert rest.shape == (80, 7)
    assert not rest[:40, 2:].nnz
    assert rest[40:, 2:].nnz
    assert found[:, plain].nnz


def test_variances_are_the_diagonal_of_the_covariance(linear_learner):
    X, y = make_rows(2)
    model = learn(linear_learner, X, y)
    if not hasattr(model, "covariance_form_"):
        assert not hasattr(model, "variance_")
        return
    views = model.layout_.names if hasattr(model, "coupling") else [None]
    views = [None] if getattr(model, "coupling", "") == "concatenated" else views
    diagonal = np.concatenate(
        [
            np.diag(model.covariance_matrix(view))[: -1 if model.fit_intercept else None]
            for view in views
        ]
    )
    np.testing.assert_allclose(model.variance_, diagonal, rtol=1e-9)


def test_a_column_alone_has_the_weight_of_its_interaction_of_order_one(any_learner):
    if not hasattr(any_learner, "interactions"):
        return
    X, y = make_rows(4)
    model = learn(any_learner, X, y)
    weights, columns = model.column_weights(), model.view_columns()
    single = [one for one in model.interactions(1000) if len(one.views) == 1]
    assert (weights.weight is None) == (not single)
    classes = [None] if weights.factor_norm is None else list(getattr(model, "classes_", [None]))
    for one in single:
        k = classes.index(one.label) if len(classes) > 1 else 0
        k = list(model.classes_).index(one.label) if one.label is not None else k
        column = columns[one.views[0]][one.columns[0]]
        assert weights.weight[k, column] == pytest.approx(one.weight, abs=1e-12)


def test_a_stack_has_the_weights_of_its_experts():
    X, y = make_rows(2)
    stack = OnlineStackingClassifier(experts=[("pa", PassiveAggressiveClassifier())]).fit(X, y)
    with pytest.raises(InputError, match="those of the experts, in experts_"):
        stack.column_weights()
    assert linear(stack.experts_[0][1])
