"""Loss and metric over time, in a file of JSON lines."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score, log_loss

from crossview import Checkpoint, InputError, Scoring, TrainingLog, TrainingObserver, train
from crossview.data.labeled import LabeledSource
from training_runs import COLUMNS, Killed, Killer, contents, make_table


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def table():
    table = make_table(1000).drop_columns(["number"])
    return table.filter(table["y"].is_valid())


def test_each_window_is_what_its_rows_say(table, tmp_path):
    given = {
        "model": "pa:concatenated",
        "views": {"n": "n__*"},
        "in_order": True,
        "scoring": Scoring(threshold=None),
    }
    plain = train(table, "y", **given, output=tmp_path / "plain.st")
    log = tmp_path / "log.jsonl"
    logged = train(table, "y", **given, log=TrainingLog(log, 300), output=tmp_path / "logged.st")
    assert contents(tmp_path / "logged.st") == contents(tmp_path / "plain.st")
    assert logged.info == plain.info
    windows = read(log)
    assert [one["rows"] for one in windows] == [300, 600, 900, len(table)]
    assert [one["window"] for one in windows] == [300, 300, 300, len(table) - 900]
    # by hand
    X = clone(plain.fitted[0]).partial_fit_transform(table)
    y = table["y"].to_numpy(zero_copy_only=False)
    scores, p = clone(plain.learner).score_then_learn(
        X, y, np.array(["no", "yes"]), return_proba=True
    )
    for one in windows:
        rows = slice(one["rows"] - one["window"], one["rows"])
        truth, predicted = y[rows] == "yes", scores[rows] > 0
        assert one["metric"] == "f1"
        assert one["value"] == pytest.approx(f1_score(truth, predicted))
        assert one["accuracy"] == pytest.approx((truth == predicted).mean())
        assert one["log_loss"] == pytest.approx(log_loss(truth, p[rows]), rel=1e-6)
        margin = np.where(truth, 1.0, -1.0) * scores[rows]
        assert one["loss"] == pytest.approx(np.maximum(0.0, 1.0 - margin).mean())


def test_neither_batches_nor_a_stop_change_the_log(table, tmp_path, monkeypatch):
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    given = {"model": "scw", **COLUMNS}
    train(table, "y", **given, log=whole)
    assert len(read(whole)) == len(table) // 100 + 1
    monkeypatch.setattr(LabeledSource, "batch_rows", 37)
    kept = {"checkpoint": Checkpoint(tmp_path / "kept.st", every=0.0, resume=True)}
    killer = Killer(400)
    killer.log = parts
    with pytest.raises(Killed):
        train(table, "y", **given, **kept, log=killer)
    lines = parts.read_text()
    assert lines
    parts.write_text(lines + '{"rows": 700, "win')  # it was killed while it wrote
    train(table, "y", **given, **kept, log=TrainingObserver(history=True, log=parts))
    assert read(parts) == read(whole)


def test_what_cannot_be_a_log_is_one_line(table, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n')
    for options, message in (
        ({"log": tmp_path / "rows.jsonl"}, "exists and is not a log of training"),
        ({"log": tmp_path / "a", "output": tmp_path / "a"}, "and the log; name two files"),
        ({"log": tmp_path / "log.jsonl", "model": "svmperf"}, "and has no log; leave it out"),
    ):
        with pytest.raises(InputError, match=message):
            train(table, "y", **{"model": "scw", **COLUMNS, **options})
    with pytest.raises(InputError, match="every=0; give 1 or more"):
        TrainingLog(tmp_path / "log.jsonl", every=0)
    with pytest.raises(InputError, match=r"^log= is an int; give a path or a TrainingLog or None"):
        TrainingObserver(log=3)
