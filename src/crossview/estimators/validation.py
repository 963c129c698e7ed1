"""The private functions of scikit-learn that Crossview uses.

scikit-learn may move or change them in any version; only this file imports them.
"""

from sklearn.utils import _safe_indexing as select_rows
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = ["Interval", "StrOptions", "check_sample_weight", "select_rows"]
