"""Predictions of several experts, combined while they learn.

Symbols: row t, experts k = 1 ... K, q_k the probability that expert k gives the classes of the row,
x_k its log odds (several classes: its log probabilities less their mean; of a number: its
prediction), ω the weights of the mixture, v the weights of stacking, A the sum of the curvatures.

- `stack`: the state, online Newton steps, the choice between the two combinations, pruning.
- `mixture`: fixed share.
- `two_classes`, `several_classes`, `numbers`: a row of each task, and its loop.
- `history`: the weights over time.
"""
