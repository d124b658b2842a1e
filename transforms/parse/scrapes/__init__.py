"""Parser from serving.exporter scrapes to `silver.metric_scrapes`, `metric_series` and `metric_samples`."""
