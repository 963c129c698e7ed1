"""What makes room in a budget, against its definition."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from crossview.algorithms.kernel.budget import merge, project, smallest_support, update_gram

SIZE = 12


def pool():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(SIZE, 2))
    beta = rng.choice([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0], size=(2, SIZE))
    return points, rbf_kernel(points, gamma=0.5), beta


def squared_distance(beta, gram, other_beta, other_gram, between):
    return float(
        sum(
            b @ gram @ b + o @ other_gram @ o - 2.0 * b @ between @ o
            for b, o in zip(beta, other_beta, strict=True)
        )
    )


def test_the_smallest_support_vector_has_the_least_norm():
    beta, gram = np.array([[3.0, 0.0, -2.0, 1.0]]), np.diag([1.0, 1.0, 1.0, 5.0])
    assert smallest_support(beta, gram, 4) == 2
    assert smallest_support(beta, np.eye(4), 4) == 3


def test_projection_is_the_closest_that_the_others_can_come():
    _, gram, beta = pool()
    before = beta.copy()
    r = smallest_support(beta, gram, SIZE)
    project(beta, gram, SIZE)
    assert not beta[:, r].any()
    lost = squared_distance(before, gram, beta, gram, gram)
    others = [k for k in range(SIZE) if k != r]
    residual = 1.0 - gram[r, others] @ np.linalg.solve(
        gram[np.ix_(others, others)], gram[others, r]
    )
    assert_allclose(lost, (before[:, r] ** 2).sum() * residual, rtol=1e-4)


def test_merging_loses_least_of_all_points_between_two():
    points, gram, beta = pool()
    before, exact, vectors = beta.copy(), gram.copy(), points.copy()
    a = smallest_support(beta, gram, SIZE)
    merged = merge(beta, gram, SIZE, vectors, 0.0)
    update_gram(gram, merged, vectors, np.uint64(vectors.shape[1]), (0.5, 0.0))
    assert_allclose(gram[merged], rbf_kernel(vectors, gamma=0.5)[merged], rtol=1e-12)
    lost = squared_distance(before, exact, beta, gram, rbf_kernel(points, vectors, gamma=0.5))
    # no point between this support vector and any other does better
    for b in range(SIZE):
        if b == a:
            continue
        for h in np.linspace(0.0, 1.0, 21):
            z = h * points[[a]] + (1.0 - h) * points[[b]]
            ka, kb = rbf_kernel(z, points[[a, b]], gamma=0.5)[0]
            pair = before[:, [a, b]]
            left = (pair @ [ka, kb]) ** 2
            whole = pair[:, 0] ** 2 + pair[:, 1] ** 2 + 2 * pair[:, 0] * pair[:, 1] * exact[a, b]
            assert lost <= (whole - left).sum() + 1e-3
