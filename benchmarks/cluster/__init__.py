"""What one executor more brings: `python -m benchmarks.cluster`."""
