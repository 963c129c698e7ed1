"""Model files: what goes in comes out, and what is no model file is told so."""

import json
import os
import stat

import numpy as np
import pytest
from safetensors.numpy import save_file
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import crossview
from crossview import InputError, MultiViewPAClassifier, Perceptron

X = np.random.default_rng(0).normal(size=(60, 5))
Y = (X[:, 0] + X[:, 3] > 0).astype(int)


@pytest.mark.parametrize(
    "views",
    [
        None,
        [2, 3],
        {"a": slice(0, 2), "b": [3, 4]},
        {"a": np.array([0, 1]), "b": range(2, 5)},
        {"a": (0, 1)},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "y", [Y, Y == 1, Y.astype(str), Y * 2.0, np.arange(60) % 3], ids=lambda y: str(y.dtype)
)
def test_what_goes_in_comes_out(views, y, tmp_path):
    path = tmp_path / "m.safetensors"
    model = MultiViewPAClassifier(views, random_state=np.random.RandomState(0), class_weight=None)
    model.fit(X, y)
    crossview.save(model, path, info={"rows": 60})
    again = crossview.load(path)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.predict(X).dtype == model.predict(X).dtype
    assert again.layout_ == model.layout_
    assert crossview.persistence.read_info(path) == {"rows": 60}


def test_class_weights_keep_their_labels(tmp_path):
    model = Perceptron(class_weight={0: 2.0, 1: 0.5}).fit(X, Y)
    crossview.save(model, tmp_path / "m")
    assert crossview.load(tmp_path / "m").class_weight == {0: 2.0, 1: 0.5}


def test_a_file_that_others_may_read_and_no_leftovers(tmp_path):
    crossview.save(Perceptron().fit(X, Y), tmp_path / "m")
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(os.stat(tmp_path / "m").st_mode) == 0o666 & ~mask


def broken(path, kind):
    crossview.save(Perceptron().fit(X, Y), path)
    content = path.read_bytes()
    if kind == "short":
        path.write_bytes(content[:-8])
    elif kind == "text":
        path.write_text("label,score\n1,0.5\n")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "absent":
        path.unlink()
    elif kind == "stranger":
        save_file({"W": np.zeros(3)}, path)
    else:
        from safetensors import safe_open

        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata()
            arrays = {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118
        if kind == "newer":
            metadata["version"] = "99"
        elif kind == "no version":
            del metadata["version"]
        elif kind == "unknown class":
            metadata["steps"] = metadata["steps"].replace('"Perceptron"', '"Rogue"')
        elif kind == "unknown parameter":
            metadata["steps"] = metadata["steps"].replace('"shuffle"', '"shuffel"')
        elif kind == "no steps":
            del metadata["steps"]
        elif kind == "bad classes":
            steps = json.loads(metadata["steps"])
            steps[0]["header"]["classes"]["dtype"] = "<Q7"
            metadata["steps"] = json.dumps(steps)
        save_file(arrays, path, metadata)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("short", "is not a model file, or is truncated"),
        ("text", "is not a model file"),
        ("empty", "is not a model file"),
        ("absent", "no such model file"),
        ("stranger", "not a crossview model"),
        ("newer", r"by a newer version of crossview \(format 99, and this one reads 3\); upgrade"),
        ("no version", "by a newer version"),
        ("unknown class", "a Rogue, which this version does not support"),
        ("unknown parameter", "is a damaged model file"),
        ("no steps", "is a damaged model file"),
        ("bad classes", "is a damaged model file"),
    ],
)
def test_what_is_no_model_file_is_told_so(kind, message, tmp_path):
    path = tmp_path / "model.safetensors"
    broken(path, kind)
    with pytest.raises(InputError, match=message) as info:
        crossview.load(path)
    assert str(path) in str(info.value)
    assert "\n" not in str(info.value)


def test_what_a_model_file_cannot_hold(tmp_path):
    for model in (
        LogisticRegression().fit(X, Y),
        make_pipeline(StandardScaler(), Perceptron()).fit(X, Y),
    ):
        with pytest.raises(InputError, match="a model file cannot store a"):
            crossview.save(model, tmp_path / "m")
    odd = Perceptron(class_weight={"a": object()})
    odd.__dict__.update(
        {
            k: v
            for k, v in Perceptron().fit(X, Y).__dict__.items()
            if k.endswith("_") or k.startswith("_")
        }
    )
    with pytest.raises(InputError, match="cannot store class_weight="):
        crossview.save(odd, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m"
    crossview.save(Perceptron().fit(X, Y), path)
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot be written \(No space left"):
        crossview.save(Perceptron(average=True).fit(X, Y), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    with pytest.raises(InputError, match="cannot be written"):
        crossview.save(Perceptron().fit(X, Y), tmp_path / "no such folder" / "m")


def test_a_file_of_format_1_says_that_it_is_too_old(tmp_path):
    """What ``crossview 0.1`` wrote: its header as it was, and its arrays."""
    step = {
        "name": "model",
        "class": "MultiViewPAClassifier",
        "params": {"views": [2, 3], "C": 1.0, "gamma": 0.1, "coupling": "squared"},
        "header": {
            "classes": {"dtype": "<i8", "values": [0, 1]},
            "views": {"names": ["view0", "view1"], "widths": [2, 3]},
            "n_features_in": 5,
            "feature_names_in": None,
            "places": None,
            "named": None,
        },
    }
    metadata = {
        "format": "crossview-model",
        "version": "1",
        "pipeline": "false",
        "steps": json.dumps([step]),
        "info": "{}",
    }
    arrays = {
        "model/W": np.ones((5, 1)),
        "model/b": np.zeros((2, 1)),
        "model/U": np.zeros((0, 1)),
        "model/c": np.zeros((0, 1)),
        "model/t": np.array([60]),
    }
    path = tmp_path / "old.safetensors"
    save_file(arrays, path, metadata)
    for read in (crossview.load, crossview.persistence.read_info):
        with pytest.raises(InputError) as caught:
            read(path)
        assert str(caught.value) == (
            f"{path}: was written by an older version of crossview (format 1, and this one reads "
            "3); train the model again"
        )
