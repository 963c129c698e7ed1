"""`crossview export` and its options: what is written, refused, and made smaller."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import crossview
from benchmarks.exported_models import encoder, make_rows, targets
from command_line import run
from crossview import InputError, MultiView, Pipeline, ViewScaler, export, train
from crossview.exporting.checking import reason_of
from crossview.exporting.export import Exported
from crossview.exporting.plan import make_plan
from crossview.exporting.target import TARGETS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model file, and rows that it has not learned."""
    folder = tmp_path_factory.mktemp("export")
    rows = make_rows(400, 0)
    table = pa.Table.from_pylist(rows).append_column(
        "label", pa.array(np.where(targets(rows, "classification", 2), "yes", "no").tolist())
    )
    train(
        table[:250], "label", model="stacking", encoder=encoder(), output=folder / "m.safetensors"
    )
    pa.csv.write_csv(table[250:], folder / "new.csv")
    return folder


def log_loss(program, rows):
    p = [program["predict_proba"](row)[row["label"]] for row in rows]
    return -np.log(p).mean()


def rows_of(file):
    table = crossview.open_table(str(file))
    return [row for batch in table for row in batch.X.to_pylist()]


def test_each_suffix_writes_a_file_and_says_what_it_costs(folder, tmp_path, capsys):
    for suffix in TARGETS:
        if suffix in (".sql", ".onnx"):  # which cannot hash text
            continue
        file = tmp_path / f"model{suffix}"
        status, out, err = run(capsys, "export", folder / "m.safetensors", "-o", file)
        assert (status, out) == (0, [])
        kilobytes = f"{file.stat().st_size / 1000:,.0f} kB"
        assert err[-1].startswith(f"wrote {file}: {kilobytes}; it scores as the model to within ")


def test_pruned_models_are_smaller_and_no_worse(folder, tmp_path, capsys):
    words = ["export", folder / "m.safetensors", "--rows", folder / "new.csv"]
    status, _, err = run(capsys, *words, "-o", tmp_path / "whole.py")
    assert status == 0, err
    status, _, err = run(capsys, *words, "--prune", "-o", tmp_path / "small.py")
    assert status == 0, err
    sizes = [len((tmp_path / name).read_text()) for name in ("whole.py", "small.py")]
    assert sizes[1] < 0.5 * sizes[0]
    assert f"{sizes[1] / 1000:,.0f} kB, and {sizes[0] / 1000:,.0f} kB without --prune" in err[-1]
    rows = rows_of(folder / "new.csv")
    programs = [runpy.run_path(str(tmp_path / name)) for name in ("whole.py", "small.py")]
    before, after = (log_loss(program, rows) for program in programs)
    assert f"loss {before:.4f} before, {after:.4f} after, on {len(rows)} rows" in err[-2]
    assert after <= 1.001 * before


@pytest.mark.parametrize("model", ["fm", "ridge", "trees"])
def test_numbers_are_pruned_too(model, tmp_path):
    rows = make_rows(300, 0)
    y = targets(rows, "regression", 0)
    table = pa.Table.from_pylist(rows).append_column("y", pa.array(y))
    few = {"n_bags": 1, "max_iter": 20} if model == "trees" else {}
    given = {"task": "regression", "model": model, "encoder": encoder(), "settings": few}
    trained = train(table[:200], "y", **given)
    found = export(trained, tmp_path / "m.json", rows=table[200:], label="y", prune=True)
    assert isinstance(found, Exported)
    assert found.pruned.after <= 1.001 * found.pruned.before
    assert found.n_bytes <= found.n_bytes_unpruned
    assert json.loads((tmp_path / "m.json").read_text())["crossview"] == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "m.txt"], "a model is exported to .py, .js"),
        (["-o", "mine.py"], "exists and is not an exported model"),
        (["-o", "m.py", "--prune"], "--prune needs rows with labels"),
        (["-o", "m.py", "--label", "label"], "is for --prune"),
        (["-o", "m.py", "--prune", "--rows", "new.csv", "--label", "nix"], "no column 'nix'"),
        (["-o", "m.py", "--rows", "absent.csv"], "no such file"),
        (["-o", "m.py", "--rows", "x.dat"], "give a query, such as \"FROM read_csv('x.dat')\""),
    ],
)
def test_what_cannot_be_done_is_one_line_and_nothing_is_written(
    words, message, folder, capsys, monkeypatch
):
    monkeypatch.chdir(folder)
    Path("mine.py").write_text("print(1)\n")
    Path("x.dat").write_text("age\n1\n")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    status, out, err = run(capsys, "export", "m.safetensors", *words)
    assert (status, out, len(err)) == (2, [], 1)
    assert message in err[0]
    assert before == {path: path.read_bytes() for path in folder.iterdir()}


def test_views_of_numbers(tmp_path):
    rng = np.random.default_rng(0)
    X = MultiView({"a": rng.normal(size=(60, 3)) * 4, "b": rng.normal(size=(60, 2))})
    y = (X["a"][:, 0] + X["b"][:, 1] > 0).astype(int)
    fitted = Pipeline([("scaler", ViewScaler()), ("model", crossview.AROWClassifier())]).fit(X, y)
    file = tmp_path / "m.py"
    assert export(fitted, file).difference.largest < 1e-9
    program = runpy.run_path(str(file))
    for i, p in enumerate(fitted.predict_proba(X[:9]).tolist()):
        row = {view: X[view][i].tolist() for view in ("a", "b")}
        assert program["predict_proba"](row) == pytest.approx(dict(enumerate(p)))  # not of text
    with pytest.raises(ValueError, match="view 'a' has no column 3"):
        program["predict"]({"a": {3: 1.0}})


def test_a_kernel_of_python_is_refused(tmp_path):
    X = MultiView({"a": np.eye(8), "b": np.eye(8)})
    model = crossview.PegasosClassifier(kernel=lambda x, z: x @ z.T, n_iterations=20)
    with pytest.raises(InputError, match="has no portable form; train with kernel='rbf'"):
        export(model.fit(X, [0, 1] * 4), tmp_path / "m.py")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("in_ensemble", [False, True])
def test_a_kernel_of_many_support_rows_is_no_query(in_ensemble, tmp_path):
    """It was planned for hours, without a word."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1600) < 0.5, "a", "b")
    X = MultiView({"u": rng.normal(size=(1600, 2)), "v": rng.normal(size=(1600, 2))})
    given: dict = {"model": "pegasos"}
    if in_ensemble:
        members = ["pegasos weight=1", "linear weight=1"]
        given = {"model": "ensemble", "settings": {"members": members}}
    trained = train(X, y, **given)
    with pytest.raises(InputError, match=r"have \d,\d\d\d support rows, .* export to \.onnx, \.py"):
        export(trained, tmp_path / "m.sql")
    assert not (tmp_path / "m.sql").exists()
    assert export(trained, tmp_path / "m.onnx").n_bytes > 0


def test_the_page_loads_nothing_and_ends_no_script(folder, tmp_path):
    rows = [{"city": "</script><script>alert(1)</script>", "n": float(k)} for k in range(30)]
    table = pa.Table.from_pylist(rows).append_column("y", pa.array(["<b>", "&"] * 15))
    export(train(table, "y", model="perceptron"), tmp_path / "m.html")
    text = (tmp_path / "m.html").read_text()
    assert text.count("</script>") == 1
    assert "alert(1)</script" not in text
    assert "src=" not in text.partition("<script")[0]
    assert "Predict &amp; or &lt;b&gt;" in text


def test_the_runtime_is_python_3_9(folder, tmp_path):
    """Syntax and modules: nothing that is newer, nothing but the standard library."""
    export(folder / "m.safetensors", tmp_path / "m.py")
    code = (
        "import ast, sys\n"
        "tree = ast.parse(open(sys.argv[1]).read(), feature_version=(3, 9))\n"
        "names = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]\n"
        "names += [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]\n"
        "assert set(names) <= sys.stdlib_module_names, names\n"
    )
    subprocess.run([sys.executable, "-I", "-c", code, tmp_path / "m.py"], check=True)


def test_weights_of_users_are_not_exported(tmp_path):
    rng = np.random.default_rng(0)
    x, user = rng.normal(size=80), [f"u{i % 4}" for i in range(80)]
    table = pa.table({"v__x": x, "v__user": user, "y": np.where(x > 0, "yes", "no")})
    trained = train(table, "y", model="arow:diagonal", encoder=crossview.ViewEncoder(per="v__user"))
    file = tmp_path / "m.safetensors"
    crossview.save(trained.fitted, file, info=trained.info)
    for suffix in ("py", "js", "html", "json", "sql", "onnx"):
        with pytest.raises(InputError, match=r"users \('v__user'\) have no portable form") as error:
            export(file, tmp_path / f"m.{suffix}")
        assert error.value.file == str(file)
    assert list(tmp_path.iterdir()) == [file]


def test_features_of_sparse_files_have_positions_unless_they_are_hashed(tmp_path, capsys):
    rng = np.random.default_rng(0)
    lines = {"svm": [], "ffm": [], "vw": []}
    for _ in range(40):
        i, j = rng.integers(3, 9), rng.integers(9, 40)
        lines["svm"].append(f"{i % 2} {i}:1 {j}:0.5\n")
        lines["ffm"].append(f"{i % 2} 0:{i}:1 1:{j}:0.5\n")
        lines["vw"].append(f"{2 * (i % 2) - 1} |a x{i} |b y{j}\n")
    for suffix, own in lines.items():
        (tmp_path / f"t.{suffix}").write_text("".join(own))
    views = {"a": "3:8", "b": "9:39"}
    trained = train(tmp_path / "t.svm", model="logistic-regression", views=views)
    file = tmp_path / "m.py"
    export(trained, file)
    there = list(crossview.predict(trained, tmp_path / "t.svm")["probability_1"].to_numpy())
    program = runpy.run_path(str(file))
    for line, p in zip(lines["svm"], there, strict=True):
        (i, x), (j, y) = (one.split(":") for one in line.split()[1:])
        row = {"a": {int(i) - 3: float(x)}, "b": {int(j) - 9: float(y)}}
        assert list(program["predict_proba"](row).values())[1] == pytest.approx(p)
    file.unlink()
    model = tmp_path / "m.safetensors"
    for suffix in ("vw", "ffm"):
        source = [tmp_path / f"t.{suffix}", "--model", "perceptron", "--hash-bits", 2]
        assert run(capsys, "train", *source, "-o", model)[0] == 0
        status, _, err = run(capsys, "export", model, "-o", file)
        assert (status, "hashed have no portable form" in err[-1]) == (2, True)
    assert not file.exists()


def test_why_rows_differ_is_said_where_it_is_known():
    """A number that training had none like loses digits in squares; known categories do not."""
    table = pa.table({"v__c": ["a", "b"] * 30, "v__x": np.arange(60.0), "y": [0, 1, 1] * 20})
    plan = make_plan(crossview.train(table, "y", model="perceptron"))
    far, new = {"v__c": "a", "v__x": 1e30}, {"v__c": "new", "v__x": 3.0}
    for target in ("Python", "SQL", "ONNX"):
        assert "one has 1e+30 in 'v__x', 6e+28 standard dev" in reason_of(plan, [far], target)
        assert "categor" not in reason_of(plan, [far], target)
        assert reason_of(plan, [{"v__c": "b", "v__x": 3.0}], target) == ""
    assert reason_of(plan, [new], "Python") == ""
    assert reason_of(plan, [new], "SQL").startswith("their categories are new, or")
    both = reason_of(plan, [new, far], "SQL")
    assert "the categories of 1 of them are new" in both
    assert "1e+30 in 'v__x'" in both
