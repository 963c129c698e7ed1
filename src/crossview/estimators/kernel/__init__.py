"""KeCo and Pegasos: kernel machines, one per view, that learn from unlabeled rows, too."""
