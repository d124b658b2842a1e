"""Is one arm better than another? Statistics whose unit is the run, and what may be said of them."""
