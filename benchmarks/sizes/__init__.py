"""What a million lines weigh in each layer: `python -m benchmarks.sizes` tells it in docs/performance.md."""
