"""The table of a comparison on a terminal and in Markdown."""

import dataclasses
import io
import math

import pytest
from rich.console import Console

from comparisons import ONE, made_answer, made_row, make_views, thorough
from crossview.comparing.result.ranking import LeftOut, Member
from crossview.reporting.tables import comparison_notes, comparison_table, speed, to_markdown

BEST, NEAR = [0.90, 0.91, 0.92, 0.91, 0.90], [0.90, 0.90, 0.92, 0.91, 0.89]
WORSE = [0.80, 0.82, 0.81, 0.80, 0.81]


@pytest.fixture(scope="module")
def answer():
    """Of the longest names and most parameters."""
    models = ["view:noise", "pa:absolute", "pam:squared", "scw", "svmperf:concatenated"]
    return thorough(*make_views(), grid=ONE, cv=2, models=[*models, "fm:cross-view", "stm"])


def printed(answer, width):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(comparison_table(answer, width))
    return console.export_text().splitlines()


@pytest.mark.parametrize("width", [30, 60])
def test_a_narrow_terminal_shows_every_column_and_every_name(answer, width):
    """Columns go below the others, after the names once more."""
    lines = printed(answer, width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "…" not in text
    for column in ("f1", "worse", "cut", "acc.", "AUC", "chosen"):
        assert column in text
    n_parts = sum(line.startswith("model ") for line in lines)
    assert n_parts > 1
    for row in answer.rows:
        assert f"{row.value:.3f}" in text
        if width == 60:
            assert sum(row.model in line for line in lines) >= n_parts


@pytest.mark.parametrize("width", [80, 160])
def test_the_table_fits_its_terminal(answer, width):
    lines = printed(answer, width)
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    assert ("what it is" in lines[0], " p " in lines[0]) == (width > 80, width > 80)
    firsts = [line for line in lines[2:] if "±" in line]  # text may take more lines
    assert len(firsts) == len(answer.rows)
    for line, row in zip(firsts, answer.rows, strict=True):
        assert row.model in line
        assert (row.title in line) == (width > 80)
        assert line.startswith("→ ") == (row is answer.recommended)
        assert (" best " in line) == (row is answer.best)


def test_an_empty_line_divides_the_ensemble_from_the_models():
    rows = [made_row(name, one) for name, one in {"view:a": NEAR, "arow": WORSE}.items()]
    members = [Member("view:a", 0.6, {"C": 0.1})]
    for ensemble, first in (
        ([], ["→", "arow"]),
        (
            [made_row("ensemble", BEST, members=members)],
            ["→", "", "view:a", "arow"],
        ),
    ):
        lines = printed(made_answer([*rows, *ensemble]), 80)
        words = [line.strip().partition(" ")[0].strip("─") for line in lines]
        assert words == ["model", "", *first]


def test_markdown_says_the_same(answer):
    text = to_markdown(answer)
    header, rule, *rows = [line for line in text.splitlines() if line.startswith("|")]
    assert header == (
        "| model | what it is | f1 | worse | p | cut | acc. | AUC | rows/s | chosen |"
    )
    assert rule.count("|") == header.count("|")
    assert len(rows) == len(answer.rows)
    for line, row in zip(rows, answer.rows, strict=True):
        value = f"{row.value:.3f} ± {row.std:.3f}"
        assert (f"**{value}**" if row is answer.recommended else f"| {value} |") in line
    assert f"- {answer.verdict[0]}" in text


def test_the_notes_say_how_it_was_scored():
    answer = made_answer({"pa:squared": BEST, "arow": WORSE, "view:a": WORSE})
    notes = comparison_notes(answer)
    assert notes[: len(answer.verdict)] == answer.verdict
    assert "f1: mean ± standard deviation over 5 folds of 10 rows" in notes
    many = comparison_notes(dataclasses.replace(answer, n_rows=12_345, unlabeled=5))
    assert "f1: mean ± standard deviation over 5 folds of 12,340 labeled rows" in many
    assert notes[-1] == (
        "worse: probability that the model is worse than the best by more than 0.0100; p: of no "
        "difference, adjusted for 2 models (some test)"
    )
    assert not any("per repetition" in note for note in notes)
    counted = [dataclasses.replace(row, confusion=[[9, 1], [0, 10]]) for row in answer.rows]
    twice = comparison_notes(made_answer(counted, test_share=2 / 5))
    assert "rows of a class: each row counts once per repetition of the folds" in twice
    stream = [dataclasses.replace(row, setting={"C": 0.1}) for row in answer.rows]
    notes = comparison_notes(made_answer(stream, mode="progressive"))
    assert notes[-1].endswith("p: of no difference, adjusted for all 3 pairs of models (some test)")
    two = comparison_notes(made_answer(stream[:2], mode="progressive"))
    assert two[-1].endswith("p: of no difference (some test)")
    assert any("9 rows, each predicted and then learned" in note for note in notes)
    assert any(note.startswith("C: chosen on the first tenth of them") for note in notes)


def test_what_was_left_out_is_told():
    left = [LeftOut("pam", "not compared", 3000.0), LeftOut("arow", "1 of 3 inner folds", 300.0)]
    left.append(LeftOut("cw", "not compared", 300.0))
    answer = made_answer({"arow": BEST, "view:a": WORSE}, left_out=left, planned_folds=10)
    assert comparison_notes(answer)[-2:] == [
        "5 of 10 folds were finished",
        "left out to keep within the budget, about 60 min of one core (budget=None): not compared: "
        "pam, cw; 1 of 3 inner folds: arow",
    ]


def test_of_very_much_that_was_left_out_the_first_parts_are_told_and_the_rest_counted():
    left = [LeftOut(f"tuned-{i}", f"{i} of 9 settings on all tuning rows", 0.0) for i in range(9)]
    left += [LeftOut(f"slow-{i}", "not compared", 0.0) for i in range(7)]
    answer = made_answer({"arow": BEST, "view:a": WORSE}, left_out=left)
    assert comparison_notes(answer)[-1] == (
        "left out to keep within the budget (budget=None): not compared: slow-0, slow-1, slow-2 "
        "and 4 more; 0 of 9 settings on all tuning rows: tuned-0; 1 of 9 settings on all tuning "
        "rows: tuned-1; parts of tuned-2, tuned-3, tuned-4 and 4 more"
    )


@pytest.mark.parametrize("name", ["logistic-regression", "baseline:gradient-boosting"])
def test_where_no_model_of_scikit_learn_was_measured_that_is_told(name):
    left = [LeftOut(name, "not compared", 1.0)]
    told = "scikit-learn was not measured: raise budget="
    for rows, failed, is_told in (
        ({"arow": BEST}, False, True),
        ({"arow": BEST, "baseline:majority": WORSE}, False, True),
        ({"arow": BEST, "late-fusion": WORSE}, False, False),
        ({"arow": BEST}, True, False),  # more time would not help
    ):
        answer = made_answer(rows, left_out=[dataclasses.replace(left[0], failed=failed)])
        assert (comparison_notes(answer)[-1] == told) == is_told
        assert (told in str(answer).splitlines()) == is_told


def test_of_one_model_there_is_nothing_to_compare():
    answer = made_answer([made_row("arow", BEST)])
    assert not any("worse:" in note for note in comparison_notes(answer))
    assert "→" not in to_markdown(answer)


@pytest.mark.parametrize(
    ("value", "text"),
    [(950.4, "950"), (8312, "8.3k"), (83120, "83k"), (1.25e6, "1.2M"), (math.nan, "–")],
)
def test_speeds_are_short(value, text):
    assert speed(value) == text
