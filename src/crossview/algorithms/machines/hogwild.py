"""A pass by several threads that share the parameters and take no locks.

F. Niu, B. Recht, C. Ré, S. J. Wright, "Hogwild! A Lock-Free Approach to Parallelizing Stochastic
Gradient Descent", NeurIPS 2011.  A step may overwrite another one that touches the same parameter
at the same time; rows of few columns out of many seldom do.  What is learned depends on who came
first, and so differs from run to run.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from crossview.algorithms.machines import online
from crossview.kernels.rows import Examples, Rows

# fewer rows take less time than a thread to start
LEAST_ROWS = 1_000


def learn(n_threads: int, rows: Rows, examples: Examples, *given: Any) -> int:
    """Make one pass as `online.learn`, each thread over as many consecutive rows.

    Returns one of the rows that are not finite, or -1.
    """
    n_threads = min(n_threads, len(examples.order) // LEAST_ROWS)
    if n_threads < 2:
        return online.learn(rows, examples, *given)
    parts = np.array_split(examples.order, n_threads)
    with ThreadPoolExecutor(n_threads) as threads:
        passes = [
            threads.submit(online.learn, rows, examples._replace(order=part), *given)
            for part in parts
        ]
    return max(one.result() for one in passes)
