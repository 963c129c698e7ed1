"""Parts of `crossview.evaluate`: counts, groups, times, labels, and the answer."""
