"""Whether labels are classes or numbers, where nobody says it."""

import numpy as np
import pyarrow as pa
import pytest

from crossview import GuessWarning, InputError, MultiView, compare, describe, evaluate, train

RNG = np.random.default_rng(0)
N = 240
GUESSES = {
    "decimals": (RNG.normal(size=N).round(1), "regression", "'y' has decimals"),
    "few decimals": (np.where(np.arange(N) % 2, 0.5, 1.0), "regression", "'y' has decimals"),
    "prices": (np.arange(N) % 120, "regression", "more than 100 values"),
    "points": (80 + np.arange(N) % 17, "regression", "'y' takes 17 whole numbers from 80 to 96"),
    "ages": (np.arange(N) % 80, "classification", "'y' takes 80 whole numbers"),
    "goals": (np.arange(N) % 13, "classification", "'y' takes 13 whole numbers"),
    "visits": (
        np.where(np.arange(N) % 20, np.arange(N) % 12, 40),
        "regression",
        "'y' takes 13 whole numbers from 0 to 40",
    ),
    "sum score": (
        np.clip(RNG.normal(14, 5, N).round(), 0, 24).astype(int),
        "regression",
        "whole numbers from 0 to 24",
    ),
    "children": (np.minimum(RNG.geometric(0.25, N) - 1, 11), "regression", "12 whole numbers from"),
    "letters": (RNG.permutation(np.arange(N) % 24), "classification", "24 whole numbers"),
    "topics": (
        np.repeat(np.arange(12), [40, 3, 31, 8, 52, 5, 22, 30, 4, 25, 2, 18]),
        "classification",
        "'y' takes 12 whole numbers, and a rating or a count is a number",
    ),
    "from the most frequent": (
        np.repeat(np.arange(12), [70, 40, 30, 22, 18, 15, 12, 10, 8, 6, 5, 4]),
        "classification",
        "12 whole numbers",
    ),
    "months": (1 + RNG.permutation(N) % 12, "classification", "12 whole numbers"),
    "stars": (np.arange(N) % 5, "classification", None),
    "whole floats": (np.arange(N) % 3 + 0.0, "classification", None),
    "booleans": (np.arange(N) % 2 == 0, "classification", None),
    "digits as text": ((np.arange(N) % 120).astype(str), "classification", None),
}


@pytest.mark.parametrize("case", GUESSES)
def test_labels_say_whether_they_are_classes_or_numbers(case, recwarn):
    y, task, words = GUESSES[case]
    table = pa.table({"x": RNG.normal(size=N), "z": RNG.normal(size=N), "y": y})
    trained = train(table, "y", model="linear", epochs=1)
    assert trained.task == task
    said = [str(one.message) for one in recwarn if one.category is GuessWarning]
    assert len(said) == (words is not None)
    other = {"regression": "classification", "classification": "regression"}[task]
    for line in said:
        assert words in line
        assert line.endswith(f"if that is wrong, give task={other!r}")
    assert describe(table, "y").columns[-1].relation is None
    X = MultiView({"v": np.column_stack([table["x"], table["z"]])})
    assert train(X, y, model="linear").task == task


@pytest.mark.filterwarnings("ignore::crossview.GuessWarning")
@pytest.mark.filterwarnings("ignore::crossview.errors.LearnedRowsWarning")
@pytest.mark.parametrize(("low", "task"), [(0.0, "classification"), (0.5, "regression")])
def test_decimals_of_a_query_are_numbers(low, task):
    """DuckDB has a type of its own for 1.0, whose labels were no classes, nor numbers."""
    y = np.where(np.arange(N) % 2, 1.0, low)
    frame = pa.table({"x": RNG.normal(size=N) + 3 * y, "y": y})
    table = frame.set_column(1, "y", frame["y"].cast(pa.decimal128(3, 2)))
    trained, expected = (train(one, "y", model="linear") for one in (table, frame))
    assert trained.task == task
    assert [*trained.classes] == [*expected.classes]
    rows = frame.select(["x"])
    np.testing.assert_array_equal(trained.fitted.predict(rows), expected.fitted.predict(rows))
    assert evaluate(trained, table).n_rows == N
    assert train(table, "y", init=trained).rows == 2 * N


def test_the_task_that_is_given_is_taken_without_a_word(recwarn):
    table = pa.table({"x": RNG.normal(size=N), "y": np.arange(N) % 80})
    assert train(table, "y", model="linear", task="regression").task == "regression"
    assert train(table, "y", model="linear", task="classification").task == "classification"
    assert not [one for one in recwarn if one.category is GuessWarning]
    with pytest.raises(InputError, match="no task 'number'"):
        train(table, "y", task="number")


def test_options_of_the_other_task_are_refused_after_a_guess():
    table = pa.table({"x": RNG.normal(size=N), "y": RNG.normal(size=N)})
    with pytest.warns(GuessWarning), pytest.raises(InputError, match="f1"):
        train(table, "y", scoring="f1")
    with pytest.warns(GuessWarning), pytest.raises(InputError, match="grid= names 'gamma'"):
        compare(table, "y", grid={"gamma": [1.0]})
