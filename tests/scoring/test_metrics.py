"""Measures by name, their streaming twins, and progressive validation."""

import threading
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.base import clone

from crossview import (
    AROWClassifier,
    InputError,
    MultiView,
    MultiViewMachineRegressor,
    PassiveAggressiveClassifier,
    Scoring,
)
from crossview.catalog.metrics import check_metric, metric_names
from crossview.scoring.collector import DiagnosticsCollector
from crossview.scoring.diagnostics import MOST_ROWS_OF_STREAM
from crossview.scoring.metrics import (
    BlockTally,
    ErrorTally,
    Tally,
    decide,
    error_of_shares,
    hinge_losses,
    least_rows,
    measure,
    signed_score,
    values_of_confusions,
)
from crossview.scoring.problems import Classification
from crossview.scoring.progressive import ProgressiveValidation, progressive

WITH_PARAMETERS = {"f_beta": "f2", "cost": "cost:fp=1,fn=20"}
METRICS = [WITH_PARAMETERS.get(name, name) for name in metric_names("classification")]
METRICS.remove("top_accuracy")  # of several classes alone
ERRORS = metric_names("regression")
OF_PROBABILITIES = ["log_loss", "brier_score", "expected_calibration_error"]


def make_stream(n_classes, n=500, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.choice(n_classes, n, p=np.arange(1, n_classes + 1) / sum(range(n_classes + 1)))
    if n_classes == 2:
        return codes, rng.normal(size=n) + codes - 0.3
    return codes, rng.normal(size=(n, n_classes)) + np.eye(n_classes)[codes]


def make_probabilities(scores):
    two = np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
    return np.exp(two) / np.exp(two).sum(axis=1, keepdims=True)


def test_binary_measures_are_those_of_scikit_learn():
    codes, scores = make_stream(2)
    for positive in (0, 1):
        mine, predicted = codes == positive, decide(scores) == positive
        order = scores if positive else -scores
        of_highest = mine[np.argsort(-order)]
        expected = {
            "f1": sk.f1_score(mine, predicted),
            "macro_f1": sk.f1_score(mine, predicted, average="macro"),
            "f2": sk.fbeta_score(mine, predicted, beta=2),
            "cost:fp=1,fn=20": np.mean(predicted & ~mine) + 20 * np.mean(mine & ~predicted),
            "accuracy": sk.accuracy_score(mine, predicted),
            "balanced_accuracy": sk.balanced_accuracy_score(mine, predicted),
            "precision": sk.precision_score(mine, predicted),
            "recall": sk.recall_score(mine, predicted),
            "g_mean": np.sqrt(
                sk.recall_score(mine, predicted) * sk.recall_score(~mine, ~predicted)
            ),
            "prbep": of_highest[: mine.sum()].mean(),
            "precision_at_k": of_highest[:50].mean(),
            "recall_at_k": of_highest[:50].sum() / mine.sum(),
            "roc_auc": sk.roc_auc_score(mine, order),
            "average_precision": sk.average_precision_score(mine, order),
        }
        assert set(expected) | set(OF_PROBABILITIES) == set(METRICS)
        for name, value in expected.items():
            assert measure(name, codes, scores, positive=positive) == pytest.approx(value), name


def test_measures_of_several_classes_are_means_over_the_classes():
    codes, scores = make_stream(4)
    predicted = scores.argmax(axis=1)
    assert measure("f1", codes, scores) == pytest.approx(
        np.mean([sk.f1_score(codes == k, predicted == k) for k in range(4)])
    )
    assert measure("macro_f1", codes, scores) == measure("f1", codes, scores)
    assert measure("balanced_accuracy", codes, scores) == pytest.approx(
        sk.balanced_accuracy_score(codes, predicted)
    )
    assert measure("roc_auc", codes, scores) == pytest.approx(
        np.mean([sk.roc_auc_score(codes == k, scores[:, k]) for k in range(4)])
    )
    assert measure("g_mean", codes, scores) == pytest.approx(
        np.mean(
            [
                np.sqrt(sk.recall_score(codes == k, predicted == k) * specificity)
                for k in range(4)
                for specificity in [sk.recall_score(codes != k, predicted != k)]
            ]
        )
    )
    of_highest = [(codes == k)[np.argsort(-scores[:, k])] for k in range(4)]
    assert measure("prbep", codes, scores) == pytest.approx(
        np.mean([mine[: mine.sum()].mean() for mine in of_highest])
    )
    assert measure("precision_at_k", codes, scores, k=7) == pytest.approx(
        np.mean([mine[:7].mean() for mine in of_highest])
    )


def test_the_label_is_among_the_most_probable_classes_as_in_scikit_learn():
    codes, scores = make_stream(6)
    p = np.round(make_probabilities(2.0 * scores), 1)  # with many ties
    for k in (1, 2, 5):
        expected = sk.top_k_accuracy_score(codes, p, k=k, labels=range(6))
        name = check_metric("top_accuracy", k=k)
        tally, blocks = Tally(6), BlockTally(name, n_classes=6)
        for rows in np.array_split(np.arange(len(codes)), 3):
            part = Tally(6)
            part.update(codes[rows], scores[rows], p[rows])
            tally = tally + part
            blocks.update(codes[rows], scores[rows], p[rows])
        again = Tally(6)
        again.set_state(tally.get_state())
        values = measure(name, codes, scores, probabilities=p), again.value(name), blocks.value()
        assert values == pytest.approx([expected] * 3)
        # the order of the probabilities, and without any that of the scores
        by_score = sk.top_k_accuracy_score(codes, scores, k=k, labels=range(6))
        assert measure("top_accuracy", codes, scores, k=k) == pytest.approx(by_score)
    assert measure("top_accuracy", codes, p) == measure("top_2_accuracy", codes, p)
    two, score = make_stream(2)
    assert measure("top_1_accuracy", two, score) == measure("accuracy", two, score)
    assert least_rows("top_3_accuracy") == 1
    assert np.isnan(measure("top_accuracy", codes[:0], scores[:0]))
    assert np.isnan(Tally(3).value("top_accuracy"))
    for k in (0, 0.5, "2", True):
        with pytest.raises(
            InputError, match=r"^k=.*give top_accuracy a whole number of classes, 1"
        ):
            check_metric("top_accuracy", k=k)
    with pytest.raises(InputError, match="metric 'top_3_accuracy' of 3 classes is always 1; take"):
        Classification(np.arange(3), metric="top_3_accuracy")


def test_probabilities_of_several_classes_order_the_rows_as_in_scikit_learn():
    codes, scores = make_stream(4)
    p = make_probabilities(2.0 * scores)
    expected = {
        "roc_auc": sk.roc_auc_score(codes, p, multi_class="ovr"),
        "average_precision": sk.average_precision_score(np.eye(4)[codes], p, average="macro"),
    }
    tally = Tally(4)
    for rows in np.array_split(np.arange(len(codes)), 3):
        part = Tally(4)
        part.update(codes[rows], scores[rows], p[rows])
        tally = tally + part
    for name, value in expected.items():
        blocks = BlockTally(name, n_classes=4, typical_scores=p)
        blocks.update(codes, scores, p)
        assert measure(name, codes, scores, probabilities=p) == pytest.approx(value)
        assert tally.value(name) == pytest.approx(value)
        by_scores = abs(measure(name, codes, scores) - value)
        assert by_scores > 0.03 > abs(blocks.values()[0] - value)  # of blocks in few bins


def test_a_stream_of_several_classes_is_ordered_by_the_probabilities_before_each_row():
    codes, X = make_stream(3)
    classes = np.arange(3)
    learner = AROWClassifier(random_state=0)
    _, p = clone(learner).score_then_learn(X, codes, classes, return_proba=True)
    expected = sk.roc_auc_score(codes, p, multi_class="ovr")
    for threshold in ("tuned", None):
        scoring = Scoring("roc_auc", threshold=threshold)
        chunks = zip(np.array_split(X, 4), np.array_split(codes, 4), strict=True)
        last = list(progressive(clone(learner), chunks, classes, scoring=scoring))[-1]
        assert last.metric == pytest.approx(expected)
    learner.set_params(calibration="none")
    scores = clone(learner).score_then_learn(X, codes, classes)
    last = list(progressive(clone(learner), [(X, codes)], classes, scoring="roc_auc"))[-1]
    assert last.metric == pytest.approx(
        np.mean([sk.roc_auc_score(codes == k, scores[:, k]) for k in range(3)])
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_measures_of_probabilities_are_those_of_scikit_learn(n_classes):
    codes, scores = make_stream(n_classes)
    p = make_probabilities(scores)
    labels = np.arange(n_classes)
    shown = p[:, 1] if n_classes == 2 else p
    found = {name: measure(name, codes, scores, probabilities=p) for name in OF_PROBABILITIES}
    assert found["log_loss"] == pytest.approx(sk.log_loss(codes, p, labels=labels))
    assert found["brier_score"] == pytest.approx(sk.brier_score_loss(codes, shown, labels=labels))
    # Guo et al. (2017), equation (5), and Naeini et al. (2015): bin by bin
    confidence, right = p.max(axis=1), p.argmax(axis=1) == codes
    if n_classes == 2:
        confidence, right = p[:, 1], codes == 1
    total = 0.0
    for low in np.arange(15) / 15:
        here = (confidence >= low) & (confidence < low + 1 / 15)
        if here.any():
            total += here.sum() * abs(right[here].mean() - confidence[here].mean())
    assert found["expected_calibration_error"] == pytest.approx(total / len(codes))
    assert all(np.isnan(measure(name, codes, scores)) for name in found)


def test_a_wrong_certainty_has_a_finite_loss():
    p = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert measure("log_loss", np.array([1, 1]), p[:, 1], probabilities=p) == pytest.approx(
        sk.log_loss([1, 1], p, labels=[0, 1])
    )
    assert measure("brier_score", np.array([1, 1]), p[:, 1], probabilities=p) == 0.5


@pytest.mark.parametrize("name", ["prbep", "precision_at_k", "recall_at_k"])
def test_of_equal_scores_any_may_come_first(name):
    rng = np.random.default_rng(0)
    for scores in (np.zeros(6), *rng.integers(0, 3, (8, 6)).astype(float)):
        codes = np.asarray([0, 1, 1, 0, 0, rng.integers(2)])
        for k in [None] if name == "prbep" else [1, 2, 3, 5, 6, 0.5]:
            n_top = {None: codes.sum(), 0.5: 3}.get(k, k)
            found = [  # of every order of the rows, then a stable sort
                codes[list(rows)][np.argsort(-scores[list(rows)], kind="stable")][:n_top].sum()
                for rows in permutations(range(6))
            ]
            expected = np.mean(found) / (n_top if name == "precision_at_k" else codes.sum())
            assert measure(name, codes, scores, k=k) == pytest.approx(expected)
            tally = Tally(2)
            tally.update(codes, scores)
            assert tally.value(name, k=k) == pytest.approx(expected)


def test_a_share_of_the_rows_is_rounded_and_at_least_one():
    codes, scores = np.array([0, 1, 0, 1, 1]), np.arange(5.0)
    for k, rows in ((0.01, 1), (0.29, 1), (0.31, 2), (0.69, 3), (0.99, 5)):
        by_share, by_rows = (measure("recall_at_k", codes, scores, k=n) for n in (k, rows))
        assert by_share == by_rows


def test_fewer_rows_than_k_have_no_k_highest():
    codes, scores = np.array([0, 1, 1]), np.arange(3.0)
    assert measure("precision_at_k", codes, scores, k=3) == pytest.approx(2 / 3)
    assert np.isnan(measure("precision_at_k", codes, scores, k=4))
    assert np.isnan(measure("recall_at_k", codes, scores, k=4))


@pytest.mark.parametrize(
    ("k", "name"),
    [
        (None, "precision_at_10%"),
        (12, "precision_at_12"),
        (np.int64(12), "precision_at_12"),
        (0.07, "precision_at_7%"),
        (0.125, "precision_at_12.5%"),
        (1e-8, "precision_at_1e-06%"),
    ],
)
def test_the_name_of_a_metric_says_its_k(k, name):
    assert check_metric("precision_at_k", k=k) == name
    assert check_metric(name) == name
    codes, scores = make_stream(2)
    assert measure(name, codes, scores) == measure("precision_at_k", codes, scores, k=k)
    assert least_rows(name) == (12 if k == 12 else 1)


@pytest.mark.parametrize("k", [0, -1, 1.0, 2.5, -0.1, np.nan, np.inf, "10", True])
def test_k_is_a_number_of_rows_or_a_share(k):
    with pytest.raises(InputError, match=r"^k=.*give a whole number of rows, 1 or more, or a sh"):
        check_metric("recall_at_k", k=k)


@pytest.mark.parametrize("name", ["f1", "prbep", "recall_at_5"])
def test_k_is_for_some_metrics(name):
    with pytest.raises(InputError, match=f"k=3 is for .*leave it out where the metric is '{name}'"):
        check_metric(name, k=3)
    with pytest.raises(InputError, match="k=0"):
        check_metric("recall_at_0")
    with pytest.raises(InputError, match="did you mean 'recall_at_k'"):
        check_metric("recall_at_x")


@pytest.mark.parametrize(
    ("name", "costs", "message"),
    [
        ("f0", None, "'f0': put a β above 0 in the name, such as f0.5 or f2"),
        ("f_beta", None, "'f_beta': put a β above 0 in the name"),
        ("cost", None, "the metric cost needs costs: give that of a false positive"),
        (
            "cost",
            "fp=1",
            r"cost fp=1: give that of a false positive \(fp\) and that of a false neg",
        ),
        ("cost", {"fp": 1}, "cost fp=1: give that"),
        ("cost", "fp=-1,fn=x", "cost fp=-1: give a number of 0 or more"),
        ("cost", {"fp": 1, "fn": np.nan}, "cost fn=nan: give a number of 0 or more"),
        ("cost", "fp=1,fn=x", "cost fn=x: give a number of 0 or more"),
        ("cost", "20", "cost '20': give that"),
        ("cost", {"fp": 0, "fn": 0}, "give one that is above 0"),
        ("cost:fp=1", None, "cost fp=1: give that"),
        ("f1", {"fp": 1, "fn": 2}, "is for cost; leave it out where the metric is 'f1'"),
    ],
)
def test_parameters_of_a_metric_are_checked(name, costs, message):
    with pytest.raises(InputError, match=message):
        check_metric(name, cost=costs)


def test_the_name_of_a_metric_says_its_costs():
    for costs in ({"fp": 1, "fn": 20}, "fp=1, fn=20"):
        assert check_metric(None, cost=costs) == check_metric("cost", cost=costs)
        assert check_metric(None, cost=costs) == "cost:fp=1,fn=20"
    assert check_metric("f1.0") == "f1"


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", METRICS)
def test_a_tally_of_chunks_added_up_measures_like_all_rows_at_once(n_classes, name):
    codes, scores = make_stream(n_classes)
    p = make_probabilities(scores)
    positive = 0 if n_classes == 2 else 1
    total, in_pieces = (Tally(n_classes, positive=positive) for _ in range(2))
    for chunk in np.array_split(np.arange(len(codes)), 7):
        part = Tally(n_classes, positive=positive)
        part.update(codes[chunk], scores[chunk], p[chunk])
        in_pieces.update(codes[chunk], scores[chunk], p[chunk])
        total = total + part
    expected = measure(name, codes, scores, probabilities=p, positive=positive)
    assert total.value(name) == pytest.approx(expected, abs=1e-12)
    whole = Tally(n_classes, positive=positive)
    whole.update(codes, scores, p)
    assert (whole.value(name), whole.loss) == (in_pieces.value(name), in_pieces.loss)
    assert total.n_rows == len(codes)
    assert total.loss == pytest.approx(hinge_losses(codes, scores).sum())


def test_order_counts_equal_scores_as_half():
    tally = Tally(2)
    tally.update(np.array([0, 1, 1, 0]), np.array([0.5, 0.5, 2.0, -1.0]))
    assert tally.value("roc_auc") == pytest.approx(3.5 / 4)


ORDER = ["roc_auc", "average_precision", "prbep", "precision_at_10%", "recall_at_10%"]


@pytest.mark.parametrize("most_cells", [1 << 14, 1 << 7])
@pytest.mark.parametrize(
    ("center", "spread"), [(0.0, 1.0), (-4.6, 1e-5), (1e9, 1e-3), (0.0, 1e-30)]
)
def test_metrics_of_the_order_do_not_depend_on_where_the_scores_are(center, spread, most_cells):
    codes, scores = make_stream(2)
    scores = center + spread * scores
    tally = Tally(2, most_cells=most_cells)
    tally.update(codes, scores)
    close = 1e-12 if len(codes) < most_cells else 5e-3
    for name in ORDER:
        assert tally.value(name) == pytest.approx(measure(name, codes, scores), abs=close)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_scores_than_cells_are_counted_alike_in_any_parts(n_classes):
    codes, scores = make_stream(n_classes)
    whole, again, total = (Tally(n_classes, most_cells=50) for _ in range(3))
    whole.update(codes, scores)
    for rows in np.split(np.random.default_rng(0).permutation(len(codes)), [1, 30, 300, 301]):
        part = Tally(n_classes, most_cells=50)
        part.update(codes[rows], scores[rows])
        total = part + total
        again.set_state(again.get_state())
        again.update(codes[rows], scores[rows])
    for counted in (again, total):
        state, expected = counted.get_state(), whole.get_state()
        for name in ("order.cells", "order.sizes", "order.shifts"):
            assert state[name].tolist() == expected[name].tolist()
    assert 25 <= whole.get_state()["order.sizes"].min() <= 50


def test_scores_far_out_are_counted():
    tally = Tally(2)
    tally.update(np.array([0, 1]), np.array([-1e300, 1e300]))
    assert tally.value("roc_auc") == 1.0


def test_hinge_losses_by_hand():
    assert hinge_losses(np.array([1, 0, 1]), np.array([2.0, -0.25, -1.0])).tolist() == [0, 0.75, 2]
    scores = np.array([[1.0, 0.5, -3.0], [1.0, 0.5, -3.0]])
    assert hinge_losses(np.array([0, 2]), scores).tolist() == [0.5, 5.0]


def test_what_is_not_defined_is_nan_and_not_a_warning():
    codes, scores = np.array([1, 1]), np.array([0.5, -0.5])
    for name in ("roc_auc", "prbep", "precision_at_k", "recall_at_k"):
        for positive in (0, 1):
            assert np.isnan(measure(name, codes, scores, positive=positive))
    assert measure("g_mean", codes, scores) == 0.0
    assert np.isnan(measure("f1", codes[:0], scores[:0]))
    assert measure("f1", codes, scores, positive=0) == 0.0
    # a class that is predicted and never comes
    assert measure("balanced_accuracy", codes, scores) == 0.5


def test_tallies_of_different_classes_do_not_add_up():
    with pytest.raises(InputError, match="do not add up"):
        Tally(2) + Tally(3)


def test_an_unknown_metric_is_told_what_there_is():
    with pytest.raises(InputError, match=r"no metric 'acuracy'; did you mean 'accuracy'\?.*roc"):
        measure("acuracy", np.array([1]), np.array([1.0]))


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_errors_of_numbers_are_those_of_scikit_learn_and_add_up(far):
    rng = np.random.default_rng(0)
    y, predicted = far + rng.normal(size=(2, 500))
    expected = {
        "rmse": sk.root_mean_squared_error(y, predicted),
        "mae": sk.mean_absolute_error(y, predicted),
        "r2": sk.r2_score(y, predicted),
    }
    assert set(expected) == set(ERRORS)
    total = ErrorTally()
    for chunk in np.array_split(np.arange(500), 7):
        part = ErrorTally()
        part.update(y[chunk], predicted[chunk])
        total = total + part
    for name, value in expected.items():
        assert measure(name, y, predicted) == pytest.approx(value)
        assert total.value(name) == pytest.approx(value)
        blocks = BlockTally(name, typical_scores=predicted)
        blocks.update(y, predicted)
        assert blocks.values()[0] == pytest.approx(value)
        assert np.isnan(ErrorTally().value(name))
        assert np.isnan(measure(name, y[:0], y[:0]))
    assert total.n_rows == 500
    assert total.loss == pytest.approx(((y - predicted) ** 2).sum())
    assert (ErrorTally() + total).value("r2") == (total + ErrorTally()).value("r2")
    whole, pieces = ErrorTally(), ErrorTally()
    whole.update(y, predicted)
    for chunk in np.array_split(np.arange(500), 7):
        pieces.update(y[chunk], predicted[chunk])
    assert {name: whole.value(name) for name in ERRORS} == {
        name: pieces.value(name) for name in ERRORS
    }
    total = ErrorTally()
    total.update(np.ones(3), y[:3])
    assert np.isnan(total.value("r2"))
    assert np.isnan(measure("r2", np.ones(3), y[:3]))


def test_a_lower_error_is_worth_more_and_what_is_not_defined_nothing():
    assert signed_score("rmse", 1.0) > signed_score("rmse", 2.0) > signed_score("rmse", np.nan)
    assert signed_score("f1", 0.9) > signed_score("f1", 0.8) > signed_score("f1", np.nan)


def make_rows(n=100, n_classes=2):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 5))
    W = rng.normal(size=(5, n_classes))
    return X, (X @ W).argmax(axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_progressive_predicts_each_row_before_it_learns_it(n_classes):
    X, y = make_rows(n_classes=n_classes)
    y = np.asarray(["ant", "bee", "cat"])[y]
    classes = np.unique(y)
    naive, losses, right = PassiveAggressiveClassifier(), [], []
    for i in range(len(y)):
        if i == 0:
            scores = np.zeros((1, n_classes) if n_classes > 2 else 1)
        else:
            scores = naive.decision_function(X[i : i + 1])
        code = np.searchsorted(classes, y[i : i + 1])
        losses.append(hinge_losses(code, scores)[0])
        right.append(decide(scores)[0] == code[0])
        naive.partial_fit(X[i : i + 1], y[i : i + 1], classes)

    model = PassiveAggressiveClassifier()
    chunks = [(X[:3], y[:3]), (X[3:50], y[3:50]), (X[50:], y[50:])]
    records = list(progressive(model, chunks, classes))
    assert [r.rows for r in records] == [1, 2, 4, 8, 16, 32, 64, 100]
    before = 0
    for r in records:
        assert r.loss == pytest.approx(np.mean(losses[: r.rows]))
        assert r.loss_since_last == pytest.approx(np.mean(losses[before : r.rows]))
        assert r.accuracy == r.metric == pytest.approx(np.mean(right[: r.rows]))
        before = r.rows
    np.testing.assert_array_equal(model.coef_, naive.coef_)


def test_progressive_takes_multiview_batches_and_ends_on_a_doubling_once():
    X, y = make_rows(8)
    views = MultiView({"a": X[:, :2], "b": X[:, 2:]})
    records = list(progressive(PassiveAggressiveClassifier(), [(views, y)], [0, 1], scoring="f1"))
    assert [r.rows for r in records] == [1, 2, 4, 8]


def test_progressive_has_no_k_highest_scores_before_it_has_k_rows():
    X, y = make_rows(8)
    given = {"classes": [0, 1], "scoring": Scoring("recall_at_k", k=4)}
    records = list(progressive(PassiveAggressiveClassifier(), [(X, y)], **given))
    assert np.isnan([r.metric for r in records]).tolist() == [True, True, False, False]
    scores = PassiveAggressiveClassifier().score_then_learn(X, y, np.array([0, 1]))
    assert records[-1].metric == measure("recall_at_4", y, scores)


def test_rows_counted_while_the_next_are_learned_give_the_same(monkeypatch):
    X, y = make_rows(400)
    views = MultiView({"a": X[:, :2], "b": X[:, 2:]})
    cuts = [0, 1, 50, 300, 400]
    threads, answers = [], []
    learn = Classification.score_then_learn

    def noted(*given):
        threads.append(threading.current_thread() is threading.main_thread())
        return learn(*given)

    monkeypatch.setattr(Classification, "score_then_learn", noted)
    for background in (False, True):
        model = PassiveAggressiveClassifier()
        task = Classification(np.array([0, 1]), metric="f1")
        run = ProgressiveValidation(model, task)
        run.history = DiagnosticsCollector(task, ["a", "b"], MOST_ROWS_OF_STREAM)
        batches = ((views[low:high], y[low:high]) for low, high in pairwise(cuts))
        records = [replace(one, seconds=0.0) for one in run.records(batches, background=background)]
        counts = {name: array.tolist() for name, array in run.get_state().items()}
        sample = run.history.sample.scored()
        answers.append((records, counts, run.threshold.place(), model.coef_.tobytes(), sample.rows))
        assert set(threads) == {not background}
        threads.clear()
    np.testing.assert_equal(*answers)

    def fail(*given):
        raise ValueError("no more")

    monkeypatch.setattr(Classification, "score_then_learn", fail)
    with pytest.raises(ValueError, match="no more"):
        list(run.records([(views, y)], background=True))


def test_progressive_of_nothing_has_no_records():
    assert list(progressive(PassiveAggressiveClassifier(), [], [0, 1])) == []


def test_progressive_of_numbers_has_squared_losses():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = 10 + X[:, 0]
    predicted = MultiViewMachineRegressor(random_state=0).score_then_learn(X, y)
    model = MultiViewMachineRegressor(random_state=0)
    chunks = [(X[:3], y[:3]), (X[3:], y[3:])]
    records = list(progressive(model, chunks))
    assert [r.rows for r in records] == [1, 2, 4, 8, 16, 32, 64, 100]
    before = 0
    for r in records:
        errors = (predicted - y)[: r.rows]
        assert r.loss == pytest.approx((errors**2).mean())
        assert r.loss_since_last == pytest.approx((errors[before:] ** 2).mean())
        assert r.metric == pytest.approx(np.sqrt(r.loss))
        assert np.isnan(r.accuracy)
        before = r.rows
    by_mae = list(progressive(MultiViewMachineRegressor(random_state=0), chunks, scoring="mae"))
    assert by_mae[-1].metric == pytest.approx(np.abs(predicted - y).mean())


def refused(model, scoring=None, **options):
    next(progressive(model, [make_rows()], scoring=Scoring(**scoring or {}), **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": [0, 1]}, "a regressor has no classes"),
        ({"scoring": {"metric": "f1"}}, "numbers are"),
        ({"scoring": {"metric": "rmse", "k": 3}}, "leave it out where the metric is 'rmse'"),
    ],
)
def test_progressive_of_numbers_refuses(options, message):
    with pytest.raises(InputError, match=message):
        refused(MultiViewMachineRegressor(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": None}, "two or more"),
        ({"scoring": {"metric": "rmse"}}, "metric 'rmse' is about numbers"),
        ({"classes": [0]}, "two or more"),
        ({"scoring": {"metric": "auc"}}, "no metric 'auc'"),
        ({"scoring": {"metric": "accuracy", "k": 3}}, "where the metric is 'accuracy'"),
        ({"scoring": {"positive": "x"}}, r"no class 'x' \(there are: 0, 1\)"),
        (
            {"classes": [0, 1, 2], "scoring": {"positive": 1}},
            "for two classes, and there are 3",
        ),
    ],
)
def test_progressive_refuses(options, message):
    options = {"classes": [0, 1]} | options
    with pytest.raises(InputError, match=message):
        refused(PassiveAggressiveClassifier(), **options)


def test_the_positive_class_may_be_given_as_text():
    X, y = make_rows()
    chunks = [(X, y)]
    as_text, as_label = (
        list(
            progressive(
                PassiveAggressiveClassifier(), chunks, [0, 1], scoring=Scoring("f1", positive=p)
            )
        )
        for p in ("0", 0)
    )
    assert [r.metric for r in as_text] == [r.metric for r in as_label]
    other = list(progressive(PassiveAggressiveClassifier(), chunks, [0, 1], scoring="f1"))
    assert other[-1].metric != as_label[-1].metric


@pytest.mark.parametrize("name", ["f1", "accuracy", "precision", "f2", "balanced_accuracy"])
def test_the_error_by_the_shares_of_the_classes_is_that_of_tables_with_other_shares(name):
    """The classes of new tables are drawn, and each is predicted as before."""
    rng = np.random.default_rng(0)
    for rates in ([[0.8, 0.2], [0.3, 0.7]], [[0.0, 1.0], [0.0, 1.0]]):
        confusion = np.array([[300], [100]]) * np.array(rates)
        drawn = rng.multinomial(400, [0.75, 0.25], size=4000)
        values = values_of_confusions(name, drawn[:, :, None] * np.array(rates), 1)
        found = error_of_shares(name, confusion, 1)
        assert found == pytest.approx(values.std(), rel=0.06, abs=1e-6)
