"""Displays: what they compute, what they write, and that results return them."""

import os
import re
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

if find_spec("matplotlib") is None:
    pytest.skip("matplotlib is not installed", allow_module_level=True)

import matplotlib as mpl
from matplotlib.figure import Figure
from sklearn.metrics import roc_auc_score

import crossview
from comparisons import OF_MACHINES, made_answer, made_row, make_views
from crossview import (
    ComparisonDisplay,
    CumulativeErrorDisplay,
    ExpertWeightsDisplay,
    InputError,
    LearningCurveDisplay,
    MultiView,
    MultiViewMachineRegressor,
    MultiViewPAClassifier,
    OnlineStackingClassifier,
    Scoring,
    ViewContributionDisplay,
    ViewDifferenceDisplay,
    compare,
    evaluate,
    train,
)
from crossview.comparing.result.ranking import Ablation
from crossview.reporting.displays.contributions import shares_of_scores
from crossview.reporting.displays.ranking import (
    PrecisionRecall,
    Ranked,
    ReliabilityDisplay,
    Roc,
    ThresholdDisplay,
)
from crossview.reporting.svg import svg_of
from crossview.scoring.diagnostics import (
    Diagnostics,
    ExpertWeights,
    ScoredRows,
    mean_difference,
)
from crossview.scoring.metrics import measure
from crossview.scoring.significance import Posterior

mpl.use("agg")


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


def texts(ax):
    return [one.get_text() for one in ax.texts]


def test_a_comparison_marks_what_is_recommended_and_what_is_far_away(ax):
    scores = {"pam": [0.9, 0.92, 0.91], "pa:squared": [0.9, 0.92, 0.909], "arow": [0.88, 0.9, 0.89]}
    answer = made_answer(scores | {"baseline:majority": [0.1, 0.1, 0.11]})
    display = answer.plot(ax=ax)
    assert isinstance(display, ComparisonDisplay)
    assert display.title.startswith(
        "passive-aggressive, coupled (squared; pa:squared), f1 0.9097, is the cheapest of 2 models"
    )
    assert ax.get_title(loc="left").split() == display.title.split()
    assert texts(ax) == ["◂ 0.103"]
    bold = [one.get_text() for one in ax.get_yticklabels() if one.get_fontweight() == "bold"]
    assert bold == ["pa:squared"]
    low, high = display.intervals[1]
    expected = answer.rows[1].difference.interval()
    assert (low, high) == pytest.approx([answer.best.value + end for end in expected])


@pytest.mark.parametrize("models", [["pam", "pa:squared"], ["pa:independent", "arow:diagonal"]])
def test_a_title_is_in_the_picture(models):
    answer = made_answer({name: [0.9, 0.92, 0.91 - 0.01 * k] for k, name in enumerate(models)})
    display = answer.plot()
    display.figure_.draw_without_rendering()
    extent = display.ax_._left_title.get_window_extent()
    (left, low), (right, high) = extent.min, extent.max
    assert 0.0 <= left < right <= display.figure_.bbox.width
    assert display.ax_.bbox.ymax <= low < high <= display.figure_.bbox.height


def test_where_lower_is_better_intervals_and_the_rope_are_on_the_other_side(ax):
    answer = made_answer(
        [made_row("fm", [1.0, 1.1], "regression"), made_row("mvm", [1.3, 1.5], "regression")],
        metric="rmse",
    )
    display = ComparisonDisplay.from_result(answer, ax=ax)
    (band,) = ax.patches
    assert band.get_x() == pytest.approx(answer.best.value)
    assert np.nanmax(display.intervals) > answer.best.value


def test_errors_along_a_stream_are_those_of_each_row_before_it_was_learned(ax):
    X, y = make_views(200)
    model = MultiViewPAClassifier(random_state=0)
    display = CumulativeErrorDisplay.from_estimator(model, X, y, ax=ax)
    assert not hasattr(model, "classes_")
    scores = MultiViewPAClassifier(random_state=0).score_then_learn(X, y, ["no", "yes"])
    wrong = np.where(scores > 0, "yes", "no") != y
    assert display.curves[0].values[-1] == wrong.mean()
    assert "over all 200 rows" in display.title
    assert ax.get_xscale() == ax.get_yscale() == "log"
    target = X["strong"][:, 0]
    machine = MultiViewMachineRegressor(n_factors=1, random_state=0)
    of_numbers = CumulativeErrorDisplay.from_estimator(machine, X, target, ax=ax)
    assert of_numbers.error.startswith("root")


def test_view_differences_and_their_running_mean(ax):
    X, y = make_views(100)
    model = MultiViewPAClassifier(random_state=0).fit(X, y)
    display = ViewDifferenceDisplay.from_estimator(model, X, ax=ax)
    each = mean_difference(model.view_scores(X))
    assert display.curves[0].values == pytest.approx(each)
    assert display.means[0] == pytest.approx([each[: i + 1].mean() for i in range(100)])
    assert texts(ax) == ["running mean"]
    display = ViewDifferenceDisplay(display.curves, is_stream=True)
    assert display.title.count(" on average") == 1
    assert display.title.endswith(" in the second half")
    with pytest.raises(InputError, match="two views"):
        ViewDifferenceDisplay.from_predictions([[1.0], [2.0]])


@pytest.mark.parametrize("model", ["stacking", "ridge", "trees:additive", "ensemble"])
def test_the_mean_of_the_targets_is_worth_of_no_view(ax, model):
    rng = np.random.default_rng(0)
    X = MultiView({"strong": rng.normal(size=(400, 2)), "weak": rng.normal(size=(400, 2))})
    y = 1000.0 + 5.0 * X["strong"][:, 0] + 0.5 * X["weak"][:, 0]
    trained = train(X, y, task="regression", model=model)
    compared = compare(X, y, task="regression", models=[model, "linear"], cv=2, grid=OF_MACHINES)
    assert trained.view_shares["strong"] > 0.75
    display = ViewContributionDisplay.from_estimator(trained.learner, X, ax=ax)
    assert display.values[0] > 0.75
    assert ViewContributionDisplay.of(compared).values[0] > 0.75


@pytest.mark.parametrize("progressive", [False, True])
def test_how_frequent_a_class_is_is_worth_of_no_view(progressive):
    """All pages have the share that `inspect` has of the training."""
    rng = np.random.default_rng(0)
    y = rng.choice(4, 800, p=[0.7, 0.2, 0.07, 0.03])
    tells = rng.normal(size=(800, 2)) + np.stack([1.5 * y, -y], axis=1)
    X = MultiView({"noise": rng.normal(size=(800, 2)), "tells": tells})
    labels = np.array(list("pqrs"))[y]
    scoring = Scoring(threshold=None)
    given = {"scoring": scoring} | ({"progressive": True} if progressive else {"cv": 2})
    results = [compare(X, labels, models=["linear"], grid=OF_MACHINES, **given)]
    if not progressive:
        results.append(evaluate(train(X, labels, model="linear").fitted, X, labels))
    for result in results:
        assert shares_of_scores(result)["tells"].value > 0.7


def test_what_views_are_worth(ax):
    X, y = make_views(100)
    model = MultiViewPAClassifier(random_state=0).fit(X, y)
    display = ViewContributionDisplay.from_estimator(model, X, ax=ax)
    scores = model.view_scores(X)
    size = np.abs(scores - scores.mean(axis=0)).mean(axis=0)
    assert display.values == pytest.approx(size / size.sum())
    low, high = display.intervals[0]
    assert low < display.values[0] < high
    sure = ViewContributionDisplay(
        ["a", "b"], [0.1, 0.0], [[0.05, 0.2], [-0.1, 0.1]], label="loss of f1 x"
    )
    assert sure.title == "a is clearly missed: f1 is worse by 0.1 x"
    wide = ViewContributionDisplay(
        ["b", "a"], [0.3, 0.1], [[-0.1, 0.9], [0.05, 0.2]], label="loss of f1 x"
    )
    assert wide.title == sure.title  # the larger loss may be chance


def test_that_no_view_is_missed_is_said_only_where_it_is_shown():
    def title(*intervals, metric="f1"):
        values, label = [sum(one) / 2 for one in intervals], f"loss of {metric} without the view"
        names = ["a", "b"][: len(intervals)]
        return ViewContributionDisplay(names, values, intervals, label=label, rope=0.01).title

    open_ = "These rows do not tell whether a view is missed"
    assert title([-0.05, 0.15], [-0.15, 0.37]) == (
        f"{open_}: f1 may be worse by up to 0.37 without b"
    )
    assert title([-0.005, 0.008], [-0.01, 0.3]).startswith(open_)
    assert title([-0.005, np.nan], [-0.01, 0.3]) == open_
    same = "No single view is missed: f1 stays about the same without the view"
    assert title([-0.005, 0.008], [-0.01, 0.01]) == same
    assert title([-0.3, 0.008]) == "No single view is missed: f1 is not worse without the view"


def test_the_title_of_an_ablation_knows_the_rope_of_its_comparison():
    lost = Posterior(-0.002, 0.001, 4)
    answer = made_answer({"view:a": [0.9, 0.91, 0.92]}, rope=0.01)
    answer.ablation = [Ablation("a", 0.9, lost, 0.9, lost)]
    assert "stays about the same without" in ViewContributionDisplay.of(answer).title
    answer.rope = 0.001
    assert "do not tell" in ViewContributionDisplay.of(answer).title


@pytest.mark.parametrize(
    ("values", "spread", "title"),
    [
        ([0.34, 0.34, 0.32], 0.0, "The shares of the score are about equal: 32% to 34%"),
        ([0.36, 0.35, 0.29], 0.0, "No view has clearly the largest share of the score: v0 36%, v1"),
        ([0.5, 0.3, 0.2], 0.0, "v0 has the largest share of the score, 50%"),
        ([0.5, 0.3, 0.2], 0.9, "No view has clearly the largest share of the score: v0"),
    ],
)
def test_a_view_is_said_to_have_the_largest_share_only_if_it_surely_has(values, spread, title):
    noise = 1.0 + spread * np.tile([[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]], (4, 1))
    names = [f"v{i}" for i in range(3)]
    display = ViewContributionDisplay.from_predictions(names, np.array(values) * noise)
    assert display.title.startswith(title)


def test_what_is_gray_or_dashed_is_said_below_the_axes(ax):
    weights = ExpertWeights([f"e{i}" for i in range(8)], np.array([1, 9]), np.full((2, 8), 0.125))
    ExpertWeightsDisplay(weights).plot(ax)
    assert ax.get_xlabel() == "rows   (gray: 3 more)"
    assert not any("gray" in text for text in texts(ax))


def test_a_chosen_threshold_is_named_above_all_lines(ax):
    p = np.array([0.1, 0.6, 0.4, 0.3])
    probabilities = np.stack([1 - p, p], axis=1)
    scored = ScoredRows(np.arange(4), np.array([0, 1, 1, 0]), p, probabilities=probabilities)
    ThresholdDisplay(Ranked(scored, ["nein", "ja"], 1), 0.35).plot(ax)
    ax.figure.draw_without_rendering()
    (words,) = (one for one in ax.texts if one.get_text() == "chosen 0.35")
    (_, at_1) = ax.transData.transform((0.0, 1.0))
    assert at_1 < words.get_window_extent().ymin


def test_a_threshold_is_told_by_the_same_counts_as_the_metrics():
    """Nothing is predicted as the class: precision is not 1, and the counts are of all rows."""
    p = np.array([0.1, 0.6, 0.4, 0.3])
    scored = ScoredRows(
        *(np.arange(4), np.array([0, 1, 1, 0]), p - 0.5),
        predicted=np.zeros(4, dtype=int),
        probabilities=np.stack([1 - p, p], axis=1),
    )
    rows = Ranked(scored, ["nein", "ja"], 1)
    assert ThresholdDisplay(rows, None).title == "No row is predicted as ja"
    assert np.isnan(ThresholdDisplay(rows, 0.5).at(0.7)[0])
    told = ThresholdDisplay(rows, 0.5, [[90, 10], [20, 30]])
    assert told.title == "ja is predicted with precision 0.75 and recall 0.60"
    told.plot()


def test_experts_of_a_stack(ax):
    X, y = make_views(60)
    stack = OnlineStackingClassifier(random_state=0).fit(X, y)
    display = ExpertWeightsDisplay.from_estimator(stack, ax=ax)
    past = stack.weight_history_
    best = past.experts[past.mixture[-1].argmax()]
    assert display.title.startswith(f"{best} is trusted most")
    with pytest.raises(InputError, match="no experts"):
        ExpertWeightsDisplay.from_estimator(MultiViewPAClassifier().fit(X, y))


def test_curves_are_those_of_scikit_learn_and_may_be_thinned(ax):
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 3, 3000), rng.normal(size=(3000, 3))
    scores[np.arange(3000), y] += 1.0
    rows = Ranked(ScoredRows(np.arange(3000), y, scores), ["a", "b", "c"], None)
    display = Roc(rows).plot(ax)
    assert display.areas == {k: roc_auc_score(y == k, scores[:, k]) for k in range(3)}
    assert max(len(line.get_xdata()) for line in ax.lines) <= 250
    assert len(PrecisionRecall(rows).areas) == 3
    one_class = Ranked(ScoredRows(np.arange(2), np.zeros(2), np.ones(2)), ["a", "b"], 1)
    with pytest.raises(InputError, match="one class"):
        Roc(one_class)
    p = rng.dirichlet([1.0, 1.0, 1.0], 3000)
    calibrated = ScoredRows(np.arange(3000), y, np.log(p), probabilities=p)
    kept = SimpleNamespace(task="classification", classes=["a", "b", "c"], positive=None)
    kept.diagnostics = SimpleNamespace(scored=calibrated)
    off = measure("expected_calibration_error", y, np.log(p), probabilities=p)
    assert ReliabilityDisplay.of(kept).error == pytest.approx(off)
    assert "too high" in ReliabilityDisplay([0.5, 0.9], [0.3, 0.7], [50, 50], "a").title
    assert "are right" in ReliabilityDisplay([0.5, 0.9], [0.51, 0.89], [50, 50], "a").title


def test_a_result_says_what_would_give_a_picture():
    answer = made_answer({"pam": [0.9, 0.92], "arow": [0.8, 0.8]})
    with pytest.raises(InputError, match="progressive=True"):
        answer.plot("errors")
    with pytest.raises(InputError, match="curve=True"):
        LearningCurveDisplay.from_result(answer)
    with pytest.raises(InputError, match="no picture 'rok'; did you mean 'roc'"):
        answer.plot("rok")
    with pytest.raises(InputError, match="of what evaluate returns, not of a Comparison"):
        answer.plot("time")
    answer.diagnostics = Diagnostics("pam")
    with pytest.raises(InputError, match="stacking"):
        answer.plot("experts")


def test_names_are_text_in_pictures_whatever_is_in_them():
    names = ["<script>alert(1)</script>", "$\\frac{1}$", "\x00\ud800 中文", "_hidden"]
    display = ComparisonDisplay(
        names, [0.9, 0.8, 0.7, 0.6], np.full((4, 2), np.nan), "f1", recommended="_hidden"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = svg_of(display, "key")
    assert "<script" not in svg
    for name in ("&lt;script&gt;alert(1)&lt;/script&gt;", "$\\frac{1}$", "中文", "_hidden"):
        assert name in svg
    assert "#0072b2" not in svg
    assert "var(--c" in svg
    assert svg == svg_of(display, "key")


def test_matplotlib_and_jinja_load_only_where_something_is_drawn():
    """No module imports them when it is loaded, so no command waits for them without --report."""
    imports = re.compile(r"^(?:import|from) (?:matplotlib|jinja2|markupsafe)\b", re.MULTILINE)
    files = list(Path(crossview.__file__).parent.rglob("*.py"))
    assert len(files) > 300
    assert not [file.name for file in files if imports.search(file.read_text())]


def test_what_a_backend_sets_as_it_is_loaded_stays(tmp_path):
    """Or a notebook, whose backend turns pictures on, shows the first one alone."""
    (tmp_path / "own_backend.py").write_text(
        "import matplotlib\nfrom matplotlib.backends.backend_agg import *\n"
        "from matplotlib.backends.backend_agg import _BackendAgg, FigureCanvasAgg as FigureCanvas\n"
        "matplotlib.interactive(True)\n"
    )
    code = (
        "import matplotlib\nfrom crossview.reporting.displays.style import Display\n"
        "class Empty(Display):\n    def _draw(self, ax): pass\n"
        "Empty().plot()\nassert matplotlib.is_interactive()\n"
    )
    env = {
        **os.environ,
        "MPLBACKEND": "module://own_backend",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
    }
    subprocess.run([sys.executable, "-c", code], env=env, check=True)


def test_the_largest_confusions_of_many_classes_are_drawn():
    classes = [f"a class with a long name {k}" for k in range(40)]
    counts = np.diag(np.full(40, 10))
    for k in range(20):
        counts[k, k + 1], counts[k, k] = 5 - k // 5, 5 + k // 5
    answer = made_answer([made_row("arow", [0.9, 0.8], confusion=counts.tolist())])
    answer.classes = classes
    display = answer.plot("confusion")
    assert display.pairs == [(k, k + 1) for k in range(15)]
    assert display.title == f"{classes[0]} is taken for {classes[1]} in 5 of 10 rows"
    assert display.alt.startswith("60 of 70 rows that are predicted wrong: ")
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert len({*names}) == 15
    svg_of(display, "confusion")
    answer.recommended.confusion = np.diag(np.full(40, 10)).tolist()
    with pytest.raises(InputError, match="no row is predicted as another class"):
        answer.plot("confusion")
    answer.recommended.confusion = None
    with pytest.raises(InputError, match="has not counted them"):
        answer.plot("confusion")
