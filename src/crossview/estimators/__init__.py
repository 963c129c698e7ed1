"""scikit-learn faces: validate, call the loop, store."""
