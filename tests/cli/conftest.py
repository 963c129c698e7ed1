"""A folder with tables and models, for every test of the command line."""

import shutil

import pytest

from crossview import compiling, datasets
from crossview.cli import main, progress
from crossview.comparing.folds import scheduler


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder with a table and a model trained on it."""
    folder = tmp_path_factory.mktemp("made")
    datasets.write("breast-cancer", folder / "bc.parquet")
    datasets.write("digits", folder / "digits.parquet")
    for name, label, model, file in (
        ("bc", "diagnosis", "pa:squared", "m.safetensors"),
        ("digits", "digit", "pa:concatenated", "d.safetensors"),
    ):
        argv = ["train", folder / f"{name}.parquet", "--label", label, "--model", model]
        argv += ["--set", "C=0.1", "-o", folder / file]
        assert main([str(word) for word in argv]) == 0
    return folder


@pytest.fixture(autouse=True)
def no_lines_of_the_clock(monkeypatch):
    """No line that the clock writes."""
    monkeypatch.setattr(progress, "SECONDS_TO_LINE", 3600.0)
    monkeypatch.setattr(progress, "SECONDS_PER_LINE", 3600.0)
    # lines that only a slow or busy machine writes: which test compiles first is chance
    monkeypatch.setattr(scheduler, "MOST_TO_SAY", 3600.0)
    monkeypatch.setattr(compiling, "SECONDS_UNTOLD", 3600.0)


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """An own folder to work in, with the table and the models."""
    for file in made.iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
