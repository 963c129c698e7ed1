"""What a comparison says of itself: the verdict, the command, JSON."""

import json

import pytest

from comparing import made_answer


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({"p": 0.01}, "best: a alone leads squared by 0.1000 f1 (p = 0.01)"),
        ({"p": 0.0}, "best: a alone leads squared by 0.1000 f1 (p < 0.001)"),
        (
            {"p": 0.31},
            "tie: a alone leads squared by 0.1000 f1, which is not significant at 0.05 (p = 0.31)",
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


def test_json_has_everything_and_no_nan(answer):
    content = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert content["rows"][0]["scores"] == answer.rows[0].scores
    assert content["train_options"][:2] == ["--model", answer.rows[answer.best].model]
    assert made_answer(0.1).to_dict()["rows"][1]["roc_auc"] is None


def test_as_text_it_has_a_line_for_each_row_and_the_verdict(answer):
    *rows, verdict = str(answer).splitlines()
    assert verdict == answer.verdict
    for line, row in zip(rows, answer.rows, strict=True):
        assert line.startswith(row.title)
        assert f" {row.value:.4f} ± {row.std:.4f}" in line
