"""Commands: their words, and the tools that read them."""

import re
import shlex
import subprocess

import pytest
import typer

from answers.next_steps.clients import of_lookups, of_redirect
from answers.next_steps.culprits import of_culprit
from answers.next_steps.lines import of_failed_rule, of_misplaced, of_quarantine
from answers.next_steps.steps import look_closer, quoted
from answers.next_steps.throttles import of_throttle
from answers.throttles import verdict
from conf.settings import PROJECT
from plumbline.cli import COMMANDS
from tests.answers.made_gold import HOSTILE, at
from tests.serving.report.throttle_rows import MB, throttle

NOTHING = {"culprit": None, "broker_id": None, "follower_id": None, "leader_id": None, "tied": None}
SHAPES = {
    "broker": {"broker_id": 2},
    "follower_side": {"broker_id": 2, "follower_id": 2},
    "leader_side": {"broker_id": 2, "leader_id": 2},
    "link": {"follower_id": 3, "leader_id": 1},
}
THROTTLES = [
    (verdict.INEFFECTIVE, verdict.NO_LIST),
    (verdict.INEFFECTIVE, verdict.LIST_MISSES),
    (verdict.INEFFECTIVE, verdict.NO_RATE),
    (verdict.STUCK, verdict.INBOUND),
    (verdict.STUCK, verdict.TOO_SMALL),
    (verdict.OVER_LIMIT, verdict.IN_SYNC),
    (verdict.OVER_LIMIT, verdict.FIRST_BURST),
    (verdict.OVER_LIMIT, verdict.BURSTS),
    (verdict.OVER_LIMIT, verdict.NOT_HELD),
    (verdict.LEFT_OVER, verdict.MOVE_DONE),
    (verdict.LEFT_OVER, verdict.NO_MOVE),
    (verdict.LEFT_OVER, verdict.LIST_ONLY),
]
TOOLS = {
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-reassign-partitions.sh": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-broker-api-versions.sh": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-run-class.sh": "org.apache.kafka.tools.JmxTool",
}
"""The classes that the scripts of Kafka 4.3 start."""

NAMES = [
    HOSTILE,
    "a`b`",
    "two\nlines",
    "it's $(reboot)",
    "-x",
    "\x1b[201~; reboot",
    "",
    "caf\xe9\u202e",
    "back\\n\n'quote",
]


def culprit(shape, **more):
    return NOTHING | {"culprit": shape} | SHAPES.get(shape, {}) | more


def redirect(**more):
    known = {"api": "FETCH", "topic": "orders", "client_id": "app", "software_version": "3.6.0"}
    return known | {"partitions": [0, 4], "is_hinted": False} | more


def lookups(**more):
    return {"client_id": "app", "software_version": "2.4.1", "evicted_topics": 3} | more


def rule(layer="silver"):
    return {"layer": layer, "since": at(0), "until": at(360)}


def everything():
    """Return the steps of every finding."""
    ties = [NOTHING | {"culprit": shape} | ids for shape, ids in SHAPES.items()]
    return [
        *(step for shape in SHAPES for step in of_culprit(culprit(shape))),
        *of_culprit(culprit("ambiguous", tied=ties)),
        *(
            step
            for state in THROTTLES
            for step in of_throttle(throttle(*state, inbound_bytes_per_s=7.0 * MB))
        ),
        *(step for api in ("FETCH", "PRODUCE") for step in of_redirect(redirect(api=api))),
        *of_lookups(lookups()),
        *of_quarantine(),
        *of_misplaced("/logs/1"),
        *(step for layer in ("silver", "gold") for step in of_failed_rule(rule(layer))),
        look_closer("east", at(0), at(9)),
        look_closer("east", None, None),
    ]


def commands_of(steps):
    return [step.command for step in steps if step.command]


def options():
    """Return the options that the steps use, by program."""
    used = {}
    for command in commands_of(everything()):
        words = shlex.split(command.split(" | ")[0])
        name = " ".join(words[:2]) if words[0] == "plumbline" else words[0]
        used.setdefault(name, set()).update(word.split("=")[0] for word in words if word.startswith("--"))
    return used


@pytest.mark.parametrize("name", NAMES)
def test_a_quoted_name_is_one_word_of_one_line(name):
    word = quoted(name)

    assert word.isprintable()
    read = subprocess.run(["/bin/bash", "-c", f"printf %s {word}"], capture_output=True, check=True)
    assert read.stdout.decode() == name


@pytest.mark.parametrize("name", NAMES)
def test_names_of_users_stay_one_word_of_a_command(name):
    """The topic and the client of a redirect, the source of lines, and the cluster."""
    steps = [
        *of_redirect(redirect(topic=name, client_id=name or None)),
        *of_misplaced(name),
        look_closer(name, None, None),
    ]
    show = 'plumbline() { printf \'%s\\0\' "$@"; }; kafka-topics.sh() { plumbline "$@"; }; '

    read = {
        subprocess.run(["/bin/bash", "-c", show + command], capture_output=True, check=True).stdout.decode()
        for command in commands_of(steps)
        if command.startswith(("plumbline", "kafka-topics.sh"))
    }

    ends = {f"--topic={name}", f"--node={name}=BROKER_ID", f"--cluster={name}"}
    assert {text.removesuffix("\0").split("\0")[-1] for text in read} == ends


def test_texts_have_no_invisible_characters():
    name = "x\n\x1b[2J"
    steps = [*of_redirect(redirect(topic=name, client_id=name)), *of_lookups(lookups(client_id=name))]

    assert all(step.text.isprintable() and (step.command or "").isprintable() for step in steps)


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_every_option_is_one_of_the_tool(tool):
    classes = f"{PROJECT}/.jars/kafka/*"
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", classes, TOOLS[tool], "--help"]
    helped = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    known = set(re.findall(r"--[a-z][a-z-]+", helped.stdout + helped.stderr))
    assert len(known) > 3
    assert options()[tool] <= known


def test_every_tool_is_known():
    others = {"ping", "ss", "tc", "iostat", "jstat", "top", "chronyc"}

    assert {name for name in options() if not name.startswith("plumbline")} == TOOLS.keys() | others


@pytest.mark.parametrize("name", [name for name in options() if name.startswith("plumbline")])
def test_every_option_is_one_of_plumbline(name):
    word = name.split()[1]
    command = COMMANDS[word].loaded(word)

    assert isinstance(command, typer.core.TyperCommand)
    assert options()[name] <= {option for parameter in command.params for option in parameter.opts}


def test_a_report_of_an_incident_shows_ten_minutes_around_it():
    assert look_closer("east", at(60), at(120)).command == (
        "plumbline report --conf SETTINGS.toml --cluster=east "
        "--since 2026-11-21T11:00:00Z --until 2026-11-21T11:30:00Z"
    )
    assert "--until" not in look_closer("east", at(60), None).command


def test_link_has_both_brokers_and_its_direction():
    commands = commands_of(of_culprit(culprit("link")))

    assert "ping -c 20 BROKER_1_HOST" in commands
    assert "ss -tin dst BROKER_1_HOST" in commands
    assert commands[0].endswith(r"grep -E '\(id: (3|1) '")
    assert "On broker 3's host" in of_culprit(culprit("link"))[1].text


def test_addresses_are_those_of_the_brokers():
    """The form of kafka-broker-api-versions.sh 4.x, and that of 3.x for broker 3."""
    lines = "a:9092 (id: 1 rack: x isFenced: false) -> (\nb:9092 (id: 13 rack: y) -> (\n"
    lines += "c:9092 (id: 3 rack: y) -> (\n"
    [pattern] = [step.command.split(" | ")[1] for step in of_culprit(culprit("link"))[:1]]

    found = subprocess.run(
        ["/bin/bash", "-c", pattern], input=lines, capture_output=True, text=True, check=True
    )

    assert [line[0] for line in found.stdout.splitlines()] == ["a", "c"]


@pytest.mark.parametrize("shape", ["broker", "follower_side", "leader_side"])
def test_a_broker_is_checked_at_its_own_host(shape):
    steps = of_culprit(culprit(shape))

    assert len(steps) >= 4
    assert all("broker 2" in step.text for step in steps)


def test_a_tie_has_the_steps_of_its_first_shapes_once():
    ties = [culprit("broker"), culprit("broker"), culprit("link"), culprit("leader_side")]

    steps = of_culprit(culprit("ambiguous", tied=ties))

    assert steps == [*of_culprit(culprit("broker")), *of_culprit(culprit("link"))]
    assert of_culprit(culprit("ambiguous")) == of_culprit(NOTHING) == []


def test_a_stuck_limit_is_raised_to_twice_what_is_produced():
    row = throttle(
        verdict.STUCK, verdict.INBOUND, inbound_bytes_per_s=6_500_000.5, passed_bytes_per_s=5.0 * MB
    )

    step = of_throttle(row)[0]

    assert "to at least 13.00 MB/s" in step.text
    assert step.command.endswith(
        "brokers --entity-name 1 --alter --add-config leader.replication.throttled.rate=13000001"
    )


def test_a_limit_that_is_too_small_is_doubled():
    step = of_throttle(throttle(verdict.STUCK, verdict.TOO_SMALL, inbound_bytes_per_s=None))[0]

    assert step.command.endswith("leader.replication.throttled.rate=10000000")


def test_a_tiny_quota_is_raised_until_a_round_of_responses_fits():
    """A round is 2 x 3 MB; with 15 % of a quota window of 11 s that is 3.64 MB/s."""
    row = throttle(
        verdict.OVER_LIMIT, verdict.BURSTS, limit_bytes_per_s=MB, largest_answer_bytes=3 * MB, peers=2
    )

    step = of_throttle(row)[0]

    rate = int(step.command.rpartition("=")[2])
    assert "3.64 MB/s" in step.text
    assert verdict.burst_share(row | {"limit_bytes_per_s": rate}) <= verdict.WINDOW_TOLERANCE
    assert verdict.burst_share(row | {"limit_bytes_per_s": rate - 2}) > verdict.WINDOW_TOLERANCE


def test_what_is_left_over_is_removed_for_its_direction():
    commands = commands_of(of_throttle(throttle(verdict.LEFT_OVER, verdict.MOVE_DONE, direction="follower")))

    assert commands[0].endswith("--verify")
    assert commands[1].endswith("--alter --delete-config follower.replication.throttled.rate")
    assert any(command.endswith(".replicas,follower.replication.throttled.replicas") for command in commands)


def test_an_exceeded_limit_that_is_left_over_is_removed_too():
    row = throttle(verdict.OVER_LIMIT, verdict.IN_SYNC, idle_after_s=300.0, has_moved=True)

    assert commands_of(of_throttle(row))[-1].endswith("--verify")
    assert not commands_of(of_throttle(row | {"has_moved": False}))[-1].endswith("--verify")


def test_a_compliant_throttle_needs_nothing():
    assert of_throttle(throttle(verdict.COMPLIANT)) == of_throttle(throttle(None)) == []


def test_only_clients_without_the_new_leader_in_an_error_are_to_be_upgraded():
    assert any("KIP-951" in step.text and "3.6.0" in step.text for step in of_redirect(redirect()))
    assert not any("KIP-951" in step.text for step in of_redirect(redirect(is_hinted=True)))


def test_a_client_without_a_name_is_not_searched_for():
    [_, running, _] = of_redirect(redirect(client_id=None, software_version=None))

    assert running.command is None
    assert "an unnamed client" in running.text


def test_only_evicted_topics_need_a_longer_idle_time():
    assert any("metadata.max.idle.ms" in step.text for step in of_lookups(lookups()))
    assert not any("metadata.max.idle.ms" in step.text for step in of_lookups(lookups(evicted_topics=0)))
