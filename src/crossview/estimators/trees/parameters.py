"""The parameters that both learners have, documented once."""

from __future__ import annotations

from crossview.estimators.documentation import ParameterDoc
from crossview.estimators.parameters import VIEWS

PARAMETERS: dict[str, ParameterDoc] = VIEWS | {
    "additive": (
        "bool",
        """
        Whether each tree has columns of one view alone, so that the score is a sum of one score
        per view.  False: a tree may have columns of all views, which interact.
        """,
    ),
    "learning_rate": (
        "float",
        """
        Factor of the value of each leaf, in (0, inf).  A lower value needs more trees, and is a
        little better.  Typical values: 0.03 to 0.3.
        """,
    ),
    "max_leaf_nodes": (
        "int",
        """
        Most leaves of a tree.  More of them fit interactions of more columns, and overfit few rows.
        Typical values: 4 to 64.
        """,
    ),
    "min_samples_leaf": (
        "int or None",
        """
        Fewest rows of a leaf.  None: 20, or of few rows a twentieth of those that a class has on
        average.
        """,
    ),
    "l2_regularization": (
        "float",
        """
        Penalty on the squared values of the leaves, in [0, inf).  A higher value makes leaves of
        few rows more careful.
        """,
    ),
    "validation_fraction": (
        "float",
        """
        Fraction of the rows to hold out, in [0, 1): trees are added as long as the loss on these
        rows decreases, and those after the lowest loss are dropped.  0: ``max_iter`` trees.
        """,
    ),
    "n_iter_no_change": (
        "int",
        "Number of iterations without a lower loss on the held-out rows before `fit` stops.",
    ),
    "n_bags": (
        "int or None",
        """
        Number of models whose mean score is the score; each holds out other rows, and takes the
        rows in another order for target statistics.  More of them are a little better and take
        proportionally longer.  None: 4; of more than 4 classes 2, and of more than 20 classes 1,
        because each class has trees of its own; of more than 10,000 rows fewer.
        """,
    ),
    "max_categories": (
        "int",
        """
        A column of categories with up to this number of values, at most 63, is split into sets of
        values; one with more by the mean target of each value.  See the notes.
        """,
    ),
    "max_columns": (
        "int",
        """
        Of a view with more columns, besides those of categories, trees get this number of columns,
        and components of all of them.
        """,
    ),
    "n_components": (
        "int",
        "Components of such a view, from a truncated singular value decomposition; 0: none.",
    ),
    "n_jobs": (
        "int",
        """
        Threads of `fit`.  With more than one the last digits of sums depend on their number, and so
        in rare cases does a tree.
        """,
    ),
    "random_state": (
        "int, RandomState or None",
        """
        Seed of the held-out rows, the order of the rows for target statistics, and the components.
        Pass an int for reproducible results.
        """,
    ),
}
