"""The comparison of ways of using views: folds, choices, tests, the answer."""

import io
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from rich.console import Console
from scipy import stats
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

import shared_data
from crossview import (
    InputError,
    MultiView,
    MultiViewPAClassifier,
    PassiveAggressiveClassifier,
    ViewEncoder,
    compare,
    open_table,
)
from crossview.evaluation.compare import (
    Comparison,
    ComparisonRow,
    corrected_t_test,
    mcnemar_test,
)
from crossview.evaluation.methods import METHODS, compared_methods, find_method
from crossview.report.tables import comparison_notes, comparison_table, speed, to_markdown

ONE = {
    "C": [0.1],
    "gamma": [0.1],
    "fit_intercept": [True],
    "r": [1.0],
    "confidence": [0.7],
    "initial_variance": [1.0],
}


def make_views(n=150, seed=0):
    """A view that tells, one that tells a little, and one of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    sign = (2 * y - 1)[:, None]
    return MultiView(
        {
            "strong": rng.normal(size=(n, 4)) + 1.5 * sign,
            "weak": rng.normal(size=(n, 4)) + 0.3 * sign,
            "noise": rng.normal(size=(n, 4)),
        }
    ), np.where(y == 1, "yes", "no")


def make_noisy(n=300):
    """A label in five is wrong, so that a large C does harm."""
    X, y = make_views(n)
    wrong = np.random.default_rng(1).random(n) < 0.2
    return X.select(["strong", "weak"]), np.where(wrong, np.where(y == "yes", "no", "yes"), y)


def make_frame(n=150, seed=0):
    X, y = make_views(n, seed)
    columns = {f"{v}__{i}": X[v][:, i] for v in X.keys() for i in range(4)}  # noqa: SIM118
    return pd.DataFrame(columns | {"answer": y})


@pytest.fixture(scope="module")
def answer():
    return compare(*make_views(), grid=ONE)


def test_rows_are_each_view_alone_then_all_of_them(answer):
    assert [row.title for row in answer.rows] == [
        "strong alone",
        "weak alone",
        "noise alone",
        "concatenated",
        "independent",
        "coupled (squared)",
        "coupled (absolute)",
        "PAM-II",
        "AROW",
        "CW",
        "SCW-I",
        "coupled (PAM-II)",
    ]
    assert answer.views == {"strong": 4, "weak": 4, "noise": 4}
    assert all(len(row.scores) == len(row.chosen) == 5 for row in answer.rows)


def test_a_view_of_noise_is_found_out(answer):
    by_title = {row.title: row for row in answer.rows}
    assert by_title["noise alone"].p < 0.01
    assert by_title["noise alone"].accuracy < 0.7 < 0.95 < by_title["strong alone"].accuracy
    assert answer.rows[answer.best].value == max(row.value for row in answer.rows)


def test_scores_are_those_of_the_folds_computed_by_hand(answer):
    X, y = make_views()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for f, (train, test) in enumerate(folds.split(y, y)):
        for position, model in {
            1: PassiveAggressiveClassifier(C=0.1, random_state=0),
            3: PassiveAggressiveClassifier(C=0.1, random_state=0),
            5: MultiViewPAClassifier(C=0.1, gamma=0.1, random_state=0),
        }.items():
            seen = X.select(["weak"]) if position == 1 else X
            predicted = model.fit(seen[train], y[train]).predict(seen[test])
            expected = f1_score(y[test], predicted, pos_label="yes")
            assert answer.rows[position].scores[f] == pytest.approx(expected, abs=1e-12)
    row = answer.rows[1]
    assert row.value == pytest.approx(np.mean(row.scores))
    assert row.std == pytest.approx(np.std(row.scores, ddof=1))


def test_p_values_are_those_of_the_folds(answer):
    best = answer.rows[answer.best]
    assert best.p is None
    for row in answer.rows:
        if row is not best:
            d = np.subtract(best.scores, row.scores)
            # the plain t-test, with its variance times (1/k + 1/4) / (1/k)
            t = stats.ttest_1samp(d, 0.0).statistic / math.sqrt((1 / 5 + 1 / 4) * 5)
            expected = 2 * stats.t.sf(abs(t), 4) if d.any() else 1.0
            assert row.p == pytest.approx(expected)


def test_same_seed_same_answer_and_another_seed_other_folds(answer):
    again, other = compare(*make_views(), grid=ONE), compare(*make_views(), grid=ONE, seed=1)
    assert [row.scores for row in again.rows] == [row.scores for row in answer.rows]
    assert [row.scores for row in other.rows] != [row.scores for row in answer.rows]


def test_the_encoder_sees_the_training_part_only():
    frame = make_frame()
    frame.loc[frame.index % 3 == 0, "weak__0"] *= 1e3  # statistics that depend on the rows
    y = frame["answer"].to_numpy()
    answer = compare(frame, "answer", grid=ONE, cv=3)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    table = frame.drop(columns="answer")
    for f, (train, test) in enumerate(folds.split(y, y)):
        encoder = ViewEncoder().fit(table.iloc[train])
        model = MultiViewPAClassifier(C=0.1, gamma=0.1, random_state=0)
        model.fit(encoder.transform(table.iloc[train]), y[train])
        predicted = model.predict(encoder.transform(table.iloc[test]))
        expected = f1_score(y[test], predicted, pos_label="yes")
        assert answer.rows[5].scores[f] == pytest.approx(expected, abs=1e-12)


def test_parameters_are_chosen_inside_the_training_part():
    X, y = make_noisy()
    grid = [0.001, 0.1, 1000.0]
    answer = compare(X, y, grid={"C": grid, "gamma": [0.01], "fit_intercept": [True]}, cv=3)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for f, (train, _) in enumerate(folds.split(y, y)):
        values = []
        for C in grid:
            inner = StratifiedKFold(3, shuffle=True, random_state=0)
            scores = []
            for a, b in inner.split(y[train], y[train]):
                model = PassiveAggressiveClassifier(C=C, random_state=0)
                model.fit(X["strong"][train[a]], y[train[a]])
                predicted = model.predict(X["strong"][train[b]])
                scores.append(f1_score(y[train[b]], predicted, pos_label="yes"))
            values.append(np.mean(scores))
        assert answer.rows[0].chosen[f] == {
            "C": grid[int(np.argmax(values))],
            "fit_intercept": True,
        }
    assert {choice["C"] for choice in answer.rows[0].chosen} < set(grid)
    settings = {row.model: set(row.setting) for row in answer.rows}
    assert settings["squared"] == {"C", "gamma", "fit_intercept"}
    assert settings["scw"] == {"C", "confidence"}


def test_a_large_training_part_is_validated_by_one_split(monkeypatch):
    monkeypatch.setattr("crossview.evaluation.compare.MOST_ROWS_FOR_INNER_FOLDS", 10)
    fits = []
    fit = PassiveAggressiveClassifier.fit

    def counting(self, X, y, sample_weight=None):
        fits.append(len(y))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(PassiveAggressiveClassifier, "fit", counting)
    compare(*make_views(), grid={"C": [0.1, 1.0], "fit_intercept": [True]}, cv=3)
    # 3 views, 3 folds: two candidates on 80 of 100 rows, then all 100
    assert sorted(fits) == [80] * 18 + [100] * 9


def test_identical_views_tie():
    X, y = make_views()
    twins = MultiView({"a": X["strong"], "b": X["strong"]})
    answer = compare(twins, y, grid=ONE)
    assert answer.rows[0].scores == answer.rows[1].scores
    assert answer.tie
    assert answer.verdict.startswith("tie: ")


def made_answer(p, mode="cross-validation", accuracies=(0.9, 0.8)):
    rows = [
        ComparisonRow("a alone", "view:a", 0.9, 0.01, accuracies[0], 0.95, 1e5, {"C": 0.1}),
        ComparisonRow("squared", "squared", 0.8, 0.01, accuracies[1], math.nan, 1e5, {"C": 1.0}, p),
    ]
    return Comparison(
        metric="f1",
        positive="yes",
        classes=["no", "yes"],
        views={"a": 1, "b": 1},
        n_rows=10,
        n_scored=9,
        mode=mode,
        test="some test",
        folds=5,
        seed=0,
        epochs=2,
        rows=rows,
        best=0,
        runner_up=1,
    )


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({"p": 0.01}, "best: a alone leads squared by 0.1000 f1 (p = 0.01)"),
        ({"p": 0.0}, "best: a alone leads squared by 0.1000 f1 (p < 0.001)"),
        (
            {"p": 0.31},
            "tie: a alone leads squared by 0.1000 f1, which is not significant at 0.05 (p = 0.31)",
        ),
        (
            {"p": 0.31, "mode": "progressive"},
            "tie: a alone leads squared by 0.1000 f1, but not with significantly fewer mistakes "
            "(p = 0.31)",
        ),
        (
            {"p": 0.01, "mode": "progressive", "accuracies": (0.8, 0.9)},
            "tie: a alone leads squared by 0.1000 f1, but makes more mistakes (p = 0.01)",
        ),
    ],
)
def test_the_verdict_calls_a_tie_a_tie(given, verdict):
    answer = made_answer(**given)
    assert answer.verdict == verdict
    assert answer.tie == verdict.startswith("tie")


def test_train_options_name_the_winner_and_its_choice():
    assert made_answer(0.1).train_options == [
        *("--model", "view:a", "--set", "C=0.1"),
        *("--epochs", "2"),
    ]


def test_the_corrected_t_test_by_hand():
    # d = 1, 2, 3: mean 2, variance 1; t = 2 / sqrt(1/3 + 1/2), 2 degrees of freedom
    t = 2 / math.sqrt(5 / 6)
    # survival function of Student's t with 2 degrees of freedom
    assert corrected_t_test([1, 2, 3], 1 / 2) == pytest.approx(1 - t / math.sqrt(2 + t * t))
    assert corrected_t_test([-1, -2, -3], 1 / 2) == corrected_t_test([1, 2, 3], 1 / 2)


def test_the_corrected_t_test_without_variance():
    assert corrected_t_test([0.0, 0.0, 0.0], 1 / 2) == 1.0
    assert corrected_t_test([0.1, 0.1, 0.1], 1 / 2) == 0.0
    assert math.isnan(corrected_t_test([0.1, math.nan], 1.0))


def test_mcnemar_counts_coin_flips():
    # 1 against 5: six flips with one head or none, on either side
    assert mcnemar_test(1, 5) == pytest.approx(2 * (1 + 6) / 2**6)
    assert mcnemar_test(5, 1) == mcnemar_test(1, 5)
    assert mcnemar_test(0, 0) == 1.0


def test_data_frames_of_any_kind_and_labels_of_their_own():
    frame = make_frame(60)
    by_name = compare(frame, "answer", cv=3, grid=ONE)
    X, y = frame.drop(columns="answer"), frame["answer"].to_numpy()
    for table in (X, pl.from_pandas(X)):
        apart = compare(table, y, cv=3, grid=ONE)
        assert [row.scores for row in apart.rows] == [row.scores for row in by_name.rows]
    with pytest.raises(InputError, match="59 labels for a table of 60 rows"):
        compare(X, y[:-1], cv=3, grid=ONE)
    with pytest.raises(InputError, match="61 labels for a table of 60 rows"):
        compare(X, np.append(y, "yes"), cv=3, grid=ONE)


def test_several_classes_and_every_metric():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    X = MultiView({"a": rng.normal(size=(90, 3)) + 3 * np.eye(3)[y], "b": rng.normal(size=(90, 3))})
    for metric in ("f1", "roc_auc", "average_precision", "accuracy"):
        answer = compare(X, y, cv=3, metric=metric, grid=ONE)
        assert answer.positive is None
        assert answer.rows[0].value > 0.75 > answer.rows[1].value
        for progressive in (False, True):
            json.dumps(
                compare(X, y, cv=3, metric=metric, grid=ONE, progressive=progressive).to_dict()
            )


def test_missing_views_are_compared_as_they_are():
    X, y = make_views()
    present = np.ones((len(X), 3), dtype=bool)
    present[::4, 1] = False
    X = MultiView({name: X[name] for name in X.keys()}, present=present)  # noqa: SIM118
    assert compare(X, y, cv=3, grid=ONE).rows[0].value > 0.9


# --- stream order -------------------------------------------------------------


def test_progressive_by_hand():
    X, y = make_noisy(200)
    answer = compare(X, y, progressive=True, grid=ONE)
    assert (answer.n_rows, answer.n_scored) == (200, 180)
    right = []
    for row, method in zip(answer.rows, compared_methods(X.layout, len(X)), strict=True):
        seen = method.look(X)
        model = method.make(**method.candidates(ONE)[0])
        model.partial_fit(seen[:20], y[:20], classes=["no", "yes"])
        predicted = []
        for i in range(20, 200):
            predicted += model.predict(seen[i]).tolist()
            model.partial_fit(seen[i], y[i : i + 1])
        right.append(np.equal(predicted, y[20:]))
        assert row.value == pytest.approx(f1_score(y[20:], predicted, pos_label="yes"))
        assert row.accuracy == pytest.approx(right[-1].mean())
    best = right[answer.best]
    expected = [
        mcnemar_test(int((best & ~other).sum()), int((other & ~best).sum())) for other in right
    ]
    expected[answer.best] = None
    assert [row.p for row in answer.rows] == expected
    assert len(set(expected)) > 3


def test_progressive_does_not_depend_on_the_batches():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 400)
    noisy = np.where(rng.random(400) < 0.2, 1 - label, label)
    frame = pd.DataFrame(
        {
            "a__x": noisy.astype(str),
            "b__y": rng.integers(0, 5, 400).astype(str),
            "label": label,
        }
    )
    answers = [
        compare(
            open_table(frame, batch_rows=rows), "label", progressive=True, grid=ONE, hash_bits=6
        )
        for rows in (7, 40, 1000)
    ]
    assert answers[0].n_scored == 360
    for other in answers[1:]:
        assert [(r.value, r.p) for r in other.rows] == [(r.value, r.p) for r in answers[0].rows]


def test_progressive_chooses_on_the_first_part():
    X, y = make_noisy(1000)
    grid = [0.001, 1000.0]
    answer = compare(X, y, progressive=True, grid={"C": grid})
    values = []
    for C in grid:
        model = PassiveAggressiveClassifier(C=C)
        scores = model.score_then_learn(X["strong"][:100], y[:100], classes=["no", "yes"])
        values.append(f1_score(y[:100] == "yes", scores > 0))
    assert values[0] != values[1]
    assert answer.rows[0].setting == {
        "C": grid[int(np.argmax(values))],
        "fit_intercept": True,
    }


def test_a_stream_of_unknown_length_chooses_on_its_first_thousand_rows(tmp_path):
    make_frame(1200).to_csv(tmp_path / "t.csv", index=False)
    answer = compare(tmp_path / "t.csv", "answer", progressive=True, grid=ONE)
    assert (answer.n_rows, answer.n_scored) == (1200, 200)
    make_frame(900).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match="ends within its first 1000 rows"):
        compare(tmp_path / "t.csv", "answer", progressive=True, grid=ONE)


# --- what is wrong ------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": 1}, "cv=1; give 2 folds or more"),
        ({"cv": 76}, r"class 'no' has \d+ row\(s\), too few for 76 folds"),
        ({"metric": "f2"}, "no metric 'f2'"),
        ({"positive": "maybe"}, r"no class 'maybe' \(there are: no, yes\)"),
        ({"grid": {"c": [1]}}, "grid= names 'c'"),
        ({"epochs": 0}, "epochs=0"),
        ({"views": {"a": "strong"}}, "leave views= at None"),
        ({"y": "answer"}, "not a column name"),
        ({"y": ["yes"] * 150}, "one class, 'yes'"),
        ({"y": ["yes", None] * 75}, "row 1: the label is missing"),
        ({"y": ["yes", "no"]}, "2 labels for 150 rows"),
        ({"y": np.linspace(0, 1, 150)}, "is not a class"),
        ({"X": MultiView({"only": np.ones((150, 2))})}, "one view, 'only'"),
    ],
)
def test_compare_refuses(change, message):
    X, y = make_views()
    given = {"X": X, "y": y, "grid": ONE} | change
    with pytest.raises(InputError, match=message):
        compare(given.pop("X"), given.pop("y"), **given)


def test_rows_sorted_by_label_are_no_stream():
    X, y = make_views()
    order = np.argsort(y, kind="stable")
    with pytest.raises(InputError, match="first 15 rows are all of class 'no'"):
        compare(X[order], y[order], progressive=True)


@pytest.mark.parametrize("progressive", [False, True])
def test_an_error_in_a_row_names_its_row_in_the_file(progressive, tmp_path):
    frame = make_frame(1100)
    lines = frame.to_csv(index=False).splitlines()
    lines[1051] = ",".join(["nan", *lines[1051].split(",")[1:]])
    (tmp_path / "t.csv").write_text("\n".join(lines))
    stream = open_table(tmp_path / "t.csv", batch_rows=300)
    with pytest.raises(InputError) as caught:
        compare(stream, "answer", progressive=progressive, grid=ONE)
    assert (caught.value.row, caught.value.column) == (1050, "strong__0")
    assert caught.value.file.endswith("t.csv")


def test_a_nan_in_a_multiview_is_named_before_rows_are_shuffled():
    X, y = make_views()
    X["weak"][7, 2] = np.nan
    with pytest.raises(InputError, match="row 7, column '2': NaN of view 'weak'"):
        compare(X, y)


# --- the table ----------------------------------------------------------------


def printed(answer, width):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(comparison_table(answer))
    return console.export_text().splitlines()


def test_the_table_fits_a_terminal_of_80_columns(answer):
    lines = printed(answer, 80)
    assert max(map(len, lines)) <= 80
    # a title may take a second line
    firsts = [line for line in lines[2:] if not line.rstrip().endswith(")")]
    assert len(firsts) == len(answer.rows)
    assert firsts[answer.best].rstrip().endswith("best")
    assert "…" not in "".join(lines)


def test_markdown_says_the_same(answer):
    text = to_markdown(answer)
    header, rule, *rows = [line for line in text.splitlines() if line.startswith("|")]
    assert header == "| views | f1 | accuracy | AUC | rows/s | chosen | p |"
    assert rule.count("|") == header.count("|")
    best = answer.rows[answer.best]
    assert f"**{best.value:.3f} ± {best.std:.3f}**" in rows[answer.best]
    assert answer.verdict in text


def test_as_text_it_has_a_line_a_row_and_the_verdict(answer):
    *rows, verdict = str(answer).splitlines()
    assert verdict == answer.verdict
    for line, row in zip(rows, answer.rows, strict=True):
        assert line.startswith(row.title)
        assert f" {row.value:.4f} ± {row.std:.4f}" in line


def test_the_notes_say_how_it_was_scored():
    assert comparison_notes(made_answer(0.1))[1] == (
        "f1 of 'yes': mean ± standard deviation over 5 folds of 10 rows"
    )
    notes = comparison_notes(made_answer(0.1, mode="progressive"))
    assert "9 rows" in notes[1]
    assert "on the 1 rows before them" in notes[2]


def test_json_has_everything_and_no_nan(answer):
    content = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert content["rows"][0]["scores"] == answer.rows[0].scores
    assert content["train_options"][:2] == ["--model", answer.rows[answer.best].model]
    assert made_answer(0.1).to_dict()["rows"][1]["roc_auc"] is None


@pytest.mark.parametrize(
    ("value", "text"), [(950.4, "950"), (8312, "8.3k"), (83120, "83k"), (1.25e6, "1.2M")]
)
def test_speeds_are_short(value, text):
    assert speed(value) == text


# --- methods ------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_makes_its_learner_from_its_grid(method):
    for candidate in method.candidates():
        assert method.make(**candidate).get_params().items() >= candidate.items()
    assert set(method.grid) <= set(method.settable())
    assert find_method(method.name, ()) is method


def test_a_view_alone_is_a_method():
    method = find_method("view:page", ("page", "link"))
    assert method.view == "page"
    with pytest.raises(InputError, match=r"no model 'view:pag'; did you mean 'view:page'\?"):
        find_method("view:pag", ("page", "link"))


def test_on_web_pages_two_views_beat_the_worse_one():
    X, y = shared_data.webkb_course()
    answer = compare(X, y, grid=ONE)
    page, link, *both = [row.value for row in answer.rows]
    assert min(both) > link
    assert max(both) > max(page, link, 0.95)


def test_only_the_named_models_are_compared():
    X, y = make_views()
    whole = {row.model: row.scores for row in compare(X, y, grid=ONE).rows}
    answer = compare(X, y, grid=ONE, models=["arow", "view:weak", "arow", "squared"])
    assert [row.model for row in answer.rows] == ["arow", "view:weak", "squared"]
    assert all(row.scores == whole[row.model] for row in answer.rows)
    with pytest.raises(InputError, match=r"models=\['arow'\]; comparing needs two"):
        compare(X, y, models=["arow"])
    with pytest.raises(InputError, match="no model 'arrow'; did you mean 'arow'"):
        compare(X, y, models=["arow", "arrow"])
