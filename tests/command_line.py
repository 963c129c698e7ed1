"""Running commands in this process or in one of their own."""

import csv
import os
import subprocess
import sys
from pathlib import Path

from crossview.cli import main

HERE = Path(__file__).parents[1]


def run(capsys, *argv):
    """Status, lines on stdout and stderr of one command."""
    capsys.readouterr()
    status = main([str(word) for word in argv])
    out, err = capsys.readouterr()
    return status, out.splitlines(), err.splitlines()


def read_csv(file):
    with open(file, newline="") as lines:
        return list(csv.DictReader(lines))


def python(*argv, more=None, **options):
    environment = os.environ | {"PYTHONPATH": str(HERE / "src"), "COLUMNS": "80"} | (more or {})
    return subprocess.run(
        [sys.executable, *argv], capture_output=True, text=True, env=environment, **options
    )
