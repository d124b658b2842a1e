"""Compare who released each PRODUCE request with what the brokers themselves log at DEBUG (docs/truth.md)."""
