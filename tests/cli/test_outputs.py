"""Outputs: never onto an input or something else, through links and devices, nothing left."""

import os
import stat
import sys
import tempfile
import threading
from pathlib import Path

import duckdb
import pytest

import crossview
from command_line import python, read_csv, run
from crossview import InputError
from crossview.readers.duck import connection
from crossview.saving import files

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="links and devices of POSIX")
LABEL = ["--label", "diagnosis"]
TRAIN = [*LABEL, "--model", "view:worst"]
CHECKPOINT = ["train", "bc.parquet", *TRAIN, "-o", "x.st", "--checkpoint"]
PREDICT = ["predict", "m.safetensors", "bc.parquet", "-o"]
ANOTHER = "write to another file"
QUERY = "SELECT * FROM 'b?.parquet' WHERE diagnosis != 'bc.csv'"
CONCATENATED = "WITH a AS (FROM read_parquet(['bc.parquet', 'other.parquet'])) FROM a"


@POSIX
@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["train", "bc.parquet", *TRAIN, "-o", "bc.parquet"], "is one of the inputs"),
        (["train", "bc.parquet", *TRAIN, "-o", "link"], "is one of the inputs"),
        (["train", "bc.parquet", *TRAIN, "-o", "hard"], "is one of the inputs"),
        (["train", "b*.parquet", *TRAIN, "-o", "bc.parquet"], "is one of the inputs"),
        (["train", QUERY, *TRAIN, "-o", "bc.parquet"], "is one of the inputs"),
        (["train", CONCATENATED, *TRAIN, "-o", "other.parquet"], "is one of the inputs"),
        (["train", "bc.parquet", *TRAIN, "-o", "other.parquet"], "is not a model file"),
        (["train", "bc.parquet", *TRAIN, "-o", "bc.csv"], "is not a model file"),
        ([*CHECKPOINT, "link"], "is one of the inputs"),
        ([*CHECKPOINT, "other.parquet"], "is not a model file"),
        ([*CHECKPOINT, "x.st"], "is the model and its checkpoint"),
        ([*PREDICT, "bc.parquet"], "is one of the inputs"),
        ([*PREDICT, "linked.csv"], "is one of the inputs"),
        ([*PREDICT, "model.csv"], "is not a CSV file"),
        ([*PREDICT, "model.jsonl"], "is not a file of JSON lines"),
        ([*PREDICT, "text.parquet"], "is not a Parquet file"),
        (["compare", "bc.parquet", *LABEL, "--json", "bc.parquet"], "is one of the inputs"),
        (["compare", "bc.parquet", *LABEL, "--json", "bc.csv"], "is not a comparison"),
        (["datasets", "digits", "-o", "model.csv"], "is not a CSV file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_output_is_no_input_and_replaces_only_its_kind(argv, message, here, capsys):
    Path("link").symlink_to("bc.parquet")
    Path("hard").hardlink_to("bc.parquet")
    Path("linked.csv").symlink_to("m.safetensors")
    for copy in ("model.csv", "model.jsonl"):
        Path(copy).write_bytes(Path("m.safetensors").read_bytes())
    for text in ("bc.csv", "text.parquet"):
        Path(text).write_text("a,b\n1,2\n")
    Path("other.parquet").write_bytes(Path("bc.parquet").read_bytes())
    before = {path: path.read_bytes() for path in here.iterdir()}
    status, out, err = run(capsys, *argv)
    assert (status, out, len(err)) == (2, [], 1)
    assert f"{argv[-1]}: " in err[0]
    assert message in err[0]
    assert {path: path.read_bytes() for path in here.iterdir()} == before


def test_the_output_of_a_query_is_written_again(here, capsys):
    query = "SELECT i AS x, i % 17 AS z, (i * 7) % 3 = 0 AS y FROM range(300) t(i) WHERE x <> 5"
    for _ in range(2):
        assert run(capsys, "train", query, "--label", "y", "--model", "arow", "-o", "q.st")[0] == 0
        assert run(capsys, "predict", "q.st", query, "-o", "q.csv")[0] == 0
    query = "SELECT *, 1.0 AS x, 2.0 AS z FROM q.csv"
    status, _, err = run(capsys, "predict", "q.st", query, "-o", "q.csv")
    assert (status, err) == (2, [f"crossview: error: q.csv: is one of the inputs; {ANOTHER}"])


def test_the_library_keeps_other_files_too(here):
    Path("data.csv").write_text("a,b\n1,2\n")
    model = crossview.load("m.safetensors")
    with pytest.raises(InputError, match="is not a model file"):
        crossview.save(model, "data.csv")
    with pytest.raises(InputError, match="is one of the inputs"):
        crossview.train("bc.parquet", "diagnosis", output="bc.parquet")
    with pytest.raises(InputError, match="is one of the inputs"):
        crossview.predict(model, crossview.open_table("bc.parquet"), "bc.parquet")
    assert Path("data.csv").read_text() == "a,b\n1,2\n"
    Path("c.json").write_text('{"format": 1, "rows": []}')
    files.check_writable("c.json", files.COMPARISON)


@POSIX
def test_a_link_leads_to_the_output_and_a_mode_stays(here, capsys):
    Path("real.csv").write_text("old\n")
    Path("real.csv").chmod(0o640)
    Path("link.csv").symlink_to("real.csv")
    Path("new.csv").symlink_to("later.csv")
    for name in ("link.csv", "new.csv"):
        assert run(capsys, *PREDICT, name)[0] == 0
        assert Path(name).is_symlink()
        assert len(read_csv(name)) == 569
    assert stat.S_IMODE(Path("real.csv").stat().st_mode) == 0o640


@POSIX
def test_devices_and_pipes_are_written_through(here, capsys):
    for argv in (["train", "bc.parquet", *TRAIN, "-o", "/dev/null"], [*PREDICT, "/dev/null"]):
        assert run(capsys, *argv)[0] == 0
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    Path("null.parquet").symlink_to("/dev/null")
    assert run(capsys, *PREDICT, "null.parquet")[0] == 0
    assert Path("null.parquet").is_symlink()
    os.mkfifo("pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_text()))
    reader.start()
    assert run(capsys, *PREDICT, "pipe")[0] == 0
    reader.join(timeout=60)
    assert len(got[0].splitlines()) == 570
    done = python("-m", "crossview", *PREDICT, "/dev/stdout")
    assert (done.returncode, done.stdout) == (0, got[0])


def test_folders_of_dead_processes_go_and_those_of_others_stay(tmp_path):
    output = tmp_path / "a.txt"
    with files.replacing(output) as unfinished:
        (live,) = tmp_path.iterdir()
        dead = live.with_name(live.name + "dead")
        dead.mkdir()
        (dead / "a.txt").write_text("half")
        for folder in (live, dead):
            os.utime(folder, (0, 0))
        script = (
            "import sys; from crossview.saving.files import replacing\n"
            "with replacing(sys.argv[1]) as unfinished: unfinished.write_text('other')"
        )
        done = python("-c", script, str(output))
        assert done.returncode == 0, done.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == [live.name, "a.txt"]
        unfinished.write_text("mine")
    assert output.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [output]


@POSIX
def test_the_folder_of_a_query_that_was_killed_goes_with_the_next_one(tmp_path, monkeypatch):
    script = (
        "import os\n"
        "from crossview.readers.duck import connection\n"
        "with connection() as duck:\n"
        "    (folder,) = duck.execute(\"SELECT current_setting('temp_directory')\").fetchone()\n"
        "    open(folder + '/spilled', 'w').close()\n"
        "    os.kill(os.getpid(), 9)"
    )
    assert python("-c", script, more={"TMPDIR": str(tmp_path)}).returncode == -9
    (left,) = tmp_path.iterdir()
    assert [file.name for file in left.iterdir()] == ["spilled"]
    os.utime(left, (0, 0))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with connection():
        (own,) = tmp_path.iterdir()
        assert own != left
    assert not list(tmp_path.iterdir())


def test_a_database_is_used_again_without_what_a_query_left_in_it():
    for own, statement, name in (
        (False, "CREATE TEMP VIEW v AS SELECT 1", "v"),
        (True, "CREATE TABLE t AS SELECT 1", "t"),
    ):
        with connection(own=own) as first:
            first.execute(statement)
        with connection() as second, pytest.raises(duckdb.CatalogException):
            second.execute(f"FROM {name}")
