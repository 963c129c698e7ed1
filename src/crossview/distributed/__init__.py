"""Training on several machines with Dask: iterative parameter mixing, and exact solvers.

Rows stay on the workers; models and sums travel.
"""

from crossview.distributed.cluster import connected
from crossview.distributed.fitting import Mixed, fit
from crossview.distributed.svm import fit_svm
from crossview.distributed.training import train

__all__ = ["Mixed", "connected", "fit", "fit_svm", "train"]
