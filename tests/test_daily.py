"""The week of docs/daily.md: the commands of examples/daily.sh, on the real rows."""

import importlib.util
import json
import re
import shlex
from pathlib import Path

import pandas as pd

from command_line import HERE, run
from crossview.saving.model_files import read_info
from shared_data import folder as shared

SCRIPT = (HERE / "examples" / "daily.sh").read_text()
N_DAYS, ROWS_OF_HISTORY = 1, 3000


def days_module():
    spec = importlib.util.spec_from_file_location("days", HERE / "examples" / "days.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands():
    """The commands of the script, with its variables, for the first day."""
    variables = dict(re.findall(r"^(\w+)='?\"?([^'\"\n]*)'?\"?$", SCRIPT, re.MULTILINE))
    before, _, rest = SCRIPT.partition("\nfor day in ")
    loop, _, after = rest.partition("\ndone\n")
    parts = [before, *(loop.replace("$day", str(day)) for day in range(1, N_DAYS + 1)), after]
    for line in "\n".join(parts).splitlines():
        found = re.match(r"\s*step crossview (.*)", line)
        if found:
            text = found[1]
            while "$" in text:
                text = re.sub(r"\$(\w+)", lambda name: variables[name[1]], text)
            yield shlex.split(text)


def test_the_week_is_played_through(tmp_path, monkeypatch, capsys):
    days = days_module()
    days.write(days.ratings(shared("movielens_100k").parent), tmp_path)
    monkeypatch.chdir(tmp_path)
    history = pd.read_parquet("history.parquet").tail(ROWS_OF_HISTORY)
    history.to_parquet("history.parquet", index=False)
    done = []
    for argv in commands():
        if argv[0] == "compare":  # which takes a minute otherwise
            argv += ["--model", "view:item", "--model", "scw:diagonal", "--budget", "2s"]
        status, _, err = run(capsys, *argv)
        assert status == 0, (argv, err)
        done.append(argv[0])
    loop = ["predict", "evaluate", "train"] * N_DAYS
    assert done == ["describe", "compare", "train", *loop, "inspect"]
    new = [len(pd.read_csv(f"labels{day}.csv")) for day in range(1, N_DAYS + 1)]
    assert read_info("model.st")["rows"] == ROWS_OF_HISTORY + sum(new)
    for day, rows in enumerate(new, 1):
        about = json.loads(Path(f"new{day}.json").read_text())
        assert about["n_rows"] == rows
        assert about["metrics"]["roc_auc"]["value"] > 0.6
        # other people than those before
        assert any("'user'" in line for line in about["warnings"])
    log = [json.loads(line) for line in Path("history.jsonl").read_text().splitlines()]
    assert sum(one["window"] for one in log) == ROWS_OF_HISTORY
    explained = pd.read_parquet("log1.parquet")["explain_1_column"]
    assert explained.str.startswith(("user__", "item__")).all()


def test_the_document_shows_the_commands_of_the_script():
    document = (HERE / "docs" / "daily.md").read_text().replace("\\\n", " ")
    document = re.sub(r"\s+", " ", document)
    shown = [shlex.join(argv) for argv in commands()]
    assert len(shown) > 6
    for command in shown:
        assert f"crossview {command}" in document
