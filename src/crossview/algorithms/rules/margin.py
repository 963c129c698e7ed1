"""The wrong class of a margin, and the tolerance of a margin constraint."""

from crossview._jit import inlined_borrowing

# after an update the constraint of the row holds with equality up to rounding; with this tolerance
# the same row does not update S again because of rounding
MARGIN_TOL = 1.0 - 1e-12


@inlined_borrowing
def best_wrong(scores, true):
    """Return the class with the highest score other than the true one; the first one in a tie.

    Crammer et al. (2006), section 9: the class r of the margin w_y·x - w_r·x.
    """
    best = 1 if true == 0 else 0
    for k in range(best + 1, scores.shape[0]):
        if k != true and scores[k] > scores[best]:
            best = k
    return best
