"""The command line: one line for whatever is wrong, and nothing left behind."""

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crossview
from command_line import run
from crossview.__main__ import process
from crossview.cli import main
from crossview.saving.model_files import VERSION

TRAIN = ["--label", "l", "--model", "pa:squared", "-o", "out/x.st"]
KECO = ["--label", "l", "--model", "keco", "-o", "out/x.st"]
STREAM = ["--set", "schedule=stream"]
NUMBER = ["--task", "regression"]
COMPARE = ["compare", "bc.parquet", "--label", "diagnosis"]
AT_K = ["--metric", "precision_at_k", "--k"]
BC = ["train", "bc.parquet", "--label", "diagnosis", "-o", "out/x.st"]

NAN = (
    "NaN is not a missing value: write null (fill_nan(None) in polars; describe says how), or an "
    "empty field"
)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["compare", "bc.parquet", "--label", "diagnos"], "'diagnos'; did you mean 'diagnosis'?"),
        (["compare", "bc.parquet"], "which column is the label? Name it: --label COLUMN"),
        (["compar"], "No such command 'compar'"),
        (["compare", "nosuch.csv", "--label", "l"], "nosuch.csv: no such file"),
        (["compare", "one.csv", "--label", "l"], "column 'l': the label has one class, 'p'"),
        (["compare", "ragged.csv", "--label", "l"], "ragged.csv, row 1: 2 fields"),
        (["compare", "cut.parquet", "--label", "l"], "cut.parquet: "),
        (["compare", "nan.csv", "--label", "l"], "nan.csv, row 1, column 'b__y': NaN"),
        (["compare", "noview.csv", "--label", "l", "--ablate"], "--ablate takes views away"),
        (
            [*("compare", "bc.parquet", "--label", "mean__area"), "--task", "classification"],
            "is not a class",
        ),
        (["compare", "bc.parquet", "--label", "diagnosis", "--json", "no/c.json"], "no folder"),
        (["compare", "bc.parquet", "--label", "diagnosis", "--cv", "1"], "--cv 1"),
        (["compare", "bc.parquet", "--label", "diagnosis", "--jobs", "0"], "--jobs 0"),
        (["compare", "bc.parquet", "--label", "diagnosis", "--cv", "x"], "'--cv'"),
        (["compare", "bc.parquet", "--label", "diagnosis", "--k", "9"], "the metric is 'f1'"),
        ([*COMPARE, "--budget", "soon"], "give a time, such as 60s, 5min, 2h or 7d"),
        ([*COMPARE, "--budget", "0"], "--budget '0': give a time"),
        ([*COMPARE, "--budget", "5 days"], "--budget '5 days': give a time"),
        ([*COMPARE, "--thorough", "--budget=60s"], "--thorough is without a --budget; leave one"),
        ([*COMPARE, "--per-variance", "0.1"], "--per-variance 0.1 is about --per, the column of"),
        ([*BC, "--model", "arow", "--per-variance", "5"], "--per-variance 5 is about --per, the"),
        ([*COMPARE, "--rope", "-1"], "--rope -1.0; give 0 or more"),
        ([*COMPARE, "--repeats", "0"], "--repeats 0; give 1 or more"),
        ([*COMPARE, "--add", "arow"], "--add extends a stored comparison; name its file, such as"),
        (["compare", "no.json"], "no.json: no such file"),
        (["compare", "bc.json"], "bc.json: holds no JSON; name a file of crossview compare --json"),
        (["compare", "list.json"], "list.json: holds no comparison; write one with crossview com"),
        (["compare", "rows.json"], "rows.json: holds a comparison of another version of crossview"),
        (["compare", "cut.json"], "cut.json: holds a comparison of another version of crossview"),
        ([*BC, "--model", "pa:squared", *AT_K, "0"], "--k 0; give a whole number of rows"),
        ([*BC, "--model", "pa:squared", *AT_K, "1.0"], "--k 1.0; give a whole number of rows"),
        ([*BC, "--model", "pa:squared", *AT_K, "ten"], "--k ten; give a whole number of rows"),
        (["compare", "bc.parquet", "--label", "diagnosis", *AT_K, "500"], "needs 500 rows, and"),
        ([*BC, "--model", "fm", *NUMBER, *AT_K, "5"], "metric 'precision_at_k' is about classes"),
        (["train", "one.csv", *TRAIN], "one class, 'p'"),
        (["train", "none.csv", *KECO], "column 'l': the label is empty in every row"),
        (["train", "none.csv", *KECO, "--classes", "p,q"], "no row has a label to learn"),
        (["train", "none.csv", *KECO, *STREAM, "--classes", "p,q"], "no row has a label to learn"),
        (["train", "one.csv", *KECO], "column 'l': the label has one class, 'p'"),
        (["train", "miss.csv", *KECO, "--epochs", "2"], "--epochs 2: keco draws rows; leave"),
        # a parameter of the model, for which there is no option
        (["train", "miss.csv", *KECO, "--set", "budget=9"], "error: budget= is for streams; set"),
        (["train", "miss.csv", *KECO, "--set", "kernel=rbff"], "'kernel' parameter of KeCo"),
        (["train", "miss.csv", *KECO, "--set", "unlabeled=p"], "no parameter 'unlabeled'"),
        (["compare", "none.csv", "--label", "l"], "column 'l': the label is empty in every row"),
        (["compare", "miss.csv", "--label", "l"], "label more of the 1 unlabeled rows"),
        (["train", "nan.csv", *TRAIN], "nan.csv, row 1, column 'b__y': NaN"),
        (["train", "ragged.csv", *TRAIN], "ragged.csv, row 1: 2 fields"),
        (["train", "cut.parquet", *TRAIN], "cut.parquet: "),
        ([*BC, "--model", "pa:concat"], "did you mean 'pa:concatenated'?"),
        ([*BC, "--model", "view:best"], "view:worst"),
        ([*BC, "--model", "pa:squared", "--set", "D=1"], "there are: C, average"),
        ([*BC, "--model", "pa:squared", "--set", "C"], "--set C=0.1"),
        ([*BC, "--model", "pa:squared", "--set", "C=-1"], "'C' parameter of MultiViewPAClassifier"),
        ([*BC, "--model", "pa:squared", "--set", "C=big"], "Got 'big' instead"),
        ([*BC, "--model", "pa:squared", "--set", "coupling=absolute"], "fixes coupling"),
        ([*BC, "--model", "pa:squared", "--epochs", "0"], "--epochs 0; give 1 or more"),
        ([*BC, "--model", "mvm", "--set", "optimizer=lbfgs"], "needs all rows in memory"),
        ([*BC, "--model", "mvm", "--set", "optimizer=adam"], "'optimizer' parameter of MultiView"),
        ([*BC, "--model", "mvm", "--set", "early_stopping=False"], "no parameter 'early_stopping'"),
        ([*BC, "--model", "linear", "--set", "groups=1"], "fixes groups"),
        ([*BC, "--model", "svmperf", "--epochs", "2"], "--epochs 2: svmperf makes no passes"),
        ([*BC, "--model", "svmperf", "--set", "measure=f1"], "'svmperf' fixes measure"),
        ([*BC, "--model", "svmperf", "--set", "k=5"], "has no parameter 'k' (there are: C1"),
        ([*BC, "--model", "svmperf", "--set", "tol=0"], "'tol' parameter of MultiViewSVMPerf"),
        ([*BC, "--model", "svmperf", "--positive", "x"], "no class 'x'"),
        ([*BC, "--model", "svmperf", *AT_K, "600"], "--k 600 is more than the 569 rows"),
        ([*BC, "--model", "svmperf:concatenated", "--set", "C2=1"], "fixes C2"),
        ([*BC, "--model", "svmperf", *NUMBER], "model 'svmperf' predicts classes; for regression"),
        (
            [*("compare", "bc.parquet", "--label", "diagnosis", "--progressive"),
             *("--model", "svmperf", "--model", "pa:squared")],
            "model 'svmperf' needs all rows in memory",
        ),
        ([*BC, "--model", "mvm", "--task", "regresion"], "did you mean 'regression'?"),
        ([*BC, "--model", "mvm", "--metric", "rmse"], "'malignant' is not a number to predict"),
        ([*BC, "--model", "mvm", *NUMBER], "row 0, column 'diagnosis': 'malignant' is not a num"),
        ([*BC, "--model", "pa:squared", *NUMBER], "model 'pa:squared' predicts classes; for reg"),
        ([*BC, "--model", "stm", *NUMBER], "model 'stm' predicts classes; for regression"),
        ([*BC, "--model", "fm", *NUMBER, "--metric", "f1"], "metric 'f1' is about classes"),
        ([*BC, "--model", "fm", *NUMBER, "--positive", "x"], "--positive is about classes; leave"),
        ([*BC, "--model", "fm", *NUMBER, "--classes", "x,y"], "--classes is about classes; leave"),
        ([*BC, "--model", "fm", *NUMBER, "--threshold", "0.3"], "--threshold is about classes"),
        ([*BC, "--model", "pa:squared", "--threshold", "2"], "--threshold 2; give a probability"),
        ([*BC, "--model", "pa:squared", "--threshold", "x"], "--threshold x; give a probability"),
        ([*BC, "--model", "pa:squared", "--cost", "fp=1"], "cost fp=1: give that of a false pos"),
        ([*BC, "--model", "pa:squared", "--cost", "fp=-1,fn=x"], "cost fp=-1: give a number of 0"),
        ([*BC, "--model", "pa:squared", "--metric", "cost"], "the metric cost needs costs: give"),
        (
            ["compare", "bc.parquet", "--label", "diagnosis", "--cost", "1"],
            "cost '1': give that of a false positive (fp) and that of a false negative (fn), such",
        ),
        (
            ["predict", "m.safetensors", "bc.parquet", "--threshold", "tuned"],
            "--threshold tuned; give a probability between 0 and 1, or none",
        ),
        (["compare", "miss.csv", "--label", "l", *NUMBER], "miss.csv, row 0, column 'l': 'p' is"),
        ([*BC, "--model", "pa:squared", "--metric", "f0"], "'f0': put a β above 0 in the name"),
        ([*BC, "--model", "pa:squared", "--metric", "g2"], "no metric 'g2'"),
        ([*BC, "--model", "pa:squared", "--positive", "x"], "no class 'x'"),
        ([*BC, "--model", "pa:squared", "--classes", "benign,x"], "row 0, column 'diagnosis'"),
        ([*BC, "--model", "pa:squared", "--view", "a"], "--view 'a'"),
        ([*BC, "--model", "pa:squared", "--view", "a=mean__*", "--view", "b=nope"], "'nope'"),
        ([*BC, "--model", "pa:squared", "--view", "a=mean__*,diagnosis"], "names the label column"),
        (
            ["compare", "names.csv", "--label", "l", "--groups", "a__x", "--view", "a=a__x,b__y"],
            "column 'a__x': view 'a' names it, and a column of groups, times or weights is in no",
        ),
        ([*BC[:-1], "out", "--model", "pa:squared"], "out: is a folder"),
        ([*BC[:-1], "no/x.st", "--model", "pa:squared"], "there is no folder 'no'"),
        (["predict", "bc.parquet", "bc.parquet", "-o", "out/p.csv"], "bc.parquet: is not a model"),
        (["predict", "newer.safetensors", "bc.parquet", "-o", "out/p.csv"], "newer version"),
        (["predict", "no.st", "bc.parquet", "-o", "out/p.csv"], "no such model file"),
        (["predict", "m.safetensors", "bc.parquet", "-o", "out/p.txt"], "ends in .csv, .parquet"),
        (["predict", "m.safetensors", "bc.parquet", "-o", "out"], "write to a name that ends"),
        (["predict", "m.safetensors", "bc.parquet", "-o", "folder.csv"], "is a folder"),
        (["predict", "m.safetensors", "bc.parquet", "-o", "no/p.csv"], "there is no folder 'no'"),
        (["predict", "m.safetensors", "nan.csv", "-o", "out/p.csv"], "none of the model's columns"),
        (["predict", "m.safetensors", "late.parquet", "-o", "out/p.csv"], "parquet, row 70000"),
        (["predict", "m.safetensors", "bc.parquet", "-o", "-", "--keep", "x"], "no column 'x'"),
        (["inspect", "bc.parquet"], "is not a model"),
        (["inspect", "newer.safetensors"], "newer version"),
        (["datasets", "iris", "-o", "out/d.csv"], "no data set 'iris'"),
        (["datasets", "iris"], "no data set 'iris'"),
        (["datasets", "digits", "-o", "no/d.csv"], "no folder 'no'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_what_is_wrong_is_one_line_and_leaves_nothing(argv, message, here, capsys):
    Path("out").mkdir()
    Path("folder.csv").mkdir()
    Path("names.csv").write_text("a__x,b__y,l\n")
    Path("one.csv").write_text("a__x,b__y,l\n1,2,p\n3,4,p\n")
    Path("ragged.csv").write_text("a__x,b__y,l\n1,2,p\n3,4\n5,6,q\n")
    Path("miss.csv").write_text("a__x,b__y,l\n1,2,p\n3,4,\n5,6,q\n")
    Path("none.csv").write_text("a__x,b__y,l\n1,2,\n3,4,\n5,6,\n")
    Path("nan.csv").write_text("a__x,b__y,l\n1,2,p\n3,nan,q\n5,6,q\n")
    Path("noview.csv").write_text("x,y,l\n1,2,p\n3,4,q\n")
    Path("cut.parquet").write_bytes(Path("bc.parquet").read_bytes()[:50_000])
    Path("bc.json").write_bytes(Path("bc.parquet").read_bytes())
    Path("list.json").write_text("[1]")
    Path("rows.json").write_text('{"rows": []}')
    Path("cut.json").write_text('{"rows": [], "format": 2}')
    model = Path("m.safetensors").read_bytes()
    version = f'"version": "{VERSION}"'.encode()
    assert model.count(version) == 1
    Path("newer.safetensors").write_bytes(model.replace(version, b'"version":"99"'))
    if "late.parquet" in argv:
        table = pq.read_table("bc.parquet")
        table = pa.concat_tables([table] * 130)
        column = table["mean__area"].to_numpy().copy()
        column[70_000] = np.nan
        i = table.column_names.index("mean__area")
        pq.write_table(table.set_column(i, "mean__area", pa.array(column)), "late.parquet")

    status, out, err = run(capsys, *argv)
    assert (status, out) == (2, [])
    assert len(err) == 1
    assert err[0].startswith("crossview: error: ")
    assert message in err[0]
    assert list(Path("out").iterdir()) == []
    assert not any(path.name.startswith(".") for path in here.iterdir())


@pytest.mark.parametrize("source", ["none.csv", "none.parquet", "folder", "FROM 'none.csv'"])
@pytest.mark.parametrize(
    "argv",
    [
        ["train", "--label", "diagnosis", "-o", "out/m.safetensors"],
        ["train", "--label", "diagnosis", "--model", "logistic-regression", "-o", "out/m.st"],
        ["train", "--label", "mean__area", "--task", "regression", "-o", "out/m.safetensors"],
        ["train", "--label", "diagnosis", "--time", "mean__area", "-o", "out/m.safetensors"],
        ["compare", "--label", "diagnosis"],
        ["evaluate", "--label", "diagnosis"],
        ["evaluate", "--label", "diagnosis", "--time", "mean__area"],
        ["predict"],
    ],
    ids=" ".join,
)
def test_a_source_without_rows_has_a_status_of_its_own(argv, source, here, capsys):
    Path("out").mkdir()
    Path("folder").mkdir()
    table = pq.read_table("bc.parquet").slice(0, 0)
    pq.write_table(table, "none.parquet")
    Path("none.csv").write_text(",".join(table.column_names) + "\n")
    command, *rest = argv
    model = ["m.safetensors"] if command in ("predict", "evaluate") else []
    status, out, err = run(capsys, command, *model, source, *rest)
    assert status == 3
    assert len(err) == 1
    assert source.startswith("FROM") or f" {source}: " in err[0]
    written = command == "predict" and source != "folder"
    assert [bool(line) for line in out] == [True] * written
    assert written or err[0].startswith("crossview: error: ")
    assert list(Path("out").iterdir()) == []


def test_an_old_output_survives_a_failure(here, capsys):
    Path("t.csv").write_text("a__x,b__y,l\n1,2,p\n3,nan,q\n5,6,q\n")
    old = Path("m.safetensors").read_bytes()
    train = ["train", "t.csv", "--label", "l", "--model", "pa:squared", "-o", "m.safetensors"]
    status, _, err = run(capsys, *train)
    assert (status, err) == (2, ["crossview: error: t.csv, row 1, column 'b__y': " + NAN])
    assert Path("m.safetensors").read_bytes() == old


@pytest.mark.parametrize("command", ["train", "predict"])
def test_ctrl_c_is_one_line_and_leaves_nothing(command, here, capsys, monkeypatch):
    Path("out").mkdir()

    def interrupted(self, X):
        raise KeyboardInterrupt

    for method in ("partial_fit_transform", "transform"):
        monkeypatch.setattr(crossview.ViewEncoder, method, interrupted)
    argv = {
        "train": [*BC, "--model", "pa:squared"],
        "predict": ["predict", "m.safetensors", "bc.parquet", "-o", "out/p.csv"],
    }[command]
    status, out, err = run(capsys, *argv)
    assert (status, out, err) == (130, [], ["crossview: interrupted"])
    assert list(Path("out").iterdir()) == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), ""),
        (np._core._exceptions._ArrayMemoryError((2**60,), np.dtype(float)), " (Unable to allocate"),
        (duckdb.OutOfMemoryException("Out of Memory Error: full"), " (Out of Memory Error: full)"),
    ],
)
def test_a_lack_of_memory_is_one_line(error, reason, here, capsys, monkeypatch):
    def exhausted(self, X):
        raise error

    monkeypatch.setattr(crossview.ViewEncoder, "transform", exhausted)
    status, out, err = run(capsys, "predict", "m.safetensors", "bc.parquet", "-o", "p.csv")
    assert (status, out, len(err), Path("p.csv").exists()) == (2, [], 1, False)
    assert err[0].startswith(f"crossview: error: out of memory{reason}")
    assert err[0].endswith("; let the process have more, or give fewer rows")


def test_ctrl_c_while_the_command_line_loads_is_one_line(capsys, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("crossview.cli.load_without_rarely_used", interrupted)
    assert run(capsys, "--version") == (130, [], ["crossview: interrupted"])


def test_ctrl_c_while_a_process_begins_is_one_line(capsys, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("crossview.cli.check_streams", interrupted)
    with pytest.raises(SystemExit) as ended:
        process()
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "crossview: interrupted\n")


def test_a_bug_keeps_its_traceback(here, monkeypatch):
    monkeypatch.setattr("crossview.comparing.compare.compare", lambda *a, **k: {}["bug"])
    with pytest.raises(KeyError):
        main(["compare", "bc.parquet", "--label", "diagnosis"])


def test_a_package_that_a_command_lacks_is_named_with_the_extra_that_brings_it(tmp_path):
    code = "import sys; sys.modules['msgspec'] = None; from crossview.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", str(tmp_path / "m.st"), "--data", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == (
        "crossview: error: this command needs msgspec: pip install 'crossview[serve]'\n"
    )
