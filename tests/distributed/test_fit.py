"""Parameter mixing on a cluster: the same bits as the same rounds in one process."""

import copy
from itertools import pairwise

import numpy as np
import pytest
from dask.delayed import delayed

from crossview import (
    AROWClassifier,
    InputError,
    MultiViewSVMPerf,
    PassiveAggressiveClassifier,
    SecondOrderPerceptron,
    merge,
)
from crossview.distributed import fit


@pytest.fixture(scope="module")
def blocks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 6))
    y = np.where(X @ rng.normal(size=6) + rng.normal(size=700) > 0, "yes", "no")
    cuts = np.sort(rng.choice(np.arange(1, 700), 9, replace=False))  # of different lengths
    return list(zip(np.split(X, cuts), np.split(y, cuts), strict=True))


def mixed_here(model, partitions, n_rounds, classes):
    """The rounds of figure 3 of McDonald et al. (2010), one after the other."""
    common = None
    for r in range(n_rounds):
        parts = []
        for partition in partitions:
            part = copy.deepcopy(model if common is None else common)
            calibration = part.calibration
            part.calibration = "none" if r else calibration
            for X, y in partition:
                part.partial_fit(X, y, classes)
            part.calibration = calibration
            parts.append(part)
        rows = [sum(len(y) for _, y in partition) for partition in partitions]
        common = merge(parts, rows, common)
    return common


def assert_same_bits(a, b):
    ours, theirs = a.get_state(), b.get_state()
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


def test_rounds_on_any_number_of_workers_are_those_of_the_paper(client, one_worker, blocks):
    classes = ["no", "yes"]
    for model, n_rounds in (
        (PassiveAggressiveClassifier(C=0.1, average=True), 2),
        (AROWClassifier(), 3),
        (SecondOrderPerceptron(covariance="diagonal"), 2),
    ):
        expected = mixed_here(model, [blocks[:3], blocks[3:6], blocks[6:]], n_rounds, classes)
        for workers in (client, one_worker):
            given = {"classes": classes, "n_partitions": 3, "n_rounds": n_rounds}
            mixed = fit(model, blocks, client=workers, **given)
            assert_same_bits(mixed.model, expected)
            assert (mixed.rows, mixed.n_rounds, mixed.n_partitions) == (700, n_rounds, 3)
        assert not hasattr(model, "classes_")


def test_blocks_may_be_delayed_or_futures_and_a_model_goes_on(client, blocks):
    start = PassiveAggressiveClassifier(C=0.1).partial_fit(*blocks[0], ["no", "yes"])
    state = copy.deepcopy(start.get_state())
    given = {"client": client, "n_partitions": 2, "n_rounds": 2}
    expected = fit(start, blocks, **given).model
    lazy = [delayed(block) for block in blocks]
    assert_same_bits(fit(start, lazy, **given).model, expected)
    assert_same_bits(fit(start, client.scatter(blocks), **given).model, expected)
    assert all(np.array_equal(state[name], array) for name, array in start.get_state().items())


def test_more_models_than_one_task_merges_are_merged_in_a_tree(client, blocks):
    X, y = (np.concatenate(each) for each in zip(*blocks, strict=True))
    small = [(X[i::11], y[i::11]) for i in range(11)]
    mixed = fit(AROWClassifier(), small, client=client, classes=["no", "yes"], n_partitions=11)
    plain = mixed_here(AROWClassifier(), [[one] for one in small], 1, ["no", "yes"])
    np.testing.assert_allclose(mixed.model.coef_, plain.coef_, rtol=1e-9)
    S = mixed.model.covariance_matrix()
    np.testing.assert_allclose(S, plain.covariance_matrix(), rtol=1e-7, atol=1e-15)


def test_rounds_end_when_held_out_rows_are_predicted_no_better(client, blocks):
    told = []
    mixed = fit(
        AROWClassifier(),
        blocks[:8],
        client=client,
        classes=["no", "yes"],
        n_partitions=2,
        held_out=blocks[8:],
        observer=lambda *about: told.append(about),
    )
    assert mixed.n_rounds == 1 + int(np.argmin(mixed.losses))
    *before, last = mixed.losses
    assert last >= 0.999 * min(before)
    assert all(b < 0.999 * a for a, b in pairwise(before))
    assert [about[0] for about in told] == list(range(1, len(told) + 1))
    assert [about[2] for about in told] == mixed.losses
    best = fit(
        *(AROWClassifier(), blocks[:8]),
        client=client,
        classes=["no", "yes"],
        n_partitions=2,
        n_rounds=mixed.n_rounds,
    )
    assert_same_bits(mixed.model, best.model)


def test_what_cannot_be_mixed_is_refused_in_one_line(client, blocks):
    pa = PassiveAggressiveClassifier()
    for model, given, match in (
        (MultiViewSVMPerf(), {}, "learns all rows at once"),
        (pa, {"classes": None}, "classes= is required"),
        (pa, {"n_partitions": 99}, "99 partitions of 10 blocks"),
        (pa, {"n_partitions": 0}, "n_partitions=0"),
        (pa, {"n_rounds": 0}, "n_rounds=0"),
        (pa, {"client": "tcp://x"}, "client= is a str"),
    ):
        options = {"client": client, "classes": ["no", "yes"], **given}
        with pytest.raises(InputError, match=match) as error:
            fit(model, blocks, **options)
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="no blocks"):
        fit(pa, [], client=client, classes=[0, 1])
    with pytest.raises(InputError, match="a block is an int"):
        fit(pa, [3], client=client, classes=[0, 1])
