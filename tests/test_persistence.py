"""Model files: what goes in comes out, and what is no model file is told so."""

import json
import mmap
import os
import random
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import crossview
from crossview import (
    InputError,
    MultiView,
    MultiViewPAClassifier,
    Perceptron,
    ViewScaler,
)
from crossview.saving import model_files
from crossview.saving.touched import Touched, zeros

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
    assert model_files.read_info(path) == {"rows": 60}


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
        elif kind == "changed array":
            arrays["model/W"][2] = np.nextafter(arrays["model/W"][2], np.inf)
        elif kind == "no steps":
            del metadata["steps"]
        elif kind == "bad classes":
            steps = json.loads(metadata["steps"])
            steps[0]["header"]["classes"]["dtype"] = "<Q7"
            metadata["steps"] = json.dumps(steps)
        if kind != "changed array":
            del metadata["sha256"]
            metadata["sha256"] = model_files.checksum(arrays, metadata)
        save_file(arrays, path, metadata)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("short", "is not a model file, or is truncated"),
        ("text", "is not a model file"),
        ("empty", "is not a model file"),
        ("absent", "no such model file"),
        ("stranger", "not a crossview model"),
        ("newer", r"by a newer version of crossview \(format 99, and this one reads 9\); upgrade"),
        ("no version", "by a newer version"),
        ("unknown class", "a Rogue, which this version does not support"),
        ("unknown parameter", "is a damaged model file"),
        ("no steps", "is a damaged model file"),
        ("changed array", "is a damaged model file: its checksum is not that of its content"),
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


def test_a_stack_with_an_encoder_follows_the_stream(tmp_path):
    rng, labels = random.Random(0), []
    for _ in range(3000):
        stays = labels and rng.random() < 0.9
        labels.append(labels[-1] if stays else rng.choice(["no", "yes"]))
    rows = [{"x": rng.gauss(0, 1)} for _ in labels]
    model = crossview.make_pipeline(
        crossview.ViewEncoder(), crossview.OnlineStackingClassifier(memory=True, random_state=0)
    )
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(row, label)
    crossview.save(model, tmp_path / "m.st")
    loaded = crossview.load(tmp_path / "m.st")
    apart = loaded.predict_proba_one({"x": 0.0})[labels[-1]]
    assert loaded.follow_stream() is loaded
    assert loaded.predict_proba_one({"x": 0.0})[labels[-1]] > max(apart, 0.8)
    said = loaded.expert_predictions()
    assert loaded.set_delay(1, said).learn_one({"x": 0.0}, "yes") is loaded
    other = crossview.make_pipeline(crossview.ViewEncoder(), Perceptron())
    own = crossview.Pipeline.set_delay
    assert own.__doc__ == crossview.OnlineStackingClassifier.set_delay.__doc__  # for help
    assert own(loaded, 0) is loaded
    assert not hasattr(other, "follow_stream")


def test_a_bug_of_ours_is_no_damaged_file(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    crossview.save(Perceptron().fit(X, Y), path)
    for bug in (AttributeError, TypeError):

        def wrong(self, state, bug=bug):
            raise bug("a bug")

        monkeypatch.setattr(Perceptron, "set_state", wrong)
        with pytest.raises(bug, match="a bug"):
            crossview.load(path)


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
    for read in (crossview.load, model_files.read_info):
        with pytest.raises(InputError) as caught:
            read(path)
        assert str(caught.value) == (
            f"{path}: was written by an older version of crossview (format 1, and this one reads "
            "9); train the model again"
        )


def saved_twice(tmp_path, model):
    """Return the bytes of two files of a model, and the model of one."""
    for name in "ab":
        crossview.save(model, tmp_path / name, info={"rows": 60})
    a, b = ((tmp_path / name).read_bytes() for name in "ab")
    return a, b, crossview.load(tmp_path / "a")


def test_a_model_has_one_file(tmp_path):
    model = make_pipeline(ViewScaler(), crossview.AROWClassifier())
    model.fit(MultiView({"a": X}), Y)
    a, b, again = saved_twice(tmp_path, model)
    assert a == b
    # another process orders sets and hashes in another way
    script = "import crossview, sys; crossview.save(crossview.load(sys.argv[1]), sys.argv[2], "
    script += "info=crossview.saving.model_files.read_info(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", script, tmp_path / "a", tmp_path / "b"], check=True)
    assert (tmp_path / "b").read_bytes() == a
    with safe_open(tmp_path / "a", framework="numpy") as file:  # as any other tool reads it
        assert file.get_tensor("arowclassifier/W").shape == again[-1].coef_.T.shape


def test_passes_and_losses_are_saved(tmp_path):
    model = crossview.MultiViewMachineClassifier([2, 3], n_factors=2, n_epochs=4, random_state=0)
    model.fit(X, Y)
    again = saved_twice(tmp_path, model)[2]
    assert again.n_iter_ == model.n_iter_ >= 1
    np.testing.assert_array_equal(again.validation_loss_, model.validation_loss_)
    assert len(model.validation_loss_) > 0


def rewritten(path, change):
    """Change the arrays and the header of a file as somebody would who knows the format."""
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    steps = json.loads(metadata["steps"])
    change(arrays, steps[-1])
    metadata["steps"] = json.dumps(steps)
    del metadata["sha256"]
    metadata["sha256"] = model_files.checksum(arrays, metadata)
    path.write_bytes(b"".join(model_files.content_of(arrays, metadata)))


def put(name, value):
    return lambda arrays, step: arrays.update({f"model/{name}": value(arrays[f"model/{name}"])})


def at(position, value):
    def changed(array):
        array[position] = value
        return array

    return changed


# each of these made a loop read or write outside of the arrays, or answer with NaN
LOW_RANK = crossview.AROWClassifier(covariance="low-rank", rank=7)
KERNEL = crossview.PegasosClassifier([2, 3], gamma=0.3, schedule="stream", budget=20)
MACHINE = crossview.MultiViewMachineClassifier([2, 3], n_factors=2, early_stopping=False)
STACK = crossview.OnlineStackingClassifier([2, 3])
HOSTILE = {
    "W of one row": (Perceptron(), put("W", lambda W: W[:1]), "'W' of Perceptron has the shape"),
    "W of another type": (Perceptron(), put("W", np.float32), "has the type float32"),
    "NaN": (Perceptron(), put("W", at(2, np.nan)), "'W' .* not finite"),
    "more": (Perceptron(), lambda arrays, _: arrays.update(rogue=np.ones(2)), "no step is called"),
    "less": (Perceptron(), lambda arrays, _: arrays.pop("model/b"), "lacks the array 'b'"),
    "columns of rows": (LOW_RANK, put("S.columns", at(0, 5)), "values that are not from 0 to 4"),
    "rows kept": (LOW_RANK, put("S.end", at((0, 1), 2)), "columns of another view"),
    "supports": (KERNEL, put("indices1", at(0, 1)), "'indices1' .* not from 2 to 4"),
    "pointers": (KERNEL, put("indptr0", at(1, 10**9)), "'indptr0' .* does not rise from 0 to"),
    "gram": (KERNEL, put("gram0", lambda gram: gram[:1]), "'gram0' .* has the shape"),
    "hash table": (MACHINE, put("A", lambda A: A[:1]), "'A' .* has the shape"),
    "parts": (MACHINE, put("views", at(0, 9)), "other values than its columns say"),
    "seen": (MACHINE, put("seen", lambda seen: seen.view(np.uint8) + 2), "has the type uint8"),
    "snapshots": (STACK, put("clock", at(2, 512)), "'clock' .* not in their ranges"),
    "expert": (STACK, put("3/W", lambda W: W[:1]), "'W' of .* has the shape"),
    "widths": (
        KERNEL,
        lambda _, step: step["header"]["views"].update(widths=[2, 2**50]),
        "the columns of PegasosClassifier contradict each other",
    ),
    "labels": (
        Perceptron(),
        lambda _, step: step["header"].update(classes={"dtype": "<U999999", "values": ["a", "b"]}),
        "the classes are not different labels",
    ),
    "parameter": (
        Perceptron(),
        lambda _, step: step["params"].update(n_epochs=-1),
        "The 'n_epochs' parameter of Perceptron must be an int in the range",
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_state_that_is_none_reaches_no_loop(what, tmp_path):
    learner, change, message = HOSTILE[what]
    path = tmp_path / "model"
    crossview.save(clone(learner).fit(X, Y), path)
    rewritten(path, lambda arrays, step: None)
    crossview.load(path).predict(X)
    rewritten(path, change)
    with pytest.raises(InputError, match=message) as info:
        crossview.load(path)
    assert str(info.value).startswith(str(path))
    assert "\n" not in str(info.value)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([b"a", b"b", b"a", b"b"], "the class b'a' is bytes, not text"),
        (np.array([20, 21, 20, 21], "M8[D]"), r"the class '1970-01-21' is a datetime64\[D\]"),
    ],
    ids=["bytes", "dates"],
)
def test_classes_that_a_file_cannot_hold_are_told(tmp_path, labels, message):
    model = crossview.Perceptron().fit(np.eye(4), np.asarray(labels))
    with pytest.raises(InputError, match=message):
        crossview.save(model, tmp_path / "m.st")
    assert not list(tmp_path.iterdir())


# --- arrays of which most rows were never touched -------------------------------------------------


def odd_arrays():
    zeros = np.zeros((3000, 2, 3), dtype=np.float32)
    zeros[[0, 7, 2999], 1, 2] = 1.5, -0.0, np.nan
    nan = np.full(5000, np.nan)
    nan[3] = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]  # another NaN
    variances = np.full((2000, 1), 0.1)
    variances[::7] *= 0.5
    negative = np.full(4000, -0.0)
    negative[[1, 5]] = 0.0
    counts = np.zeros(1000, dtype=np.int64)
    counts[-1] = -(2**63)
    seen = np.zeros(70_000, dtype=bool)
    seen[65_536:65_600] = True
    return {
        "zeros": zeros,
        "NaN": nan,
        "variances": variances,
        "-0.0": negative,
        "counts": counts,
        "seen": seen,
        "equal": np.full((600, 4), 7, dtype=np.uint32),
        "bytes": np.arange(8000).astype(np.uint8) // 255,
    }


@pytest.mark.parametrize("what", odd_arrays())
def test_touched_rows_are_the_array_to_the_last_bit(what):
    array = odd_arrays()[what]
    touched = Touched.of(array)
    assert touched.rows.nbytes + touched.values.nbytes <= array.nbytes / 2
    again = touched.dense()
    assert (again.dtype, again.shape, again.tobytes()) == (
        array.dtype,
        array.shape,
        array.tobytes(),
    )
    assert again.flags.writeable
    present = np.unique(array.view(f"u{array.itemsize}"))
    assert set(present) == set(touched.distinct().view(f"u{array.itemsize}"))


@pytest.mark.parametrize(
    "array",
    [np.zeros(511), np.arange(1000.0), np.where(np.arange(9000) % 5 < 3, 1.0, np.arange(9000))],
    ids=["small", "different", "two fifths"],
)
def test_other_arrays_stay_whole(array):
    assert Touched.of(array) is None


def test_untouched_zeros_are_of_this_process():
    script = (
        "import os, sys; from crossview.saving.touched import zeros\n"
        "a = zeros((2**19, 2)); a[5, 1] = 3.0\n"
        "child = os.fork()\n"
        "a[7] = 1.0\n"
        "if not child: os._exit(int(a.sum() != 5.0))\n"
        "_, status = os.waitpid(child, 0); a[7] = 0.0\n"
        "sys.exit(status or int(a.sum() != 3.0))\n"
    )
    if hasattr(os, "fork"):
        subprocess.run([sys.executable, "-c", script], check=True)


def test_a_kernel_without_huge_pages_has_zeros_too(monkeypatch):
    monkeypatch.setattr(mmap, "MADV_NOHUGEPAGE", 12_345, raising=False)
    assert not zeros((2**18, 1)).any()


def hashed(rows=60, seed=0):
    """Return a table of categories and words, and labels."""
    rng = np.random.default_rng(seed)
    cities, words = [f"city {i}" for i in range(40)], [f"word{i}" for i in range(200)]
    table = pd.DataFrame(
        {
            "a__city": rng.choice(cities, rows),
            "b__text": [" ".join(rng.choice(words, 5)) for _ in range(rows)],
        }
    )
    return table, np.where([" word1" in text for text in table["b__text"]], "yes", "no")


@pytest.fixture
def hashed_model():
    """A model whose arrays have 2 * 2**16 rows, of some kinds."""
    experts = [
        ("pa", MultiViewPAClassifier()),
        ("arow", crossview.AROWClassifier(covariance="diagonal", initial_variance=0.5)),
        ("fm", crossview.FactorizationMachineClassifier(n_factors=3)),
        ("b", Perceptron(), "b"),
    ]
    encoder = crossview.ViewEncoder(text=["b__text"], hash_bits=16)
    return make_pipeline(encoder, crossview.OnlineStackingClassifier(experts=experts))


def test_a_model_file_holds_what_was_touched(hashed_model, tmp_path):
    table, y = hashed()
    hashed_model.fit(table, y)
    content, again, model = saved_twice(tmp_path, hashed_model)
    assert content == again
    # as 131,072 rows of 8 bytes it has more than 7 MB
    assert len(content) < 200_000
    state, own = hashed_model[-1].get_state(), model[-1].get_state()
    assert sum(array.nbytes for array in state.values()) > 7_000_000
    for name, array in state.items():
        assert (own[name].dtype, own[name].tobytes()) == (array.dtype, array.tobytes()), name
    crossview.save(model, tmp_path / "c", info={"rows": 60})
    assert (tmp_path / "c").read_bytes() == content
    # both go on as one
    more = hashed(seed=1)
    for one in (hashed_model, model):
        one[-1].partial_fit(one[0].transform(more[0]), more[1])
    assert (model.decision_function(table) == hashed_model.decision_function(table)).all()


def test_experts_share_positions(hashed_model, tmp_path):
    crossview.save(hashed_model.fit(*hashed()), tmp_path / "m")
    with safe_open(tmp_path / "m", framework="numpy") as file:
        touched = json.loads(file.metadata()["touched"])
        positions = {name for name in file.keys() if "/" not in name}  # noqa: SIM118
    assert positions == {rows for rows, *_ in touched.values()}
    assert len(positions) < len(touched)
    variances = "onlinestackingclassifier/1/S.D"
    assert touched[variances][1:] == [2 * 2**16, np.array(0.5).tobytes().hex()]


D = "onlinestackingclassifier/1/S.D"
FALSE_TOUCHED = {
    "no rows": (lambda arrays, one: one.__setitem__(0, "rows99"), "'rows99'"),
    "rows of a step": (lambda arrays, one: one.__setitem__(0, D), "the rows of"),
    "fewer": (lambda arrays, one: one.__setitem__(1, 2**16), "the rows of"),
    "fraction": (lambda arrays, one: one.__setitem__(1, 131072.0), "damaged model file"),
    "negative": (lambda arrays, one: one.__setitem__(1, -5), "the rows of"),
    "other columns": (lambda arrays, one: one.__setitem__(1, 2**17 + 1), "has the shape"),
    "all memory": (lambda arrays, one: one.__setitem__(1, 2**40), "more than 4 GiB"),
    "64 bits": (lambda arrays, one: one.__setitem__(1, 2**70), "more than 4 GiB"),
    "bytes": (lambda arrays, one: one.__setitem__(2, "00"), "the rows of"),
    "NaN": (
        lambda arrays, one: one.__setitem__(2, np.array(np.nan).tobytes().hex()),
        "'S.D' .* not from 0",
    ),
    "order": (lambda arrays, one: arrays.update({one[0]: arrays[one[0]][::-1].copy()}), "rows of"),
    "twice": (lambda arrays, one: arrays[one[0]].__setitem__(1, arrays[one[0]][0]), "rows of"),
    "beyond": (lambda arrays, one: arrays[one[0]].__setitem__(-1, 2**31), "rows of"),
    "lengths": (lambda arrays, one: arrays.update({D: arrays[D][1:]}), "rows of"),
    "signed": (
        lambda arrays, one: arrays.update({one[0]: arrays[one[0]].view(np.int32)}),
        "rows of",
    ),
}


def test_false_positions_are_refused_before_memory_is_taken(hashed_model, tmp_path):
    path = tmp_path / "m"
    crossview.save(hashed_model.fit(*hashed()), path)
    content = path.read_bytes()
    for change, message in FALSE_TOUCHED.values():
        path.write_bytes(content)
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata()
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        touched = json.loads(metadata["touched"])
        change(arrays, touched[D])
        del metadata["sha256"]
        metadata["touched"] = json.dumps(touched)
        metadata["sha256"] = model_files.checksum(arrays, metadata)
        path.write_bytes(b"".join(model_files.content_of(arrays, metadata)))
        with pytest.raises(InputError, match=message) as info:
            crossview.load(path)
        assert str(info.value).startswith(str(path))
        assert "\n" not in str(info.value)


def test_arrays_beyond_the_limit_are_whole(hashed_model, tmp_path, monkeypatch):
    """So every file that can be written can be loaded."""
    monkeypatch.setattr(model_files, "MAX_BYTES", 2**20)
    crossview.save(hashed_model.fit(*hashed()), tmp_path / "m")
    assert (tmp_path / "m").stat().st_size > 5_000_000
    again = crossview.load(tmp_path / "m")
    for name, array in hashed_model[-1].get_state().items():
        assert again[-1].get_state()[name].tobytes() == array.tobytes()


def test_an_array_of_one_number_with_more_dimensions_is_refused():
    learner = crossview.AROWClassifier().fit([[1.0], [2.0]], [0, 1])
    state = learner.get_state()
    with pytest.raises(crossview.InputError, match=r"'S\.form'"):
        learner.set_state(state | {"S.form": np.tile(state["S.form"], (1, 2))})
