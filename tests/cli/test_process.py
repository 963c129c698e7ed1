"""The command line as a process: help, completion, pipes, the demo."""

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys

import pytest

from command_line import HERE, python, read_csv, run
from crossview import datasets
from crossview.catalog.learners import model_names
from crossview.catalog.metrics import METRICS
from crossview.cli import main


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from crossview.cli import main; status = main(['--help']); "
        "print(sorted({name.partition('.')[0] for name in sys.modules})); sys.exit(status)"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    *text, modules = done.stdout.splitlines()
    assert any("compare" in line for line in text)
    loaded = set(eval(modules))
    assert "typer" in loaded
    heavy = {"numba", "sklearn", "pyarrow", "numpy", "scipy", "duckdb", "narwhals"}
    assert not loaded & heavy


def test_only_commands_that_train_tune_a_threshold(capsys):
    for command in ("train", "compare", "predict", "evaluate"):
        assert main([command, "--help"]) == 0
        help = capsys.readouterr().out.split("--threshold NUMBER")[1].split(" --")[0]
        assert "none:" in help
        assert ("tuned:" in help) == (command in ("train", "compare"))


def test_help_names_every_model_and_metric(capsys):
    assert main(["train", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split()).replace("- ", "-")  # lines end after hyphens
    for name in [*model_names(), *METRICS]:
        assert name in text, name


def test_a_program_that_calls_a_command_keeps_its_collector_as_it_was(tmp_path):
    code = (
        "import gc; from crossview.cli import main; gc.disable(); "
        f"status = main(['describe', {str(HERE / 'nosuch.csv')!r}]); "
        "print(status, gc.isenabled(), gc.get_freeze_count())"
    )
    assert python("-c", code).stdout.split() == ["2", "False", "0"]


def test_as_a_module_errors_have_status_2_and_no_traceback():
    done = python("-m", "crossview", "train", "nosuch.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "crossview: error: Missing option '--output' / '-o' (see crossview train --help)\n"
    )


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("train t.csv --model pa:", ["pa:absolute", "pa:concatenated", "pa:independent"]),
        ("compare t.csv --metric r", ["recall", "recall_at_k", "rmse", "roc_auc"]),
        ("compare t.csv --task ", ["classification", "regression"]),
    ],
)
def test_a_shell_completes_names_and_loads_nothing_heavy(words, offered):
    environment = {
        "_CROSSVIEW_COMPLETE": "complete_bash",
        "COMP_WORDS": f"crossview {words}",
        "COMP_CWORD": str(len(words.split(" "))),
    }
    code = (
        "import sys; from crossview.cli import main\n"
        "try: main([])\n"
        "finally: print(*sorted({'numba', 'sklearn', 'numpy'} & set(sys.modules)))"
    )
    done = python("-c", code, more=environment)
    *found, heavy = done.stdout.splitlines()
    assert set(offered) <= set(found), done.stderr
    assert heavy == ""


@pytest.mark.skipif(sys.platform == "win32", reason="a shell with pipes")
def test_a_reader_that_goes_away_is_no_error(here):
    query = "SELECT b.* FROM 'bc.parquet' b, range(10)"
    command = f'"{sys.executable}" -m crossview predict m.safetensors "{query}" | head -n 1'
    environment = os.environ | {"PYTHONPATH": str(HERE / "src")}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment)
    assert "prediction" in done.stdout
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell script")
def test_the_demo_runs_in_a_folder_with_a_space_over_what_an_earlier_run_left(
    tmp_path, capsys, monkeypatch
):
    folder = tmp_path / "a b"
    for part in ("examples", "bin", "demo"):
        (folder / part).mkdir(parents=True)
    left_over = {
        "breast-cancer.parquet": b"PAR1",
        "model.safetensors": (15).to_bytes(8, "little") + b"crossview-model",
        "predictions.csv": b"left over",
    }
    for name, content in left_over.items():
        (folder / "demo" / name).write_bytes(content)
    shutil.copy(HERE / "examples" / "demo.sh", folder / "examples")
    # the server has tests of its own
    (folder / "examples" / "live.py").write_text("import sys; print('served', *sys.argv[1:])")
    # 1. the answer of its comparison, of two models of all, and with an ensemble of them
    monkeypatch.chdir(folder)
    datasets.write("breast-cancer", "bc.parquet")
    models = ["--model", "ensemble", "--model", "linear", "--model", "trees"]
    given = ["--label", "diagnosis", *models, "--cv", "2", "--json", "demo/comparison.json"]
    run(capsys, "compare", "bc.parquet", *given)
    # 2. the script, with a crossview that only notes how it is called
    scripts = {
        "crossview": 'printf "%s\\n" "$@" "" >> called\n',
        "python3": f'exec "{sys.executable}" "$@"\n',
    }
    for name, body in scripts.items():
        script = folder / "bin" / name
        script.write_text(f"#!/bin/sh\n{body}")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    environment = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", str(folder / "examples" / "demo.sh")],
        capture_output=True, text=True, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = [line for line in done.stdout.splitlines() if line.startswith("$ crossview ")]
    commands = [part.split("\n") for part in (folder / "called").read_text().strip().split("\n\n")]
    names = ["datasets", "compare", "train", "predict", "inspect", "replay"]
    assert [line[0] for line in commands] == names
    assert "served demo/breast-cancer.parquet diagnosis demo/live" in done.stdout
    assert commands.pop()[1:] == ["demo/live"]
    assert [line.split()[2] for line in shown] == names
    # 3. its commands, but for the comparison, in this process
    for command in commands:
        if command[0] != "compare":
            status, _, err = run(capsys, *command)
            assert status == 0, err
    answer = json.loads((folder / "demo" / "comparison.json").read_text())
    assert answer["rows"][0]["value"] > 0.94
    assert "--member" in answer["train_options"]
    assert shlex.join(answer["train_options"]) in shown[2]
    assert len(read_csv(folder / "demo" / "predictions.csv")) == 569
    for name, content in left_over.items():
        assert (folder / "demo" / name).read_bytes() != content
