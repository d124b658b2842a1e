"""Request lines about throttles and moves, made from Kafka's message definitions."""

from tests.transforms.parse.records import line

BROKER, TOPIC, LOGGER = 4, 2, 8
SET, DELETE, APPEND, SUBTRACT = range(4)
LEADER_RATE, FOLLOWER_RATE = (f"{side}.replication.throttled.rate" for side in ("leader", "follower"))
LEADER_LIST, FOLLOWER_LIST = (f"{side}.replication.throttled.replicas" for side in ("leader", "follower"))
TOPIC_ID = "lbkW2mcMTU2a3rA6VuNANA"


def admin(api, request, response, **changes):
    """Return a request line of an admin client; `changes` can set any field, such as `isForwarded`."""
    header = {"requestHeader.requestApiKeyName": api, "requestHeader.clientId": "reassign-tool"}
    return line(**header, request=request, response=response, **changes)


def alter_configs(*resources, error=0, api="INCREMENTAL_ALTER_CONFIGS", is_dry=False, **changes):
    """Return a request that alters configs; a resource is (type, name, [(config, operation, value)...])."""
    keys = ("name", "configOperation", "value") if api.startswith("INCREMENTAL") else ("name", None, "value")
    requested = [
        {
            "resourceType": kind,
            "resourceName": name,
            "configs": [
                {key: cell for key, cell in zip(keys, config, strict=True) if key} for config in configs
            ],
        }
        for kind, name, configs in resources
    ]
    answered = [
        {"errorCode": error, "errorMessage": None, "resourceType": kind, "resourceName": name}
        for kind, name, _ in reversed(resources)
    ]
    request, response = {"resources": requested, "validateOnly": is_dry}, {"responses": answered}
    return admin(api, request, response, **changes)


def reassign(topic, targets, *, errors=(), error=0, **changes):
    """Return a request to move partitions of a topic; `targets` are {partition: [broker...] or None}."""
    requested = [{"partitionIndex": p, "replicas": replicas} for p, replicas in targets.items()]
    codes = dict(errors)
    answered = [
        {"partitionIndex": p, "errorCode": codes.get(p, 0), "errorMessage": None} for p in reversed(targets)
    ]
    request = {"timeoutMs": 60000, "topics": [{"name": topic, "partitions": requested}]}
    response = {"throttleTimeMs": 0, "errorCode": error, "errorMessage": None}
    response["responses"] = [{"name": topic, "partitions": answered}]
    return admin("ALTER_PARTITION_REASSIGNMENTS", request, response, **changes)


def list_moves(topic, moving, **changes):
    """Return a response with moving partitions; `moving` is {partition: (replicas, adding, removing)}."""
    partitions = [
        {"partitionIndex": p, "replicas": now, "addingReplicas": adding, "removingReplicas": removing}
        for p, (now, adding, removing) in moving.items()
    ]
    response = {"throttleTimeMs": 0, "errorCode": 0, "topics": [{"name": topic, "partitions": partitions}]}
    return admin("LIST_PARTITION_REASSIGNMENTS", {"timeoutMs": 60000, "topics": None}, response, **changes)


def alter_isr(partition, isr, *, leader=1, error=0, answered_isr=None, **changes):
    """Return an ALTER_PARTITION request of version 3 with a new ISR."""
    requested = {"partitionIndex": partition, "leaderEpoch": 5, "partitionEpoch": 8}
    requested["newIsrWithEpochs"] = [{"brokerId": broker, "brokerEpoch": 16} for broker in isr]
    answered = {"partitionIndex": partition, "errorCode": error, "leaderId": leader, "leaderEpoch": 5}
    answered |= {"isr": isr if answered_isr is None else answered_isr, "partitionEpoch": 9}
    request = {"brokerId": leader, "brokerEpoch": 16}
    request["topics"] = [{"topicId": TOPIC_ID, "partitions": [requested]}]
    response = {"errorCode": 0, "topics": [{"topicId": TOPIC_ID, "partitions": [answered]}]}
    return admin("ALTER_PARTITION", request, response, **changes)
