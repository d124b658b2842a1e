"""Gold as Prometheus metrics, and what alerts would have made of its history."""
