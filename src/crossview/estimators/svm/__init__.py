"""Multi-view support vector machines that are trained for a measure."""
