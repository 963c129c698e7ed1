"""Comparing within a budget: what a learner costs, what is left out, and what is told of it."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from comparisons import ONE, make_noisy, make_views, thorough
from crossview import PassiveAggressiveClassifier, Scoring
from crossview.catalog.learners import find_learner
from crossview.comparing.budget.plan import LEVELS, Cost, in_words, make_plan
from crossview.comparing.budget.planner import Planner
from crossview.comparing.comparison import ComparisonObserver
from crossview.comparing.folds.parts import Data
from crossview.comparing.folds.splits import Protocol, draw_rows, split_rows
from crossview.comparing.folds.tuning import Tuner, Tuning
from crossview.comparing.folds.work import Probe, probe_learner
from crossview.comparing.run import Run
from crossview.reporting.tables import comparison_notes
from crossview.scoring.problems import Classification


def make_cost(seconds=1.0, n_settings=9, n_splits=3, n_inner=6400, growth=1.0, n_refined=0):
    """What takes so long for the rows of an inner fold."""
    return Cost(
        n_inner, seconds, growth, n_settings, n_splits, n_inner, 3 * n_inner // 2, n_refined
    )


# --- what a learner costs -------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "seconds", "growth"),
    [
        ((300, 1200), (0.1, 1.6), 2.0),
        ((300, 1200), (0.1, 0.2), 0.5),
        ((300, 1200), (0.01, 90.0), 3.0),  # it is no more than that
        ((300, 1200), (0.2, 0.1), 0.0),
        ((300, 1200), (0.001, 0.001), 0.5),  # too short to tell
        ((300,), (0.7,), 0.75),
        ((60, 300, 600), (0.1, 0.9, 1.0), 1.0),  # 600 rows are not far from 300
        ((60, 300, 1200), (0.1, 0.4, 1.6), 1.0),
    ],
)
def test_the_cost_grows_as_two_slices_say(rows, seconds, growth):
    cost = Cost.of_probe(
        Probe(rows, seconds, 0.9, 0.0), n_settings=2, n_splits=3, n_inner=2000, n_train=3000
    )
    assert cost.growth == pytest.approx(growth)
    assert cost.fit(rows[-1]) == pytest.approx(seconds[-1])
    assert cost.fit(4 * rows[-1]) == pytest.approx(seconds[-1] * 4**growth)


def test_what_tasks_took_corrects_the_fits_of_as_many_rows():
    cost = make_cost(n_inner=1000, growth=0.0)
    cost.add(16_000, 3000.0, 1000.0)
    cost.add(16_000, 1000.0, 0.0)
    fits = [cost.fit(n) for n in (100, 1000, 4000, 16_000, 64_000)]
    assert fits == pytest.approx([1.0, 1.0, 2.0, 4.0, 4.0], rel=1e-3)
    cost.add(1000, 500.0, 1000.0)
    assert cost.fit(1000) == pytest.approx(0.5, rel=1e-3)
    assert cost.fit(16_000) == pytest.approx(4.0, rel=1e-3)


def test_the_seconds_of_a_fold_are_those_of_its_fits():
    cost = make_cost(n_refined=2)  # a fit of an inner fold takes 1 s, one of the training part 1.5
    expected = [
        9 * 3 + 2 * 3 + 1.5,
        9 + 2 + 1.5,
        9 / 4 + 3 + 2 + 1.5,  # all on a quarter of the rows, then three of nine
        9 / 4 + 3 + 1.5,  # nothing refined
        9 / 16 + 3 / 4 + 1 + 1.5,  # on a quarter of the rows, and once on all
        9 / 64 + 3 / 16 + 1 + 1.5,
        9 / 256 + 3 / 64 + 1 + 1.5,
    ]
    assert [cost.fold(level) for level in LEVELS] == pytest.approx(expected)


def made_fold(n=600):
    """The rows of the first of two folds, and of its three inner ones."""
    X, y = make_noisy(n)
    run = Run([], Classification(np.unique(y), threshold=None), 0, None, ONE)
    splits = split_rows(run, y, Protocol(2))
    data = Data(X, y, np.arange(n), np.arange(0), None, X.layout, splits=splits)
    return run, data.encode(0)


def f1_of(fold, rows, C):
    """Of a model of some training rows, on those held out by the first inner split."""
    X, y, test = fold.X_train["strong"], fold.y_train, fold.inner[0][1]
    model = PassiveAggressiveClassifier(C=C, random_state=0).fit(X[rows], y[rows])
    return f1_score(y[test], model.predict(X[test]), pos_label="yes")


@pytest.mark.parametrize(("n", "slices"), [(1200, (60, 300, 400)), (300, (60, 100)), (120, (40,))])
def test_a_learner_is_probed_on_slices_of_the_rows(n, slices):
    run, fold = made_fold(n)
    learner = find_learner("view:strong", "classification", fold.X_train.layout.names)
    probe = probe_learner(run, learner, fold, math.inf)
    assert probe.rows == slices
    assert len(probe.seconds) == len(slices)
    assert min(probe.seconds) > 0.0
    assert probe.compiled >= 0.0
    assert probe.value == pytest.approx(f1_of(fold, fold.inner[0][0], 0.1))


# --- how a setting is chosen with less ------------------------------------------


def test_halving_tries_all_settings_on_a_quarter_of_the_rows():
    run, fold = made_fold()
    learner = find_learner("view:strong", "classification", fold.X_train.layout.names)
    grid = [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0]
    tried = [(i, {"C": C}) for i, C in enumerate(grid)]
    y, train = fold.y_train, fold.inner[0][0]
    for share in (1.0, 0.5):
        tuning = Tuning(splits=1, halving=True, share=share)
        tuner = Tuner(run, learner, fold, tuning)
        chosen = tuner.choose(tried)
        part, quarter = (
            train[draw_rows(run.problem, y[train], round(n * share), 0)]
            for n in (len(train), len(train) / 4)
        )
        rough = [f1_of(fold, quarter, C) for C in grid]
        passed = np.argsort(np.negative(rough), kind="stable")[:2]
        values = {i: f1_of(fold, part, grid[i]) for i in sorted(passed.tolist())}
        best = max(values, key=values.get)
        assert chosen.setting == {"C": grid[best]}
        assert chosen.value == pytest.approx(values[best])
        # its threshold and its value are those of all rows
        assert tuner.settle(chosen).value == pytest.approx(f1_of(fold, train, grid[best]))


def test_after_the_deadline_one_setting_is_tried():
    run, fold = made_fold(300)
    learner = find_learner("view:strong", "classification", fold.X_train.layout.names)
    tried = [(0, {"C": 1000.0}), (1, {"C": 0.001})]
    tuner = Tuner(run, learner, fold, seconds=0.0)
    late = tuner.choose(tried)
    assert late.setting == {"C": 1000.0}
    assert Tuner(run, learner, fold).choose(tried).setting == {"C": 0.001}
    run.grid = {}
    assert tuner.refine(late) is late


# --- the plan -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "level"), [(28.5, 0), (28.4, 1), (10.0, 2), (4.0, 4), (2.9, 5), (2.6, 6), (0.1, 6)]
)
def test_settings_are_left_out_first_then_rows_and_the_last_learner_stays(seconds, level):
    plan = make_plan({"a": make_cost()}, {"a": 0.5}, {"a": 1}, seconds)
    assert plan.tuning == {"a": LEVELS[level]}
    assert plan.dropped == set()
    assert plan.seconds == pytest.approx(make_cost().fold(LEVELS[level]))
    # for four folds it takes four times as long
    assert make_plan({"a": make_cost()}, {"a": 0.5}, {"a": 4}, 4 * seconds).tuning == plan.tuning


def test_the_most_expensive_learner_gives_first():
    costs = {"cheap": make_cost(0.01), "slow": make_cost(1.0)}
    values, folds = {"cheap": 0.1, "slow": 0.9}, {"cheap": 5, "slow": 5}
    everything = sum(5 * cost.fold(LEVELS[0]) for cost in costs.values())
    plan = make_plan(costs, values, folds, everything)
    assert plan.tuning == {"cheap": LEVELS[0], "slow": LEVELS[0]}
    plan = make_plan(costs, values, folds, 0.9 * everything)
    assert plan.tuning == {"cheap": LEVELS[0], "slow": LEVELS[1]}
    # at its least it does not fit: it is left out, whatever it promises, and what it frees is used
    plan = make_plan(costs, values, folds, 2.8)
    assert plan.dropped == {"slow"}
    assert plan.tuning == {"cheap": LEVELS[0]}


def test_what_a_learner_has_begun_counts_unless_it_is_dropped():
    costs = {"cheap": make_cost(0.01), "slow": make_cost(0.01)}
    values, folds = {"cheap": 0.1, "slow": 0.9}, {"cheap": 1, "slow": 1}
    whole = 2 * costs["cheap"].fold(LEVELS[0])
    plan = make_plan(costs, values, folds, whole + 3.0, {"cheap": 1.0, "slow": 2.0})
    assert plan.tuning == {"cheap": LEVELS[0], "slow": LEVELS[0]}
    assert plan.seconds == pytest.approx(whole + 3.0)
    plan = make_plan(costs, values, folds, whole + 3.0, {"cheap": 1.0, "slow": 1e9})
    assert plan.dropped == {"slow"}
    assert plan.tuning == {"cheap": LEVELS[0]}


def test_those_of_infinite_value_come_first_with_half_of_the_time():
    costs = {name: make_cost(n_settings=1, n_splits=1, n_inner=100) for name in "abc"}  # 2.5 s each
    values, folds = {"a": 0.5, "b": 0.9, "c": math.inf}, dict.fromkeys("abc", 1)
    assert make_plan(costs, values, folds, 7.5).dropped == set()
    assert make_plan(costs, values, folds, 7.4).dropped == {"a"}
    assert make_plan(costs, values, folds, 5.0).dropped == {"a"}
    assert make_plan(costs, values, folds, 4.9).dropped == {"a", "c"}
    assert make_plan({"c": costs["c"]}, values, folds, 1.0).dropped == set()


def test_a_baseline_of_more_than_half_of_the_time_stays_and_others_are_dropped():
    costs = {name: make_cost(n_settings=1, n_splits=1, n_inner=100) for name in "abc"}  # 2.5 s each
    costs["c"] = replace(costs["c"], seconds=2 * costs["c"].seconds)
    values, folds = {"a": 0.5, "b": 0.9, "c": math.inf}, dict.fromkeys("abc", 1)
    assert make_plan(costs, values, folds, 7.6).dropped == {"a"}  # 5.0 of 7.6 s
    assert make_plan(costs, values, folds, 6.6).dropped == {"c"}  # 5.0 of 6.6 s


def test_a_baseline_is_tried_in_one_setting_and_on_fewer_rows_rather_than_not_at_all():
    costs = {"ours": make_cost(0.01), "baseline": make_cost(n_settings=5, n_splits=1)}
    values, folds = {"ours": 0.5, "baseline": math.inf}, {"ours": 1, "baseline": 1}
    assert make_plan(costs, values, folds, 2.7).dropped == {"baseline"}
    costs["baseline"] = replace(costs["baseline"], learns_less=True)
    plan = make_plan(costs, values, folds, 2.8)
    assert plan.tuning["baseline"] == Tuning(splits=1, middle=True, refined=False)
    assert costs["baseline"].fold(plan.tuning["baseline"]) == pytest.approx(1 + 1.5)
    assert "1 of 5 settings" in in_words(plan.tuning["baseline"], costs["baseline"])
    plan = make_plan(costs, values, folds, 2.7)
    assert not plan.dropped
    assert plan.tuning["ours"] == LEVELS[0]
    assert plan.tuning["baseline"].learned == 1 / 2
    assert costs["baseline"].fold(plan.tuning["baseline"]) == pytest.approx(0.5 + 0.75)
    assert "learned from 4,800 of 9,600 rows" in in_words(
        plan.tuning["baseline"], costs["baseline"]
    )
    assert make_plan(costs, values, folds, 0.1).tuning["baseline"].learned == 1 / 64
    costs["baseline"] = replace(costs["baseline"], growth=0.0)  # fewer rows save nothing
    assert make_plan(costs, values, folds, 2.0).dropped == {"baseline"}


def test_of_learners_as_slow_the_better_ones_stay():
    names = ["a", "b", "c", "d"]
    costs = {name: make_cost() for name in names}
    values = {"a": 0.5, "b": 0.9, "c": 0.7, "d": 0.6}
    plan = make_plan(costs, values, dict.fromkeys(names, 1), 2 * 2.6)
    assert plan.dropped == {"a", "d"}
    assert plan.tuning == {"b": LEVELS[6], "c": LEVELS[6]}


def test_a_setting_is_chosen_by_a_hundred_rows_at_least():
    plan = make_plan({"a": make_cost(n_inner=1000)}, {"a": 0.5}, {"a": 1}, 0.0)
    assert plan.tuning["a"].share == 1 / 4
    plan = make_plan({"a": make_cost(n_inner=99)}, {"a": 0.5}, {"a": 1}, 0.0)
    assert plan.tuning["a"] == LEVELS[0]


of_costs = st.builds(
    make_cost,
    seconds=st.floats(1e-6, 100.0),
    n_settings=st.integers(1, 25),
    n_splits=st.integers(1, 3),
    n_inner=st.integers(40, 100_000),
    growth=st.floats(0.0, 3.0),
    n_refined=st.integers(0, 3),
)


@settings(max_examples=25, deadline=None)
@given(
    some=st.lists(
        st.tuples(of_costs, st.floats(0.0, 1.0) | st.just(math.inf), st.integers(1, 9)), min_size=1
    ),
    seconds=st.floats(0.0, 1e5),
)
def test_a_plan_keeps_within_the_time_unless_one_learner_is_left(some, seconds):
    costs, values, folds = ({f"m{i}": one[part] for i, one in enumerate(some)} for part in range(3))
    plan = make_plan(costs, values, folds, seconds)
    assert set(plan.tuning) | plan.dropped == set(costs)
    assert not set(plan.tuning) & plan.dropped
    planned = sum(folds[name] * costs[name].fold(level) for name, level in plan.tuning.items())
    assert plan.seconds == pytest.approx(planned)
    assert planned <= seconds * (1 + 1e-9) or len(plan.tuning) == 1
    for name, level in plan.tuning.items():
        assert level == LEVELS[0] or level.share * costs[name].n_inner >= 100
    if sum(folds[name] * costs[name].fold(LEVELS[0]) for name in costs) <= seconds:
        assert set(plan.tuning.values()) == {LEVELS[0]}
        assert not plan.dropped


def test_what_a_level_leaves_out_in_words():
    cost = make_cost(n_refined=1)
    assert [in_words(level, cost) for level in LEVELS[:5]] == [
        "",
        "1 of 3 inner folds",
        "1 of 3 inner folds, 3 of 9 settings on all tuning rows",
        "1 of 3 inner folds, 3 of 9 settings on all tuning rows, nothing refined",
        "1 of 3 inner folds, 3 of 9 settings on all tuning rows, nothing refined, 1,600 rows "
        "choose the setting",
    ]
    assert in_words(LEVELS[2], make_cost(n_settings=1, n_splits=1)) == ""


# --- comparing ------------------------------------------------------------------

MODELS = ["view:weak", "view:strong", "pa:squared"]
UNTUNED = {"scoring": Scoring(threshold=None)}


@pytest.fixture
def costs(monkeypatch):
    """Seconds of a fit of 100 rows, which grow as they do, and the value of each model."""
    made = dict.fromkeys(MODELS, (1e-06, 0.5, 0.0))

    def probe(run, learner, fold, seconds_left):
        seconds, value, compiled = made[learner.name]
        return Probe((10, 100), (seconds / 10, seconds), value, compiled)

    monkeypatch.setattr("crossview.comparing.budget.planner.probe_learner", probe)
    return made


def test_with_time_for_everything_nothing_is_left_out():
    X, y = make_views()
    given = {"grid": {"C": [0.1, 1.0]}, "cv": 2, "models": MODELS[:2]}
    within, without = (thorough(X, y, budget=budget, **given) for budget in (1e6, None))
    assert within.left_out == without.left_out == []
    assert [row.scores for row in within.rows] == [row.scores for row in without.rows]
    assert [row.chosen for row in within.rows] == [row.chosen for row in without.rows]
    assert not any("left out" in note for note in comparison_notes(within))


def test_a_model_that_takes_too_long_is_left_out_and_named(costs):
    costs["pa:squared"] = 1e9, 0.9, 0.0
    answer = thorough(*make_views(), grid=ONE, cv=3, budget=1e4, models=MODELS)
    assert {row.model for row in answer.rows} == {"view:weak", "view:strong"}
    (left,) = answer.left_out
    assert (left.model, left.what) == ("pa:squared", "not compared")
    # three folds, of three inner fits of 66 or 67 rows and one of 100
    assert left.seconds == pytest.approx(3 * 1e9 * 3, rel=0.01)
    note = comparison_notes(answer)[-1]
    assert note.startswith("left out to keep within the budget, about ")
    assert note.endswith(" of one core (--thorough): not compared: pa:squared")
    assert answer.to_dict()["left_out"][0]["model"] == "pa:squared"


def test_a_model_whose_cost_there_is_no_time_to_estimate_is_left_out():
    X, y = make_views()
    assert probe_learner(None, None, None, 0.0) is None
    answer = thorough(X, y, grid=ONE, cv=2, budget=1e-6, models=MODELS)
    assert [row.model for row in answer.rows] == ["view:weak"]
    assert [(one.model, one.what) for one in answer.left_out if one.model != "view:weak"] == [
        (name, "not compared, for lack of time to estimate what it takes") for name in MODELS[1:]
    ]


def test_the_clock_of_a_worker_does_not_change_what_is_tried(monkeypatch):
    """It may be days ahead of that of the process which plans."""

    def call_elsewhere(key, function, arguments):
        with pytest.MonkeyPatch.context() as elsewhere:
            for clock in ("time", "monotonic"):
                here = getattr(time, clock)
                elsewhere.setattr(time, clock, lambda here=here: here() + 1e6)
            return key, function(*arguments)

    X, y = make_noisy(300)
    grid = ONE | {"C": [1000.0, 0.001]}
    given = {"grid": grid, "cv": 2, "models": ["view:strong", "view:weak"]}
    alone = thorough(X, y, **given)
    monkeypatch.setattr("crossview.comparing.folds.jobs.call_here", call_elsewhere)
    answer = thorough(X, y, budget=1e4, **given)
    assert answer.left_out == []
    assert [row.chosen for row in answer.rows] == [row.chosen for row in alone.rows]
    assert {"C": 0.001} in answer.row("view:strong").chosen


def test_inner_folds_are_left_out_and_named(costs):
    """Until it turns out that it takes less than the slice said."""
    X, y = make_noisy(600)
    grid = [0.001, 0.1, 1000.0]
    given = {"grid": ONE | {"C": grid}, "cv": 2, "models": ["view:strong"], **UNTUNED}
    # an inner fit of 200 rows takes 20 s, and the final one 30
    costs["view:strong"] = 10.0, 0.5, 0.0
    answer = thorough(X, y, budget=2 * 100 / 0.75, **given)
    (left,) = answer.left_out
    assert (left.model, left.what) == ("view:strong", "1 of 3 inner folds")
    assert left.seconds == pytest.approx(3 * 2 * 20)
    _, fold = made_fold(600)
    values = [f1_of(fold, fold.inner[0][0], C) for C in grid]
    assert answer.best.chosen[0] == {"C": grid[int(np.argmax(values))]}
    assert answer.best.inner[0] == pytest.approx(max(values))


def test_a_model_may_be_left_out_later(costs, monkeypatch):
    plan, rounds = Planner.replan, []

    def slower(self, *given):
        rounds.append(self)
        if len(rounds) == 3:  # when the third fold begins
            cost = self.costs["pa:squared"]
            cost.add(cost.n_train, 1e20, 0.0)
        plan(self, *given)

    monkeypatch.setattr(Planner, "replan", slower)
    answer = thorough(*make_views(), grid=ONE, cv=4, budget=1e4, models=MODELS)
    assert {row.model for row in answer.rows} == {"view:weak", "view:strong"}
    assert answer.folds == 4
    assert [(one.model, one.what) for one in answer.left_out] == [
        ("pa:squared", "not compared after 1 fold")
    ]


def test_without_any_time_the_most_promising_model_makes_two_folds(costs):
    costs |= {"view:weak": (1.0, 0.5, 0.0), "view:strong": (1.0, 0.8, 0.0)}
    costs["pa:squared"] = 1.0, 0.7, 0.0
    answer = thorough(*make_views(), grid=ONE, budget=1e-9, models=MODELS)
    assert [row.model for row in answer.rows] == ["view:strong"]
    assert (answer.folds, answer.planned_folds) == (2, 5)
    assert [one.model for one in answer.left_out if one.what == "not compared"] == [
        *("view:weak", "pa:squared")
    ]
    assert "2 of 5 folds were finished" in comparison_notes(answer)


def test_a_row_of_an_earlier_comparison_has_the_folds_of_what_is_added(costs):
    X, y = make_noisy(300)
    given = {"grid": {"C": [0.1, 1.0]} | {"average": [], "epochs": []}, "cv": 4}
    costs["view:strong"] = 100.0, 0.5, 0.0
    first = thorough(X, y, models=["view:weak"], **given)
    more = thorough(X, y, models=["view:strong"], extend=first, budget=1e-9, **given)
    assert (first.folds, more.folds) == (4, 2)
    whole, row = first.best, more.row("view:weak")
    assert row.scores == whole.scores[:2]
    assert row.value == pytest.approx(np.mean(whole.scores[:2]))
    assert row.threshold == pytest.approx(np.median(whole.thresholds[:2])) != whole.threshold
    assert row.untuned == pytest.approx(np.mean(whole.untuned_scores[:2])) != whole.untuned
    assert row.setting in whole.chosen[:2]
    assert (row.epochs, row.learned) == (1, 1.0)
    lists = [value for value in vars(row).values() if isinstance(value, list) and value]
    assert {len(one) for one in (*lists, *row.others.values())} == {2}
    assert whole.confusion is not None
    assert row.confusion is None


def test_a_model_that_was_left_out_comes_back_if_time_is_left(costs, monkeypatch):
    """The slice said that three are too many, and two then took next to nothing."""
    X, y = make_noisy(300)
    given = {"grid": ONE, "cv": 3, "models": MODELS, **UNTUNED}
    # at its least an inner fit of 133 rows and the final one of 200, for each fold
    costs |= dict.fromkeys(MODELS, (100.0, 0.5, 0.0))
    costs["view:strong"] = 100.0, 0.4, 0.0
    budget = 2.5 * 3 * 333 / 0.75
    answer = thorough(X, y, budget=budget, **given)
    everything = thorough(X, y, budget=None, **given)
    assert [row.scores for row in answer.rows] == [row.scores for row in everything.rows]
    assert "view:strong" not in [one.model for one in answer.left_out if "not" in one.what]
    monkeypatch.setattr(Planner, "that_fit", lambda self, reserved: [])
    answer = thorough(X, y, budget=budget, **given)
    assert "view:strong" in [one.model for one in answer.left_out if one.what == "not compared"]


class Watching(ComparisonObserver):
    def __init__(self):
        self.words, self.progressed, self.answers = [], [], []

    def say(self, words):
        self.words.append(words)

    def progress(self, done, total, words):
        self.progressed.append((done, total, words))

    def partial(self, answer):
        self.answers.append(answer)


def test_the_budget_does_not_count_what_compiles(costs):
    costs |= dict.fromkeys(MODELS, (1e-6, 0.5, 1e6))
    observer = Watching()
    answer = thorough(*make_views(), grid=ONE, budget=1e-9, models=MODELS, observer=observer)
    assert len(answer.rows) == 3
    assert answer.folds == 5
    assert "compiled for this machine, once, in 3000000 s" in observer.words


def test_an_observer_sees_every_task_and_the_tables_before_the_last(costs):
    observer = Watching()
    given = {"grid": ONE, "cv": 4, "models": MODELS[:2], "budget": 1e4}
    answer = thorough(*make_views(), **given, observer=observer)
    assert [one.folds for one in observer.answers] == [2, 3]
    assert [row.scores[:3] for row in answer.rows] == [
        observer.answers[-1].row(row.model).scores for row in answer.rows
    ]
    assert len(observer.progressed) == 2 * 2 * 4  # chosen and scored, each model in each fold
    done = [one[0] for one in observer.progressed]
    assert done == sorted(done)
    assert all(0.0 < one[0] <= one[1] < math.inf for one in observer.progressed)
    assert "reading the rows" in observer.words
