"""Files of performance tests as `plumbline perf-test` keeps them, with the figures a test wants."""

from datetime import UTC, datetime, timedelta

from collectors.perf_test.run import RunDescription, document, file_of, parse_arguments

BEGIN = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
ARGUMENTS = ["--topic", "t", "--num-records", "{records}", "--record-size", "512", "--throughput", "{rate}"]
MIB = 512 / 2**20
WINDOW_S = 5


def write_run(  # noqa: PLR0913 (what a run can be)
    folder,
    run,
    arm,
    latencies,
    *,
    minute=0,
    rate=1000,
    reached=None,
    exit_code=0,
    lost=0,
    warm_up_s=0.0,
    scenario="skew",
    steady=None,
    words=(),
    has_end=True,
):
    """
    Write a run whose windows have these mean latencies in ms, one each 5 s, and whose summary follows.

    `steady` are the windows of the steady state, for a tool that tells it.
    """
    told = RunDescription(run=run, arm=arm, scenario=scenario, client_version="3.9.1", warm_up_s=warm_up_s)
    started_at = BEGIN + timedelta(minutes=minute)
    achieved = rate if reached is None else reached
    in_window = achieved * WINDOW_S
    records = in_window * len(latencies)
    arguments = [of.format(records=records, rate=rate) for of in ARGUMENTS]
    client = f"client.id=c-{arm}-{minute}"
    facts = told.facts | {"started_at": _iso(started_at)}
    facts |= parse_arguments([*arguments, "--producer-props", client, *words])
    lines = [document(facts)]
    for nth, latency in enumerate(latencies, start=1):
        at = _iso(started_at + timedelta(seconds=WINDOW_S * nth)).encode()
        lines.append(at + b" " + _figures(in_window, achieved, latency, 3 * latency).encode())
    at = _iso(started_at + timedelta(seconds=WINDOW_S * len(latencies), milliseconds=10)).encode()
    mean = sum(latencies) / len(latencies)
    lines.append(at + b" " + _summary(records - lost, achieved, mean).encode())
    if steady:
        mean = sum(steady) / len(steady)
        lines.append(at + b" " + _summary(in_window * len(steady), achieved, mean, " steady state").encode())
    ended = {
        "ended_at": _iso(started_at + timedelta(seconds=WINDOW_S * len(latencies) + 1)),
        "exit_code": exit_code,
    }
    if has_end:
        lines.append(document(facts | ended))
    path = file_of(folder, told, started_at)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def _figures(records, rate, avg, highest):
    return (
        f"{records} records sent, {rate:.1f} records/sec ({rate * MIB:.2f} MB/sec), "
        f"{avg:.1f} ms avg latency, {highest:.1f} ms max latency."
    )


def _summary(records, rate, mean, word=""):
    percentiles = ", ".join(
        f"{round(times * mean)} ms {name}th"
        for times, name in ((0.9, "50"), (1.5, "95"), (2, "99"), (3, "99.9"))
    )
    return (
        f"{records}{word} records sent, {rate:.6f} records/sec ({rate * MIB:.2f} MB/sec), "
        f"{mean:.2f} ms avg latency, {3 * mean:.2f} ms max latency, {percentiles}."
    )


def _iso(at):
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
