"""A7: which follower a PRODUCE request with acks=all waited for."""
