"""The table of a comparison on a terminal and in Markdown."""

import io

import pytest
from rich.console import Console

from comparing import ONE, made_answer, make_views
from crossview import (
    compare,
)
from crossview.report.tables import comparison_notes, comparison_table, speed, to_markdown


@pytest.fixture(scope="module")
def answer():
    """Of the longest titles and most parameters."""
    models = ["view:noise", "pa:absolute", "pam:squared", "scw", "svmperf:concatenated"]
    return compare(*make_views(), grid=ONE, cv=2, models=[*models, "fm:cross-view", "stm"])


def printed(answer, width):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(comparison_table(answer))
    return console.export_text().splitlines()


def test_the_table_fits_a_terminal_of_80_columns(answer):
    lines = printed(answer, 80)
    assert max(map(len, lines)) <= 80
    # a title may take more lines
    firsts = [line for line in lines[2:] if "±" in line]
    assert len(firsts) == len(answer.rows)
    assert firsts[answer.best].rstrip().endswith("best")
    assert "…" not in "".join(lines)


def test_markdown_says_the_same(answer):
    text = to_markdown(answer)
    header, rule, *rows = [line for line in text.splitlines() if line.startswith("|")]
    assert header == "| views | f1 | cut | acc. | AUC | rows/s | chosen | p |"
    assert rule.count("|") == header.count("|")
    best = answer.rows[answer.best]
    assert f"**{best.value:.3f} ± {best.std:.3f}**" in rows[answer.best]
    assert answer.verdict in text


def test_the_notes_say_how_it_was_scored():
    assert comparison_notes(made_answer(0.1))[1] == (
        "f1 of 'yes': mean ± standard deviation over 5 folds of 10 rows"
    )
    notes = comparison_notes(made_answer(0.1, mode="progressive"))
    assert "9 rows" in notes[1]
    assert "on the 1 rows before them" in notes[2]


@pytest.mark.parametrize(
    ("value", "text"), [(950.4, "950"), (8312, "8.3k"), (83120, "83k"), (1.25e6, "1.2M")]
)
def test_speeds_are_short(value, text):
    assert speed(value) == text
