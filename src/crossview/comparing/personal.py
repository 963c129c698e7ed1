"""Whether one model per user pays: each learner without users, with a category, and per user.

The gain that counts is that of deviations over the category: most of what users bring, the id as an
ordinary category brings as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from crossview.catalog.learner import Learner
from crossview.catalog.learners import find_learner
from crossview.comparing.candidates import choose_learners
from crossview.comparing.result.comparison import Comparison, ComparisonObserver
from crossview.comparing.run import Run
from crossview.comparing.stream import Stream
from crossview.data.labeled import LabeledSource

# of the learners that are compared unless some are named: linear ones, and a stack, which may know
# by its interactions what deviations say
MOST_EFFORT, STACK = 4, "experts"
# of the column of users; the views of the first name the answer
ROLES = ("per", "category", "without")


def compare_users(
    run: Run,
    open_as: Callable[[str], LabeledSource],
    per: str,
    models: Sequence[str] | None,
    rope: float,
    observer: ComparisonObserver,
) -> Comparison:
    """Compare learners with a column of users in three roles, in the order of the stream.

    run: what is compared, and how; without learners.
    open_as: takes "without", "category" or "per", and returns the rows in this encoding.
    per: the column of the users.
    models: names of learners; None: the linear ones, and a stack.
    rope: differences up to this are none.
    Returns: the answer, with `Comparison.gains`.
    """
    sources = {user: open_as(user) for user in ROLES}
    streams: dict[str, Stream] = {}
    names = _learners(run, sources["per"], sources["without"].layout.n_views, models)
    for user, source in sources.items():
        learners = [find_learner(name, run.problem.name, source.layout.names) for name in names]
        streams[user] = Stream(replace(run, learners=learners, user=user), source)
        streams[user].learn(rope, observer)
    every = [model for stream in streams.values() for model in stream.models]
    answer = streams["per"].answer(every, rope, per=per)
    chosen = answer.recommended.user
    layout = sources[chosen].layout
    answer.views = dict(zip(layout.names, layout.widths, strict=True))
    answer.diagnostics = streams[chosen].diagnose(answer)
    return answer


def _learners(
    run: Run, source: LabeledSource, n_shared: int, models: Sequence[str] | None
) -> list[str]:
    """The names of the learners; those that only several views tell apart need several shared."""
    found = choose_learners(run, source.layout, source.n_rows, models, stream=True)

    def is_compared(learner: Learner) -> bool:
        simple = learner.effort <= MOST_EFFORT or learner.explained_by == STACK
        return simple and learner.view is None and learner.min_views <= n_shared

    return [one.name for one in found if models is not None or is_compared(one)]
