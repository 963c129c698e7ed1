"""M. Herbster, M. K. Warmuth, "Tracking the Best Expert", Machine Learning 32 (1998): fixed share.

With the likelihood exp(-L_k) of the row by each expert, loss update and share update are

    ω_k <- ω_k exp(-L_k) / Σ_j ω_j exp(-L_j),    ω_k <- (1 - α) ω_k + α / K.

For α = 0 and the log loss of the mixture Σ_k ω_k q_k, the cumulative loss is at most log K above
that of the best expert.  α > 0 keeps every weight above α / K, so that an expert that becomes the
best one takes over within some log(K / α) of lost log likelihood.

A row whose label comes after those of n other rows counts 1 / (n + 1): both updates are made to
this power.  Of n + 1 mixtures that each learn every (n + 1)-th row no label comes late, and their
losses add up to at most (n + 1) log K above the best expert (M. J. Weinberger, E. Ordentlich, "On
Delayed Prediction of Individual Sequences", IEEE Transactions on Information Theory 48 (2002)); one
mixture that learns all rows would follow labels that are alike, and always be late.
"""

from crossview._jit import inlined_borrowing


@inlined_borrowing
def of_late(delay):
    """Return how much a row counts whose label came after those of so many others."""
    return 1.0 / (1.0 + delay)


@inlined_borrowing
def fixed_share(likelihood, share, alive, omega):
    """Update the weights ω of the mixture; those of dropped experts stay at 0."""
    K, total, n_alive = omega.shape[0], 0.0, 0
    for k in range(K):
        omega[k] *= likelihood[k]
        total += omega[k]
        n_alive += alive[k]
    if not total > 0.0:  # no expert thought this row possible: begin anew
        for k in range(K):
            omega[k] = alive[k] / n_alive
        return
    for k in range(K):
        omega[k] = (1.0 - share) * omega[k] / total + share * alive[k] / n_alive
