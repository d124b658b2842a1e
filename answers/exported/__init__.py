"""The metrics that `plumbline export` serves: one module per question."""
