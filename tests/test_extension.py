"""CONTRIBUTING.md is true: what it adds by one file and one entry works everywhere."""

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import crossview
from comparisons import thorough
from crossview import InputError, datasets
from crossview.catalog import learners, metrics, readers
from crossview.cli import main

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```python\n# src/(\S+?)\.py(?:, in (\w+))?\n(.*?)```", re.DOTALL)


def blocks(section):
    """The code of a section: file, collection that gets an entry or "", code."""
    text = TEXT.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    found = BLOCK.findall(text)
    assert found
    return found


def reload_commands():
    """Read the catalog as a new process does."""
    importlib.import_module("crossview.cli.app")
    commands = sorted(name for name in sys.modules if name.startswith("crossview.cli.commands."))
    for name in ("crossview.cli.options", *commands, "crossview.cli.app"):
        importlib.reload(sys.modules[name])


@pytest.fixture
def add(tmp_path, monkeypatch):
    """Do what a section says, and undo it after the test."""
    files = []

    def apply(section):
        for path, collection, code in blocks(section):
            name = path.replace("/", ".")
            if collection:
                entry = eval(code, vars(importlib.import_module(name)))
                known = getattr(importlib.import_module(name), collection)
                if isinstance(known, dict):
                    monkeypatch.setitem(known, entry.name, entry)
                else:
                    monkeypatch.setattr(importlib.import_module(name), collection, known)
                    known.append(entry)
                    files.append((known, entry))
            elif (ROOT / "src" / f"{path}.py").exists():  # one more function in a file
                module = importlib.import_module(name)
                scope = dict(vars(module))
                exec(code, scope)
                for new in set(scope) - set(vars(module)) - {"__builtins__"}:
                    monkeypatch.setattr(module, new, scope[new], raising=False)
            else:  # a new file, in a folder where the package finds it
                file = tmp_path / "added" / f"{path}.py"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(code, encoding="utf-8")
                package = importlib.import_module(name.rpartition(".")[0])
                folders = [*package.__path__, str(file.parent)]
                monkeypatch.setattr(package, "__path__", folders)
                files.append((None, name))
                importlib.invalidate_caches()
        reload_commands()

    yield apply
    for known, added in reversed(files):
        if known is not None:
            known.remove(added)
        else:
            sys.modules.pop(added, None)
    monkeypatch.undo()
    vars(crossview).pop("WidrowHoffClassifier", None)
    reload_commands()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a small table of two views."""
    monkeypatch.chdir(tmp_path)
    columns = ["mean__radius", "mean__texture", "worst__radius", "worst__area", "diagnosis"]
    rows = np.random.default_rng(0).permutation(569)[:120]
    pa.parquet.write_table(datasets.load("breast-cancer").select(columns).take(rows), "t.parquet")
    return tmp_path


def run(capsys, *argv):
    capsys.readouterr()
    status = main([str(word) for word in argv])
    out, err = capsys.readouterr()
    assert status == 0, err
    return out + err


def test_a_learner_is_its_files_and_one_entry(add, here, capsys):
    assert "WidrowHoffClassifier" not in crossview.catalog.public_names()
    add("Add a learner")
    # compared, with the parameters of its grid
    answer = thorough("t.parquet", "diagnosis", cv=2, models=["widrow-hoff", "view:mean"])
    row = answer.row("widrow-hoff")
    assert row.title == "Widrow-Hoff"
    assert row.value > 0.8
    assert set(row.setting) == {"learning_rate"}
    # in the full table and in stream order, too
    views = answer.views
    layout = crossview.ViewLayout(list(views), list(views.values()))
    from crossview.comparing.candidates import compared_learners

    assert "widrow-hoff" in [one.name for one in compared_learners(layout, 120)]
    stream = crossview.compare(
        "t.parquet", "diagnosis", progressive=True, models=["widrow-hoff", "view:mean"]
    )
    assert stream.row("widrow-hoff").value > 0.7
    # by the command: trained, saved, inspected, and it predicts what it does in memory
    train = ["train", "t.parquet", "--label", "diagnosis", "--model", "widrow-hoff"]
    run(capsys, *train, "--set", "learning_rate=0.02", "-o", "m.st")
    model = crossview.load("m.st")
    assert isinstance(model[-1], crossview.WidrowHoffClassifier)
    assert model[-1].learning_rate == 0.02
    run(capsys, "predict", "m.st", "t.parquet", "-o", "p.parquet")
    table = pa.parquet.read_table("t.parquet")
    scores = pa.parquet.read_table("p.parquet")["score"].to_numpy()
    np.testing.assert_allclose(scores, model.decision_function(table))
    assert "worst__radius" in run(capsys, "inspect", "m.st")
    assert "widrow-hoff (least mean squares)" in " ".join(run(capsys, "train", "--help").split())
    # its rule, by hand
    learner = crossview.WidrowHoffClassifier(learning_rate=0.5)
    learner.partial_fit(np.array([[1.0, 2.0], [0.0, 1.0]]), [1, 0], classes=[0, 1])
    w, b = 0.5 * np.array([1.0, 2.0]), 0.5
    error = -1.0 - (w @ [0.0, 1.0] + b)
    np.testing.assert_allclose(learner.coef_[0], w + 0.5 * error * np.array([0.0, 1.0]))


def test_a_metric_is_one_function_and_one_entry(add, here, capsys):
    with pytest.raises(InputError, match="no metric 'mcc'"):
        crossview.compare("t.parquet", "diagnosis", scoring="mcc")
    add("Add a metric")
    from sklearn.metrics import matthews_corrcoef

    answer = thorough(
        "t.parquet", "diagnosis", scoring="mcc", cv=2, models=["pa:concatenated", "perceptron"]
    )
    assert answer.metric == "mcc"
    assert 0.3 < answer.best.value < 1.0
    trained = crossview.train("t.parquet", "diagnosis", model="pa:squared", scoring="mcc")
    table = pa.parquet.read_table("t.parquet")
    from crossview.scoring.metrics import Tally, measure

    y = np.asarray(table["diagnosis"].to_pylist()) == "malignant"
    scores = trained.fitted.decision_function(table)
    expected = matthews_corrcoef(y, scores > 0)
    assert measure("mcc", y.astype(int), scores) == pytest.approx(expected)
    tally = Tally(2)
    tally.update(y.astype(int), scores)
    assert tally.value("mcc") == pytest.approx(expected)
    command = ["train", "t.parquet", "--label", "diagnosis", "--model", "pa:squared", "-o", "m.st"]
    assert "mcc ('malignant': 39 of 120 rows) 0." in run(capsys, *command, "--metric", "mcc")
    assert "mcc" in run(capsys, "compare", "--help")
    with pytest.raises(InputError, match="cannot be trained for the metric 'mcc'"):
        crossview.train("t.parquet", "diagnosis", model="svmperf", scoring="mcc")


def test_a_columnar_reader_is_one_file_and_one_entry(add, here, capsys):
    with pytest.raises(InputError, match="cannot tell the format"):
        crossview.open_table(__file__)
    add("Add a reader")
    table = pa.parquet.read_table("t.parquet")
    np.savez("t.npz", **{name: np.asarray(table[name].to_pylist()) for name in table.column_names})
    assert crossview.open_table("t.npz").n_rows == 120
    command = ["--label", "diagnosis", "--model", "pa:squared"]
    for name in ("t.npz", "t.parquet"):
        run(capsys, "train", name, *command, "-o", f"{name}.st")
        run(capsys, "predict", f"{name}.st", name, "-o", f"{name}.csv")
    assert Path("t.npz.csv").read_text() == Path("t.parquet.csv").read_text()
    assert ".npz" in run(capsys, "compare", "--help")


def test_a_sparse_reader_is_one_file_and_one_entry(add, here, capsys):
    add("Add a reader")
    rng = np.random.default_rng(0)
    y = np.where(rng.random(80) < 0.5, "spam", "ham")
    X = crossview.MultiView(
        {name: rng.normal(size=(80, 3)) + (y == "spam")[:, None] for name in ("page", "link")}
    )
    lines = ["page:3 link:3"]
    for i in range(80):
        entries = [f"{v}:{c}:{X[v][i, c]!r}" for v in ("page", "link") for c in range(3)]
        lines.append(" ".join([y[i], *(entry.replace("np.float64", "") for entry in entries)]))
    text = "\n".join(lines).replace("(", "").replace(")", "")
    Path("t.entries").write_text(text + "\n")
    # the same as the views in memory, for every command
    for how in ({"cv": 2}, {"progressive": True}):
        given = {"models": ["pa:squared", "view:page"]} | how
        from_file, in_memory = (
            thorough(rows, labels, **given) for rows, labels in (("t.entries", None), (X, y))
        )
        for row, other in zip(from_file.rows, in_memory.rows, strict=True):
            assert (row.model, row.setting) == (other.model, other.setting)
            assert row.value == pytest.approx(other.value)
    run(capsys, "train", "t.entries", "--model", "pa:squared", "--epochs", 2, "-o", "m.st")
    in_memory = crossview.train(X, y, model="pa:squared", epochs=2)
    np.testing.assert_allclose(crossview.load("m.st")[-1].coef_, in_memory.learner.coef_)
    run(capsys, "predict", "m.st", "t.entries", "-o", "p.parquet")
    answer = crossview.predict(in_memory.fitted, X)
    assert pa.parquet.read_table("p.parquet")["prediction"].equals(answer["prediction"])
    one = crossview.train("t.entries", model="view:link")
    assert one.learner.layout_.names == ("link",)
    batch = crossview.train("t.entries", model="keco", settings={"n_iterations": 20})
    assert batch.passes is None
    # what is wrong is named by file and row
    with pytest.raises(InputError, match="the file names its views"):
        crossview.train("t.entries", model="pa:squared", views={"page": [0]})
    with pytest.raises(InputError, match="the file has the labels"):
        crossview.train("t.entries", "label", model="pa:squared")
    for bad, message in (("page:0:x", "could not convert"), ("page:0:nan", "NaN of view 'page'")):
        Path("bad.entries").write_text("\n".join([*text.splitlines()[:5], f"ham {bad}"]))
        with pytest.raises(InputError, match=message) as caught:
            crossview.train("bad.entries", model="pa:squared")
        assert (caught.value.file, caught.value.row) == ("bad.entries", 4)


def patched(text, diff):
    """The text with the removed lines of a diff replaced by the added ones."""
    lines = [line for line in diff.splitlines() if line]
    while lines:
        # one hunk: what stands there (" " and "-"), then what is added after it
        n = next((i for i, line in enumerate(lines) if line[0] == "+"), len(lines))
        end = next((i for i in range(n, len(lines)) if lines[i][0] != "+"), len(lines))
        old = "".join(line[1:] + "\n" for line in lines[:n])
        kept = "".join(line[1:] + "\n" for line in lines[:n] if line[0] == " ")
        new = kept + "".join(line[1:] + "\n" for line in lines[n:end])
        assert text.count(old) == 1, old
        text, lines = text.replace(old, new), lines[end:]
    return text


COUPLED = """
import numpy as np
from crossview import MultiViewPAClassifier

# of margins 0 (all weights are 0) the first view is the weakest; then it is the second
model = MultiViewPAClassifier([2, 2], coupling="weakest", variant="PA", fit_intercept=False)
model.partial_fit([[1.0, 2.0, 1.0, 0.0]], [1], classes=[0, 1])
P = 2.0 * 1.0 / 5.0  # V l / n_1
np.testing.assert_allclose(model.coef_[0], [P, 2.0 * P, 0.0, 0.0])
np.testing.assert_allclose(model.decision_function([[1.0, 2.0, 1.0, 0.0]]), 1.0)
model.partial_fit([[0.5, 1.0, 3.0, 0.0]], [1])
l = 1.0 - 0.5 * (0.5 * P + 2.0 * P)
np.testing.assert_allclose(model.coef_[0], [P, 2.0 * P, 3.0 * 2.0 * l / 9.0, 0.0])
"""


def test_a_coupling_is_its_file_a_branch_and_an_option(tmp_path):
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    for path, _, code in blocks("Add a coupling"):
        (source / f"{path}.py").write_text(code, encoding="utf-8")
    section = TEXT.partition("\n## Add a coupling\n")[2].partition("\n## ")[0]
    diffs = re.findall(r"```diff\n# src/(\S+)\n(.*?)```", section, re.DOTALL)
    assert len(diffs) == 2
    for path, diff in diffs:
        text = (source / path).read_text(encoding="utf-8")
        (source / path).write_text(patched(text, diff), encoding="utf-8")
    # in a process of its own, without the compiler: the loops of this one are compiled
    environment = os.environ | {"PYTHONPATH": str(source), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", COUPLED], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_nothing_stays_behind():
    assert "widrow-hoff" not in [entry.name for entry in learners.LEARNERS]
    assert "mcc" not in metrics.METRICS
    assert not {".npz", ".entries"} & {s for one in readers.READERS for s in one.suffixes}
