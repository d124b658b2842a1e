"""What a metric sample weighs: in Delta after maintenance, and in the blocks of a real Prometheus."""
