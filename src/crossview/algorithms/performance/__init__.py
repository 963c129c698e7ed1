"""Learning for a measure of all rows together, by cutting planes.

J. J.-Y. Wang, "Multi-view learning for multivariate performance measures optimization",
problem (7) and Algorithm 1, with its sums corrected; for one view, T. Joachims, "A support
vector method for multivariate performance measures" (ICML 2005).

Symbols: ``f_i = sum_v w_v·x_v,i`` the score of row i; P positive and N negative rows; a labeling
has ``a`` true and ``b`` false positives and the loss ``delta``; C the price of the slack ``xi``.

    min  ½ |w|² + C xi + (C2/2) sum_(u<v) |X_u w_u - X_v w_v|²      = ½ w'H w + C xi    (7)
    xi = max(0, max over all labelings of  delta - s·f)

A labeling is a cut ``(delta, s)``: ``s`` has an entry per row, ``y_i / unit`` if the labeling is
wrong on row i and 0 elsewhere, so its difference of features is ``gamma = X's``.  Measures of
an order of the rows label pairs: ``s_i`` counts the wrong pairs of row i, over all pairs.
``H = I + C2 M'M``, and the dual over the cuts in the working set is a small quadratic program,

    max  delta·alpha - ½ alpha'G alpha,   G_ab = gamma_a'H^-1 gamma_b,  alpha >= 0,
    sum alpha <= C,   w = H^-1 sum_a alpha_a gamma_a.

The paper weighs a wrong row by 2; with weights ``w / (2 unit)`` and ``C / (2 unit)²`` in place of
C this is the published problem, with the same C2.

    cut.py           a labeling as a cutting plane, and what is found by such planes
    tables.py        losses of contingency tables, and their most violated labeling
    bins.py          ... of rows in parts, most of whose scores stay there
    additive.py      ... of a loss that is a sum over rows or pairs
    rankings.py      ... of average precision; monotone.py: the search in it and in the G-mean
    problem.py       from the name of a measure to its search
    disagreement.py  M'M; inverse.py: H^-1, by columns or rows
    program.py       the dual; working_set.py: its cuts
    joint.py         all views at once
    alternating.py   Algorithm 1 as printed, one view after the other
"""
