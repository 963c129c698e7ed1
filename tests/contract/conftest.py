"""Every learner of the table, or one for each compiled loop, as fixtures."""

import pytest
from sklearn.base import is_classifier

from contract.instances import (
    linear,
    make_rows,
    new,
    params,
    streams,
    streams_classes,
    streams_linear,
)


def learners(wanted=lambda estimator: True, *, each_loop=False):
    @pytest.fixture(params=params(wanted, each_loop=each_loop))
    def learner(request):
        return new(request.param)

    return learner


any_learner = learners()
stream_learner = learners(streams)
stream_classifier = learners(streams_classes)
linear_learner = learners(linear)
linear_stream_learner = learners(streams_linear)

# one for each compiled loop; `make test-all` runs all
learner_of_loop = learners(each_loop=True)
stream_learner_of_loop = learners(streams, each_loop=True)
classifier_of_loop = learners(is_classifier, each_loop=True)
stream_classifier_of_loop = learners(streams_classes, each_loop=True)


@pytest.fixture(params=[2, 4], ids=["binary", "multiclass"])
def table(request):
    return make_rows(request.param)
