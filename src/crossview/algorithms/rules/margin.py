"""The margin of a row: against the best wrong class, and when it counts as reached."""

from crossview._jit import inlined_borrowing

# after a step the row's constraint holds with equality, but for rounding; where the same row
# comes again, this part of it is no reason to count the row in S once more
MARGIN_TOL = 1.0 - 1e-12


@inlined_borrowing
def best_wrong(scores, true):
    """Return the class with the highest score other than the true one; the first of equals.

    Crammer et al. (2006), section 9: the class r of the margin w_y·x - w_r·x.
    """
    best = 1 if true == 0 else 0
    for k in range(best + 1, scores.shape[0]):
        if k != true and scores[k] > scores[best]:
            best = k
    return best
