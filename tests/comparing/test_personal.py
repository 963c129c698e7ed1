"""Users as deviations: what they gain over the user as a category."""

import json
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import run
from crossview import InputError, ViewEncoder, compare, train
from crossview.comparing.result.comparison import Comparison

MODELS = ["arow:diagonal", "pa:concatenated"]
USES = ("(no user)", "(user as category)", "(per user)")


def make_table(n=6000, n_users=60, *, deviates=True, seed=0):
    """Users whose tastes deviate, or who only like more or less of everything."""
    rng = np.random.default_rng(seed)
    user, genre = rng.integers(0, n_users, n), rng.integers(0, 4, n)
    score = rng.normal(size=n_users)[user] + rng.normal(size=4)[genre]
    if deviates:
        score += 2.0 * rng.normal(size=(n_users, 4))[user, genre]
    age = rng.normal(size=n)
    like = rng.random(n) < 1.0 / (1.0 + np.exp(-score - age))
    columns = {"user": user, "genre": [f"g{k}" for k in genre], "age": age, "like": like}
    return pa.table(columns)


@pytest.fixture(scope="module", params=[True, False], ids=["tastes", "no tastes"])
def compared(request):
    table = make_table(deviates=request.param)
    given = {"encoder": ViewEncoder(per="user"), "scoring": "log_loss", "models": MODELS}
    return request.param, table, compare(table, "like", **given)


def test_it_is_recommended_where_a_gain_is_shown(compared):
    deviates, _, answer = compared
    assert answer.mode == "progressive"
    assert answer.per == "user"
    assert any("in the order of the source; time= names" in line for line in answer.warnings)
    assert {row.model for row in answer.rows} == {f"{m} {use}" for m in MODELS for use in USES}
    assert answer.recommended.user == ("per" if deviates else "category")
    for gain in answer.gains:
        per, category, without = (
            answer.row(f"{gain.learner} {use}") for use in ("(per user)", *USES[1::-1])
        )
        assert (gain.per, gain.category, gain.without) == (per.value, category.value, without.value)
        assert category.value < without.value
        assert gain.difference.location == pytest.approx(category.value - per.value)
    shown = {gain.learner: gain.is_shown for gain in answer.gains}
    assert shown["arow:diagonal"] == deviates
    (sentence,) = [one for one in answer.verdict if one.startswith("each user's deviations")]
    assert all(model in sentence for model in MODELS)
    again = Comparison.from_dict(json.loads(json.dumps(answer.to_dict())))
    assert again.gains == answer.gains
    assert again.recommended.model == answer.recommended.model


def test_each_value_is_that_of_training_alone(compared):
    """The three models are those that `train` makes of the same columns."""
    _, table, answer = compared
    encoders = {
        "per": ViewEncoder(per="user"),
        "category": ViewEncoder(categorical=["user"]),
        "without": ViewEncoder(ignore=["user"]),
    }
    for row in answer.rows:
        if row.learner == "pa:concatenated":
            # in a comparison the first rows count by the best setting so far
            given = {"settings": row.setting, "model": row.learner, "in_order": True}
            own = train(table, "like", encoder=encoders[row.user], scoring="log_loss", **given)
            assert own.metric["value"] == pytest.approx(row.value, rel=0.03)


@pytest.mark.parametrize("deviates", [True, False])
def test_the_command_that_is_printed_trains_what_was_recommended(tmp_path, capsys, deviates):
    pq.write_table(make_table(deviates=deviates), tmp_path / "rows.parquet")
    source, model = str(tmp_path / "rows.parquet"), str(tmp_path / "m.cv")
    stored = str(tmp_path / "stored.json")
    about = [source, "--label", "like", "--view", "item=genre,age", "--in-order"]
    about += ["--metric", "log_loss", "--model", MODELS[0]]
    status, out, said = run(capsys, "compare", *about, "--per", "user", "--json", stored)
    assert status == 0, said
    words = shlex.split(out[-1])
    status, again, said = run(capsys, "compare", stored)
    assert (status, again[-1]) == (0, out[-1]), said
    expected = ["--per"] if deviates else ["--categorical", "user=user"]
    assert all(word in words for word in expected)
    assert ("--per" in words) == deviates
    status, _, said = run(capsys, *words[1:-1], model)
    assert status == 0, said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 3}, "cv= is for a comparison by folds; leave it out, or leave out per=$"),
        ({"groups": "user"}, "groups= is for a comparison by folds"),
        ({"encoder": ViewEncoder(per="usr")}, "per= names 'usr', which is no column"),
        ({"models": ["trees"]}, "'trees' needs all rows in memory"),
    ],
)
def test_what_it_cannot_do_is_one_line(options, message):
    given = {"encoder": ViewEncoder(per="user"), **options}
    with pytest.raises(InputError, match=message):
        compare(make_table(100), "like", **given)
