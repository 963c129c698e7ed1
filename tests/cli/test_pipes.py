"""Pipes, closed and full streams, exports in another encoding, and models that know the answer."""

import gzip
import io
import json
import os
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import forks
from command_line import run

PREDICT = ["predict", "m.safetensors"]


def zstd(content):
    """Compress as zstd does."""
    return pa.compress(content, "zstd", asbytes=True)


class Pipe:
    """A named pipe into which a thread writes bytes, once."""

    def __init__(self, name, content):
        os.mkfifo(name)
        self._thread = threading.Thread(target=Path(name).write_bytes, args=(content,))

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *error):
        self._thread.join(timeout=60)


@pytest.mark.parametrize("name", ["rows", "rows.csv", "rows.parquet"])
def test_rows_from_a_pipe_are_read_once(name, here, capsys):
    if name != "rows.parquet":
        pa_csv.write_csv(pq.read_table("bc.parquet"), "bc.csv")
    source = Path("bc.parquet" if name == "rows.parquet" else "bc.csv").read_bytes()
    with Pipe(name, source):
        status, out, err = run(capsys, *PREDICT, name)
    assert (status, err) == (0, [])
    assert out == run(capsys, *PREDICT, "bc.parquet")[1]
    with Pipe("cut.csv", b"a__x,y\n1,2,3\n"):
        _, _, err = run(capsys, "describe", "cut.csv")
    assert err[0].startswith("crossview: error: cut.csv, row 0: 3 fields")


@pytest.mark.parametrize(
    ("suffix", "how"), [(".csv", ()), (".csv", ["--format", "csv"]), (".jsonl", ())]
)
@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_compressed_rows_from_a_pipe_are_unpacked(suffix, how, compress, here, capsys):
    rows = pq.read_table("bc.parquet")
    content = io.BytesIO()
    if suffix == ".csv":
        pa_csv.write_csv(rows, content)
    else:
        content.write("\n".join(map(json.dumps, rows.to_pylist())).encode())
    packed = compress(content.getvalue())
    with Pipe(f"rows{suffix}", packed):
        status, out, err = run(capsys, *PREDICT, f"rows{suffix}", *how)
    assert (status, err) == (0, [])
    assert out == run(capsys, *PREDICT, "bc.parquet")[1]
    for name, label in (("file.vw", []), ("file.csv", ["--label", "y"])):
        Path(name).write_bytes(packed)
        _, _, err = run(capsys, "train", name, *label, "-o", "o.st")
        assert f"error: {name}: is compressed, and its name does not say so: rename it" in err[0]


def test_a_model_from_a_pipe_is_read_once(here, capsys):
    model = Path("m.safetensors").read_bytes()
    for argv in (["inspect", "pipe"], ["predict", "pipe", "bc.parquet"]):
        with Pipe("pipe", model):
            status, out, err = run(capsys, *argv)
        os.unlink("pipe")
        assert (status, err) == (0, [])
        assert out == run(capsys, *["m.safetensors" if one == "pipe" else one for one in argv])[1]
    os.mkfifo("pipe")
    status, _, err = run(capsys, *PREDICT, "/dev/null", "--format", "csv")
    assert (status, err) == (2, ["crossview: error: /dev/null: is a device, and no file"])
    _, _, err = run(capsys, "evaluate", "m.safetensors", "bc.parquet", "--source", "pipe")
    assert "pipe: is a pipe, which is read only once; copy it into a file" in err[0]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full of Linux")
def test_a_stream_that_takes_no_more_is_named(here, capsys, monkeypatch):
    prepared = "from crossview.cli import check_streams; check_streams()\n"
    writing = (
        "try: print('x', flush=True)\nexcept OSError as error: print(error, file=sys.stderr)\n"
    )
    writing += "os.dup2(2, 1)"
    closed = "os.close(1); sys.stdout = None; "
    for before, message in (("", "[Errno 28] No space"), (closed, "[Errno 9] Bad file descriptor")):
        code = f"import os, sys; sys.held = sys.stdout; {before}{prepared}{writing}"
        done = forks.run(["-c", code], loaded=False, stdout="/dev/full")
        assert message in done.stderr.decode()
        assert "'standard output'" in done.stderr.decode()
    code = f"import os, sys; sys.held = sys.stdout; {closed}{prepared}"
    code += f"from crossview.cli import main; sys.exit(main({[*PREDICT, 'bc.parquet']}))"
    done = forks.run(["-c", code])
    message = b"crossview: error: standard output: Bad file descriptor\n"
    assert (done.returncode, done.stderr) == (2, message)
    monkeypatch.setattr("sys.stdin", None)
    _, _, err = run(capsys, *PREDICT, "-")
    assert err == ["crossview: error: standard input: is closed; name a file"]
    argv = ["train", "bc.parquet", "--label", "diagnosis", "--model", "perceptron", "-o", "m.st"]
    status, _, err = run(capsys, *argv, "--log", "/dev/full")
    assert (status, err[-1]) == (2, "crossview: error: /dev/full: No space left on device")


def test_the_page_is_written_though_nobody_reads_the_tables(here, capsys, monkeypatch):
    def stopped(*args):
        raise BrokenPipeError

    monkeypatch.setattr("crossview.cli.commands.evaluate.make_console", stopped)
    monkeypatch.setattr("crossview.cli.commands.compare.make_console", stopped)
    of_table = ["compare", "bc.parquet", "--label", "diagnosis", "--model", "perceptron"]
    for name, argv in (
        ("e", ["evaluate", "m.safetensors", "bc.parquet", "--no-views"]),
        ("c", [*of_table, "--cv", "2", "--budget", "1s"]),
    ):
        argv += ["--json", f"{name}.json", "--report", f"{name}.html"]
        assert run(capsys, *argv)[0] == 1
        assert all(Path(f"{name}.{end}").stat().st_size for end in ("html", "json"))


def test_a_loop_of_links_is_no_output(here, capsys):
    Path("a.st").symlink_to("b.st")
    Path("b.st").symlink_to("a.st")
    argv = ["train", "bc.parquet", "--label", "diagnosis", "-o", "a.st"]
    status, _, err = run(capsys, *argv)
    assert status == 2
    assert err[0].startswith("crossview: error: a.st: is a loop of symbolic links; remove it, or")
    assert Path("a.st").is_symlink()


EXPORT = "ware__Preis;ware__Größe;Kauf\n" + "1,5;groß;ja\n2,5;k.A.;nein\n3,5;klein;ja\n" * 9


def test_an_export_is_read_as_the_first_one(here, capsys):
    Path("first.csv").write_bytes(EXPORT.encode("cp1252"))
    how = ["--decimal", ",", "--null", "k.A."]
    argv = ["train", "first.csv", "--label", "Kauf", *how, "--model", "perceptron", "-o", "k.st"]
    status, _, err = run(capsys, *argv)
    assert status == 0
    assert err[0] == (
        "crossview: first.csv is not UTF-8: read as cp1252 (ware__Größe, groß); if that looks "
        "wrong, give --encoding NAME"
    )
    shown = run(capsys, "inspect", "k.st")[1]
    assert (
        "reads CSV files with null 'k.A.', decimal ',', delimiter ';', encoding 'cp1252', if no "
        "option says otherwise"
    ) in shown
    assert run(capsys, "predict", "k.st", "first.csv", "-o", "p.csv")[0] == 0
    with Pipe("pipe", EXPORT.encode("cp1252")):
        assert (
            run(capsys, "predict", "k.st", "pipe")[1][1:]
            == (Path("p.csv").read_text().splitlines()[1:])
        )
    goes_on = ["train", "first.csv", "--init", "k.st", "-o", "l.st"]
    assert run(capsys, *goes_on)[0] == 0
    _, _, err = run(capsys, "predict", "k.st", "first.csv", "--decimal", ".")
    assert err[-1].endswith("is the decimal point a comma? --decimal ,")
    Path("bare.csv").write_text("1,5;k.A.;ja\n2,5;klein;ja\n")
    _, _, err = run(capsys, "predict", "k.st", "bare.csv")
    assert err[0].endswith("if its first line names none, say --no-header")
    _, _, err = run(capsys, "predict", "k.st", "first.csv", "--encoding", "utf8")
    assert err == [
        "crossview: error: first.csv: is not UTF-8: byte 0xf6 in line 1; give another --encoding"
    ]
    # a query and other formats read UTF-8
    _, _, err = run(capsys, "describe", "FROM 'first.csv'")
    assert err[0].endswith("text that is not UTF-8; name the file itself, with --encoding")
    for name, text in (("a.vw", b"1 |\xfc b\n"), ("a.jsonl", b'{"a": "\xfc"}\n')):
        Path(name).write_bytes(text)
        _, _, err = run(capsys, "describe", name)
        assert f"{name}: is not UTF-8 (byte 0xfc in line 1)" in err[0]


def test_the_model_to_go_on_from_knows_the_views(here, capsys):
    table = pq.read_table("bc.parquet")
    names = [name.replace("__", "_") for name in table.column_names]  # no views by name
    pa_csv.write_csv(table.rename_columns(names), "two.csv")
    views = [word for one in ("mean", "worst") for word in ("--view", f"{one}={one}_*")]
    argv = ["train", "two.csv", "--label", "diagnosis", *views, "--model", "perceptron"]
    assert run(capsys, *argv, "-o", "one.st")[0] == 0
    goes_on = ["train", "two.csv", "--init", "one.st"]
    assert run(capsys, *goes_on, "-o", "a.st")[0] == 0
    assert run(capsys, *goes_on, "--label", "diagnosis", "-o", "b.st")[0] == 0
    assert Path("a.st").read_bytes() == Path("b.st").read_bytes()
    # another column may hold the labels, if no view has it
    names[-1] = "befund"
    pa_csv.write_csv(table.rename_columns(names), "two.csv")
    assert run(capsys, *goes_on, "--label", "befund", "-o", "c.st")[0] == 0
    assert Path("a.st").read_bytes() == Path("c.st").read_bytes()
    for label, message in (
        ("mean_radius", "is in view 'mean' of the model, so it is not the label"),
        ("Befund", "no label column 'Befund'; did you mean 'befund'?"),
        ("error_radius", "label 1.095 is not among the classes benign, malignant"),
    ):
        status, _, err = run(capsys, *goes_on, "--label", label, "-o", "d.st")
        assert status == 2
        assert message in err[0]
        assert len(err) == 1


@pytest.mark.parametrize(
    ("model", "said"),
    [("network", "scores change without a column"), ("kernel-ridge", "at the landmarks")],
)
def test_importances_say_what_they_are(here, capsys, model, said):
    pq.write_table(pq.read_table("bc.parquet").slice(0, 150), "bc.parquet")
    argv = ["train", "bc.parquet", "--label", "diagnosis", "--model", model]
    few = ["--set", "n_members=1"] if model == "network" else []
    assert run(capsys, *argv, *few, "-o", "m.st")[0] == 0
    _, out, _ = run(capsys, "inspect", "m.st")
    assert any(line.startswith("importance: ") and said in line for line in out)
