"""What we use of scikit-learn's private validation, in one place.

scikit-learn keeps its parameter constraints private and may move them; then this file changes
and no other.
"""

from sklearn.utils import _safe_indexing as select_rows
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = ["Interval", "StrOptions", "check_sample_weight", "select_rows"]
