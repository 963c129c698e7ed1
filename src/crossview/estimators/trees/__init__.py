"""Trees on the columns of all views, boosted or randomized."""
