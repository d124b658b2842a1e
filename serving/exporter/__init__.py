"""Gold as Prometheus metrics, and the back-test of alert rules."""
