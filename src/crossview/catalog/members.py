"""Members of an ensemble in words: ``"trees weight=0.4 learning_rate=0.1"``."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from crossview.catalog.learner import Learner
from crossview.catalog.learners import ENSEMBLE, find_learner
from crossview.catalog.names import load_object
from crossview.catalog.settings import parse_settings
from crossview.errors import InputError


def member_in_words(model: str, weight: float, setting: Mapping[str, Any], epochs: int = 1) -> str:
    """Return a member as `make_members` reads it.

    model: as in ``crossview train --model``.
    epochs: passes over the rows.
    Returns words: with four digits of numbers.

    >>> from crossview.catalog.members import member_in_words
    >>> member_in_words("view:text", 0.25, {"C": 0.1}, 3)
    'view:text weight=0.25 C=0.1 epochs=3'
    """
    words = {"weight": weight, **setting, **({"epochs": epochs} if epochs > 1 else {})}
    return " ".join(
        [
            shlex.quote(model),
            *(
                f"{name}={value if isinstance(value, bool | str) else f'{value:.4g}'}"
                for name, value in words.items()
            ),
        ]
    )


def default_members(views: Sequence[str]) -> list[str]:
    """Return the names of the members of an ensemble to which nobody names any."""
    return ["trees", "linear", *(["mvm"] if len(views) > 1 else [])]


def make_members(
    words: Sequence[str],
    task: str,
    views: Sequence[str],
    scoring: tuple[str, Any],
    in_order: bool = False,
) -> dict[str, Any]:
    """Return the parameters ``members`` and ``weights`` of an ensemble.

    words: of each member its name as in ``crossview train --model``, then settings; ``weight`` is
      that in the blend, and ``epochs`` the number of passes.
    task {"classification", "regression"}: what is predicted.
    scoring: metric and positive class, for learners that are trained for a metric.
    in_order: whether they learn the rows in their order.
    Returns parameters: ``weights`` only where each member has one.
    Raises InputError: a member has no such model or parameter, or only some have a weight.
    """
    members: list[tuple[str, Any, str | None]] = []
    weights = []
    for text in words:
        model, *given = shlex.split(text) or [""]
        setting = parse_settings(given, model)
        for number in ("weight", "epochs"):
            value = setting.get(number, 0)
            if not (isinstance(value, int | float) and value >= 0):
                raise InputError(f"{number}={value} of member {text!r}; give a number, 0 or more")
        entry = find_learner(model, task, views)
        if entry.name == ENSEMBLE:
            raise InputError("an ensemble is no member of an ensemble; name its members")
        entry = entry.for_metric(*scoring)
        if "weight" in setting:
            weights.append(setting.pop("weight"))
        while model in [one for one, *_ in members]:
            model += "'"
        members.append((model, _learner(entry, setting, in_order), entry.view))
    if weights and len(weights) != len(words):
        raise InputError("some members have a weight and others none; give it to all, or to none")
    return {"members": members, **({"weights": weights} if weights else {})}


def _learner(entry: Learner, setting: dict[str, Any], in_order: bool) -> Any:
    """Return the learner of a member, with probabilities where they are classes."""
    passes = entry.passes(setting.pop("epochs", None))
    known = inspect.signature(load_object(entry.path)).parameters
    calibrated = {"calibration": "sigmoid"} if "calibration" in known else {}
    order = {"shuffle": False} if in_order and entry.shuffles else {}
    return entry.make(**{**calibrated, **order, **entry.check_settings(setting), **passes})
