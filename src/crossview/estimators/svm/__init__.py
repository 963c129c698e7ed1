"""Multi-view support vector machines for multivariate performance measures."""
