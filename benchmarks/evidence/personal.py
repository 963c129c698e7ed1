"""Users: their id as a category, a model each, and deviations from a shared model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.data import fetch
from benchmarks.harness import Table, benchmark, loaded, numbers, size
from crossview import AROWClassifier, Scoring, ViewEncoder, compare, train

# linear ones, a factorization machine, and a stack, which has one among its experts
MODELS = ["arow:diagonal", "pam:diagonal", "pa:concatenated", "linear", "fm", "stacking"]
ALONE = "arow:diagonal"
COLLISIONS = f"movielens_100k, {ALONE}, by slots of the personal view"
BITS = size((24, 22, 20, 18, 17, 16), (22, 12))
GAIN = "gain of deviations"
ROWS = size(100_000, 5_000)


def ratings() -> tuple[pa.Table, dict[str, object]]:
    """Does a user give four stars or more?  By film, decade and genres, in the order of time."""
    found = fetch("movielens_100k")
    rows = found.data
    rows = rows.append_column("like", pa.array(np.asarray(found.target) >= 4))
    order = pc.sort_indices(rows, sort_keys=[("time", "ascending")])
    rows = rows.take(order).slice(0, ROWS)
    decade = pc.floor(pc.divide(rows["item__year"], 10.0))
    rows = rows.append_column("decade", decade.cast(pa.string()))
    return rows, {
        "label": "like",
        "per": "user__id",
        "views": {"film": ["item__id", "decade", "item__genres"]},
        "text": ["item__genres"],
        "categorical": ["item__id"],
    }


def tweets() -> tuple[pa.Table, dict[str, object]]:
    """Made up: complaints about six airlines that differ in how many there are, and no more."""
    rng = np.random.default_rng(0)
    n, words = size(20_000, 3_000), np.array([f"w{k}" for k in range(40)])
    airline, there = rng.integers(0, 6, n), rng.random((n, len(words))) < 0.15
    score = there @ rng.normal(size=len(words)) + rng.normal(scale=0.7, size=6)[airline]
    return pa.table(
        {
            "airline": [f"airline {k}" for k in airline],
            "tweet": [" ".join(words[one]) for one in there],
            "complaint": rng.random(n) < 1.0 / (1.0 + np.exp(-score)),
        }
    ), {
        "label": "complaint",
        "per": "airline",
        "views": {"tweet": ["tweet"]},
        "text": ["tweet"],
        "categorical": (),
    }


SETS = {"movielens_100k": ratings, "made-up tweets": tweets}


def one_each(rows: pa.Table, about: dict[str, object], setting: dict[str, object]) -> float:
    """The log loss of AROW where each user has a model of his own, and nothing is shared."""
    given = {name: about[name] for name in ("views", "text", "categorical", "per")}
    encoder, learner = ViewEncoder(**given), AROWClassifier(covariance="diagonal", **setting)
    label, loss, classes = str(about["label"]), 0.0, [False, True]
    for start in range(0, len(rows), 10_000):
        part = rows.slice(start, 10_000)
        y = part[label].to_numpy(zero_copy_only=False)
        X = encoder.partial_fit_transform(part.drop_columns([label])).select(["personal"])
        _, p = learner.score_then_learn(X, y, classes, return_proba=True)
        loss -= np.log(np.clip(p[np.arange(len(y)), y.astype(int)], 1e-15, 1.0)).sum()
    return float(loss / len(rows))


def collisions(rows: pa.Table, about: dict[str, object]) -> Table:
    """The log loss by the slots of the personal view, and that of the other views in fewer."""
    table = Table(["slots", "pairs per slot", "no user", "deviations"], title=COLLISIONS)
    label, pairs = str(about["label"]), 0
    given = {name: about[name] for name in ("views", "text", "categorical")}
    learned = {"model": ALONE, "settings": {"r": 1.0}, "in_order": True, "scoring": "log_loss"}
    for bits in BITS:
        losses = []
        for per in (None, about["per"]):
            encoder = ViewEncoder(**given, per=per, hash_bits=bits - 4)
            trained = train(rows, label, encoder=encoder, **learned)
            losses.append(f"{trained.metric['value']:.4f}")
        slots = trained.encoder.slot_names("personal")
        pairs = pairs or len(slots)  # of so many slots nearly each has one
        table.add(f"2^{bits}", f"{pairs / 2**bits:.2f}", *losses)
    return table


def findings(tables: list[Table]) -> list[str]:
    """Where the gain is above 0, and what share of what users bring the id alone has."""
    lines = []
    for table in tables:
        if table.title == COLLISIONS:
            lines.append(_about_collisions(table))
            continue
        found = {name: numbers(cell) for name, cell in table.words(GAIN).items()}
        shown = [name for name, (_, low, _) in found.items() if low > 0.0]
        without, category, deviations = (
            table.column(name) for name in ("no user", "id as category", "deviations")
        )
        line = (
            f"{table.title}: a gain over the id is shown with {len(shown)} of {len(found)} models"
        )
        if shown:
            shares = [
                (without[name] - category[name]) / (without[name] - deviations[name])
                for name in shown
            ]
            line += f", where the id alone has {min(shares):.0%} to {max(shares):.0%} of what "
            line += "users bring"
        best = min(deviations, key=lambda name: min(deviations[name], category[name]))
        gain, low, high = found[best]
        chosen = [(name, word) for name, word in table.words("recommended").items() if word]
        line += f"; with the best model, {best}, it is {gain:.4f} ({low:.4f} to {high:.4f}), and "
        lines.append(f"{line}`compare` recommends {' '.join(chosen[0])}")
    return lines


def _about_collisions(table: Table) -> str:
    """What slots cost that pairs share."""
    load, deviations = table.column("pairs per slot"), table.column("deviations")
    first = next(iter(deviations))
    more = [
        f"{deviations[slots] - deviations[first]:.4f} at {load[slots]:.2f} pairs per slot"
        for slots in deviations
        if load[slots] > 0.2
    ]
    return f"{table.title}: against {first} the loss is higher by {', '.join(more)}"


@benchmark("docs/guide/personal.md", SETS, findings)
def personal(sets: list[str]) -> Iterator[Table]:
    """Log loss of each learner in the order of the rows, each predicted before it is learned."""
    for name, (rows, about) in loaded(SETS, sets):
        given = {key: about[key] for key in ("views", "text", "categorical", "per")}
        label = str(about["label"])
        columns = [label, str(about["per"]), *next(iter(about["views"].values()))]
        answer = compare(
            rows.select(columns),
            label,
            encoder=ViewEncoder(**given),
            scoring=Scoring("log_loss"),
            models=MODELS,
            in_order=True,
        )
        uses = ["no user", "a model each", "id as category", "deviations"]
        table = Table(["learner", *uses, GAIN, "recommended"], title=name)
        alone = one_each(rows, about, answer.row(f"{ALONE} (per user)").setting)
        for gain in answer.gains:
            low, high = gain.difference.interval()
            values = [f"{value:.4f}" for value in (gain.without, gain.category, gain.per)]
            values.insert(1, f"{alone:.4f}" if gain.learner == ALONE else "")
            chosen = answer.recommended.model.removeprefix(gain.learner)
            table.add(
                gain.learner,
                *values,
                f"{gain.difference.location:.4f} ({low:.4f} to {high:.4f})",
                chosen.strip() if answer.recommended.learner == gain.learner else "",
            )
        yield table
        if name == "movielens_100k":
            yield collisions(rows.select(columns), about)
