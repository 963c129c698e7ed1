"""Pictures of results, in the style of scikit-learn's displays; they load matplotlib when drawn."""
