"""Is one arm better than another? Statistics whose unit is the run, and the words that may be said of them."""
