"""Parameters and attributes that the stacks share, documented once."""

from crossview.estimators import parameters
from crossview.estimators.documentation import described

STACK = parameters.PARAMETERS | described(
    """
    shuffle : bool
        Whether `fit` shuffles the rows before its pass.  Set it to False if the order of the rows
        matters, as in a time series.  `partial_fit` never shuffles.
    share : float
        Share α of the mixture's weight that is divided equally after each row, in [0, 1).  More
        lets another expert take over faster after a change, and costs more while nothing changes.
        Typical values: 0 to 0.01.
    ridge : float
        Ridge of stacking, in (0, inf): the curvature of the weights before the first row.  More
        keeps the weights longer at their start, which is equal.  Typical values: 10 to 1000.
    prune : int or None
        Number of consecutive rows without weight after which an expert is dropped: it is no longer
        learned, and costs nothing.  It has no weight where its share of the mixture is below 0.05
        and stacking without it would have lost less than 1 more on all rows so far.  A lower
        number drops earlier, and what is dropped does not come back.  Typical values: 1000 or
        more.  None: no expert is dropped.
    """
)

ATTRIBUTES = parameters.ATTRIBUTES | described(
    """
    experts_ : list of (str, learner, str or None)
        The experts that are left: name, fitted learner, and view; None for all views.
    mixture_weights_ : dict of str to float
        Weight of each expert in the mixture; they add up to 1.
    stacking_weights_ : dict of str to float
        Coefficient of each expert in stacking.
    stacking_decides_ : bool
        Whether stacking predicts; otherwise the mixture does.
    memory_gain_ : (float, float)
        By how many nats a row the last label predicts the next one, and the standard error.
    uses_memory_ : bool
        Whether the last labels and rows count for the next row.
    stream_threshold_ : float or None
        The threshold, of the probability of ``classes_[1]``, of a stack that follows a stream.
    weight_history_ : WeightHistory
        Weights of all experts over time, as arrays ``n_rows``, ``mixture``, ``stacking`` and
        ``stacking_decides`` with one entry per snapshot, and the names ``experts``.  There are at
        most 512 snapshots, evenly spaced.
    """
)
