"""Places of labels among the classes."""

import numpy as np
import pytest

from crossview.errors import InputError
from crossview.estimators.targets import read_labels
from crossview.labels import known_labels, places_of


@pytest.mark.parametrize(
    "classes",
    [
        np.array([0, 1], dtype=np.int8),
        np.array([-1, 1]),
        np.array([0.5, 2.5]),
        np.array([False, True]),
        np.array(["ham", "spam"]),
        np.array([7]),
        np.array(["a", "b", "c"]),
        np.array(["no", "yes"], dtype=object),
    ],
    ids=lambda classes: f"{classes.dtype}-{len(classes)}",
)
def test_the_place_of_each_label(classes):
    places = np.random.default_rng(0).integers(0, len(classes), 50)
    found = places_of(classes[places], classes)
    assert found.dtype == np.intp
    assert found.tolist() == places.tolist()


@pytest.mark.parametrize("labels", [[1, None, 0], [1.0, np.nan, 0.0], ["a", None, "b"], [1, 0]])
def test_labels_that_are_known(labels):
    known = [label for label in labels if label is not None and label == label]
    assert known_labels(np.array(labels, dtype=object)).tolist() == known
    if None not in labels:
        assert known_labels(np.array(labels)).tolist() == known


def test_labels_of_which_each_is_another_one():
    """As in a batch of a stream with many classes, of which scikit-learn warns."""
    assert len(read_labels(np.arange(30.0), 30, "Learner")) == 30
    with pytest.raises(InputError, match="Unknown label type: continuous"):
        read_labels(np.arange(30) + 0.5, 30, "Learner")
