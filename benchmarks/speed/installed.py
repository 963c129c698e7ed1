"""Installed size by extra: which distributions it brings, and what each weighs on disk."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from packaging.requirements import Requirement

from benchmarks.harness import ROOT, Table, benchmark

PAGE = "docs/install.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# mlflow, docs, bench and dev are not in the environment of the tests, or for developers
EXTRAS = ("", "cli", "report", "serve", "postgres", "dask", "export", "river")
MEGABYTE = 1 << 20
LEAST = 5  # megabytes of a distribution that has a row of its own


def required(name: str, extra: str) -> Iterable[str]:
    """Return the requirements of a distribution; those of this one are in its pyproject.toml."""
    if name == "crossview":
        optional = PROJECT["optional-dependencies"]
        return optional[extra] if extra else PROJECT["dependencies"]
    return requires(name) or ()


def closure(name: str, extra: str, found: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Add a distribution with an extra, and all that it requires, as (name, extra)."""
    name = re.sub(r"[-_.]+", "-", name).lower()
    if (name, extra) in found:
        return found
    found.add((name, extra))
    for one in map(Requirement, required(name, extra)):
        if one.marker is None or one.marker.evaluate({"extra": extra}):
            for wanted in ("", *sorted(one.extras)):
                closure(one.name, wanted, found)
    return found


def weigh(name: str) -> int:
    """Return the bytes of a distribution, with the bytecode that pip writes."""
    try:
        files = distribution(name).files or ()
    except PackageNotFoundError as error:
        raise SystemExit(
            f"{name} is not installed; `make test` installs what this weighs"
        ) from error
    paths = (Path(str(file.locate())) for file in files)
    return sum(path.stat().st_size for path in paths if path.is_file())


def name_of(extra: str) -> str:
    """Return what pip is told."""
    return f"`crossview[{extra}]`" if extra else "`crossview`"


@benchmark(PAGE)
def installed() -> Iterable[Table]:
    """Weigh what each extra brings; the packages must be installed here."""
    extras: dict[str, set[str]] = {}
    for extra in EXTRAS:
        names = {name for wanted in {"", extra} for name, _ in closure("crossview", wanted, set())}
        extras[extra] = names - {"crossview"}
    weights = Counter({name: weigh(name) for name in set().union(*extras.values())})

    def megabytes(names: Iterable[str]) -> int:
        return round(sum(weights[name] for name in names) / MEGABYTE)

    by_extra = Table(["install", "MB", "of these its own, MB", "the largest of its own, MB"])
    base, cli = extras[""], extras["cli"]
    for extra, names in extras.items():
        more = names if not extra else names - (base if extra == "cli" else base | cli)
        largest = [one for one, _ in weights.most_common() if one in more][:5]
        words = ", ".join(f"{one} {megabytes([one])}" for one in largest)
        by_extra.add(name_of(extra), megabytes(names), megabytes(more), words)
    yield by_extra
    by_package = Table(["package", "MB", "comes with"])
    for one, weight in weights.most_common():
        if weight >= LEAST * MEGABYTE:
            first = next(extra for extra in EXTRAS if one in extras[extra])
            by_package.add(one, megabytes([one]), name_of(first))
    yield by_package
