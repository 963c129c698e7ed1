"""--report: what is refused at once, and what is written."""

import html as markup
import json
import re

import pytest

from command_line import python, run

COLUMNS = ["a__x,a__z,b__x,b__day,y"]
COLUMNS += [
    f"{i},{i % 7},{i % 3},{i % 28 + 1:02}.01.2025,{'pq'[i % 7 + i % 5 > 4]}" for i in range(60)
]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("\n".join(COLUMNS))
    return "t.csv"


def words_of(path):
    """The words of a page, with what it hides."""
    text = re.sub(r"<[^>]*>", "", path.read_text())
    return " ".join(markup.unescape(text).split())


def test_a_report_that_cannot_be_written_is_refused_before_anything_loads(table):
    of_table = [table, "--label", "y", "--report"]
    refused = [
        (["compare", *of_table, table], "t.csv: is one of the inputs"),
        (["compare", *of_table, "a.html", "--json", "a.html"], "is the report and another output"),
        (["train", *of_table, table, "-o", "m.st"], "t.csv: is one of the inputs"),
        (["train", *of_table, "m.st", "-o", "m.st"], "is the report and another output"),
        (["train", *of_table, "a.html", "-o", "m.st", "--dask", "local:2"], "--report does not go"),
        (["compare", *of_table, "none/a.html"], "there is no folder 'none'"),
    ]
    code = (
        "import sys; from crossview.cli import main\n"
        f"for argv in {[argv for argv, _ in refused]!r}: assert main(argv) == 2\n"
        "assert not {'numba', 'sklearn', 'matplotlib'} & set(sys.modules)"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    for (_, message), line in zip(refused, done.stderr.splitlines(), strict=True):
        assert message in line


def test_reports_are_written_by_each_command_and_of_a_stored_comparison(capsys, table, tmp_path):
    source = [table, "--label", "y", "--null", "k.A."]
    models = ["--model", "pa:squared", "--model", "view:a", "--cv", "2", "--thorough"]
    (tmp_path / "notes.html").write_text("<p>mine</p>")
    status, _, err = run(capsys, "compare", *source, *models, "--report", "notes.html")
    assert status == 2
    assert "notes.html: exists and is not a report of crossview" in err[-1]
    argv = ["compare", *source, *models, "--jobs", "1", "--json", "c.json", "--report", "r.html"]
    status, out, err = run(capsys, *argv)
    assert (status, err[-1]) == (0, "wrote r.html")
    html = (tmp_path / "r.html").read_text()
    (train,) = [line for line in out if line.startswith("crossview train")]
    assert "--null k.A." in train  # the page reads the file as the comparison did
    words = words_of(tmp_path / "r.html")
    assert f"Train it on all rows: {train}" in words
    assert f"crossview {' '.join(argv)}" in words
    assert "predicts y best?" in words
    guess = "read as dates: b__day (%d.%m.%Y)"
    assert f"crossview: {guess}" in err
    assert f"R{guess[1:]}." in words
    # stored: the same page, and over the one before
    status, out, _ = run(capsys, "compare", "c.json", "--report", "-")
    assert (status, "\n".join(out)) == (0, html.rstrip("\n"))
    content = json.loads((tmp_path / "c.json").read_text())
    del content["diagnostics"]
    (tmp_path / "old.json").write_text(json.dumps(content))
    assert run(capsys, "compare", "old.json", "--report", "r.html")[0] == 0
    assert "has not kept" in (tmp_path / "r.html").read_text()
    # a model
    train = ["train", *source, "--model", "pa:squared", "-o", "m.st", "--report", "t.html"]
    assert run(capsys, *train)[0] == 0
    words = words_of(tmp_path / "t.html")
    assert "Strongest columns" in words
    assert f"R{guess[1:]}." in words
    assert "crossview evaluate m.st OTHER_ROWS" in words
    assert run(capsys, "evaluate", "m.st", table, "--report", "e.html")[0] == 0
    assert "What the model holds" in (tmp_path / "e.html").read_text()
