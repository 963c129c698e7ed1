"""From results to a page: tables, intervals, and sentences that are computed from them."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from benchmarks.harness import ROOT, Table, listed, loaded
from benchmarks.papers import distribution_aware, keco, machines, performance, two_view
from benchmarks.papers.experiment import FORMS, NOT_SHARES, Claim, Experiment, Results
from crossview.scoring.significance import Posterior

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
# of the table of claims
HEADER = ["better by", "set", "printed", *FORMS]
# its rows, by claim and set
Claims = dict[tuple[str, str], list[str]]

ABSENT = "Not available here: `crossview datasets NAME -o FILE` downloads it."


def write_section(experiment: Experiment, wanted: list[str], *, write: bool) -> None:
    """Run an experiment, and print its section, or write it into the page, figures beside it.

    Of a section of which only some sets are ``wanted``, the others stay on the page as they are.
    """
    old = _sections().get(experiment.title, "") if write and wanted else ""
    with tempfile.TemporaryDirectory() as folder:
        beside = PAGE.parent if write else Path(folder)
        new = section(experiment, wanted, beside / "figures", old).strip()
    if not write:
        print(new)
        return
    sections = _sections() | {experiment.title: new}  # of now: runs side by side write others
    known = (sections[one.title] for one in EXPERIMENTS.values() if one.title in sections)
    PAGE.write_text("\n\n".join([HEAD.strip(), *known]) + "\n")


def _sections() -> dict[str, str]:
    """Return the sections of the page, by their titles."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(), flags=re.MULTILINE)[1:]
    return {t: f"## {t}{x}".strip() for t, x in zip(parts[::2], parts[1::2], strict=True)}


def section(experiment: Experiment, wanted: list[str], figures: Path, old: str = "") -> str:
    """Run an experiment; return its section, with what an ``old`` one says of other sets."""
    blocks, claims = _parts(experiment, old)
    found: dict[str, Results] = {}
    for name, data in loaded(experiment.sets, wanted):
        found[name] = experiment.run(data)
        own = [_heading(experiment, name), *_tables(experiment, name, found[name])]
        if experiment.pictures is not None:
            for picture in experiment.pictures(name, data, found[name]):
                own.append(picture.drawn(figures))
        blocks[name] = "\n\n".join(own)
    for name in experiment.sets:
        if name not in found and (name in wanted or not wanted):
            own = [_heading(experiment, name), ABSENT, *_tables(experiment, name, {})]
            blocks[name] = "\n\n".join(own)
    here, absent = ([n for n in experiment.sets if (n in found) == run] for run in (True, False))
    order = [*experiment.sets] if old else [*here, *absent]
    parts = [f"## {experiment.title}", experiment.source, experiment.protocol]
    parts += [blocks[name] for name in order if name in blocks]
    if found and experiment.claims:
        for key, row in _claims(experiment, found).items():
            if any(row[3:]) or key not in claims:
                claims[key] = row
        parts += [_claims_table(experiment, claims), _sentences(experiment, claims)]
    for name, why in experiment.absent.items():
        parts += [f"Not run: {name}, for {why}.", *_tables(experiment, name, {})]
    return "\n\n".join(parts)


def _parts(experiment: Experiment, old: str) -> tuple[dict[str, str], Claims]:
    """Return what a section has of each set, and its claims."""
    text, _, after = old.partition(f"\n| {HEADER[0]} | {HEADER[1]} | ")
    text = text.partition("\nNot run: ")[0]
    begin = _heading(experiment, "")
    found = re.split(rf"^{re.escape(begin)}(.+)$", text, flags=re.MULTILINE)[1:]
    blocks = {
        name: f"{begin}{name}{own.rstrip()}"
        for name, own in zip(found[::2], found[1::2], strict=True)
    }
    claims: Claims = {}
    for table in Table.read(old) if after else ():
        if table.header[:2] == HEADER[:2]:
            for row in table.rows:
                cells = dict(zip(table.header, row, strict=True))
                claims[row[0], row[1]] = [cells.get(name, "") for name in HEADER]
    return blocks, claims


def _heading(experiment: Experiment, name: str) -> str:
    return f"### {experiment.title.partition(':')[0]}: {name}"


def _tables(experiment: Experiment, name: str, results: Results) -> list[str]:
    """Return a table per measure; without results, of what is printed."""
    tables = [_table(experiment, name, results, measure) for measure in experiment.higher]
    return [one for one in tables if one]


def _table(experiment: Experiment, name: str, results: Results, measure: str) -> str:
    rows = []
    only_printed = {m: {} for n, m, _ in experiment.printed if n == name}
    for method, forms in (results or only_printed).items():
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
        if any(cells) or (shown and not results):
            rows.append([method, shown, *cells])
    columns = [0, *(i for i in range(1, 5) if any(row[i] for row in rows))]
    header = [measure, "printed", *FORMS]
    rows = [[row[i] for i in columns] for row in rows]
    return str(Table([header[i] for i in columns], rows)) if rows else ""


def _value(experiment: Experiment, measure: str, values: list[float]) -> str:
    posterior = experiment.posterior(values, measure)
    low, high = posterior.interval()
    if measure not in NOT_SHARES:
        low, high = max(low, 0.0), min(high, experiment.scale)
    digits = _digits(experiment, measure)
    return f"{posterior.location:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _digits(experiment: Experiment, measure: str) -> int:
    return max(2, experiment.digits) if measure in NOT_SHARES else experiment.digits


def _sets_of(experiment: Experiment, claim: Claim) -> dict[str, tuple[str, str]]:
    """Return where the claim can be judged: the words for it, and the sets of the two methods."""
    if claim.sets is not None:
        return {" than ".join(claim.sets): claim.sets}
    return {name: (name, name) for name in [*experiment.sets, *experiment.absent]}


def _claims(experiment: Experiment, found: dict[str, Results]) -> Claims:
    """Return the claims that are printed, or can be judged."""
    rows: Claims = {}
    for claim in experiment.claims:
        for words, sets in _sets_of(experiment, claim).items():
            cells = [
                _signed(experiment, claim, experiment.difference(found, claim, sets, form))
                for form in FORMS
            ]
            printed = _printed(experiment, claim, sets)
            if any(cells) or printed:
                rows[_words(claim), words] = [_words(claim), words, printed, *cells]
    return rows


def _claims_table(experiment: Experiment, claims: Claims) -> str:
    keys = [
        (_words(one), words) for one in experiment.claims for words in _sets_of(experiment, one)
    ]
    rows = [claims[key] for key in keys if key in claims]
    columns = [0, 1, *(i for i in range(2, 6) if any(row[i] for row in rows))]
    return str(Table([HEADER[i] for i in columns], [[row[i] for i in columns] for row in rows]))


def _printed(experiment: Experiment, claim: Claim, sets: tuple[str, str]) -> str:
    one = experiment.printed.get((sets[0], claim.better, claim.measure))
    two = experiment.printed.get((sets[1], claim.than, claim.measure))
    if one is None or two is None:
        return ""
    sign = 1.0 if experiment.higher[claim.measure] else -1.0
    return f"{sign * (one.mean - two.mean):+.{experiment.digits}f}"


def _signed(experiment: Experiment, claim: Claim, difference: Posterior | None) -> str:
    if difference is None:
        return ""
    low, high = difference.interval()
    digits = _digits(experiment, claim.measure)
    verdict = "holds" if low > 0.0 else "contradicted" if high < 0.0 else "not shown"
    measured = f"{difference.location:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"
    return f"{measured}, {verdict}"


def _words(claim: Claim) -> str:
    than = "" if claim.sets else f", than {claim.than}"
    return f"{claim.better}{than}, in {claim.measure}"


def _sentences(experiment: Experiment, claims: Claims) -> str:
    """Say of each claim, form by form, on which sets it holds."""
    lines = []
    for claim in experiment.claims:
        said = []
        for form in FORMS:
            by_verdict: dict[str, list[str]] = {}
            for name in _sets_of(experiment, claim):
                row = claims.get((_words(claim), name))
                if row is not None and (cell := row[HEADER.index(form)]):
                    by_verdict.setdefault(cell.rpartition("), ")[2], []).append(name)
            if by_verdict:
                words = ", ".join(
                    verdict if claim.sets else f"{verdict} on {listed(names)}"
                    for verdict, names in sorted(by_verdict.items())
                )
                said.append(f"{form} {words}")
        if said:
            than = (
                f"on {claim.sets[0]} than on {claim.sets[1]}"
                if claim.sets
                else f"than {claim.than}"
            )
            lines.append(
                f"- {claim.better} is better {than} in {claim.measure}: {'; '.join(said)}."
            )
    return "What holds:\n\n" + "\n".join(lines)
