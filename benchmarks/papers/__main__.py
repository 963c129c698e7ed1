"""Run the papers' experiments again, and write docs/papers/results.md.

    python benchmarks/papers --write docs/papers/results.md
    python benchmarks/papers --only two-view webkb_course

CROSSVIEW_DATA names the folder with the data sets; a set that is absent is left out and named.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in (HERE.parents[1] / "tests", HERE.parent, HERE):
    sys.path.insert(0, str(folder))

import distribution_aware
import page
import two_view

import keco
import machines
import performance

EXPERIMENTS = {
    one.name: one
    for one in (
        two_view.EXPERIMENT,
        distribution_aware.EXPERIMENT,
        keco.EXPERIMENT,
        machines.EXPERIMENT,
        machines.CLICKS,
        performance.EXPERIMENT,
    )
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, help="the page; its figures go beside it")
    parser.add_argument("--only", choices=list(EXPERIMENTS), help="one experiment")
    parser.add_argument("sets", nargs="*", help="these data sets only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        beside = options.write.parent if options.write else Path(folder)
        names = [options.only] if options.only else list(EXPERIMENTS)
        parts = [
            page.section(EXPERIMENTS[name], options.sets, beside / "figures") for name in names
        ]
    text = "\n\n".join(parts if options.only else [page.HEAD, *parts]) + "\n"
    if options.write:
        options.write.write_text(text)
    else:
        print(text)
