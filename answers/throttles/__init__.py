"""A4: replication throttles and moves of replicas (KIP-73)."""
