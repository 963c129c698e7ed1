"""scikit-learn estimators: validate the input, call the learning loop, store the result."""
