"""From scores to an answer: what is equal, what is recommended, the verdict, the command, JSON."""

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from comparisons import ONE, made_answer, made_row, make_noisy, make_views, thorough
from crossview import InputError, Scoring, ViewEncoder, compare, train
from crossview.comparing.result.comparison import Comparison
from crossview.comparing.result.ranking import LeftOut, Member
from crossview.reporting.tables import comparison_notes, to_markdown
from crossview.scoring.significance import holm

BEST, NEAR = [0.90, 0.91, 0.92, 0.91, 0.90], [0.90, 0.90, 0.92, 0.91, 0.89]
WORSE = [0.80, 0.82, 0.81, 0.80, 0.81]
UNSURE = [0.86, 0.93, 0.88, 0.94, 0.83]
LINEAR = "logistic-regression"
MAJORITY, FOREST = "baseline:majority", "baseline:forest"


@pytest.fixture(scope="module")
def answer():
    models = ["view:noise", "view:strong", "pa:independent", "fm", "stacking", LINEAR, "ensemble"]
    return thorough(*make_views(), cv=3, grid=ONE, models=models)


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
    best, near, worse = [40.0, 41.0, 39.0], [40.1, 41.2, 39.15], [40.5, 41.6, 39.6]
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
    assert answer.row("fm").difference.location == pytest.approx(-0.15)
    assert answer.row("fm").difference.areas(answer.rope).worse < 0.1


def test_a_row_is_equal_only_where_that_is_shown():
    """A small difference of which little is known shows nothing."""
    answer = made_answer({"view:a": UNSURE, "pam:squared": [0.90, 0.89, 0.91, 0.88, 0.89]})
    near = answer.row("view:a")
    assert near.difference.location > -answer.rope
    assert near.difference.areas(answer.rope).worse > 0.1
    assert answer.recommended is answer.best is not near
    # nor is one whose scores have a worse order, whatever the metric says
    scores = {"view:a": NEAR, "pam:squared": BEST}
    for auc, equal in ((0.95, True), (0.93, False)):
        rows = [made_row(name, scores[name], roc_auc=0.95) for name in scores]
        rows[0].roc_auc = auc
        assert made_answer(rows).row("view:a").equal == equal


def test_the_interval_of_a_row_is_that_of_its_mean():
    answer = made_answer({"view:a": [0.9, 0.8, 1.0], "arow": WORSE[:3]})
    half = stats.t.isf(0.025, 2) * math.sqrt((1 / 3 + 1 / 2) * 0.01)
    assert answer.interval(answer.best) == pytest.approx((0.9 - half, 1.0))  # f1 is 1 at most
    errors = made_answer([made_row("mvm", [40.0, 42.0], "regression")], metric="rmse")
    low, high = errors.interval(errors.best)
    assert low + high == pytest.approx(82.0)


def test_a_metric_that_chance_makes_larger_has_no_interval():
    scores = {"view:a": [0.05, 0.06, 0.07], "arow": [0.2, 0.21, 0.2]}
    answer = made_answer(scores, metric="expected_calibration_error")
    assert answer.interval(answer.best) is None
    start = (
        "best: view:a, expected_calibration_error 0.0600 (no interval: chance makes it larger); "
    )
    assert answer.verdict[0].startswith(f"{start}ahead of")


MEMBERS = [Member("view:a", 0.6, {"C": 0.1}, 3), Member("trees", 0.25, {})]


def test_the_ensemble_is_first_unless_it_is_surely_worse():
    rows = [made_row(name, one) for name, one in {"view:a": NEAR, "arow": WORSE}.items()]
    for scores, first in (([0.89, 0.9, 0.91, 0.9, 0.9], "ensemble"), (WORSE, "view:a")):
        ensemble = made_row("ensemble", scores, members=MEMBERS, threshold=0.25)
        answer = made_answer([*rows, ensemble])
        assert answer.best.model == answer.recommended.model == first
        assert [row.value for row in answer.rows[1:]] == sorted(
            [row.value for row in answer.rows[1:]], reverse=True
        )
    low, high = answer.interval(answer.best)
    assert f"(95 % interval {low:.4f} to {high:.4f})" in answer.verdict[0]


@pytest.mark.parametrize(("auc", "first"), [(0.85, "view:a"), (0.75, "ensemble")])
def test_the_ensemble_is_not_first_where_a_model_leads_it_in_all_metrics(auc, first):
    """As on two folds in order of time: its weights and its cut are those of one other fold."""
    two_folds = {"view:a": ([0.73, 0.88], auc), "ensemble": ([0.70, 0.73], 0.8)}
    rows = []
    for name, (scores, area) in two_folds.items():
        others = {"accuracy": [0.7, 0.7], "roc_auc": [area, area]}
        members = MEMBERS if name == "ensemble" else []
        rows.append(made_row(name, scores, others=others, roc_auc=area, members=members))
    answer = made_answer(rows)
    assert answer.recommended.model == first
    better = answer.rows[1].difference.areas(answer.rope).better
    said = (
        "view:a has the better mean, 0.8050, but that it is better by more than 0.01 has "
        f"probability {better:.2f}, below 0.95, and it is behind in roc_auc: "
        "the best of 2 means is partly luck"
    )
    assert (said in answer.verdict) == (first == "ensemble")
    assert sum("the better mean" in line for line in answer.verdict) == (first == "ensemble")
    # of five folds one model of many is that much ahead by luck
    for row in rows:
        row.scores = [*row.scores, *row.scores, row.scores[0]]
    assert made_answer(rows).recommended.model == "ensemble"
    # in order its weights and its cut are those of another time, however many there are
    assert made_answer(rows, in_order=True).recommended.model == first


@pytest.mark.parametrize(("metric", "says"), [("cost:fp=1,fn=12", False), ("log_loss", True)])
def test_where_errors_have_costs_accuracy_is_no_second_opinion(metric, says):
    two = {"trees": ([0.30, 0.47, 0.39], 0.80, 0.7), "ensemble": ([0.45, 0.44, 0.46], 0.85, 0.7)}
    rows = []
    for name, (scores, accuracy, area) in two.items():
        others = {"accuracy": [accuracy] * 3, "roc_auc": [area] * 3}
        members = MEMBERS if name == "ensemble" else []
        known = {"accuracy": accuracy, "roc_auc": area, "members": members}
        rows.append(made_row(name, scores, others=others, **known))
    answer = made_answer(rows, metric=metric)
    assert ("it is behind in accuracy" in str(answer.verdict)) == says
    # of three folds weights and cut say little, and the ensemble is behind in all that counts
    assert answer.recommended.model == ("ensemble" if says else "trees")


@pytest.mark.parametrize(
    ("scores", "sentences"),
    [
        (
            {"view:a": NEAR, LINEAR: WORSE},
            [
                "; scikit-learn alone (logistic regression): 0.8080, behind with probability 1.00, "
                "by more than 0.01 with 1.00",
                "cheapest model that is shown to be equal to it: view:a (0.9040); with probability "
                "0.09 it is worse by more than 0.01 (Holm-adjusted p = 0.34)",
            ],
        ),
        (
            {"view:a": UNSURE},
            [
                "",
                "no single model is shown to be equal to it; the nearest, view:a (0.8880): with "
                "probability 0.63 it is worse by more than 0.01 (Holm-adjusted p = 0.53)",
            ],
        ),
    ],
)
def test_the_verdict_on_an_ensemble(scores, sentences):
    rows = [made_row(name, one) for name, one in scores.items()]
    ensemble = made_row("ensemble", BEST, members=MEMBERS, threshold=0.25)
    answer = made_answer([*rows, ensemble])
    first = (
        "answer: an ensemble of view:a (0.60), trees (0.25): f1 0.9080 (95 % interval 0.8924 to "
        "0.9236)"
    )
    assert answer.verdict == [first + sentences[0], sentences[1]]
    assert answer.train_options == [
        *("--model", "ensemble", "--member", "view:a weight=0.6 C=0.1 epochs=3"),
        *("--member", "trees weight=0.25"),
        *("--positive", "yes") * (answer.positive_by != "name"),
        *("--threshold", "0.25"),
    ]


@pytest.mark.parametrize("area", [0.8, 0.7])
def test_where_only_the_roc_auc_is_behind_that_is_the_reason(area):
    rows = [made_row("view:a", NEAR, roc_auc=area), made_row("pa:squared", UNSURE, roc_auc=area)]
    answer = made_answer([*rows, made_row("ensemble", BEST, members=MEMBERS, roc_auc=0.8)])
    told = str(answer.verdict)
    assert ("cheapest model that is shown to be equal to it: view:a" in told) == (area == 0.8)
    assert ("p = 0.68), but its ROC AUC is 0.7000, below 0.8000" in told) == (area == 0.7)


def test_later_rows_that_are_predicted_worse_are_said():
    falls = {"view:a": [0.9, 0.8, 0.85, 0.6, 0.5], "arow": [0.7, 0.7, 0.7, 0.6, 0.6]}
    line = made_answer(falls, in_order=True).verdict[1]
    assert line.startswith(
        "later rows are predicted worse: view:a has 0.9000, 0.8000, 0.8500, 0.6000, 0.5000 on the "
        "folds in order; expect the last value, and not the mean, on new rows"
    )
    for scores, known in (
        (falls, {"in_order": False}),
        ({"view:a": falls["view:a"][::-1], "arow": falls["arow"]}, {"in_order": True}),
        ({"view:a": [0.9, 0.5, 0.8, 0.6, 0.5], "arow": falls["arow"]}, {"in_order": True}),
        ({"view:a": [0.9, 0.5], "arow": [0.7, 0.6]}, {"in_order": True}),  # by chance each second
    ):
        assert "later rows" not in str(made_answer(scores, **known).verdict)
    errors = {"trees": [1.0, 1.1, 1.2, 3.0, 4.0], "linear": [5.0] * 5}
    assert "later rows" in made_answer(errors, metric="rmse", in_order=True).verdict[1]


def test_no_error_is_below_0():
    answer = made_answer({"trees": [1e6, 9e6, 1e5], "linear": [9e6] * 3}, metric="rmse")
    low, high = answer.interval(answer.rows[0])
    assert low == 0.0
    assert high > 9e6


def test_the_printed_ensemble_of_a_guessed_class_is_trained_for_the_metric_of_both():
    """A threshold needs the class by its name, by which train would measure f1."""
    ensemble = made_row("ensemble", BEST, members=MEMBERS, threshold=0.25)
    answer = replace(made_answer([ensemble]), metric="macro_f1", positive_by="guess")
    assert answer.train_options[-6:] == [
        *("--metric", "macro_f1", "--positive", "yes", "--threshold", "0.25"),
    ]


VALUE = "f1 0.9080 (95 % interval 0.8924 to 0.9236)"
NO_NEWS = "look for more rows or for other columns before you train a model"
CHANCE = "is worse by more than 0.01 (Holm-adjusted p < 0.001)"


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        (
            {"view:a": BEST, "arow": WORSE},
            f"best: view:a, {VALUE}; ahead of arow by 0.1000; with probability 1.00 arow {CHANCE}",
        ),
        (
            {"view:a": NEAR, "pa:squared": BEST, "arow": WORSE},
            "recommended: view:a, f1 0.9040 (95 % interval 0.8828 to 0.9252): the cheapest of 2 "
            "models that are shown to be equal to the best, pa:squared (0.9080); with probability "
            "0.09 it is worse by more than 0.01 (Holm-adjusted p = 0.34)",
        ),
        (
            {"view:a": BEST, "pa:squared": NEAR},
            f"best: view:a, {VALUE}; not clearly ahead: pa:squared is 0.0040 behind; with "
            "probability 0.09 it is worse by more than 0.01 (Holm-adjusted p = 0.34)",
        ),
        (
            {FOREST: BEST, "view:a": WORSE, "arow": WORSE},
            "a baseline is best: the best model of Crossview, view:a, is 0.1000 behind "
            f"{FOREST}; with probability 1.00 it {CHANCE}",
        ),
        (
            {"view:a": BEST, "arow": UNSURE},
            f"best: view:a, {VALUE}; not clearly ahead: arow is 0.0200 behind; with probability "
            "0.63 it is worse by more than 0.01 (Holm-adjusted p = 0.53)",
        ),
        (
            {FOREST: BEST, "view:a": UNSURE},
            "a baseline is best, but not clearly: the best model of Crossview, view:a, is 0.0200 "
            f"behind {FOREST}; with probability 0.63 it is worse by more than 0.01 (Holm-adjusted "
            "p = 0.53)",
        ),
        (
            {"view:a": BEST, "arow": NEAR, LINEAR: [one - 0.005 for one in NEAR]},
            f"view:a cannot be told from scikit-learn's logistic regression ({LINEAR}, f1 0.8990): "
            "with probability 0.40 the latter is worse by more than 0.01 (Holm-adjusted p = 0.14)",
        ),
        (
            {"view:a": BEST, "arow": NEAR, LINEAR: WORSE},
            f"view:a is ahead of scikit-learn's logistic regression ({LINEAR}, f1 0.8080): with "
            f"probability 1.00 the latter {CHANCE}",
        ),
        (
            {"view:a": BEST, MAJORITY: NEAR},
            f"no model is clearly better than one class for all rows: {NO_NEWS}",
        ),
        (  # ahead of it in three of five folds
            {"view:a": [0.65, 0.3, 0.75, 0.45, 0.7], MAJORITY: [0.5] * 5},
            f"no model is clearly better than one class for all rows: {NO_NEWS}",
        ),
        ({"view:a": BEST}, f"view:a: {VALUE}"),
    ],
)
def test_the_verdict(scores, sentence):
    answer = made_answer(scores)
    assert sentence in answer.verdict
    assert len(answer.verdict) == 1 + any(name in (FOREST, MAJORITY, LINEAR) for name in scores)


@pytest.mark.parametrize(("of_constant", "is_told"), [(0.5, False), (0.895, True)])
def test_one_fold_does_not_say_how_clear_a_lead_is(of_constant, is_told):
    answer = made_answer({"view:a": [0.9], MAJORITY: [of_constant]})
    assert any("no model is clearly better" in line for line in answer.verdict) == is_told


@pytest.mark.parametrize(("away", "is_told"), [(0.0, True), (0.2, False)])
def test_where_all_classes_count_the_same_a_guess_is_better_than_one_class_for_all_rows(
    away, is_told
):
    scores = [0.5 + away + one for one in (0.02, -0.01, 0.03)]
    answer = made_answer({"arow": scores, MAJORITY: [0.2, 0.21, 0.2]}, metric="macro_f1")
    guesses = "guessing by the shares of the classes (macro_f1 0.5000)"
    told = f"no model is clearly better than {guesses}: {NO_NEWS}"
    assert (told in answer.verdict) == is_told


@pytest.mark.parametrize(("of_constant", "best"), [(NEAR, "ensemble"), (BEST, "arow")])
def test_an_ensemble_below_one_class_for_all_rows_is_no_answer(of_constant, best):
    ensemble = made_row("ensemble", NEAR, members=MEMBERS, threshold=0.25)
    arow = made_row("arow", [one + 0.001 for one in BEST])
    answer = made_answer([ensemble, arow, made_row(MAJORITY, of_constant)])
    assert answer.best.model == best


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
    assert len(made_answer({FOREST: BEST, LINEAR: NEAR, MAJORITY: WORSE}).verdict) == 1


def test_a_baseline_is_no_model_to_train():
    answer = made_answer({FOREST: BEST, "view:a": WORSE})
    assert answer.recommended.model == FOREST
    assert answer.entry(answer.recommended) is None
    assert answer.train_options == []
    assert answer.best_trained == answer.row("view:a")
    assert "(f1 0.8080), the best that is saved as a model file" in answer.how_to_train[0]
    with pytest.raises(InputError, match=r"train makes no baseline:forest.*training_code"):
        _ = answer.train_arguments
    assert answer.train_arguments_of(answer.row("view:a")) == {"model": "view:a"}


def test_train_options_name_the_recommended_model_and_its_choice():
    rows = [
        made_row("pa:squared", BEST, setting={"C": 1.0, "disagreement": 0.1}),
        made_row("view:a", NEAR, setting={"C": 0.1, "average": True, "epochs": 3}),
    ]
    assert made_answer(rows).train_options == [
        *("--model", "view:a", "--set", "C=0.1", "--set", "average=True", "--epochs", "3")
    ]


def test_train_takes_the_arguments_of_the_recommended_model():
    """They train what the command does, in the encoding and the order of the comparison."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(120) < 0.3, "ill", "well")
    columns = {f"{view}__x": rng.normal(size=120) + (y == "ill") for view in "ab"}
    table = pd.DataFrame({**columns, "user": np.arange(120) % 40, "day": rng.permutation(120)})
    views, common = {"a": "a__*", "rest": "[!a]*"}, {"curve": False, "grid": {"bins": [None]}}
    encoder = ViewEncoder(views, hash_bits=4)
    models = ["ensemble", "view:a", "arow"]
    answer = compare(
        *(table, y), encoder=encoder, groups="user", time=None, models=models, cv=2, **common
    )
    arguments = answer.train_arguments_of(answer.row("ensemble"))
    members = [one for one in answer.train_options_of(answer.row("ensemble")) if "weight=" in one]
    assert arguments["settings"] == {"members": members}
    trained = train(table.assign(y=y), "y", **arguments)
    assert trained.name == "ensemble"
    assert trained.threshold == arguments["scoring"].threshold
    assert trained.encoder.view_columns() == {"a": ["a__x"], "rest": ["b__x", "day"]}
    assert trained.encoder.hash_bits == 4
    assert encoder.ignore == ViewEncoder().ignore
    # in order of a column, with weights
    answer = compare(table, y, time="day", weight=y == "ill", models=["arow"], cv=2, **common)
    assert {**answer.train_arguments, "weight": None} == {
        "model": "arow",
        "settings": {"r": answer.recommended.setting["r"]},
        "scoring": Scoring(positive="ill"),
        "time": "day",
        "weight": None,
    }
    answer = compare(table, y, progressive=True, models=["arow"])
    assert answer.train_arguments["in_order"]
    # JSON knows no encoder
    again = Comparison.from_dict(answer.to_dict())
    assert again.train_arguments == answer.train_arguments


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
    said = [*answer.verdict, *answer.how_to_train]
    assert lines[len(answer.rows) :] == said
    assert answer.recommended.model in said[-1]
    for line, row in zip(lines, answer.rows, strict=False):
        assert line.split()[:4] == [row.model, f"{row.value:.4f}", "±", f"{row.std:.4f}"]


@pytest.mark.parametrize("mode", ["cross-validation", "progressive"])
@pytest.mark.parametrize(
    ("metric", "others"), [("f1", ["threshold", "accuracy", "roc_auc"]), ("rmse", ["mae"])]
)
def test_the_table_is_a_data_frame(monkeypatch, metric, others, mode):
    row = {"setting": {"C": 0.1, "average": True, "kernel": "rbf"}, "accuracy": 0.7, "mae": 0.2}
    task = "classification" if metric == "f1" else "regression"
    rows = [
        made_row(model, one, task, **row) for model, one in (("view:a", BEST), ("view:b", WORSE))
    ]
    made = made_answer([*rows, made_row("baseline:mean", NEAR, task)], metric, mode=mode)
    table = made.to_pandas()
    assert table.columns.tolist() == [
        *("model", "title", "recommended", metric, "std", "worse", "p", *others),
        *("rows_per_second", "learned", "setting"),
    ]
    assert table["model"].tolist() == [one.model for one in made.rows]
    assert table[metric].tolist() == [one.value for one in made.rows]
    table = table.set_index("model")
    assert table.index[table["recommended"]].tolist() == [made.recommended.model]
    assert table.isna().loc[made.best.model, ["worse", "p"]].all()
    assert table.isna().loc["baseline:mean", "p"]
    other = next(one for one in made.rows[1:] if one.model != "baseline:mean")
    assert table.loc[other.model, "p"] == other.p_adjusted
    assert table.loc[other.model, "worse"] == other.difference.areas(made.rope).worse
    shown = "accuracy" if task == "classification" else "mae"
    assert table.loc["view:a", shown] == row[shown]
    assert table.loc["view:a", "setting"] == "C=0.1 average=True kernel=rbf"
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="to_pandas needs pandas: pip install pandas"):
        made.to_pandas()


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
    more = thorough(X, y, cv=3, grid=ONE, models=["pa:independent"], extend=first)
    names = ("view:noise", "view:strong", "pa:independent")
    whole = thorough(X, y, cv=3, grid=ONE, models=names)
    assert [row.model for row in more.rows] == [row.model for row in whole.rows]
    for row, other in zip(more.rows, whole.rows, strict=True):
        assert row.scores == other.scores == answer.row(row.model).scores
        assert (row.p_adjusted, row.equal) == (other.p_adjusted, other.equal)
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
        with pytest.raises(InputError, match="other rows, folds, encoding or choice"):
            thorough(*rows, **{"cv": 3, "grid": ONE, "models": ["arow"], "extend": first} | change)


def test_what_is_known_of_the_best_models_is_kept_when_others_are_added():
    X, y = make_views()
    given = {"cv": 3, "grid": ONE}
    models = ["linear", "arow", "ensemble"]
    first = thorough(X, y, models=models, curve=True, **given)
    more = thorough(X, y, models=["view:noise"], extend=first, ablate=True, **given)
    assert first.recommended.model == more.recommended.model
    assert more.diagnostics is first.diagnostics is not None
    assert more.curve == first.curve is not None
    assert [one.view for one in more.ablation] == list(first.views)
    assert more.seconds > first.seconds
    (before,), (after,) = ([r for r in c.rows if r.members] for c in (first, more))
    assert (after.threshold, after.members) == (before.threshold, before.members)


def test_passes_are_as_many_as_some_fold_made(answer):
    row = replace(answer.rows[0], scores=[0.9] * 4, passes=[10, 1, 10, 1], chosen=[{}] * 4)
    assert row.by_folds(4).epochs in row.passes


def test_an_answer_of_fewer_folds_is_extended_by_them():
    X, y = make_views()
    given = {"cv": 3, "grid": ONE}
    first = thorough(X, y, models=["view:weak"], **given)
    first.rows, first.folds = [row.by_folds(2) for row in first.rows], 2
    more = thorough(X, y, models=["arow"], extend=first, **given)
    alone = thorough(X, y, models=["arow"], **given)
    assert (more.folds, more.planned_folds) == (2, 3)
    assert more.row("arow").scores == alone.row("arow").scores[:2]
    assert more.row("view:weak").scores == first.row("view:weak").scores
