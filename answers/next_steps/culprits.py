"""What to check for a slow broker, side or link: its network first, then the broker itself."""

from answers.next_steps.steps import SERVERS, NextStep
from schemas.rows import Row

PID = '"$(pgrep -f kafka.Kafka)"'

MOST_TIED = 3
"""The maximum number of shapes of a tie that have steps."""

BUSY_BEANS = (
    "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
    "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
    "kafka.network:type=RequestChannel,name=RequestQueueSize",
)


def of_culprit(row: Row) -> list[NextStep]:
    """Return what to check for the culprit of a window; for a tie, what to check for each of its shapes."""
    shape = row["culprit"]
    if shape == "ambiguous":
        steps = [step for part in (row["tied"] or [])[:MOST_TIED] for step in of_culprit(part)]
        return list(dict.fromkeys(steps))
    if shape == "link":
        return _of_link(row["follower_id"], row["leader_id"])
    if shape == "follower_side":
        return _of_fetching(row["broker_id"] if row["follower_id"] is None else row["follower_id"])
    if shape == "leader_side":
        return _of_serving(row["broker_id"] if row["leader_id"] is None else row["leader_id"])
    return _of_broker(row["broker_id"]) if shape == "broker" else []


def _of_link(follower: int, leader: int) -> list[NextStep]:
    return [
        _addresses(follower, leader),
        NextStep(
            f"On broker {follower}'s host: measure the network to broker {leader} without Kafka. If it is as "
            "slow, check the route: switches, firewalls, the links between the racks.",
            f"ping -c 20 BROKER_{leader}_HOST",
        ),
        NextStep(
            f"On broker {follower}'s host: look at its connections to broker {leader} for a high rtt, for "
            "retrans, and for bytes that wait in Send-Q.",
            f"ss -tin dst BROKER_{leader}_HOST",
        ),
        NextStep("On both hosts: look for traffic shaping and dropped packets.", "tc -s qdisc show"),
    ]


def _of_broker(broker: int) -> list[NextStep]:
    return [
        _addresses(broker),
        NextStep(
            f"From another broker's host: measure the network to broker {broker} without Kafka. If it is as "
            "slow, check the network card of this host and the uplink of its rack.",
            f"ping -c 20 BROKER_{broker}_HOST",
        ),
        _pauses(broker),
        _load(broker),
        _disks(broker),
    ]


def _of_fetching(broker: int) -> list[NextStep]:
    return [
        _addresses(broker),
        _sockets(broker, "What it serves is not slow, so suspect its way in: bytes that wait in Recv-Q."),
        NextStep(
            f"On broker {broker}'s host: look for a replica fetcher that uses a whole CPU. More fetchers "
            "(num.replica.fetchers) would share its work.",
            f"top -H -b -n 1 -p {PID} | grep ReplicaFetcher",
        ),
        _disks(broker),
        _pauses(broker),
    ]


def _of_serving(broker: int) -> list[NextStep]:
    return [
        _addresses(broker),
        _load(broker),
        _sockets(broker, "What it fetches is not slow, so suspect its way out: bytes that wait in Send-Q."),
        _pauses(broker),
    ]


def _addresses(*brokers: int) -> NextStep:
    named = f"broker{'s' if len(brokers) > 1 else ''} {' and '.join(map(str, brokers))}"
    pattern = f"\\(id: ({'|'.join(map(str, brokers))}) "
    return NextStep(
        f"Find the address and the rack of {named}.",
        f"kafka-broker-api-versions.sh {SERVERS} | grep -E '{pattern}'",
    )


def _sockets(broker: int, why: str) -> NextStep:
    return NextStep(
        f"On broker {broker}'s host: look at its connections for a high rtt and retrans. {why}",
        "ss -tin state established",
    )


def _load(broker: int) -> NextStep:
    beans = " ".join(f"--object-name {bean}" for bean in BUSY_BEANS)
    return NextStep(
        f"See whether broker {broker} is overloaded: network threads or request handlers that are idle for "
        "less than 0.3 of the time, or a request queue that does not drain.",
        "kafka-run-class.sh org.apache.kafka.tools.JmxTool "
        f"--jmx-url service:jmx:rmi:///jndi/rmi://BROKER_{broker}_HOST:JMX_PORT/jmxrmi {beans} "
        "--one-time true --report-format properties",
    )


def _pauses(broker: int) -> NextStep:
    return NextStep(
        f"On broker {broker}'s host: look for pauses of the garbage collector. GCT are its seconds so far, "
        "one line per second.",
        f"jstat -gcutil {PID} 1000 10",
    )


def _disks(broker: int) -> NextStep:
    return NextStep(
        f"On broker {broker}'s host: look for busy disks: %util near 100, or a high r_await or w_await.",
        "iostat -xz 1 10",
    )
