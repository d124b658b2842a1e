"""A7: which follower holds produce requests back."""
