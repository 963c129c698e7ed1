"""The view of each user: the features of a row, crossed with its user."""
