"""From scores to an answer: what is equal, what is recommended, the verdict, the command, JSON."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from comparisons import ONE, made_answer, made_row, make_noisy, make_views, thorough
from crossview import InputError, Scoring, ViewEncoder
from crossview.comparing.answer import estimate_selection
from crossview.comparing.comparison import Comparison
from crossview.comparing.ranking import LeftOut
from crossview.reporting.tables import comparison_notes, to_markdown
from crossview.scoring.significance import holm

BEST, NEAR = [0.90, 0.91, 0.92, 0.91, 0.90], [0.90, 0.90, 0.92, 0.91, 0.89]
WORSE = [0.80, 0.82, 0.81, 0.80, 0.81]
UNSURE = [0.86, 0.93, 0.88, 0.94, 0.83]
LINEAR = "baseline:logistic-regression"
MAJORITY, FOREST = "baseline:majority", "baseline:forest"


def test_rows_are_equal_within_the_rope_and_the_cheapest_is_recommended():
    scores = {"arow": WORSE, "view:a": NEAR, "pam:squared": BEST, "pa:squared": NEAR}
    answer = made_answer(scores)
    assert answer.best.model == "pam:squared"
    assert {row.model for row in answer.equals} == {"pam:squared", "view:a", "pa:squared"}
    assert answer.recommended.model == "view:a"
    # a mean difference of 0.004 is no longer none
    narrow = made_answer(scores, rope=0.003)
    assert narrow.equals == [narrow.best] == [narrow.recommended]
    # the p of each row, and those of Holm
    for row in answer.rows[1:]:
        d = np.subtract(row.scores, BEST)
        t = d.mean() / math.sqrt((1 / 5 + 1 / 4) * d.var(ddof=1))
        assert row.p == pytest.approx(2 * stats.t.sf(abs(t), 4))
    p = sorted(row.p for row in answer.rows[1:])
    assert [row.p_adjusted for row in answer.rows] == holm([row.p for row in answer.rows])
    assert answer.row("arow").p_adjusted == pytest.approx(3 * p[0])


@pytest.mark.parametrize(("metric", "rope"), [("f1", 0.01), ("log_loss", 0.4), ("rmse", 0.4)])
def test_without_a_bound_the_rope_is_a_share_of_the_best_value(metric, rope):
    task = "regression" if metric == "rmse" else "classification"
    best, near, worse = [40.0, 41.0, 39.0], [40.3, 41.2, 39.4], [40.5, 41.6, 39.6]
    rows = [
        made_row("mvm", worse, task),
        made_row("fm", near, task),
        made_row("linear", best, task),
    ]
    answer = made_answer(rows, metric=metric)
    assert answer.rope == pytest.approx(rope)
    if metric == "f1":  # higher is better
        assert [row.model for row in answer.rows] == ["mvm", "fm", "linear"]
        return
    assert [row.model for row in answer.rows] == ["linear", "fm", "mvm"]
    assert [row.equal for row in answer.rows] == [True, True, False]
    assert answer.row("fm").difference.location == pytest.approx(-0.3)
    assert answer.row("fm").difference.areas(answer.rope).worse < 0.5


def test_the_expected_score_is_that_of_a_model_chosen_in_each_fold():
    rows = [
        made_row("pa:squared", [0.80, 0.70, 0.90], inner=[0.90, 0.80, 0.70]),
        # within 0.01 of the best in the first fold, and is cheaper
        made_row("view:a", [0.60, 0.75, 0.50], inner=[0.892, 0.70, 0.60]),
        made_row("pam", [0.50, 0.40, 0.95], inner=[0.10, 0.20, 0.75]),
    ]
    found = estimate_selection("f1", rows, 0.01, 1 / 3)
    assert found.models == ["view:a", "pa:squared", "pam"]
    assert found.scores == [0.60, 0.70, 0.95]
    assert found.value == pytest.approx(0.75)
    assert found.std == pytest.approx(np.std(found.scores, ddof=1))
    half = stats.t.isf(0.025, 2) * math.sqrt((1 / 3 + 1 / 2) * np.var(found.scores, ddof=1))
    assert found.interval == pytest.approx((0.75 - half, 1.0))  # f1 is 1 at most
    # of the same effort the better one, and of the same value the first by name
    some = [made_row("fm", [0.3, 0.4], inner=[0.81, 0.8]), made_row("mvm", [0.1, 0.2])]
    some[1].inner = [0.815, 0.8]
    assert estimate_selection("f1", some, 0.01, 0.5).models == ["mvm", "fm"]
    assert estimate_selection("f1", rows[:1], 0.01, 1 / 3) is None


def test_without_a_bound_a_model_is_chosen_within_a_share_of_the_best_inner_value():
    """The values of the test rows, which scale the rope of the table, have no part in it."""
    rows = [
        made_row("mvm", [40.0, 40.0], "regression", inner=[-1.00, -100.0]),
        made_row("linear", [41.0, 41.0], "regression", inner=[-1.02, -100.9]),
    ]
    answer = made_answer(rows, metric="rmse")
    assert answer.rope == pytest.approx(0.4)
    assert answer.expected.models == ["mvm", "linear"]


CHANCE = "is worse by more than 0.01 (Holm-adjusted p < 0.001)"


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        (
            {"view:a": BEST, "arow": WORSE},
            "best: view:a (f1 0.9080), ahead of arow by 0.1000; with probability 1.00 arow "
            f"{CHANCE}",
        ),
        (
            {"view:a": NEAR, "pa:squared": BEST, "arow": WORSE},
            "recommended: view:a (f1 0.9040), the cheapest of 2 models that are practically equal "
            "to the best, pa:squared (0.9080); with probability 0.09 it is worse by more than 0.01 "
            "(Holm-adjusted p = 0.34)",
        ),
        (
            {"view:a": BEST, "pa:squared": NEAR},
            "best: view:a (f1 0.9080); 1 other model is practically equal to it, and not cheaper",
        ),
        (
            {"view:a": BEST, "pa:squared": NEAR, "arow": NEAR},
            "best: view:a (f1 0.9080); 2 other models are practically equal to it, and not cheaper",
        ),
        (
            {FOREST: BEST, "view:a": WORSE, "arow": WORSE},
            "a baseline is best: the best model of Crossview, view:a, is 0.1000 behind "
            f"{FOREST}; with probability 1.00 it {CHANCE}",
        ),
        (
            {"view:a": BEST, "arow": UNSURE},
            "best: view:a (f1 0.9080), but not clearly: arow is 0.0200 behind; with probability "
            "0.63 it is worse by more than 0.01 (Holm-adjusted p = 0.53)",
        ),
        (
            {FOREST: BEST, "view:a": UNSURE},
            "a baseline is best, but not clearly: the best model of Crossview, view:a, is 0.0200 "
            f"behind {FOREST}; with probability 0.63 it is worse by more than 0.01 (Holm-adjusted "
            "p = 0.53)",
        ),
        (
            {"view:a": BEST, "arow": WORSE, LINEAR: NEAR},
            f"view:a cannot be told from scikit-learn's of another library ({LINEAR}, f1 0.9040): "
            "with probability 0.09 the latter is worse by more than 0.01 (Holm-adjusted p = 0.34)",
        ),
        (
            {"view:a": BEST, "arow": NEAR, LINEAR: WORSE},
            f"view:a is ahead of scikit-learn's of another library ({LINEAR}, f1 0.8080): with "
            f"probability 1.00 the latter {CHANCE}",
        ),
        (
            {"view:a": BEST, MAJORITY: NEAR},
            "no model is clearly better than always predicting the most frequent class",
        ),
        ({"view:a": BEST}, "view:a: f1 0.9080"),
    ],
)
def test_the_verdict(scores, sentence):
    answer = made_answer(scores)
    assert sentence in answer.verdict
    assert len(answer.verdict) == 1 + (len(scores) > 1) + any(
        name in (FOREST, MAJORITY, LINEAR) for name in scores
    )
    if len(scores) > 1:
        low, high = answer.expected.interval
        assert answer.verdict[-1] == (
            f"expected score of this procedure: f1 {answer.expected.value:.4f} (95 % interval "
            f"{low:.4f} to {high:.4f}), with the model, too, chosen anew in each training part"
        )


def test_a_constant_prediction_is_not_tested():
    """Of no difference to a model that looks at no column: p would only seem to say something."""
    answer = made_answer({"view:a": BEST, MAJORITY: WORSE, "arow": WORSE})
    cells = {line.split(" | ")[0].strip("| "): line.split(" | ") for line in _table(answer)}
    assert cells[MAJORITY][4] == ""
    assert cells["arow"][4] == "<0.001"
    assert "baseline:majority is worse by more than 0.01" in answer.verdict[0]
    assert "p <" not in answer.verdict[0]


def _table(answer):
    return [line for line in to_markdown(answer).splitlines() if line.startswith("|")]


def test_a_comparison_of_baselines_alone_has_a_verdict():
    assert len(made_answer({FOREST: BEST, LINEAR: NEAR, MAJORITY: WORSE}).verdict) == 2


def test_a_baseline_is_no_model_to_train():
    answer = made_answer({FOREST: BEST, "view:a": WORSE})
    assert answer.recommended.model == FOREST
    assert answer.entry(answer.recommended) is None
    assert answer.train_options == []


def test_train_options_name_the_recommended_model_and_its_choice():
    rows = [
        made_row("pa:squared", BEST, setting={"C": 1.0, "disagreement": 0.1}),
        made_row("view:a", NEAR, setting={"C": 0.1, "average": True, "epochs": 3}),
    ]
    assert made_answer(rows).train_options == [
        *("--model", "view:a", "--set", "C=0.1", "--set", "average=True", "--epochs", "3")
    ]


def test_json_has_everything_and_makes_the_same_answer(answer):
    left = [LeftOut("pam", "left out", math.nan)]
    made = made_answer({FOREST: BEST, "view:a": WORSE, "arow": [0.9] * 5}, left_out=left)
    for one in (answer, made, made_answer({"view:a": BEST})):
        content = json.loads(json.dumps(one.to_dict(), allow_nan=False))
        assert content["recommended"] == one.recommended.model
        assert content["train_options"] == one.train_options
        again = Comparison.from_dict(content)
        assert again.to_dict() == one.to_dict()
        assert to_markdown(again) == to_markdown(one)
        assert comparison_notes(again) == comparison_notes(one)
    assert content["rows"][0]["roc_auc"] is None
    assert math.isnan(again.best.roc_auc)
    with pytest.raises(InputError, match="holds no comparison"):
        Comparison.from_dict({"rules": []})
    with pytest.raises(InputError, match="of another version of crossview"):
        Comparison.from_dict(content | {"format": 0})


def test_as_text_it_has_a_line_for_each_row_and_the_verdict(answer):
    lines = str(answer).splitlines()
    assert lines[0] == answer.metric_words == "f1 of 'yes' (83 of 150 rows)"
    lines = lines[1:]
    assert lines[len(answer.rows) :] == answer.verdict
    for line, row in zip(lines, answer.rows, strict=False):
        assert line.split()[:4] == [row.model, f"{row.value:.4f}", "±", f"{row.std:.4f}"]


def test_a_number_that_is_not_defined_is_one_again_wherever_it_stands_in_a_file():
    row = made_row("view:a", NEAR, others={"roc_auc": [0.9, math.nan, 0.7, 0.8, 0.9]})
    content = json.loads(json.dumps(made_answer([row]).to_dict(), allow_nan=False))
    again = Comparison.from_dict(content).rows[0]
    assert np.isnan(np.mean(again.others["roc_auc"]))
    assert again.others["roc_auc"][2:] == [0.7, 0.8, 0.9]


def test_a_comparison_is_extended_by_a_model_and_keeps_its_rows(answer):
    X, y = make_views()
    given = {"cv": 3, "grid": ONE, "models": ["view:noise", "view:strong"]}
    first = Comparison.from_dict(json.loads(json.dumps(thorough(X, y, **given).to_dict())))
    before = first.to_dict()
    more = thorough(X, y, cv=3, grid=ONE, models=["pa:absolute"], extend=first)
    names = ("view:noise", "view:strong", "pa:absolute")
    whole = thorough(X, y, cv=3, grid=ONE, models=names)
    assert [row.model for row in more.rows] == [row.model for row in whole.rows]
    for row, other in zip(more.rows, whole.rows, strict=True):
        assert row.scores == other.scores == answer.row(row.model).scores
        assert (row.p_adjusted, row.equal) == (other.p_adjusted, other.equal)
    assert more.expected == whole.expected
    assert first.to_dict() == before  # the one that is extended stays as it was
    other_rows = (X, np.where(np.arange(150) == 7, "yes", y))
    assert other_rows[1][7] != y[7]
    noisy = make_noisy(150)
    for change, words in (
        ({"scoring": "accuracy"}, "metric='f1', and this one 'accuracy'; give the same, or"),
        ({"scoring": Scoring(positive="no")}, "positive='yes', and this one 'no'"),
        ({"scoring": Scoring(threshold=0.3)}, "threshold='tuned', and this one 0.3"),
        ({"seed": 1}, "seed=0, and this one 1"),
        ({"epochs": 2}, "epochs=None, and this one 2"),
    ):
        with pytest.raises(InputError, match=f"the comparison to extend has {words}"):
            thorough(X, y, grid=ONE, models=["arow"], extend=first, **change)
    for rows, change in (
        ((X, y), {"cv": 4}),
        ((X, y), {"repeats": 2}),
        ((X, y), {"in_order": True}),
        ((X, y), {"groups": np.arange(150)}),
        ((X, y), {"encoder": ViewEncoder(scale_views=True)}),
        (other_rows, {}),
        (noisy, {}),
    ):
        with pytest.raises(InputError, match="other rows, folds or encoding"):
            thorough(*rows, **{"cv": 3, "grid": ONE, "models": ["arow"], "extend": first} | change)
    first.folds = 2
    with pytest.raises(InputError, match="has 2 of 3 folds; compare all models again"):
        thorough(X, y, cv=3, grid=ONE, models=["arow"], extend=first)
