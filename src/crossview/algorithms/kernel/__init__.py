"""KeCo and Pegasos: kernel machines, one per view, that label the unlabeled rows for each other.

Reference: van de Wiel, Heskes, Levin, "KeCo: Kernel-based Online Co-agreement Algorithm", BNAIC
2015.  Without unlabeled rows, or with one view, it is Pegasos: Shalev-Shwartz, Singer, Srebro,
Cotter, Math. Program. 127 (2011).

Symbols: step t, row i, view n, counts α_n[j], signs z_n[j], kernel K_n; in the code β = α z.

    ŷ_n = 1/(λ_n t) sum_(j != i) α_n[j] z_n[j] K_n(x_i, x_j)  eq. (3), Algorithm 1 line 6
    c_n = sign sum_{v != n} ŷ_v                             eq. (5), co-agreement
    z_n[i] = y_i, or c_n if row i has no label              eq. (4)
    α_n[i] <- α_n[i] + 1 if z_n[i] ŷ_n < 1                  lines 8 and 9, the hinge loss (6)

What the paper leaves open:

- Several classes: one against the rest over the same draws.  The co-agreement of the views is the
  class with the highest sum of scores.
- An unlabeled row gets its sign z_n[i] from the scores of the step that draws it, and keeps it
  until it is drawn again.  sign 0 = 0: the row is counted, and has no effect until a later draw
  gives it a sign.
- All views are scored before the first of them learns.
- ``include_self`` adds the term j = i, as the authors' published code does.  An unlabeled row
  then enters with the co-agreement of the views already scored in this step and, for the views
  not yet scored, of their scores when the row was drawn last.
- A missing view is not scored, has no part in the co-agreement and learns nothing.
- A row of weight w adds w to its count.

A stream cannot alternate between labeled and unlabeled rows.  If only few rows have a label, the
unlabeled ones would soon outvote them.  So a stream learns at most ``ratio`` unlabeled rows per
labeled row, times the `trust` in their labels, and skips the others; the paper's schedule has a
third.

Regression, which the paper names (section 5), minimizes co-regularized least squares (Brefeld,
Gärtner, Scheffer, Wrobel, ICML 2006), over labeled rows S and unlabeled rows U:

    sum_n λ_n/2 |w_n|² + mean_S sum_n (y - ŷ_n)²/2 + μ mean_U sum_{u<v} (ŷ_u - ŷ_v)²/2

by steps of size η_n = c/(λ_n t) for a row of weight c.  The explicit step would diverge, as the
squared loss has no bound on its slope; so the step is implicit (Toulis and Airoldi 2017): with ŷ
of the shrunk weights, as in (3), k_n = K_n(x_i, x_i) and V views that are there,

    labeled    β_n[i] <- β_n[i] + c (y - ŷ_n) / (1 + η_n k_n)
    unlabeled  β_n[i] <- β_n[i] + c μ V g_n (m - ŷ_n),  g_n = 1 / (1 + V μ η_n k_n),
               m = sum g_v ŷ_v / sum g_v

The second is the minimum of sum_n (s_n - ŷ_n)²/(2 η_n k_n) + μ sum_{u<v} (s_u - s_v)²/2: each view
moves towards a mean of all, one that moves easily further.  Labeled and unlabeled rows alternate,
with twice their weight each, so that the minimum is that of the objective.  On a stream the ratio
needs no trust: agreement gives no label that may be wrong.

Algorithm 1 is not Pegasos: leaving out j = i it does not converge to the SVM, and it has no
intercept.  With ``include_self``, a constant added to the kernel (the intercept) and the average of
the steps (`averaged`) it does.  `rounds` is a schedule that labels unlabeled rows from converged
views instead of at each draw.

`step` holds the update of one row.  Three loops make it, which differ in where the sums over the
support vectors come from:

    gram        all kernel values are in memory; rows may be drawn again
    explicit    the kernel is a product of features: W_n = sum_j α_n[j] z_n[j] x_j
    stream      rows come once; all support vectors are kept, or as many as a budget allows
"""
