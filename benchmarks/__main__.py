"""Run benchmarks, and write what they find into the pages that cite them.

    python -m benchmarks speed                          # all of a folder
    python -m benchmarks evidence labels cora --write   # one, of one data set, into its page
    python -m benchmarks papers two-view webkb_course
    python -m benchmarks speed machines --quick         # small: shows that it works

A page has the question and the protocol; between two comments stand tables, and findings that are
computed from them.  ``--write`` writes these anew; where data sets are named, only their rows.
CROSSVIEW_DATA names the folder with the data sets; a set that is absent is left out and named.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import pkgutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from benchmarks.harness import BENCHMARKS, QUICK, RESUME, ROOT, Benchmark, Picture, Table, machine

ROOMS = ("speed", "evidence", "papers")


def known(room: str) -> dict[str, Benchmark]:
    """Return the benchmarks of a folder, by name."""
    if room == "papers":
        from benchmarks.papers.page import EXPERIMENTS

        return EXPERIMENTS
    for module in pkgutil.iter_modules([str(ROOT / "benchmarks" / room)]):
        importlib.import_module(f"benchmarks.{room}.{module.name}")
    return {name: one for name, one in BENCHMARKS.items() if one.room == room}


def result(one: Benchmark, found: list[Table | Picture], figures: Path) -> str:
    """Return what stands between the two comments; pictures go into a folder."""
    tables = [table for table in found if isinstance(table, Table) and table.rows]
    parts = [str(table) for table in tables]
    parts += [picture.drawn(figures) for picture in found if isinstance(picture, Picture)]
    if one.room == "speed":
        parts.insert(0, f"Measured on {datetime.date.today().isoformat()}: {machine()}.")
    if one.findings is not None and parts:
        lines = "\n".join(f"- {line}" for line in one.findings(tables))
        parts.append(f"Findings:\n\n{lines}")
    return "\n\n".join(parts)


def write(one: Benchmark, found: list[Table | Picture], *, partly: bool) -> None:
    """Write tables, pictures and findings into the page; partly: only rows that are there."""
    page = ROOT / one.page
    begin, end = f"<!-- {one.room} {one.name} -->\n", "<!-- end -->"
    before, mark, rest = page.read_text().partition(begin)
    if not mark:
        raise SystemExit(f"{one.page} has no line {begin.strip()}")
    old, _, after = rest.partition(end)
    if partly:
        earlier = {table.title: table for table in Table.read(old)}
        newer = {table.title: table for table in found if isinstance(table, Table)}
        merged = {t: earlier[t].updated(newer[t]) for t in newer if t in earlier}
        found = list((earlier | newer | merged).values())
    shown = result(one, found, page.parent / "figures")
    page.write_text(f"{before}{begin}\n{shown}\n\n{end}{after}")


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("room", choices=ROOMS)
    parser.add_argument("name", nargs="?", help="one of them; without, all")
    parser.add_argument("sets", nargs="*", help="these data sets only")
    parser.add_argument("--write", action="store_true", help="into the page that cites it")
    parser.add_argument("--quick", action="store_true", help="small, to see that it works")
    parser.add_argument(
        "--resume", action="store_true", help="also take what earlier code has found, and say so"
    )
    options = parser.parse_args()
    if options.resume:
        os.environ[RESUME] = "1"
    if options.quick:
        os.environ[QUICK] = "1"  # before the modules are imported
        if options.write:
            parser.error("--write: what a quick run finds belongs on no page")
    names = known(options.room)
    if options.name is None:
        rest = [word for word in sys.argv[1:] if word.startswith("--")]
        command = [sys.executable, "-m", "benchmarks", options.room]
        return max(subprocess.run([*command, name, *rest], cwd=ROOT).returncode for name in names)
    if options.name not in names:
        parser.error(f"no benchmark {options.name!r} in {options.room}: {', '.join(names)}")
    one = names[options.name]
    if unknown := set(options.sets) - set(one.sets):
        these = ", ".join(one.sets) or "none"
        parser.error(f"{options.name} has no data set {', '.join(unknown)}; it has {these}")
    if options.room == "papers":
        from benchmarks.papers.page import write_section

        write_section(one, options.sets, write=options.write)
        return 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of settings that do not converge, or have one view
        found = list(one.run(options.sets) if one.sets else one.run())
    with tempfile.TemporaryDirectory() as figures:
        print(result(one, found, Path(figures)))
    if options.write:
        write(one, found, partly=bool(options.sets))
    return 0


if __name__ == "__main__":
    sys.exit(main())
