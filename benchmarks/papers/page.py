"""From results to a page: tables, intervals, and sentences that are computed from them."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, Table, listed, loaded
from benchmarks.papers import distribution_aware, keco, machines, performance, two_view
from benchmarks.papers.experiment import FORMS, Claim, Experiment, Results
from crossview.scoring.significance.posterior import Posterior

PAGE = ROOT / "docs" / "papers" / "results.md"
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

HEAD = """# The papers' tables, run again

Does Crossview reproduce what its papers print? `make papers` writes this page: tables,
intervals, figures and the sentences on what holds are computed from the runs.

Each method is run in up to three forms. *As printed*: equations and protocol of the paper,
where they can be told. *Corrected*: without the [errors](errata.md) of the print. *Tuned*:
parameters chosen inside the training part, as Crossview does it. *Baselines* are models of
scikit-learn, tuned in the same way, and learners that are newer than the paper.

In brackets: the 95 % interval of the mean, by Student's t, corrected for training parts that
overlap (Nadeau and Bengio 2003). A claim *holds* if the interval of the paired difference is
above 0, is *contradicted* if it is below 0, and is *not shown* otherwise.
"""


def write_section(experiment: Experiment, wanted: list[str], *, write: bool) -> None:
    """Run an experiment, and print its section, or write it into the page, figures beside it."""
    with tempfile.TemporaryDirectory() as folder:
        beside = PAGE.parent if write else Path(folder)
        new = section(experiment, wanted, beside / "figures").strip()
    if not write:
        print(new)
        return
    before = re.split(r"^## (.+)$", PAGE.read_text(), flags=re.MULTILINE)[1:]
    sections = {t: f"## {t}{x}".strip() for t, x in zip(before[::2], before[1::2], strict=True)}
    sections[experiment.title] = new
    known = (sections[one.title] for one in EXPERIMENTS.values() if one.title in sections)
    PAGE.write_text("\n\n".join([HEAD.strip(), *known]) + "\n")


def section(experiment: Experiment, wanted: list[str], figures: Path) -> str:
    """Run an experiment; return its section."""
    parts = [f"## {experiment.title}", experiment.source, experiment.protocol]
    found: dict[str, Results] = {}
    for name, data in loaded(experiment.sets, wanted):
        found[name] = experiment.run(data)
        parts += [f"### {experiment.title.partition(':')[0]}: {name}"]
        parts += [_table(experiment, name, found[name], measure) for measure in experiment.higher]
        if experiment.pictures is not None:
            for picture in experiment.pictures(name, data, found[name]):
                parts.append(_drawn(picture, figures))
    missing = [name for name in (wanted or experiment.sets) if name not in found]
    parts += [f"{listed(missing)} is left out: not there."] * bool(missing)
    if found and experiment.claims:
        parts += [_claims_table(experiment, found), _sentences(experiment, found)]
    if experiment.absent:
        parts.append(
            "Not run: "
            + "; ".join(f"{name} ({why})" for name, why in experiment.absent.items())
            + "."
        )
    return "\n\n".join(parts)


def _table(experiment: Experiment, name: str, results: Results, measure: str) -> str:
    rows = []
    for method, forms in results.items():
        printed = experiment.printed.get((name, method, measure))
        shown = ""
        if printed is not None:
            shown = f"{printed.mean:.{experiment.digits}f}"
            if printed.sd is not None:
                shown += f" ± {printed.sd:.{experiment.digits}f}"
        cells = [
            _value(experiment, measure, forms[form][measure])
            if form in forms and measure in forms[form]
            else ""
            for form in FORMS
        ]
        if any(cells):
            rows.append([method, shown, *cells])
    columns = [0, *(i for i in range(1, 5) if any(row[i] for row in rows))]
    header = [measure, "printed", *FORMS]
    return str(Table([header[i] for i in columns], [[row[i] for i in columns] for row in rows]))


def _value(experiment: Experiment, measure: str, values: list[float]) -> str:
    posterior = experiment.posterior(values)
    low, high = posterior.interval()
    if measure != "RMSE":  # a share
        low, high = max(low, 0.0), min(high, experiment.scale)
    digits = experiment.digits
    return f"{posterior.location:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _claims_table(experiment: Experiment, found: dict[str, Results]) -> str:
    rows = []
    for claim in experiment.claims:
        for name, results in found.items():
            cells = [
                _signed(experiment, experiment.difference(results, claim, form)) for form in FORMS
            ]
            if any(cells):
                rows.append([_words(claim), name, _printed(experiment, claim, name), *cells])
    columns = [0, 1, *(i for i in range(2, 6) if any(row[i] for row in rows))]
    header = ["better by", "set", "printed", *FORMS]
    return str(Table([header[i] for i in columns], [[row[i] for i in columns] for row in rows]))


def _printed(experiment: Experiment, claim: Claim, name: str) -> str:
    one = experiment.printed.get((name, claim.better, claim.measure))
    two = experiment.printed.get((name, claim.than, claim.measure))
    if one is None or two is None:
        return ""
    sign = 1.0 if experiment.higher[claim.measure] else -1.0
    return f"{sign * (one.mean - two.mean):+.{experiment.digits}f}"


def _signed(experiment: Experiment, difference: Posterior | None) -> str:
    if difference is None:
        return ""
    low, high = difference.interval()
    digits = experiment.digits
    return (
        f"{difference.location:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f}), "
        f"{_verdict(difference)}"
    )


def _verdict(difference: Posterior) -> str:
    low, high = difference.interval()
    if low > 0.0:
        return "holds"
    return "contradicted" if high < 0.0 else "not shown"


def _words(claim: Claim) -> str:
    return f"{claim.better}, than {claim.than}, in {claim.measure}"


def _sentences(experiment: Experiment, found: dict[str, Results]) -> str:
    """Say of each claim, form by form, on which sets it holds."""
    lines = []
    for claim in experiment.claims:
        said = []
        for form in FORMS:
            by_verdict: dict[str, list[str]] = {}
            for name, results in found.items():
                difference = experiment.difference(results, claim, form)
                if difference is not None:
                    by_verdict.setdefault(_verdict(difference), []).append(name)
            if by_verdict:
                words = ", ".join(
                    f"{verdict} on {listed(names)}" for verdict, names in sorted(by_verdict.items())
                )
                said.append(f"{form} {words}")
        if said:
            lines.append(
                f"- {claim.better} is better than {claim.than} in {claim.measure}: "
                + "; ".join(said)
                + "."
            )
    return "What holds:\n\n" + "\n".join(lines)


def _drawn(picture: Any, folder: Path) -> str:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    display = picture.display.plot(titled=False)
    folder.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(
        folder / f"{picture.file}.svg", metadata={"Date": None, "Creator": None}, format="svg"
    )
    pyplot.close(display.figure_)
    return f"![{display.alt}]({folder.name}/{picture.file}.svg)\n\n*{display.title}*"
