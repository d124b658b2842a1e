"""The configs of replication throttles (KIP-73), as requests and metrics name them."""

DIRECTIONS = ("leader", "follower")
RATES = tuple(f"{direction}.replication.throttled.rate" for direction in DIRECTIONS)
LISTS = tuple(f"{direction}.replication.throttled.replicas" for direction in DIRECTIONS)

RESOURCES = {2: "topic", 4: "broker"}
"""`ConfigResource.Type` of the two resources with throttle configs."""

SETTINGS = {"topic": LISTS, "broker": RATES}
"""The throttle configs of each resource."""

UNLIMITED = 2**63 - 1
"""The rate of an unthrottled broker (`QuotaConfig.QUOTA_BYTES_PER_SECOND_DEFAULT`)."""
