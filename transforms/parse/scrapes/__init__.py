"""Scrapes of exporters to `silver.metric_scrapes`, `metric_series` and `metric_samples`: see `parser`."""
