"""Comparing within a budget: what a learner costs, what is left out, and what is told of it."""

import math
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.metrics import f1_score

from comparisons import AS_IN_USE, ONE, make_noisy, make_views, models_have, thorough
from crossview import MultiView, PassiveAggressiveClassifier, Scoring
from crossview.baselines.entries import baselines
from crossview.catalog.learners import find_learner, known_learners
from crossview.comparing.budget.clock import Clock, Took
from crossview.comparing.budget.plan import (
    CHEAP,
    LEVELS,
    OF_LINEAR,
    OF_OTHERS,
    Cost,
    guess_seconds,
    in_words,
    make_plan,
    yardstick_of,
)
from crossview.comparing.budget.planner import Planner
from crossview.comparing.candidates import most_gain_first
from crossview.comparing.folds.parts import Data, Fold
from crossview.comparing.folds.splits import Protocol, draw_rows, split_rows
from crossview.comparing.folds.tuning import Chosen, Tuner, Tuning
from crossview.comparing.result.comparison import ComparisonObserver
from crossview.comparing.run import Run
from crossview.reporting.tables import comparison_notes
from crossview.scoring.problems import Classification


def make_cost(seconds=1.0, n_settings=9, n_splits=3, n_inner=6400, n_refined=0, baseline=False):
    """What takes so long for a fit of the rows of an inner fold, in proportion to the rows."""
    cost = Cost(
        *(seconds / n_inner, n_settings, n_splits, n_inner, 3 * n_inner // 2),
        *(n_refined, OF_LINEAR if baseline else None),
    )
    learned(cost)
    return cost


def learned(cost, factor=1.0):
    """Let the tasks tell that the guess is right, or wrong by a factor."""
    cost.add(cost.n_inner, 1e9 * factor, 1e9)


@pytest.fixture(autouse=True)
def no_constant(monkeypatch):
    """A fit without rows takes no time."""
    monkeypatch.setattr("crossview.comparing.budget.plan.OF_A_FIT", 0.0)


# --- what a learner costs -------------------------------------------------------


def test_a_guess_is_taken_for_too_low_until_tasks_have_told():
    cost = Cost(1e-3, 9, 3, 1000, 1500)
    assert [cost.fit(n) for n in (10, 1000)] == pytest.approx([0.02, 2.0])
    learned(cost)
    assert [cost.fit(n) for n in (10, 1000)] == pytest.approx([0.01, 1.0])


def test_what_tasks_took_corrects_the_fits_of_as_many_rows():
    cost = Cost(1e-3, 9, 3, 1000, 1500)
    cost.add(16_000, 3000.0, 1000.0)
    cost.add(16_000, 1000.0, 0.0)
    assert [cost.fit(n) for n in (100, 1000)] == pytest.approx([0.4, 4.0], rel=1e-3)
    cost.add(1000, 1000.0, 1000.0)
    fits = [cost.fit(n) / n for n in (100, 1000, 4000, 16_000, 64_000)]
    assert fits == pytest.approx([0.001, 0.001, 0.002, 0.004, 0.004], rel=1e-3)


def test_the_guess_knows_rows_views_classes_and_covariances():
    _, fold = made_fold()
    names = fold.X_train.layout.names

    def guess(name, n_classes=2):
        return guess_seconds(find_learner(name, "classification", names), fold, n_classes)

    assert guess("view:strong") < guess("pa:concatenated") < guess("fm")
    assert guess("pa:concatenated") < guess("arow")
    few, many = guess("kernel-ridge", 3), guess("kernel-ridge", 200)
    assert 2 * few < many < 100 * few  # one system of equations, but errors of each class
    assert guess("kernel-ridge", 0) == guess("kernel-ridge", 2) < few
    assert 5 * guess("fm", 2) > guess("fm", 5) > guess("fm", 2) == guess("fm", 0)


def test_the_guess_knows_what_many_classes_take():
    """A class of a dense table takes a softmax, of a sparse one its weights, too."""
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[rng.integers(0, 2, 600)]
    few, many = rng.normal(size=(600, 10)), rng.random((600, 5000)) < 0.002

    def times(name, X, view_type=np.asarray):
        X = MultiView({"a": view_type(1.0 * X), "b": view_type(1.0 * X)})
        train, test = np.arange(600), np.arange(0)
        fold = Fold(X, y, X[test], y[test], [(train[:400], train[400:])])
        learner = find_learner(name, "classification", ["a", "b"])
        two, some, more = (guess_seconds(learner, fold, n) for n in (2, 10, 50))
        assert two <= some < more
        return more / two

    assert times("logistic-regression", few) < 10 < times("logistic-regression", many, csr_matrix)
    assert 2 < times("late-fusion", few) < 25
    assert 2 * times("late-fusion", few) < times("late-fusion", many, csr_matrix)
    for name, most in (("extra-trees", 2.5), ("network", 4), ("trees", 50)):
        assert 1.1 < times(name, few) < most


def test_the_rows_held_out_are_a_part_of_each_fit():
    cost = Cost(1e-3, 9, 3, 1000, 1500, by_scored=1e-2)
    cost.add(1000, 1.0, 1.0)
    assert [cost.fit(n) for n in (10, 1000)] == pytest.approx([5.01, 6.0])


def test_the_clock_goes_slower_on_a_busy_machine():
    clock = Clock(60.0, time.monotonic() - 30.0)
    assert clock.remaining == pytest.approx(30.0, abs=1.0)
    clock.add(Took(10.0, 15.0 * 1.1), 2)
    assert clock.slowness == pytest.approx(1.5)
    assert clock.remaining == pytest.approx(40.0, abs=1.0)
    clock.add(Took(10.0, 1e6), 2)
    assert clock.slowness == 2.0  # twice the budget, and no more
    assert clock.remaining == pytest.approx(45.0, abs=1.0)
    # what compiles does not count, nor does it say how busy the machine is
    other = Clock(60.0, time.monotonic() - 30.0)
    other.add(Took(1.0, 9.0, 40.0), 2)
    assert (other.slowness, other.compiled) == (1.0, 20.0)
    assert other.remaining == pytest.approx(50.0, abs=1.0)
    assert Clock(math.inf).remaining == math.inf


def test_those_that_bring_most_come_first():
    names = [one.name for one in most_gain_first(known_learners("classification", ["a", "b"]))]
    first = [
        "trees",
        "network",
        "extra-trees",
        "logistic-regression",
        "kernel-ridge",
        "linear",
        "mvm",
    ]
    assert names[:11] == [*first, "pegasos", "fm", "stacking", "view:a"]
    assert names[11:14] == ["view:b", "arow", "arow:diagonal"]
    assert sorted(names) == sorted(e.name for e in known_learners("classification", ["a", "b"]))


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


# --- how a setting is chosen with less ------------------------------------------


def test_halving_goes_on_from_the_calmest_that_is_about_the_best_of_a_quarter_of_the_rows():
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
        rough, values = ([f1_of(fold, rows, C) for C in grid] for rows in (quarter, part))
        at = best = int(np.argmax(np.array(rough) >= max(rough) - 0.01))
        sides = sorted((-1, 1), key=lambda side: -([*rough, -1.0][at + side]))
        for side in sides:
            while best == at or (best - at) * side > 0:
                if not (0 <= best + side < len(grid) and values[best + side] > values[best]):
                    break
                best += side
        assert chosen.setting == {"C": grid[best]}
        assert chosen.value == pytest.approx(values[best])
        # its threshold and its value are those of all rows
        assert tuner.settle(chosen).value == pytest.approx(f1_of(fold, train, grid[best]))


def test_with_more_rows_the_best_penalty_moves_and_is_found():
    """Of a quarter of the rows another one is best, and its neighbor is the next one."""
    run, fold = made_fold()
    learner = find_learner("view:strong", "classification", fold.X_train.layout.names)
    tuner = Tuner(run, learner, fold, Tuning(splits=1, halving=True))
    values = {0.25: [0, 3, 2, 1, 0], 1.0: [0, 1, 2, 3, 0]}
    seen = []

    def evaluate(settings, inner, share):
        seen.extend((share, order) for order, _ in settings)
        return [Chosen(one, values[share][order], order) for order, one in settings]

    tuner.evaluate = evaluate
    tried = [(i, {"C": C}) for i, C in enumerate(learner.grid["C"])]
    assert tuner.choose(tried).setting == {"C": learner.grid["C"][3]}
    assert [order for share, order in seen if share == 1.0] == [1, 2, 3, 4]


def test_where_few_rows_do_not_tell_penalties_apart_the_strongest_goes_first():
    """A ridge regression of texts fits a quarter of the rows to the last bit by any weak penalty.

    The weak ones take the most time, after which there is none for the best.
    """
    run, fold = made_fold()
    for name, (low, high) in (("view:strong", (0, 4)), ("ridge", (4, 0))):
        task = "regression" if name == "ridge" else "classification"
        learner = find_learner(name, task, fold.X_train.layout.names)
        tuner = Tuner(run, learner, fold, Tuning(splits=1, halving=True))
        tuner.deadline = 0.0  # the first one only
        values = {low: 0.42, high: 0.5}
        tuner.evaluate = lambda settings, inner, share, values=values: [
            Chosen(one, values.get(order, 0.496), order) for order, one in settings
        ]
        [(parameter, grid)] = learner.grid.items()
        chosen = tuner.choose(list(enumerate({parameter: value} for value in grid)))
        assert chosen.order == (1 if name == "view:strong" else 3)


def test_after_the_deadline_the_setting_in_the_middle_is_tried():
    """Not the first one, the strongest penalty, by which a cheap learner learns nothing."""
    run, fold = made_fold(300)
    learner = find_learner("view:strong", "classification", fold.X_train.layout.names)
    tried = [(0, {"C": 100.0}), (1, {"C": 1000.0}), (2, {"C": 0.001})]
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
    plan = make_plan({"a": make_cost()}, 1, seconds)
    assert plan.tuning == {"a": LEVELS[level]}
    assert plan.dropped == set()
    assert plan.seconds == pytest.approx(make_cost().fold(LEVELS[level]))
    # for four folds it takes four times as long
    assert make_plan({"a": make_cost()}, 4, 4 * seconds).tuning == plan.tuning


def test_the_most_expensive_learner_gives_first():
    costs = {"slow": make_cost(1.0), "cheap": make_cost(0.01)}
    everything = sum(5 * cost.fold(LEVELS[0]) for cost in costs.values())
    plan = make_plan(costs, 5, everything)
    assert plan.tuning == {"cheap": LEVELS[0], "slow": LEVELS[0]}
    plan = make_plan(costs, 5, 0.9 * everything)
    assert plan.tuning == {"cheap": LEVELS[0], "slow": LEVELS[1]}
    # it would take more than half of the time: it is left out, and what it frees is used
    plan = make_plan(costs, 5, 2.8)
    assert plan.dropped == {"slow"}
    assert plan.tuning == {"cheap": LEVELS[0]}
    # for a guess a learner is left out alone if it would be so even if it took a sixth of it
    for cost in costs.values():
        cost.took.clear()
    assert make_plan(costs, 5, 2.8).dropped == {"slow"}
    plan = make_plan(costs, 5, 18.0)
    assert plan.dropped == set()
    # what takes next to nothing does not give what would not help
    assert plan.tuning == {"slow": LEVELS[6], "cheap": LEVELS[4]}
    # what another learner of the same class took is no guess
    costs["slow"].kin = [make_cost(1.0)]
    assert make_plan(costs, 5, 18.0).dropped == {"slow"}


def test_the_last_ones_in_the_order_are_dropped_and_tuning_gives_before():
    costs = {name: make_cost() for name in "abcd"}
    least = min(costs["a"].fold(level) for level in LEVELS)
    assert make_plan(costs, 1, 4.001 * least).dropped == set()
    plan = make_plan(costs, 1, 3.9 * least)
    assert plan.dropped == {"d"}
    assert make_plan(dict(reversed(costs.items())), 1, 3.9 * least).dropped == {"a"}
    # what is dropped makes room for a cheaper one that stands behind it
    costs["e"] = make_cost(0.01)
    assert make_plan(costs, 1, 3.9 * least).dropped == {"d"}


def test_what_takes_next_to_nothing_comes_before_what_brings_most():
    costs = {"dear": make_cost(1.0), "dearer": make_cost(1.5), "cheap": make_cost(0.03)}
    least = [min(cost.fold(level) for level in LEVELS) for cost in costs.values()]
    # the first two would take all of it
    assert make_plan(costs, 1, least[0] + least[1], most=1.0).dropped == {"dearer"}
    assert make_plan(costs, 1, sum(least), most=1.0).dropped == set()


def test_what_was_kept_may_take_all_of_the_time_that_is_left():
    costs = {"dear": make_cost(1.0), "cheap": make_cost(0.01)}
    seconds = 1.2 * min(costs["dear"].fold(level) for level in LEVELS)
    assert make_plan(costs, 1, seconds).dropped == {"dear"}
    assert make_plan(costs, 1, seconds, most=1.0).dropped == set()


def test_what_a_learner_has_begun_counts_unless_it_is_dropped():
    costs = {"a": make_cost(0.01), "b": make_cost(0.01)}
    whole = 2 * costs["a"].fold(LEVELS[0])
    plan = make_plan(costs, 1, whole + 6.0, {"a": 3.0, "b": 3.0})
    assert plan.tuning == {"a": LEVELS[0], "b": LEVELS[0]}
    assert plan.seconds == pytest.approx(whole + 6.0)
    plan = make_plan(costs, 1, whole + 3.0, {"a": 1.0, "b": 1e9})
    assert plan.dropped == {"b"}
    assert plan.tuning == {"a": LEVELS[0]}


def test_a_baseline_learns_from_fewer_rows_rather_than_that_others_are_dropped():
    costs = {"ours": make_cost(0.01), "baseline": make_cost(n_settings=5, n_splits=1)}
    assert make_plan(costs, 1, 2.7).dropped == {"baseline"}
    costs["baseline"] = make_cost(n_settings=5, n_splits=1, baseline=True)
    # its share of the time is enough for all rows, if few of them choose the setting
    plan = make_plan(costs, 1, 6.6)
    assert plan.tuning["baseline"].learned == 1.0
    plan = make_plan(costs, 1, 2.7)
    assert not plan.dropped
    assert plan.tuning["baseline"].learned < 1.0
    assert plan.tuning["ours"].learned == 1.0
    half = LEVELS[4]._replace(learned=0.5)
    assert half in costs["baseline"].levels
    # 500 rows choose its setting at least, unless there are fewer
    for n_inner, least in ((6400, 1 / 4), (400, 1.0)):
        levels = make_cost(n_inner=n_inner, baseline=True).levels
        assert min(level.share for level in levels if level.learned == 1.0) == least
    # five on a 16th of the rows, two on a fourth, then the half of them, and that of the whole part
    assert costs["baseline"].fold(half) == pytest.approx(5 / 16 + 2 / 4 + 0.5 + 0.75)
    words = in_words(half, costs["baseline"])
    assert words == (
        "learned from fewer rows, 2 of 5 settings on all tuning rows, 1,600 rows choose the setting"
    )
    # where there is no time at all, the cheapest linear one stays, and one of the others
    costs |= {"large": make_cost(9.0, baseline=True), "slow": make_cost()}
    plan = make_plan(costs, 1, 1e-9)
    assert plan.dropped == {"large", "slow"}
    assert plan.tuning["baseline"] == costs["baseline"].levels[-1]
    # beside those that have a place, and not in theirs
    costs = {name: make_cost(0.1) for name in "abc"} | {"baseline": make_cost(9.0, baseline=True)}
    least = costs["baseline"].fold(costs["baseline"].levels[-1])
    all_of_ours = 3 * costs["a"].fold(costs["a"].levels[costs["a"].last_level(1.0)])
    assert least > all_of_ours / 4
    assert not make_plan(costs, 1, 1.01 * all_of_ours).dropped


def test_of_other_baselines_a_quarter_of_the_rows_is_the_least_and_a_fifth_of_the_time_the_most():
    costs = {"ours": make_cost(0.01), "linear": make_cost(n_settings=1, baseline=True)}
    costs["trees"] = make_cost(n_settings=1)
    costs["trees"].yardstick = OF_OTHERS
    assert min(level.learned for level in costs["linear"].levels) < 0.25
    assert min(level.learned for level in costs["trees"].levels) == 0.25
    # a fold of a quarter takes .625 s
    assert costs["trees"].levels[costs["trees"].last_level(5.0)].learned == 0.25
    costs["ours"] = make_cost()
    assert make_plan(costs, 1, 3.0).dropped == {"trees"}
    # where there is time for all of them, nobody is left out
    assert not make_plan({"trees": costs["trees"]}, 1, 3.0).dropped


@pytest.mark.parametrize(("task", "name"), [("classification", "majority"), ("regression", "mean")])
def test_a_constant_always_learns_all_rows(task, name):
    constant = next(one for one in baselines(task) if one.name == f"baseline:{name}")
    cost = make_cost(n_settings=1)
    cost.yardstick = yardstick_of(constant)
    assert {level.learned for level in cost.levels} == {1.0}
    trees = next(one for one in baselines(task) if one.made_of == "boosted trees")
    cost = make_cost(n_settings=1)
    cost.yardstick = yardstick_of(trees)
    assert min(level.learned for level in cost.levels) < 1.0


def test_where_nothing_fits_the_cheapest_that_has_begun_stays():
    costs = {"slow": make_cost(), "cheap": make_cost(0.01), "new": make_cost(0.001)}
    costs["new"].took.clear()
    assert set(make_plan(costs, 2, 0.0).tuning) == {"cheap"}


def test_after_a_first_fold_that_took_all_the_time_there_is_a_fifth_of_it():
    run, fold = made_fold(300)
    run.learners = known_learners("classification", fold.X_train.layout.names)[:4]
    clock = Clock(60.0, start=time.monotonic() - 1e4)
    planner = Planner(run, 5, 2, clock)
    planner.guess(fold)
    for name, cost in planner.costs.items():
        for n in (cost.n_inner, cost.n_train):
            cost.add(n, cost.fit(n), cost.fit(n))
        planner.took[name] = 1.0
    assert planner.clock.remaining < 0
    planner.replan(1, {})
    assert set(planner.plan.tuning) == set(run.names)
    assert 0 < planner.plan.seconds <= 0.2 * 0.75 * 2 * 60.0
    # what comes in after all, because time seemed to be left, has none of it
    others = planner.go_on(run)
    others.replan(1, {})
    assert set(others.plan.tuning) == {
        min(run.names, key=lambda name: others.costs[name].fold(others.costs[name].levels[-1]))
    }


def test_a_setting_is_chosen_by_a_hundred_rows_at_least():
    plan = make_plan({"a": make_cost(n_inner=1000)}, 1, 0.0)
    assert plan.tuning["a"].share == 1 / 4
    plan = make_plan({"a": make_cost(n_inner=99)}, 1, 0.0)
    assert plan.tuning["a"] == LEVELS[0]


of_costs = st.builds(
    make_cost,
    seconds=st.floats(1e-6, 100.0),
    n_settings=st.integers(1, 25),
    n_splits=st.integers(1, 3),
    n_inner=st.integers(40, 100_000),
    n_refined=st.integers(0, 3),
    baseline=st.booleans(),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some=st.lists(of_costs, min_size=1), n_folds=st.integers(1, 9), seconds=st.floats(0.0, 1e5))
def test_a_plan_keeps_within_the_time_unless_one_learner_is_left(some, n_folds, seconds):
    costs = {f"m{i}": one for i, one in enumerate(some)}
    plan = make_plan(costs, n_folds, seconds)
    assert set(plan.tuning) | plan.dropped == set(costs)
    assert not set(plan.tuning) & plan.dropped
    each = {name: n_folds * costs[name].fold(level) for name, level in plan.tuning.items()}
    assert plan.seconds == pytest.approx(sum(each.values()))
    ours = [name for name in plan.tuning if not costs[name].yardstick]
    linear = [name for name in plan.tuning if costs[name].yardstick]
    assert linear or not any(one.yardstick for one in some)
    if len(linear) == 1 and not ours:  # it stays, however long it takes
        each.pop(linear[0])
    long = [one for one in each.values() if one > CHEAP * seconds]  # the others give no more
    assert sum(long) <= seconds * (1 + 1e-9) or len(ours) <= 1
    assert ours or all(one.yardstick for one in some)
    for name, level in plan.tuning.items():
        assert level == LEVELS[0] or level.share * costs[name].n_inner >= 100
    most = max(n_folds * cost.fold(LEVELS[0]) for cost in some)
    if sum(n_folds * cost.fold(LEVELS[0]) for cost in some) <= seconds and 2 * most <= seconds:
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
    """Seconds of a fit for each row, by model, as guessed and as tasks then take."""
    made, add = dict.fromkeys(MODELS, 1e-8), Planner.add

    def guess(learner, fold, n_classes):
        return made[learner.name]

    def took(self, name, took, guessed, n_rows):
        add(self, name, Took(guessed, guessed), guessed, n_rows)

    monkeypatch.setattr("crossview.comparing.budget.planner.guess_seconds", guess)
    monkeypatch.setattr("crossview.comparing.budget.plan.CAUTION", 1.0)
    monkeypatch.setattr(Planner, "add", took)
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
    costs["pa:squared"] = 1e7
    answer = thorough(*make_views(), grid=ONE, cv=3, budget=1e4, models=MODELS)
    assert {row.model for row in answer.rows} == {"view:weak", "view:strong"}
    (left,) = answer.left_out
    assert (left.model, left.what) == ("pa:squared", "not compared")
    # three folds, of up to three inner fits of 66 or 67 rows and one of 100
    assert 3 * 1e9 < left.seconds < 3 * 1e9 * 3.01
    note = comparison_notes(answer)[-1]
    assert note.startswith("left out to keep within the budget, about ")
    assert note.endswith(" of one core (budget=None): not compared: pa:squared")
    assert answer.to_dict()["left_out"][0]["model"] == "pa:squared"


def test_a_long_first_fold_begins_with_no_further_model(costs, monkeypatch):
    """Two models take more than a share of the budget there; what costs nothing comes anyway."""
    cheap = ["baseline:majority", "arow"]
    costs |= {"view:strong": 1.0, "view:weak": 1.0, "pa:squared": 1.0} | dict.fromkeys(cheap, 1e-8)
    models = [*cheap, *MODELS]
    monkeypatch.setattr(Planner, "that_fit", lambda self, reserved: [])
    answer = thorough(*make_views(), grid=ONE, cv=2, budget=1400.0, models=models)
    assert {row.model for row in answer.rows} == {*cheap, *MODELS[:2]}
    (left,) = answer.left_out
    assert (left.model, left.what) == ("pa:squared", "not compared")


def test_where_time_is_short_the_best_models_have_fewer_folds(costs, monkeypatch):
    """Else one of them would be left out for what takes less."""
    X, y = make_noisy(600)

    def left(self, n_folds):
        return max(0.0, self.clock.budget - self.done)

    monkeypatch.setattr(Planner, "_seconds_left", left)
    # fits of 320 and 480 rows: each model takes 80 s a fold
    costs |= {"view:strong": 0.1, "view:weak": 0.1}
    given = {"grid": ONE, "models": ["view:strong", "view:weak"], **UNTUNED}
    folds = []
    for seconds in (850.0, 750.0, 550.0):
        answer = thorough(X, y, budget=seconds, cv=5, **given)
        folds.append(answer.folds)
        assert {row.model for row in answer.rows} == {"view:strong", "view:weak"}
    assert folds == [5, 4, 3]


@pytest.mark.parametrize(("budget", "lighter"), [(1e6, False), (500.0, True)])
def test_trees_are_lighter_where_the_budget_is_short(costs, budget, lighter):
    """The setting says so, and with it they are trained as they were measured."""
    costs["trees"] = 1.0  # 200 rows and 133 of them: 333 s, and a fifth of it
    with models_have(AS_IN_USE):
        answer = thorough(*make_views(), cv=2, budget=budget, models=["trees"], **UNTUNED)
    (row,) = answer.rows
    entry = find_learner("trees", "classification", ["a"])
    for setting in row.chosen:
        assert (entry.lighter.items() <= setting.items()) == lighter
    notes = [one.what for one in answer.left_out]
    assert any("lighter parameters" in one for one in notes) == lighter


def test_the_clock_of_a_worker_does_not_change_what_is_tried(monkeypatch):
    """It may be days ahead of that of the process which plans."""

    def call_elsewhere(n_threads, key, function, arguments):
        with pytest.MonkeyPatch.context() as elsewhere:
            for clock in ("time", "monotonic", "thread_time"):
                here = getattr(time, clock)
                elsewhere.setattr(time, clock, lambda here=here: here() + 1e6)
            return key, function(*arguments)

    X, y = make_noisy(300)
    grid = ONE | {"C": [1000.0, 0.001]}
    given = {"grid": grid, "cv": 2, "models": ["view:strong", "view:weak"]}
    alone = thorough(X, y, **given)
    monkeypatch.setattr("crossview.jobs.jobs.call_here", call_elsewhere)
    answer = thorough(X, y, budget=1e4, **given)
    assert answer.left_out == []
    assert [row.chosen for row in answer.rows] == [row.chosen for row in alone.rows]
    assert {"C": 0.001} in answer.row("view:strong").chosen


def test_inner_folds_are_left_out_and_named(costs):
    X, y = make_noisy(600)
    grid = [0.001, 0.1, 1000.0]
    given = {"grid": ONE | {"C": grid}, "cv": 2, "models": ["view:strong"], **UNTUNED}
    # an inner fit of 200 rows takes 20 s, and the final one 30
    costs["view:strong"] = 0.1
    answer = thorough(X, y, budget=2 * 100 / 0.75, **given)
    (left,) = answer.left_out
    assert (left.model, left.what) == ("view:strong", "1 of 3 inner folds")
    assert left.seconds == pytest.approx(2 * 3 * 2 * 20)
    _, fold = made_fold(600)
    values = [f1_of(fold, fold.inner[0][0], C) for C in grid]
    assert answer.best.chosen[0] == {"C": grid[int(np.argmax(values))]}
    assert answer.best.inner[0] == pytest.approx(max(values))


@pytest.mark.parametrize("slow", ["view:weak", "view:strong"])
def test_a_model_may_be_left_out_later_and_if_it_was_ahead_that_is_said(costs, monkeypatch, slow):
    plan, rounds = Planner.replan, []

    def slower(self, *given):
        rounds.append(self)
        if len(rounds) == 3:  # when the third fold begins
            cost = self.costs[slow]
            cost.add(cost.n_train, 1e20, 0.0)
        return plan(self, *given)

    monkeypatch.setattr(Planner, "replan", slower)
    monkeypatch.setattr("crossview.comparing.budget.planner.LEADERS", 0)
    answer = thorough(*make_views(), grid=ONE, cv=4, budget=1e4, models=MODELS[:2])
    (row,) = answer.rows
    assert row.model == ({"view:weak", "view:strong"} - {slow}).pop()
    assert answer.folds == 4
    (left,) = answer.left_out
    ahead = ", though the best single model of the first fold (f1 "
    assert left.model == slow
    assert left.what.startswith("not compared after 1 fold" + ahead * (slow == "view:strong"))
    assert ("best" in left.what) == (slow == "view:strong")


def test_without_any_time_the_first_model_makes_two_folds(costs):
    costs |= dict.fromkeys(MODELS, 0.01)
    answer = thorough(*make_views(), grid=ONE, budget=1e-9, models=MODELS)
    assert [row.model for row in answer.rows] == ["view:weak"]
    assert (answer.folds, answer.planned_folds) == (2, 5)
    assert [one.model for one in answer.left_out if one.what == "not compared"] == [
        *("view:strong", "pa:squared")
    ]
    for line in ("2 of 5 folds were finished", comparison_notes(answer)[-1]):
        assert line in comparison_notes(answer)
        assert line in str(answer).splitlines()


def test_a_row_of_an_earlier_comparison_has_the_folds_of_what_is_added(costs):
    X, y = make_noisy(300)
    given = {"grid": {"C": [0.1, 1.0]} | {"average": [], "epochs": []}, "cv": 4}
    costs["view:strong"] = 1.0
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
    """It turned out that it takes less than it seemed to."""
    X, y = make_noisy(300)
    given = {"grid": ONE, "cv": 3, "models": MODELS, **UNTUNED}
    dropping, plan = [], Planner.replan

    def drop(self, finished, begun):
        goes_on = plan(self, finished, begun)
        if finished == 1 and not dropping:
            dropping.append(self)
            self.plan.dropped.add("view:strong")
            self.saved["view:strong"] = "not compared", 1.0
        return goes_on

    monkeypatch.setattr(Planner, "replan", drop)
    answer = thorough(X, y, budget=1e6, **given)
    everything = thorough(X, y, budget=None, **given)
    assert dropping
    assert answer.left_out == []
    assert [row.scores for row in answer.rows] == [row.scores for row in everything.rows]


class Watching(ComparisonObserver):
    def __init__(self):
        self.words, self.notes, self.progressed, self.answers = [], [], [], []

    def say(self, words):
        self.words.append(words)

    def note(self, words):
        self.notes.append(words)

    def progress(self, done, total, words):
        self.progressed.append((done, total, words))

    def partial(self, answer):
        self.answers.append(answer)


def test_the_budget_does_not_count_what_compiles(costs, monkeypatch):
    add = Planner.add

    def compiling(self, name, took, guessed, n_rows):
        add(self, name, took, guessed, n_rows)
        self.clock.add(Took(0.0, 0.0, 1e6), self.n_workers)

    monkeypatch.setattr(Planner, "add", compiling)
    observer = Watching()
    given = {"grid": ONE, "cv": 4, "models": MODELS[:1], "observer": observer}
    answer = thorough(*make_views(), budget=1e-6, **given)
    assert answer.folds == 4
    assert any(one.startswith("compiled for this machine, once") for one in observer.words)
    assert observer.notes == []


def test_a_busy_machine_changes_how_long_it_takes_and_is_said_once(costs, monkeypatch):
    add = Planner.add

    def waiting(self, name, took, guessed, n_rows):
        add(self, name, took, guessed, n_rows)
        self.clock.add(Took(1.0, 1.65), self.n_workers)

    monkeypatch.setattr(Planner, "add", waiting)
    observer = Watching()
    given = {"grid": ONE, "cv": 4, "models": MODELS[:1], "observer": observer}
    answer = thorough(*make_views(), budget=1e4, **given)
    assert answer.left_out == []
    assert observer.notes == [
        "the machine is busy with something else: it takes about 15000 s instead of 10000 s"
    ]


def test_the_first_fold_says_who_is_best_so_far(costs):
    observer = Watching()
    given = {"grid": ONE, "cv": 3, "models": MODELS, "observer": observer, **UNTUNED}
    answer = thorough(*make_views(), budget=1e4, **given)
    words = [one[2] for one in observer.progressed]
    assert words[0] == "fold 1 of 3: view:weak"
    assert words[1].startswith("fold 1 of 3: view:weak; best so far: view:weak, f1 0.")
    value = answer.row("view:strong").scores[0]
    assert words[3].endswith(f"; best so far: view:strong, f1 {value:.4g}")
    assert "so far" not in words[-1]


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
