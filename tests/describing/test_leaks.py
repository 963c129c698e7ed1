"""Columns that tell the label: which are found, and which are not."""

import numpy as np
import pyarrow as pa
import pytest

from crossview import Checkpoint, InputError, LeakWarning, ViewEncoder, compare, describe, train
from crossview.comparing.result.comparison import Comparison
from crossview.data.labeled import LabeledSource
from crossview.data.summaries import leaks
from crossview.reporting.page.comparison import comparison_page
from crossview.reporting.page.training import training_page
from training_runs import Killed, Killer

RNG = np.random.default_rng(0)
N = 3000
LABEL = np.where(RNG.random(N) < 0.126, "ja", "nein")
JA = LABEL == "ja"
N_JA = int(JA.sum())
DAYS = np.array([f"day {i}" for i in RNG.integers(365, size=N)])
NOISE = RNG.normal(size=N)


def where(rows, values):
    return pa.array(np.asarray(values).tolist(), mask=~np.asarray(rows))


def leaks_of(values, label=LABEL, **options):
    table = pa.table({"a__x": values, "b__z": NOISE[: len(values)], "y": label})
    lines = describe(table, "y", **options).warnings
    return [line for line in lines if "only known after the label" in line]


CODES = RNG.integers(400, size=N) * 2 + JA
FLIPPED = JA ^ (np.arange(N) % 500 == 0)
FEW = np.where(np.arange(N) < 5, "rare", "usual")
LEAKS = {
    "a category that is filled": (
        where(JA, DAYS),
        f"a__x: is filled in exactly the {N_JA} rows whose label is 'ja'; if it is only known "
        "after the label, leave it out: ignore='a__x'",
    ),
    "a number that is missing": (
        where(~JA, NOISE),
        f"is missing in exactly the {N_JA} rows whose label is 'ja'",
    ),
    "nearly": (where(FLIPPED, DAYS), f"is filled in {(FLIPPED & JA).sum()} of the {N_JA} rows"),
    "some of a class": (
        where(JA & (np.arange(N) % 2 == 0), NOISE),
        f"of the {N_JA} rows whose label is 'ja', and in none of the {N - N_JA:,} others",
    ),
    "one of many values": (
        np.where(JA, "code", np.char.add("none ", DAYS)),
        f"is 'code' in exactly the {N_JA} rows whose label is 'ja'",
    ),
    "many values, each of one class": (
        np.char.add("k", CODES.astype(str)),
        "tells the label almost exactly",
    ),
    "a special number": (np.where(JA, -1.0, NOISE), f"is -1 in exactly the {N_JA} rows"),
    "the end of a study": (
        np.where(JA | (np.arange(N) % 100 == 0), RNG.integers(1, 52, size=N), 52),
        f"is below 52, its greatest value, in {N_JA} of the {N_JA} rows whose label",
    ),
    "a value in the middle": (
        np.where(JA, 4, np.where(NOISE > 2.3, 4, RNG.choice([0, 1, 2, 3, 5, 6], size=N))),
        f"is 4 in {N_JA} of the {N_JA} rows whose label is 'ja', and in",
    ),
    "codes of few values": (
        RNG.integers(5, size=N) * 2 + JA,
        "tells the label almost exactly",
    ),
    "a limit": (NOISE + 20.0 * JA, "tells the label almost exactly"),
    "a copy": (JA, f"is 'true' in exactly the {N_JA} rows"),
}


@pytest.mark.parametrize(("values", "words"), LEAKS.values(), ids=LEAKS)
def test_a_column_that_tells_the_label_is_named(values, words):
    (line,) = leaks_of(values)
    assert words in line


@pytest.mark.parametrize(
    ("values", "label"),
    [
        (where(RNG.random(N) < 0.2 + 0.6 * JA, DAYS), LABEL),
        (where(RNG.random(N) < np.where(JA, 0.5, 0.02), NOISE), LABEL),
        (where(np.arange(N) % 50 == 0, DAYS), LABEL),
        (np.where(JA & (RNG.random(N) < 0.5), 0.0, NOISE), LABEL),
        (np.where(JA ^ (np.arange(N) % 30 == 0), RNG.integers(1, 52, size=N), 52), LABEL),
        (DAYS, LABEL),
        ([f"id {i}" for i in range(N)], LABEL),
        (NOISE + 2.0 * JA, LABEL),
        # a class of few rows
        (where(FEW == "rare", DAYS), FEW),
        (np.where(FEW == "rare", -1.0, NOISE), FEW),
        (np.where(FEW == "rare", "v", "w"), FEW),
        # as of a school: each of many values is of one class, in many rows
        (np.arange(N) // 50, np.where(np.arange(N) // 50 % 3, "a", "b")),
        # several classes
        (RNG.integers(5, size=N), RNG.integers(3, size=N)),
    ],
)
def test_a_column_that_says_something_is_not(values, label):
    assert leaks_of(values, label) == []


def test_a_leak_of_one_of_several_classes():
    label = RNG.choice(["a", "b", "c"], size=N)
    (line,) = leaks_of(where(label == "b", DAYS), label)
    assert f"is filled in exactly the {(label == 'b').sum():,} rows whose label is 'b'" in line


def test_a_number_that_each_class_tells_does_not_tell_the_class():
    """Classes share its values, or that it is missing."""
    label = RNG.choice(list("abcdef"), size=N)
    assert leaks_of(np.isin(label, ["a", "b", "c"]) + 1e-6 * NOISE, label) == []
    assert leaks_of(where(np.isin(label, ["a", "b", "c"]), NOISE), label) == []
    codes = np.searchsorted(list("abcdef"), label) + np.where(RNG.random(N) < 0.001, 1, 0) / 2
    assert "tells the label almost exactly" in leaks_of(codes + 1e-3 * NOISE, label)[0]


def test_many_leaks_are_one_line(monkeypatch):
    monkeypatch.setattr(leaks, "MOST_LINES", 1)
    table = pa.table({"a__x": NOISE, "b__k": where(JA, DAYS), "b__m": where(JA, NOISE), "y": LABEL})
    with pytest.warns(LeakWarning) as found:
        answer = compare(table, "y", **QUICK)
    (line,) = {str(one.message) for one in found}
    assert line.startswith("b__k, b__m: each tells the label, or a class of it, almost exactly")
    assert "ignore=['b__k', 'b__m']" in line
    assert line in answer.warnings


@pytest.mark.parametrize(("sign", "words"), [(1.0, "above 0"), (-1.0, "below 0")])
def test_a_leak_of_a_number(sign, words):
    amount = sign * np.where(JA, 10.0 + RNG.random(N), 0.0)
    (line,) = leaks_of(where(JA, DAYS), amount, task="regression")
    assert f"is filled in exactly the {N_JA} rows whose label is {words};" in line
    other = sign * np.where(JA, 10.0, 0.0) + 5.0 * NOISE
    assert leaks_of(where(JA, DAYS), other, task="regression") == []
    assert leaks_of(NOISE, NOISE, task="regression") != []


TABLE = pa.table({"a__code": where(JA, DAYS), "a__x": NOISE, "b__z": NOISE**2, "y": LABEL})
WORDS = f"a__code: is filled in exactly the {N_JA} rows whose label is 'ja'"
QUICK = {"cv": 2, "models": ["view:a", "view:b"], "grid": {"C": [0.1]}, "curve": False}


@pytest.mark.parametrize("how", [{}, {"progressive": True}])
def test_compare_says_so(how):
    given = {"models": QUICK["models"], "progressive": True} if how else QUICK
    with pytest.warns(LeakWarning, match=WORDS):
        answer = compare(TABLE, "y", **given)
    (line,) = answer.warnings
    assert line.startswith(WORDS)
    assert WORDS in str(answer).splitlines()[1]
    assert Comparison.from_dict(answer.to_dict()).warnings == [line]
    assert comparison_page(answer).doubts == [f"{line}."]
    without = compare(TABLE, "y", encoder=ViewEncoder(ignore=["a__c*"]), **given)
    assert not [line for line in without.warnings if "a__code" in line]


@pytest.mark.parametrize(
    "how",
    [
        {"model": "pa:concatenated"},
        {"model": "pa:concatenated", "epochs": 2},
        {"model": "svmperf"},
        {"model": "linear", "task": "regression"},
    ],
)
def test_train_says_so(how):
    table = TABLE
    if "task" in how:
        table = TABLE.drop_columns(["y"]).append_column("y", pa.array(np.where(JA, 9.0, 1.0)))
    with pytest.warns(LeakWarning, match="a__code: is filled in exactly the"):
        trained = train(table, "y", **how)
    (line,) = trained.warnings
    assert training_page(trained).doubts == [f"{line}."]
    assert "warnings" not in trained.info


@pytest.mark.parametrize("in_order", [True, False])
def test_train_says_so_when_it_goes_on(in_order, tmp_path, monkeypatch):
    """Also where the rows that are left hold no row of the class."""
    monkeypatch.setattr(LabeledSource, "batch_rows", 500)
    kept = Checkpoint(tmp_path / "run.st", every=0.0, resume=True)
    last = np.isin(np.arange(N), np.flatnonzero(~JA)[-500:])
    rows = TABLE.take(pa.array(np.argsort(last, kind="stable")))
    given = {"model": "pa:concatenated", "in_order": in_order, "checkpoint": kept}
    with pytest.raises(Killed):
        train(rows, "y", **given, log=Killer(2600))
    assert kept.path.exists()
    with pytest.warns(LeakWarning, match=WORDS):
        trained = train(rows, "y", **given)
    assert trained.warnings[0].startswith(f"{WORDS}; if it is only known")


def test_of_many_rows_some_are_looked_at(monkeypatch):
    monkeypatch.setattr(leaks, "MOST_ROWS", 1000)
    rows = np.argsort(LABEL, kind="stable")  # by label
    for how in (train, lambda *given, **_: compare(*given, **QUICK)):
        with pytest.warns(LeakWarning, match=r"rows whose label is 'ja' \(of 1,000 rows\); if"):
            how(TABLE.take(pa.array(rows)), "y", model="pa:concatenated")


def test_columns_to_ignore_are_in_no_view():
    given = {"y": "y", "model": "pa:concatenated"}
    trained = train(
        TABLE, **given, views={"a": ["a__*"], "b": "b*"}, encoder=ViewEncoder(ignore="a__code")
    )
    assert trained.encoder.view_columns() == {"a": ["a__x"], "b": ["b__z"]}
    trained = train(
        TABLE,
        **given,
        views={"a": ["a__c*", "a__x"], "b": "b*"},
        encoder=ViewEncoder(ignore=["a__c*"]),
    )
    assert trained.encoder.view_columns() == {"a": ["a__x"], "b": ["b__z"]}
    with pytest.raises(InputError, match="view 'a' has only columns of ignore= or per=; leave the"):
        train(
            TABLE, **given, views={"a": "a__c*", "b": "b*"}, encoder=ViewEncoder(ignore=["a__c*"])
        )
    with pytest.raises(InputError, match="no column 'a__cod'; did you mean 'a__code'"):
        train(TABLE, **given, encoder=ViewEncoder(ignore=["a__cod"]))
