"""The first hour: help, standard streams, narrow terminals, and how files are read."""

import io
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import crossview
import forks
from command_line import read_csv, run

HEAVY = "{'numba', 'sklearn', 'scipy.stats'}"


def assert_refused_before_anything_heavy_loads(argv, message, folder):
    code = (
        f"import sys; from crossview.cli import main; status = main({argv!r})\n"
        f"print(sorted({HEAVY} & set(sys.modules))); sys.exit(status)"
    )
    done = forks.run(["-c", code], loaded=False, cwd=folder)
    assert (done.returncode, done.stdout) == (2, b"[]\n"), done.stderr
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_without_arguments_and_with_h_there_is_help_on_stdout(capsys):
    for argv in ([], ["-h"], ["train", "-h"]):
        status, out, err = run(capsys, *argv)
        assert (status, err) == (0, [])
        assert out[0].startswith("Usage: crossview")
    assert "--install-completion" in "\n".join(run(capsys)[1])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["train", "t.csv", "--label", "Y", "-o", "m"], "did you mean 'y'"),
        (["train", "tt.csv", "--label", "y", "-o", "m"], "did you mean 't.csv'"),
        (["train", "t.csv", "--label", "y", "-o", "m", "--view", "a=b__*"], "'b__*'"),
        (["train", "t.csv", "--label", "y", "-o", "m", "--model", "PA:squared"], "'pa:squared'"),
        (
            ["train", "t.csv", "--label", "y", "-o", "m", "--model", "arow", "--set", "R=1"],
            "has no parameter 'R'; did you mean 'r'?",
        ),
        (["compare", "t.csv", "--label", "y", "--metric", "F1"], "did you mean 'f1'?"),
        (["compare", "t.csv", "--label", "y", "--groups", "A__x"], "did you mean 'a__x'?"),
        (["predict", "no.st", "t.csv"], "no.st: no such model file"),
        (["evaluate", "no.st", "t.csv"], "no.st: no such model file"),
        (["evaluate", "t.csv", "t.csv", "--by", "A__x"], "did you mean 'a__x'?"),
        (["evaluate", "t.csv", "t.csv", "--window", "1x"], "--window 1x; give a time"),
        *(
            (argv, "did you mean 'a__€, x' (written \"a__€, x\" in a list)?")
            for argv in (
                ["evaluate", "t.csv", "c.csv", "--by", "y,a__€, x"],
                ["describe", "c.csv", "--ignore", "a__€, x"],
                ["describe", "c.csv", "--view", "a=a__€, x"],
            )
        ),
        (["describe", "t.csv", "--label", "Y"], "did you mean 'y'?"),
        (["describe", "t.xyz"], "t.xyz: no such file"),
        (["describe", "t.csv", "--delimiter", "."], "--delimiter . is also the quote"),
        (["describe", "t.csv", "--decimal", ";"], "--decimal ';'; give . or ,"),
        (["describe", "t.csv", "--format", "cvs"], "no format 'cvs'; did you mean 'csv'?"),
        (["describe", "SELECT 1 AS a, 2 AS b", "--null", "NA"], "--null, --decimal"),
        (["describe", "https://example.invalid/t.csv"], "INSTALL httpfs"),
    ],
)
def test_what_is_mistyped_is_told_before_anything_heavy_loads(argv, message, tmp_path):
    (tmp_path / "t.csv").write_text("a__x,a__z,y\n1,2,p\n3,4,q\n")
    (tmp_path / "c.csv").write_text('"a__€, x",y\n1,p\n3,q\n', encoding="utf-8")
    assert_refused_before_anything_heavy_loads(argv, message, tmp_path)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["t.csv"], "no column 'a__x'; did you mean 'a__xx'?"),
        (["t.csv"], "; without it: --missing-columns null"),
        (["s.csv"], "no column 'a__x' (there are: a__z, b__w, y); without it: --missing"),
        (
            ["u.csv"],
            "u.csv: has none of the model's columns (a__x, a__z, b__w, ...); it has y, ...; is it "
            "written in another way? Say how by --delimiter, --encoding or --no-header",
        ),
        (["SELECT y FROM 'u.csv'"], "has none of the model's columns"),
        (["w.csv"], "it has x, z, ...; name its view: --source a=FILE, in Python {'a': table}"),
        (["t.csv", "--missing-columns", "null", "--keep", "Y"], "no column 'Y'; did you mean 'y'?"),
        (["t.csv", "--missing-columns", "nulls"], "--missing-columns nulls; give error or null"),
        (["v.csv"], "v.csv: no such file; did you mean"),
    ],
)
def test_columns_are_those_of_the_model_before_anything_heavy_loads(more, message, tmp_path):
    table = pa.table({"a__x": [1, 2, 3, 4], "a__z": [2, 1, 3, 1], "b__w": [1, 0, 1, 1]})
    crossview.train(table, [0, 1, 0, 1], model="pa:squared", output=tmp_path / "m.st")
    (tmp_path / "t.csv").write_text("a__xx,a__z,b__w,y\n1,2,3,p\n")
    (tmp_path / "s.csv").write_text("a__z,b__w,y\n2,3,p\n")  # a__z is a column of the model
    (tmp_path / "u.csv").write_text("y\np\n")
    (tmp_path / "w.csv").write_text("x,z\n1,2\n")
    argv = ["predict", "m.st", *more]
    assert_refused_before_anything_heavy_loads(argv, message, tmp_path)


def test_a_class_with_a_capital_letter_is_suggested(here, capsys):
    train = ["train", "bc.parquet", "--label", "diagnosis", "-o", "x.st", "--model", "arow"]
    _, _, err = run(capsys, *train, "--positive", "Malignant")
    assert "no class 'Malignant'; did you mean 'malignant'?" in err[0]


def test_a_dash_is_a_standard_stream(here, capsys, monkeypatch):
    """From rows on stdin to a model on stdout, and back."""
    pa_csv.write_csv(pq.read_table("bc.parquet"), "bc.csv")
    rows = Path("bc.csv").read_bytes()
    options = ["--label", "diagnosis", "--model", "pa:squared", "--set", "C=0.1"]
    trained = forks.run(["train", "-", *options, "-o", "-"], stdin=rows)
    assert trained.returncode == 0, trained.stderr
    assert run(capsys, "train", "bc.csv", *options, "-o", "file.st")[0] == 0
    Path("piped.st").write_bytes(trained.stdout)
    shown = forks.run(["inspect", "-", "--top", "1"], stdin=trained.stdout).stdout.decode()
    assert "classes: benign, malignant" in shown
    predicted = forks.run(["predict", "piped.st", "-"], stdin=rows)
    run(capsys, "predict", "file.st", "bc.csv", "-o", "p.csv")
    assert predicted.stdout == Path("p.csv").read_bytes()
    both = forks.run(["predict", "-", "-"])
    assert (both.returncode, both.stdout) == (2, b"")
    assert b"cannot both be read from standard input" in both.stderr


def test_json_and_tables_on_stdout(here, capsys, monkeypatch):
    def on_stdin(text):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    run(capsys, "datasets", "digits", "-o", "digits.csv")
    written = forks.run(["datasets", "digits", "-o", "-"]).stdout
    assert written == Path("digits.csv").read_bytes()
    lines = "".join(json.dumps({"a__x": i, "y": i % 2}) + "\n" for i in range(5))
    on_stdin(lines)
    done = forks.run(["describe", "-", "--format", "json", "--json", "-"], stdin=lines.encode())
    assert json.loads(done.stdout)["n_rows"] == 5
    on_stdin("a__x,y\n1,2,3\n")
    _, _, err = run(capsys, "describe", "-", "--label", "y")
    assert err[0].startswith("crossview: error: standard input, row 0: 3 fields")
    command = ["compare", "bc.parquet", "--label", "diagnosis", "--cv", "2", "--budget", "1h"]
    status, out, err = run(capsys, *command, "--model", "perceptron", "--json", "-")
    assert status == 0
    assert json.loads("\n".join(out))["rows"][0]["model"] == "perceptron"
    assert any("perceptron" in line for line in err)


def test_a_terminal_that_cannot_show_it_all_gets_the_table(here, capsys):
    models = ["--model", "pam:squared", "--model", "view:worst", "--json", "c.json"]
    command = ["compare", "bc.parquet", "--label", "diagnosis", "--cv", "2", "--thorough"]
    assert run(capsys, *command, *models)[0] == 0
    for encoding, argv in (
        ("ascii", ["compare", "c.json"]),
        ("cp1252", ["describe", "bc.parquet"]),
    ):
        done = forks.run([*argv], PYTHONIOENCODING=encoding)
        assert (done.returncode, done.stderr) == (0, b"")
        text = done.stdout.decode(encoding)
        if argv[0] == "compare":
            assert "> " in text
            assert "disagreement (gamma)" in text


CSV = "shop;ad__price;ad__kind;user__code;click\n" + "".join(
    f"s{i % 3};{i},5;'a;b';{'NA' if i % 4 else i};{'yes' if i % 2 else 'no'}\n" for i in range(40)
)
HOW = ["--decimal", ",", "--null", "NA,-", "--quote", "'", "--delimiter", ";"]


def test_how_csv_is_written_reaches_every_command(here, capsys):
    Path("t.csv").write_text(CSV)
    status, out, _ = run(capsys, "describe", "t.csv", "--label", "click", *HOW)
    assert status == 0
    assert any("ad__price" in line and "0.5 to 39.5" in line for line in out)
    assert any("a;b" in line for line in out)
    options = ["--label", "click", *HOW]
    assert run(capsys, "train", "t.csv", *options, "--model", "pa:squared", "-o", "x.st")[0] == 0
    Path("more.csv").write_text(CSV.replace("0,5", "100,5"))
    assert run(capsys, "predict", "x.st", "more.csv", *HOW, "-o", "p.csv")[0] == 0
    assert len(read_csv("p.csv")) == 40
    # a description replaces no input, but an older description
    _, _, err = run(capsys, "describe", "t.csv", *HOW, "--json", "t.csv")
    assert err == ["crossview: error: t.csv: is one of the inputs; write to another file"]
    assert run(capsys, "describe", "t.csv", "--quote", "'", "--json", "d.json")[0] == 0
    assert run(capsys, "describe", "t.csv", *HOW, "--json", "d.json")[0] == 0
    assert json.loads(Path("d.json").read_text())["n_rows"] == 40
    # what compare prints can be run
    models = ["--model", "arow", "--model", "pa:squared", "--budget", "1h", "--cv", "2"]
    _, out, _ = run(capsys, "compare", "t.csv", *options, *models)
    command = "crossview train t.csv --label click --null NA,- --decimal , --delimiter ';' --quote"
    assert out[-1].startswith(command)
    quoted = ["--quote", "'"]
    # without the options there are guesses and warnings, one line each
    _, _, err = run(
        capsys, "train", "t.csv", *options[:2], *quoted, "--model", "pa:squared", "-o", "x.st"
    )
    assert err[0] == (
        "crossview: t.csv: read with a decimal comma; if that looks wrong, give --decimal ."
    )
    _, _, err = run(capsys, "train", "t.csv", *options[:2], *quoted, "--decimal", ".", "-o", "x.st")
    assert err[0] == (
        "crossview: warning: ad__price: text, but all look like numbers with a decimal comma: "
        "--decimal ,"
    )


def test_files_without_header_or_with_another_name(here, capsys):
    Path("u.data").write_text("".join(f"{i}\t{i % 5}\t{i % 2}\n" for i in range(30)))
    how = ["--format", "csv", "--no-header", "--delimiter", "\\t"]
    status, out, _ = run(capsys, "describe", "u.data", "--label", "x2", "--view", "v=x0,x1", *how)
    assert status == 0
    assert any(line.startswith("x1  ") and "0 to 4" in line for line in out)
    _, _, err = run(capsys, "describe", "u.data")
    assert "or name the format, such as --format csv" in err[0]
    Path("u.csv").write_text("".join(f"{i},{7 + i % 5}\n" for i in range(30)))
    _, out, _ = run(capsys, "describe", "u.csv")
    assert "warning: the names of the columns (0, 7, ...) look like a row: --no-header" in out


def test_columns_without_their_view_have_a_kind(here, capsys):
    """A view that is in the name of the column, or in --view, need not be said again."""
    Path("t.csv").write_text(CSV.replace(",5", "").replace("NA", "1"))
    given = ["--quote", "'", "--label", "click"]
    _, out, _ = run(capsys, "describe", "t.csv", *given, "--categorical", "user__code")
    assert any(line.startswith("user__code  user") and "categorical" in line for line in out)
    _, _, err = run(capsys, "describe", "t.csv", *given, "--view", "ad__price")
    assert "--view 'ad__price': give a view and its columns" in err[0]


def test_columns_that_are_missing_tomorrow_are_null(here, capsys):
    table = pq.read_table("bc.parquet")
    pq.write_table(table.drop_columns(["mean__area"]), "less.parquet")
    predict = ["predict", "m.safetensors", "less.parquet", "-o", "p.csv"]
    _, _, err = run(capsys, *predict)
    assert "no column 'mean__area'" in err[0]
    status, _, err = run(capsys, *predict, "--missing-columns", "null")
    assert status == 0
    assert err[0] == "crossview: column 'mean__area' is missing in less.parquet: null"
    _, _, err = run(capsys, *predict, "--missing-columns", "drop")
    assert "--missing-columns drop; give error or null" in err[0]


@pytest.mark.parametrize("source", ["n.csv", "FROM 'n.csv' WHERE price > 0"])
def test_the_task_of_a_query_is_guessed_as_that_of_a_file(source, here, capsys):
    Path("n.csv").write_text("price,size\n" + "".join(f"{i % 31 + 9},{i}\n" for i in range(90)))
    status, _, err = run(
        capsys, "train", source, "--label", "price", "--model", "linear", "-o", "n.st"
    )
    assert (status, err[0]) == (
        0,
        "crossview: predicting a number: 'price' takes 31 whole numbers from 9 to 39; if that is "
        "wrong, give --task classification",
    )
    argv = ["compare", source, "--label", "price", "--cv", "2"]
    status, _, err = run(capsys, *argv, "--model", "linear", "--model", "fm")
    assert (status, err[0][:33]) == (0, "crossview: predicting a number: '")


def test_classes_that_may_be_a_rating_are_named_as_describe_names_them(here, capsys):
    Path("n.csv").write_text("size,stars\n" + "".join(f"{i},{i % 5 + 1}\n" for i in range(90)))
    given = ["n.csv", "--label", "stars"]
    _, out, err = run(capsys, "describe", *given)
    [line] = [one for one in (*out, *err) if "classes without an order" in one]
    assert line.endswith("a rating or a count is a number: --task regression")
    line = line[line.index("warning: ") :]
    model = ["--model", "linear"]
    for argv in (["compare", *given, *model, "--cv", "2"], ["train", *given, *model, "-o", "n.st"]):
        _, _, err = run(capsys, *argv)
        assert f"crossview: {line}" in err
        _, _, err = run(capsys, *argv, "--task", "classification")
        assert not any("without an order" in one for one in err)
