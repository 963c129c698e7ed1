"""The result of a comparison in plain words."""

from __future__ import annotations

from crossview.catalog.learner import BASELINE
from crossview.catalog.learners import LEARNERS
from crossview.catalog.metrics import NO_INTERVAL, metric_of
from crossview.comparing.result.ranking import (
    NOT_COMPARED,
    ComparisonRow,
    LeftOut,
    Ranking,
    behind_in,
)
from crossview.errors import argument, first_names
from crossview.scoring.metrics import signed_score
from crossview.scoring.results import duration, in_digits
from crossview.scoring.significance import SIGNIFICANT, p_in_words

# what the baselines that look at no column predict: where f1 places the threshold, that is the
# rarer class
CONSTANT = {
    "baseline:majority": "one class for all rows",
    "baseline:mean": "the mean for all rows",
    "baseline:median": "the median for all rows",
}
# the area under the curve on each fold that is not by chance
BEYOND_CHANCE = 0.55
# a difference of which one can be so sure is called one without a reservation
CLEAR = 0.95
# a row is shown to be equal where it is worse by more than the rope with at most this probability
MOST_WORSE = 0.1
# of what was left out: kinds, and names of each
MOST_LEFT_OUT = 3
# in order, of which the last ones may be worse than all before by more than chance
FEWEST_FOLDS = 5


def verdict(c: Ranking) -> list[str]:
    """Return the answer in sentences: what is recommended, and what it can be trusted for.

    Returns sentences: the first one names a model.
    """
    if len(c.rows) == 1:
        return [f"{c.best.model}: {_value(c, c.best)}"]
    about = (_about_higher, _about_later, _about_users, _cheapest, _about_baselines)
    return [_answer(c), *(one for part in about for one in part(c))]


def _answer(c: Ranking) -> str:
    """Return what to use, and how much better that is than scikit-learn alone."""
    chosen = c.recommended
    if chosen.members:
        of = ", ".join(f"{one.model} ({one.weight:.2f})" for one in chosen.members)
        return f"answer: an ensemble of {of}: {_value(c, chosen)}{_beside_baseline(c)}"
    if chosen is c.best:
        return f"best: {chosen.model}, {_value(c, chosen)}; {_lead(c, c.rows[1])}"
    if not chosen.equal:
        return (
            f"recommended: {chosen.model}, {_value(c, chosen)}: {c.best.model} "
            f"({short_value(c, c.best.value)}) is ahead, but that its deviations of users gain "
            "anything is not shown"
        )
    return (
        f"recommended: {chosen.model}, {_value(c, chosen)}: the cheapest of {len(c.equals)} models "
        f"that are shown to be equal to the best, {c.best.model} "
        f"({short_value(c, c.best.value)}); {_chance(c, chosen, 'it')}"
    )


def _about_users(c: Ranking) -> list[str]:
    """Return what deviations of users gain with each learner."""
    if not c.gains:
        return []
    parts = []
    for one in c.gains:
        low, high = (short_value(c, end) for end in one.difference.interval())
        gain = short_value(c, one.difference.location)
        parts.append(f"{one.learner} {gain} ({low} to {high})")
    return [
        f"each user's deviations gain over the user as a category, in {c.metric} (95 % interval): "
        f"{'; '.join(parts)}"
    ]


def _value(c: Ranking, row: ComparisonRow) -> str:
    """Return the metric of a row with its interval."""
    value = f"{c.metric} {short_value(c, row.value)}"
    if not metric_of(c.metric).has_interval:
        return f"{value} ({NO_INTERVAL})"
    interval = c.interval(row)
    if interval is None:
        return value
    low, high = (short_value(c, end) for end in interval)
    return f"{value} (95 % interval {low} to {high})"


def _about_later(c: Ranking) -> list[str]:
    """Say that later rows are predicted worse, where folds are in order.

    The mean over the folds promises too much for new rows then.  Of five folds the last two are
    below all others by chance one time in ten; fewer folds say too little.
    """
    row, n = c.recommended, len(c.recommended.scores)
    scores = [signed_score(c.metric, score) for score in row.scores]
    first, last = scores[: n - n // 2], scores[n - n // 2 :]
    if not c.in_order or n < FEWEST_FOLDS or max(last) > min(first) - c.rope:
        return []
    values = ", ".join(short_value(c, score) for score in row.scores)
    return [
        f"later rows are predicted worse: {row.model} has {values} on the folds in order; expect "
        "the last value, and not the mean, on new rows; where the data drift, "
        f"{argument(progressive=True)} compares models that follow them"
    ]


def _beside_baseline(c: Ranking) -> str:
    """Return what the best of scikit-learn alone gives."""
    theirs = best_baseline(c)
    if theirs is None:
        return ""
    part = f", from {theirs.learned:.0%} of the rows" if theirs.learned < 1.0 else ""
    value = f"{short_value(c, theirs.value)}{how_sure(c, theirs)}"
    return f"; scikit-learn alone ({theirs.title}{part}): {value}"


def how_sure(c: Ranking, row: ComparisonRow) -> str:
    """Return how sure it is that a row is behind the best, and by more than the rope."""
    assert row.difference is not None
    at_all, by_more = (row.difference.areas(least).worse for least in (0.0, c.rope))
    if at_all != at_all:
        return ""
    more = f", by more than {in_digits(c.rope, 3)} with {by_more:.2f}" if c.rope else ""
    return f", behind with probability {at_all:.2f}{more}"


def _about_higher(c: Ranking) -> list[str]:
    """Say why a model with a higher mean than the ensemble is not the answer."""
    higher = c.rows[1] if c.best.members and len(c.rows) > 1 else None
    if higher is None or higher.difference is None or higher.difference.location <= c.rope:
        return []
    behind = behind_in(higher, c.best, c.metric)
    lower = f", and it is behind in {', '.join(behind)}" if behind else ""
    better = higher.difference.areas(c.rope).better
    return [
        f"{higher.model} has the better mean, {short_value(c, higher.value)}, but that it is "
        f"better by more than {in_digits(c.rope, 3)} has probability {better:.2f}, below "
        f"{CLEAR}{lower}: the best of {len(c.rows)} means is partly luck"
    ]


def _cheapest(c: Ranking) -> list[str]:
    """Return the single model that is shown to be as good as the ensemble."""
    if not c.best.members:
        return []
    chosen, nearest = c.cheapest, c.rows[1]
    if chosen is not c.best:
        return [
            f"cheapest model that is shown to be equal to it: {chosen.model} "
            f"({short_value(c, chosen.value)}); {_chance(c, chosen, 'it')}"
        ]
    return [
        f"no single model is shown to be equal to it; the nearest, {nearest.model} "
        f"({short_value(c, nearest.value)}): {_chance(c, nearest, 'it')}{_ranks_worse(c, nearest)}"
    ]


def _ranks_worse(c: Ranking, row: ComparisonRow) -> str:
    """Return why a row is not equal to the best that the metric alone would call so."""
    if row.difference is None or row.difference.areas(c.rope).worse > MOST_WORSE:
        return ""
    return f", but its ROC AUC is {row.roc_auc:.4f}, below {c.best.roc_auc:.4f}"


def _lead(c: Ranking, row: ComparisonRow) -> str:
    """Return by how much the best row leads another one."""
    away = short_value(c, abs(c.best.value - row.value))
    if is_clear(c, row):
        return f"ahead of {row.model} by {away}; {_chance(c, row, row.model)}"
    return f"not clearly ahead: {row.model} is {away} behind; {_chance(c, row, 'it')}"


def is_clear(c: Ranking, row: ComparisonRow) -> bool:
    """Return whether a row is worse than the best by more than the rope, as good as surely."""
    return row.difference is not None and row.difference.areas(c.rope).worse >= CLEAR


def as_good_constant(c: Ranking) -> str | None:
    """Return what looks at no column and is not clearly worse than the best row.

    Of one fold, which says nothing of that, it is what is not behind by more than the rope.
    """
    for row in c.rows:
        if row.model not in CONSTANT:
            continue
        away = row.difference
        if away is None or away.location >= -c.rope or away.areas(c.rope).worse < CLEAR:
            return CONSTANT[row.model]
    n = len(c.classes)
    interval = c.interval(c.best) if len(c.best.scores) > 2 else None  # of two it is all values
    # one class for all rows is far below 1/n, the mean F1 of guesses by their shares
    is_mean_f1 = c.metric == "macro_f1" or (c.metric == "f1" and n > 2)
    if is_mean_f1 and interval is not None and interval[0] <= 1.0 / n:
        return f"guessing by the shares of the classes ({c.metric} {short_value(c, 1.0 / n)})"
    return None


def best_baseline(c: Ranking) -> ComparisonRow | None:
    """Return the best row of another library; None where there is none that looks at columns."""
    return next((row for row in c.rows if row.baseline and row.model not in CONSTANT), None)


def name_of(row: ComparisonRow) -> str:
    """Return what a row is, in words: a model of scikit-learn, or the title of the catalog."""
    if row.members:
        return "the ensemble"
    if row.model in CONSTANT:
        return CONSTANT[row.model]
    if row.model.startswith("view:"):
        return f"the view {row.model.removeprefix('view:')} alone"
    is_ours = not row.baseline or row.model.count(":") > 1  # a class that a user gave by name
    return row.title if is_ours else f"scikit-learn's {row.title}"


def _chance(c: Ranking, row: ComparisonRow, name: str) -> str:
    """Return the probability that a row is worse than the best by more than the rope."""
    assert row.difference is not None
    worse = row.difference.areas(c.rope).worse
    if worse != worse:
        return "too little is scored to say how sure that is"
    p = ""
    if row.p_adjusted is not None and row.model not in CONSTANT:
        p = f" (Holm-adjusted {p_in_words(row.p_adjusted)})"
    return f"with probability {worse:.2f} {name} is worse by more than {in_digits(c.rope, 3)}{p}"


def _about_baselines(c: Ranking) -> list[str]:
    sentences = []
    ours = next((row for row in c.rows if not row.baseline), None)
    theirs = best_baseline(c)
    if c.best.baseline and ours is not None:
        away = short_value(c, abs(c.best.value - ours.value))
        sentences.append(
            f"a baseline is best{'' if is_clear(c, ours) else ', but not clearly'}: the best model "
            f"of Crossview, {ours.model}, is {away} behind {c.best.model}; {_chance(c, ours, 'it')}"
        )
    elif theirs not in (None, c.best, c.rows[1]) and not c.best.members:
        assert theirs is not None
        value = f"{theirs.model}, {c.metric} {short_value(c, theirs.value)}"
        told = "is ahead of" if is_clear(c, theirs) else "cannot be told from"
        sentences.append(
            f"{c.best.model} {told} {name_of(theirs)} ({value}): {_chance(c, theirs, 'the latter')}"
        )
    less = [row for row in c.rows if row.learned < 1.0]
    if less:
        names = ", ".join(f"{row.model} from {row.learned:.0%} of the rows" for row in less)
        sentences.append(f"to keep within the budget, baselines learned from fewer rows: {names}")
    if constant := as_good_constant(c):
        sentences.append(f"no model is clearly better than {constant}: {what_to_do_about_noise(c)}")
    return sentences


def what_to_do_about_noise(c: Ranking) -> str:
    """Return what to do where no model is clearly better than what looks at no column."""
    areas = c.recommended.others.get("roc_auc", [])
    if areas and min(areas) > BEYOND_CHANCE:
        other = argument(scoring="roc_auc")
        apart = f"(AUC {c.recommended.roc_auc:.3f}, by chance 0.5)"
        return (
            f"compare by another metric, such as {other}: the models tell the classes apart "
            f"{apart}, which {c.metric} hides"
        )
    return "look for more rows or for other columns before you train a model"


def about_left_out(c: Ranking) -> list[str]:
    """Return what is not in the table: folds, models that failed, and what the budget left out."""
    lines = []
    if c.planned_folds > c.folds:
        lines.append(f"{c.folds} of {c.planned_folds} folds were finished")
    lines += [f"{one.model} failed: {one.what}" for one in c.left_out if one.failed]
    saved = [one for one in c.left_out if not one.failed]
    if saved:
        seconds = sum(one.seconds for one in saved)
        about = f", about {duration(seconds)} of one core" if seconds >= 1.0 else ""
        without = argument(budget=None)
        lines.append(f"left out to keep within the budget{about} ({without}): {_some_of(saved)}")
    if best_baseline(c) is None and any(map(_looks_at_columns, saved)):
        lines.append(f"scikit-learn was not measured: raise {argument('budget')}")
    return lines


def _some_of(saved: list[LeftOut]) -> str:
    """Return what was left out, models that are not in the table first; the rest is counted."""
    models: dict[str, list[str]] = {}
    for one in sorted(saved, key=lambda one: not one.what.startswith(NOT_COMPARED)):
        models.setdefault(one.what, []).append(one.model)
    parts = [f"{what}: {first_names(names)}" for what, names in models.items()]
    rest = {name for names in list(models.values())[MOST_LEFT_OUT:] for name in names}
    parts[MOST_LEFT_OUT:] = [f"parts of {first_names(sorted(rest))}"] * bool(rest)
    return "; ".join(parts)


def _looks_at_columns(left: LeftOut) -> bool:
    """Return whether what was left out is a baseline that looks at columns."""
    trained = {one.name for one in LEARNERS if one.baseline}
    named = left.model in trained or left.model.startswith(BASELINE)
    return named and left.model not in CONSTANT


def unlabeled_benefit(c: Ranking) -> str | None:
    """Return how much unlabeled rows help, in plain words; None where that is not known."""
    pair = c.unlabeled_pair
    if not (c.unlabeled and pair and c.unlabeled_benefit_p is not None):
        return None
    learner, without = pair
    more = learner.value - without.value
    about = "" if c.unlabeled_benefit_p < SIGNIFICANT else "not significant, "
    what = "lower" if more < 0.0 else "raise"
    return (
        f"the {c.unlabeled:,} unlabeled rows {what} {c.metric} by {abs(more):.4f}: "
        f"{learner.model} against {without.model} ({about}{p_in_words(c.unlabeled_benefit_p)})"
    )


def short_value(c: Ranking, value: float) -> str:
    """Return four decimals, or four digits of an error, which has the unit of the target."""
    return in_digits(value) if c.task == "regression" else f"{value:.4f}"
