"""``crossview card``."""

from __future__ import annotations

import sys

from crossview.cli.loading import load_heavy
from crossview.cli.options import STANDARD
from crossview.cli.output import write_text
from crossview.errors import InputError
from crossview.saving.files import CARD, check_writable

OPTIONS = """
--output, -o FILE.md: README.md is what the hub shows. Without it, or with -, stdout.
--evaluation FILE: What evaluate --json wrote of rows that the model has not learned: metrics with
    intervals, views and slices. Without it, the metric of training.
--title TEXT: The heading. Default: the file's name.
--license NAME: The license of the model, such as bsd-3-clause.
--dataset NAME: What the rows of --evaluation are called.
--keep: Keep the card in the header of MODEL, too.
"""


def run(
    model: str,
    *,
    output: str = STANDARD,
    evaluation: str | None = None,
    title: str | None = None,
    license: str | None = None,
    dataset: str | None = None,
    keep: bool = False,
) -> None:
    """Write a model card: what a model predicts, from what, how well, and its limits.

    Markdown with the front matter that the Hugging Face hub reads. All it says is in
    the model file and in the evaluation; nothing is measured anew.
    """
    from crossview.cli.opening import model_input

    if keep and model == STANDARD:
        raise InputError("--keep writes into MODEL, and this is standard input; name a file")
    if dataset is not None and evaluation is None:
        raise InputError("--dataset names the rows of --evaluation; add it")
    with model_input(model) as file:
        if output != STANDARD:
            check_writable(output, CARD, [name for name in (file, evaluation) if name])
        load_heavy()
        from crossview.reporting.card import model_card, read_evaluation
        from crossview.saving.model_files import add_info

        known = None if evaluation is None else read_evaluation(evaluation)
        named = title or ("model" if model == STANDARD else None)
        text = model_card(str(file), known, title=named, license=license, dataset=dataset)
        write_text(output, text, CARD)
        if keep:
            add_info(str(file), card=text)
        if output != STANDARD:
            print(f"wrote {output}", file=sys.stderr)
        if keep:
            print(f"wrote the card into {model}", file=sys.stderr)
