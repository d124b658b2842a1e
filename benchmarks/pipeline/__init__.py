"""What the pipeline costs and how fresh it is: `python -m benchmarks.pipeline` writes docs/performance.md."""
