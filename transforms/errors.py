"""Error codes of Kafka's protocol (`org.apache.kafka.common.protocol.Errors`)."""

NO_ERROR = 0
NOT_LEADER = 6
"""NOT_LEADER_OR_FOLLOWER."""

NEW_LEADER_ELECTED = 108
"""The controller's error for an accepted ISR change that moves a partition away from its leader."""
