"""What follows a comparison by folds: refits, ablation of views, the learning curve."""
