"""Training and evaluation on several machines with Dask: parameter mixing, exact solvers, counts.

Rows stay on the workers; models, counts and sums travel.
"""

from crossview.distributed.cluster import connected
from crossview.distributed.evaluating import evaluate
from crossview.distributed.fitting import Mixed, fit
from crossview.distributed.svm import fit_svm
from crossview.distributed.training import train

__all__ = ["Mixed", "connected", "evaluate", "fit", "fit_svm", "train"]
