"""Parts of `crossview.evaluate`: counts, slices, times, labels, and the answer."""
