"""The most probable classes of each row."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import run
from crossview import InputError, predict, train

LABELS = {"text": list("dacbe"), "numbers": [4, 1, 3, 2, 10], "two": ["no", "yes"]}


def fitted(labels, **settings):
    rng = np.random.default_rng(3)
    y = rng.integers(len(labels), size=60)
    table = {"u__x": y + rng.normal(size=60), "w__x": y % 2 + rng.normal(size=60)}
    table = pa.table(table | {"y": [labels[code] for code in y]})
    return train(table, "y", **{"model": "pa:squared", **settings}), table


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_the_most_probable_classes_stand_in_place_of_columns_per_class(labels, tmp_path):
    model, table = fitted(labels)
    whole = predict(model, table)
    answer = predict(model, table, top=2, explain=1, keep=["y"])
    assert answer.column_names == [
        *("y", "prediction"),
        *(["score"] if len(labels) == 2 else []),
        *("top_1_class", "top_1_probability", "top_2_class", "top_2_probability"),
        *("view_u", "view_w", "explain_1_column", "explain_1_contribution"),
    ]
    for row, all_ in zip(answer.to_pylist(), whole.to_pylist(), strict=True):
        known = sorted(((all_[f"probability_{one}"], one) for one in labels), reverse=True)
        found = [(row[f"top_{k}_probability"], row[f"top_{k}_class"]) for k in (1, 2)]
        assert found == known[:2]
        same = ("prediction", "view_u", "view_w", *(["score"] if len(labels) == 2 else []))
        assert [row[name] for name in same] == [all_[name] for name in same]
    predict(model, table, tmp_path / "p.parquet", top=2, explain=1, keep=["y"])
    assert pq.read_table(tmp_path / "p.parquet").equals(answer)


def test_where_there_are_no_such_classes(tmp_path, capsys):
    model, table = fitted(list("abc"), output=tmp_path / "m.st")
    pq.write_table(table, tmp_path / "t.parquet")
    status, out, _ = run(capsys, "predict", tmp_path / "m.st", tmp_path / "t.parquet", "--top", "1")
    assert (status, out[0]) == (
        0,
        '"prediction","top_1_class","top_1_probability","view_u","view_w"',
    )
    argv = ["predict", tmp_path / "m.st", tmp_path / "t.parquet", "--top", "4"]
    status, out, err = run(capsys, *argv)
    assert (status, out) == (2, [])
    assert "--top 4; give a number from 1 to 3" in err[0]
    for wrong in (0, 4):
        with pytest.raises(InputError, match=f"top={wrong}"):
            predict(model, table, top=wrong)
    with pytest.raises(InputError, match="top=1 needs probabilities, and the model has none"):
        predict(fitted(list("abc"), settings={"calibration": "none"})[0], table, top=1)
    numbers, table = fitted([1.5, 2.5, 9.0], task="regression", model="linear")
    with pytest.raises(InputError, match="top=1 is about classes, and the model predicts numbers"):
        predict(numbers, table, top=1)
