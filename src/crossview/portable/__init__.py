"""Fitted models as data, which other programs can compute with.

`crossview.portable.encoding` describes how the cells of a row become columns of views, and
`crossview.portable.scoring` how these become scores, probabilities and the prediction.  Encoders
and learners describe themselves by their method ``portable``; a learner without it is refused.
"""
