"""Run the papers' experiments again, and write docs/papers/results.md.

    python benchmarks/papers --write docs/papers/results.md
    python benchmarks/papers --only two-view webkb_course
    python benchmarks/papers --only keco --write docs/papers/results.md  # this section anew

The page is written after each experiment, so that nothing is lost where a run is stopped.
CROSSVIEW_DATA names the folder with the data sets; of a set that is neither there nor downloaded,
the page has what is printed.
"""

from __future__ import annotations

import argparse
import re
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


def sections_of(page_text: str) -> dict[str, str]:
    """Return the sections of a page that was written before, by title."""
    parts = re.split(r"^## (.+)$", page_text, flags=re.MULTILINE)[1:]
    return {t: f"## {t}{body}".strip() for t, body in zip(parts[::2], parts[1::2], strict=True)}


def whole(sections: dict[str, str]) -> str:
    """Return the page with the sections that are there, in their order."""
    known = (sections[one.title] for one in EXPERIMENTS.values() if one.title in sections)
    return "\n\n".join([page.HEAD.strip(), *known]) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, help="the page; its figures go beside it")
    parser.add_argument("--only", choices=list(EXPERIMENTS), help="one experiment")
    parser.add_argument("sets", nargs="*", help="these data sets only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        beside = options.write.parent if options.write else Path(folder)
        before = options.write.read_text() if options.write and options.write.exists() else ""
        sections = sections_of(before)
        for name in [options.only] if options.only else list(EXPERIMENTS):
            one = EXPERIMENTS[name]
            sections[one.title] = page.section(one, options.sets, beside / "figures").strip()
            if options.write:
                options.write.write_text(whole(sections))
            else:
                print(sections[one.title])
