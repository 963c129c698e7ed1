"""Model cards: Markdown with YAML front matter, as the Hugging Face hub reads them."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crossview import __version__
from crossview.catalog.metrics import metric_of
from crossview.encoding.encode import ViewEncoder
from crossview.errors import InputError, check_kind, some_names
from crossview.evaluating.evaluation import Evaluation
from crossview.saving.schema import check_header
from crossview.scoring.models.fitted_model import FittedModel
from crossview.scoring.results import decision_words, in_digits, metric_words

MOST_COLUMNS_NAMED = 12
MOST_SLICES_SHOWN = 20
# metrics that the hub knows, by the same names
HUB_METRICS = {"rmse", "mae", "accuracy", "f1", "precision", "recall", "roc_auc"}
# of an evaluation as `evaluate --json` writes it
ESTIMATE: dict[str, Any] = dict.fromkeys(("value", "low", "high"), (float, None))
VIEW = {"view": str, "missing": ESTIMATE, "difference": ESTIMATE, "alone": (ESTIMATE, None)}
SLICE = {
    "value": str,
    "rows": int,
    "metric": ESTIMATE,
    "difference": (float, None),
    "one_class": bool,
}
EVALUATION: dict[str, Any] = {
    "model": (str, None),
    "classes": [(str, int, float, bool)],
    "metric": str,
    "metrics": dict,
    "n_rows": int,
    "confusion": ([[int]], None),
    "warnings": [str],
    "views": [VIEW],
    "by": [{"column": str, "slices": [SLICE]}],
}


def model_card(
    model: Any,
    evaluation: Evaluation | Mapping[str, Any] | None = None,
    *,
    title: str | None = None,
    license: str | None = None,
    dataset: str | None = None,
) -> str:
    """Return the card of a model: what it predicts, from what, how well, and where it ends.

    All that it says is in the model, or in an evaluation of it; nothing is measured anew.

    Parameters
    ----------
    model : path-like, Trained, Pipeline or learner
        A model file, what `train` returned, or a fitted model, which says nothing of its training.
    evaluation : Evaluation or dict, default=None
        What `evaluate` returned for rows that the model has not learned, or its ``to_dict``: the
        metrics with their intervals, what each view is worth, slices and what has moved.  None: the
        metric of training, which has no interval.
    title : str, default=None
        The heading.  None: the name of the model file, or of the learner.
    license : str, default=None
        The license of the model, as the hub calls it, such as "bsd-3-clause".
    dataset : str, default=None
        Name of the data of ``evaluation``.  None: "held-out rows".

    Returns
    -------
    card : str
        Markdown with YAML front matter, as a ``README.md`` of the Hugging Face hub has it.

    Raises
    ------
    InputError
        The evaluation is that of a model of other classes or another label.

    References
    ----------
    M. Mitchell and others, "Model Cards for Model Reporting", FAT* 2019.

    Examples
    --------
    >>> from crossview import datasets, evaluate, model_card, train
    >>> table = datasets.load("breast-cancer")
    >>> trained = train(table.slice(0, 400), "diagnosis", model="pa:squared")
    >>> card = model_card(trained, evaluate(trained, table.slice(400), "diagnosis"))
    >>> [line[3:] for line in card.splitlines() if line.startswith("## ")]
    ['What it predicts', 'How good it is', 'What it reads', 'Limits', 'How to use it']
    """
    check_kind("an Evaluation or a mapping of names or None", evaluation=evaluation)
    check_kind("a name or None", title=title, license=license, dataset=dataset)
    fitted = FittedModel(model)
    known = evaluation.to_dict() if isinstance(evaluation, Evaluation) else evaluation
    if known is not None:
        known = json.loads(json.dumps(known))  # numbers of NumPy become plain ones
        _check_evaluation(fitted, known)
    if title is None:
        of_file = fitted.file and os.path.splitext(os.path.basename(fitted.file))[0]
        title = of_file or fitted.info.get("model") or type(fitted.learner).__name__
    parts = [
        *_front_matter(fitted, known, title, license, dataset or "held-out rows"),
        f"# {_text(title)}",
        "",
        *_what(fitted),
        *_how_good(fitted, known),
        *_inputs(fitted, known),
        *_limits(fitted, known),
        *_use(fitted),
    ]
    return "\n".join(parts) + "\n"


def read_evaluation(file: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what ``evaluate --json`` wrote; an error if a file is something else."""
    path = os.fspath(file)
    try:
        with open(path, encoding="utf-8") as stream:
            content = json.load(stream)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", file=path) from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("kind") != "evaluation":
        raise InputError(
            "is no evaluation; write one with crossview evaluate MODEL ROWS --json FILE", file=path
        )
    return content


def _check_evaluation(fitted: FittedModel, known: Mapping[str, Any]) -> None:
    """Raise an error for an evaluation of another model, as far as one can tell."""
    check_header({key: known.get(key) for key in EVALUATION}, EVALUATION, "the evaluation")
    for one in known["metrics"].values():
        check_header(one, ESTIMATE, "a metric of the evaluation")
    if known["metric"] not in known["metrics"]:
        raise InputError(f"the evaluation has no metric {known['metric']!r}")
    of_model, of_evaluation = fitted.classes or [], known["classes"]
    if of_model != of_evaluation:
        shown = [some_names(classes or ["none"]) for classes in (of_evaluation, of_model)]
        raise InputError(
            f"the evaluation is of another model: its classes are {shown[0]}, and the model has "
            f"{shown[1]}"
        )
    name = fitted.info.get("model")
    if None not in (name, known["model"]) and known["model"] != name:
        raise InputError(
            f"the evaluation is of another model, {known['model']!r}, and this is {name!r}"
        )


# --- parts ------------------------------------------------------------------------------------


def _front_matter(
    fitted: FittedModel,
    known: Mapping[str, Any] | None,
    title: str,
    license: str | None,
    dataset: str,
) -> list[str]:
    """The front matter, which the hub indexes; its strings are JSON, which is YAML, too."""
    task = "tabular-regression" if fitted.classes is None else "tabular-classification"
    kinds = set(_kinds(fitted).values())
    if kinds == {"text"} and fitted.classes is not None:
        task = "text-classification"
    lines = ["---", "library_name: crossview"]
    if license is not None:
        lines.append(f"license: {_quoted(license)}")
    lines += [f"pipeline_tag: {task}", "tags:", "- multi-view-learning", "- online-learning"]
    if known is None:
        return [*lines, "---", ""]
    metrics = {name: one["value"] for name, one in known["metrics"].items()}
    first = known["metric"]
    ordered = [first, *(name for name in metrics if name != first)]
    lines += ["metrics:", *(f"- {name}" for name in ordered if name in HUB_METRICS)]
    lines += [
        "model-index:",
        f"- name: {_quoted(title)}",
        "  results:",
        "  - task:",
        f"      type: {task}",
        "    dataset:",
        f"      name: {_quoted(dataset)}",
        "      type: tabular",
        "    metrics:",
    ]
    for name in ordered:
        if metrics[name] is not None:
            lines += [
                f"    - type: {_quoted(name)}",
                f"      name: {_quoted(name)}",
                f"      value: {metrics[name]!r}",
            ]
    return [*lines, "---", ""]


def _what(fitted: FittedModel) -> Iterator[str]:
    """The prediction, the learner, and the rows that were learned."""
    info, learner = fitted.info, fitted.learner
    label = info.get("label")
    subject = f"`{_code(label)}`" if label else "The label"
    yield "## What it predicts"
    yield ""
    if fitted.classes is None:
        yield f"{subject}, a number, as `prediction`."
    else:
        yield (
            f"{subject}, one of {len(fitted.classes)} classes: {_text(some_names(fitted.classes))}."
        )
        threshold = info.get("threshold")
        if threshold is not None:
            about = info["positive"], threshold, info.get("threshold_for")
            words = decision_words(*about, fitted.classes)
            yield f"It {_text(words)}."
    yield ""
    name = info.get("model")
    yield f"- Learner: `{_code(' '.join(repr(learner).split()))}`" + (
        f", `--model {_code(name)}`" if name else ""
    )
    if "rows" in info:
        rows = f"{info['rows']:,} rows"
        if info["unlabeled"]:
            rows += f" with a label and {info['unlabeled']:,} without"
        if info["order"]:
            rows += f", {info['order']}"
        if info["passes"]:
            rows += f", {info['passes']} pass{'es' if info['passes'] > 1 else ''}"
        yield f"- Learned from: {rows}; seed {info.get('seed', 0)}"
    yield f"- Written by: crossview {info.get('crossview', __version__)}"
    yield ""


def _how_good(fitted: FittedModel, known: Mapping[str, Any] | None) -> Iterator[str]:
    """The metrics of the evaluation with their intervals; else what training says."""
    yield "## How good it is"
    yield ""
    if known is None:
        metric = fitted.info.get("metric") or {}
        if metric.get("value") is None:
            yield (
                "Not measured. `crossview evaluate MODEL ROWS --json FILE` measures it on rows "
                "that it has not learned, and `crossview card MODEL --evaluation FILE` shows it."
            )
        else:
            classes = fitted.classes or []
            words = metric_words(metric["name"], classes, fitted.info.get("positive"))
            yield (
                f"{_text(words)}: **{in_digits(metric['value'])}** in the first pass of training, "
                "in which each row is predicted before it is learned. The trained model was not "
                "measured: `crossview evaluate` does that, with intervals."
            )
        yield ""
        return
    yield f"On {known['n_rows']:,} rows that were evaluated (95 % intervals):"
    yield ""
    first = known["metric"]
    yield from _table(
        ["metric", "value", "95 % interval"],
        [
            [f"**{name}**" if name == first else name, *_estimate(known["metrics"][name])]
            for name in [first, *(name for name in known["metrics"] if name != first)]
        ],
    )
    if known.get("confusion") and len(known["classes"]) <= MOST_SLICES_SHOWN:
        yield from _table(
            ["class", *(f"predicted {label}" for label in known["classes"])],
            [
                [str(label), *(f"{count:,}" for count in counts)]
                for label, counts in zip(known["classes"], known["confusion"], strict=True)
            ],
        )
    for column in known.get("by") or []:
        yield f"By `{_code(column['column'])}`:"
        yield ""
        slices = column["slices"]
        yield from _table(
            [column["column"], "rows", first, "95 % interval"],
            [
                [one["value"], f"{one['rows']:,}", *_estimate(one["metric"])]
                for one in slices[:MOST_SLICES_SHOWN]
            ],
        )
        if len(slices) > MOST_SLICES_SHOWN:
            yield f"and {len(slices) - MOST_SLICES_SHOWN:,} more."
            yield ""


def _inputs(fitted: FittedModel, known: Mapping[str, Any] | None) -> Iterator[str]:
    """The views, their columns and kinds, and what each is worth."""
    layout = fitted.learner.layout_
    columns: Mapping[str, Sequence[str]] = {}
    if isinstance(fitted.encoder, ViewEncoder):
        columns = fitted.encoder.view_columns()
    kinds = _kinds(fitted)
    shares = fitted.info.get("view_shares") or {}
    worth = {one["view"]: one["difference"] for one in (known or {}).get("views") or []}
    metric = (known or {}).get("metric")
    header = ["view", "columns", "kinds"]
    header += [f"{metric} if it is missing, minus {metric}"] if worth else []
    header += ["share of score"] if shares else []
    rows = []
    for view, width in zip(layout.names, layout.widths, strict=True):
        own = columns.get(view)
        names = some_names(own, MOST_COLUMNS_NAMED) if own else f"{width:,} numbers"
        counts: dict[str, int] = {}
        for name in own or []:
            counts[kinds[name]] = counts.get(kinds[name], 0) + 1
        row = [view, names, ", ".join(f"{n} {kind}" for kind, n in counts.items()) or "numeric"]
        if worth:
            value, interval = _estimate(worth[view]) if view in worth else ("–", "–")
            row.append(value if interval == "–" else f"{value} ({interval})")
        row += [f"{shares[view]:.0%}"] if shares else []
        rows.append(row)
    yield "## What it reads"
    yield ""
    yield from _table(header, rows)
    if shares:
        n = fitted.info.get("rows_of_view_shares", 0)
        of = "of the mean absolute scores of the views, less their means"
        yield f"Share of score: {of}, on {n:,} learned rows."
        yield ""


def _limits(fitted: FittedModel, known: Mapping[str, Any] | None) -> Iterator[str]:
    yield "## Limits"
    yield ""
    several = len(fitted.learner.layout_.names) > 1
    if several:
        cost = "; the table above says what that costs" if (known or {}).get("views") else ""
        yield f"- A view that is missing in a row is left out of its score{cost}."
    if fitted.classes is not None:
        yield (
            "- It knows the classes above and no other, and predicts one of them for every row, "
            "also for rows unlike those that it learned."
        )
    else:
        yield "- Outside of the range of the rows that it learned its numbers are extrapolated."
    if known is None:
        yield "- It was not evaluated on rows that it has not learned, nor on parts of them."
    elif not known.get("by"):
        yield (
            "- It was not evaluated on groups of rows: `crossview evaluate --by COLUMN` does that."
        )
    yield from _weak_slices(known or {})
    for line in (known or {}).get("warnings") or []:
        yield f"- {_text(line)}"
    kinds = set(_kinds(fitted).values())
    if kinds & {"text", "categorical"}:
        yield (
            "- Categories and words are hashed: one that training has not seen may share the slot, "
            "and so the weight, of one that it has."
        )
    yield (
        "- Later rows may be distributed differently: `crossview evaluate` and `predict` warn of "
        "views that have moved."
    )
    yield ""


def _weak_slices(known: Mapping[str, Any]) -> Iterator[str]:
    """Slices whose interval lies wholly on the bad side of the metric of all rows."""
    if not known.get("by"):
        return
    better = metric_of(known["metric"]).higher_is_better
    overall = known["metrics"][known["metric"]]["value"]
    for column in known["by"]:
        for one in column["slices"]:
            bound = one["metric"]["high" if better else "low"]
            if None in (bound, overall) or one["one_class"]:
                continue
            if bound < overall if better else bound > overall:
                value = one["metric"]["value"]
                where = f"`{_code(column['column'])}` is {_text(one['value'])}"
                yield (
                    f"- {_text(known['metric'])} is {in_digits(value)} where {where} "
                    f"({one['rows']:,} rows), and {in_digits(overall)} on all rows."
                )


def _use(fitted: FittedModel) -> Iterator[str]:
    """Commands and code that load the model."""
    file = os.path.basename(fitted.file) if fitted.file else "model.safetensors"
    rows = "rows.csv" if isinstance(fitted.encoder, ViewEncoder) else "rows.svm"
    yield "## How to use it"
    yield ""
    yield "```sh"
    yield "pip install 'crossview[cli]'"
    yield f"crossview predict {shlex.quote(file)} {rows} -o scores.csv"
    yield "```"
    yield ""
    yield "```python"
    yield "from crossview import predict"
    yield ""
    yield f"scores = predict({file!r}, {rows!r})  # prediction, probabilities, one score per view"
    yield "```"
    yield ""
    yield "The file holds numbers and JSON and no code: loading it runs nothing."


# --- cells ------------------------------------------------------------------------------------


def _kinds(fitted: FittedModel) -> dict[str, str]:
    return fitted.encoder.kinds() if isinstance(fitted.encoder, ViewEncoder) else {}


def _estimate(one: Mapping[str, Any]) -> list[str]:
    """A value and its interval in words."""
    value, low, high = (one[name] for name in ("value", "low", "high"))
    interval = "–" if None in (low, high) else f"{in_digits(low)} to {in_digits(high)}"
    return ["–" if value is None else in_digits(value), interval]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table of Markdown, and an empty line."""
    for cells in (header, ["---"] * len(header), *rows):
        yield f"| {' | '.join(cell if cell == '---' else _cell(cell) for cell in cells)} |"
    yield ""


def _cell(cell: str) -> str:
    bold = re.fullmatch(r"\*\*(\w+)\*\*", cell)  # ours
    return f"**{_text(bold[1])}**" if bold else _text(cell)


def _text(words: Any) -> str:
    """Words of the data that mean nothing to Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>|#~$])", r"\\\1", " ".join(str(words).split()))


def _code(words: Any) -> str:
    """Words between backticks."""
    return " ".join(str(words).split()).replace("`", "'")


def _quoted(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)
