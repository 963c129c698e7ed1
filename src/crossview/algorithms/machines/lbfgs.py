"""L-BFGS over all rows.

It minimizes what the passes of `online.learn` take steps on,

    sum_n w_n loss(score_n, y_n) + alpha sum_i t_i Ω(θ_i),

where t_i counts the rows that touch parameter i, at each of which a pass
regularizes it (all rows for a bias row, or none).  So alpha means the same
whatever the optimizer.

Reference: Nocedal, "Updating Quasi-Newton Matrices with Limited Storage", Math. Comp. 35 (1980).
"""

from collections.abc import Callable

import numpy as np

from crossview.algorithms.losses import row_losses
from crossview.algorithms.machines.batch import Gradient, add_gradient, count_touches
from crossview.algorithms.machines.state import MULTI_VIEW, Machine, Objective
from crossview.algorithms.optimizers import L2, SMOOTHING
from crossview.kernels.rows import Examples, Rows


def fit(
    rows: Rows,
    examples: Examples,
    machine: Machine,
    objective: Objective,
    n_iter: int,
    after_each: Callable[[], bool],
) -> None:
    """Minimize over the examples; stop when ``after_each`` iteration returns True."""
    from scipy.optimize import minimize  # machines that stream do without it

    problem = _Problem(rows, examples, machine, objective)

    def callback(intermediate_result):  # scipy goes by this name
        problem.set_parameters(intermediate_result.x)
        if after_each():
            raise StopIteration

    minimize(
        problem.value_and_slope,
        problem.parameters(),
        jac=True,
        method="L-BFGS-B",
        callback=callback,
        options={"maxiter": n_iter, "ftol": 1e-12, "gtol": 1e-8},
    )


class _Problem:
    """The mean objective as a function of one vector: A of the touched columns, B and c."""

    def __init__(
        self, rows: Rows, examples: Examples, machine: Machine, objective: Objective
    ) -> None:
        self.rows, self.examples, self.machine = rows, examples, machine
        self.objective = objective
        A, self.B, self.c = machine.A[:, 0], machine.B[:, 0], machine.c[0]
        counts = np.zeros(len(A))
        count_touches(rows, examples.order, machine, counts)
        self.touched = np.flatnonzero(counts)  # all other slots stay as they are
        self.A = A
        self.shape = (len(self.touched), A.shape[1])
        self.sections = np.cumsum([len(self.touched) * A.shape[1], self.B.size])
        self.dA = np.zeros(A.shape)
        self.scores = np.zeros((len(rows.indptr) - 1, len(self.c)))
        n = len(examples.order)
        of_bias = objective.alpha_bias * n if machine.model == MULTI_VIEW else 0.0
        of_columns = objective.alpha * counts[self.touched]
        self.alphas = np.concatenate(
            [np.repeat(of_columns, A.shape[1]), np.full(self.B.size, of_bias)]
        )

    def parameters(self) -> np.ndarray:
        return np.concatenate([self.A[self.touched].ravel(), self.B.ravel(), self.c])

    def set_parameters(self, theta: np.ndarray) -> None:
        a, b, c = np.split(theta, self.sections)
        self.A[self.touched] = a.reshape(self.shape)
        self.B[:], self.c[:] = b.reshape(self.B.shape), c

    def value_and_slope(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        self.set_parameters(theta)
        order, y, weight = self.examples
        loss, penalty = self.objective.loss, self.objective.penalty
        self.dA[self.touched] = 0.0
        gradient = Gradient(self.dA, np.zeros(self.B.shape), np.zeros(self.c.shape))
        add_gradient(self.rows, self.examples, self.machine, loss, gradient, self.scores)
        if not self.objective.fit_intercept:
            gradient.c[:] = 0.0
        slope = np.concatenate([self.dA[self.touched].ravel(), gradient.B.ravel(), gradient.c])
        regularized = theta[: self.sections[1]]
        l1 = np.sqrt(regularized**2 + SMOOTHING)
        size = 0.5 * regularized**2 if penalty == L2 else l1
        value = float(row_losses(loss, self.scores[order], y[order]) @ weight[order])
        value += float(self.alphas @ size)
        direction = regularized if penalty == L2 else regularized / l1
        slope[: self.sections[1]] += self.alphas * direction
        return value / len(order), slope / len(order)
