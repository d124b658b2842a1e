"""The text that Kafka 2.7 and older wrote in place of JSON."""

from tests.transforms.parse.raw_rows import TAIL, outcomes, raw
from transforms.parse.request_log import kept, parse_request_log

TEXT = (
    b"[2026-11-21 07:15:38,310] DEBUG Completed request:RequestHeader(apiKey=FETCH, apiVersion=11, "
    b"clientId=broker-2-fetcher-0, correlationId=17) -- {replica_id=2,max_wait_time=500,min_bytes=1,"
    b"max_bytes=10485760,isolation_level=0,session_id=99,session_epoch=4,topics=[],forgotten_topics_data=[],"
    b"rack_id=},response:{throttle_time_ms=0,error_code=0,session_id=99,responses=[]} from connection "
    b"127.0.0.1:9094-127.0.0.1:61040-0;totalTime:502.42,requestQueueTime:0.112,localTime:2.15,remoteTime:500.0,"
    b"throttleTime:0.0,responseQueueTime:0.04,sendTime:0.118,securityProtocol:SASL_SSL,"
    b"principal:User:CN=a,OU=b,listener:SASL_SSL,clientInformation:ClientInformation("
    b"softwareName=apache-kafka-java, softwareVersion=2.7.0) (kafka.request.logger)"
)
TEXT_27 = TEXT.replace(b"{replica_id=2,", b"FetchRequestData(clusterId=null, replicaId=2, ").replace(
    b"session_id=99,session_epoch=4", b"sessionId=99, sessionEpoch=4"
)
TEXT_PRODUCE = (
    b"[2026-11-21 07:15:38,310] DEBUG Completed request:RequestHeader(apiKey=PRODUCE, apiVersion=8, "
    b"clientId=null, correlationId=6) -- {acks=-1,timeout=30000,partitionSizes=[orders-0=15514]},"
    b"response:null from connection [::1]:9094-[::1]:61040-0;totalTime:2.42,requestQueueTime:0.112,"
    b"localTime:2.15,"
    b"remoteTime:0.0,responseQueueTime:0.04,sendTime:0.118,securityProtocol:PLAINTEXT,principal:User:ANONYMOUS,"
    b"listener:PLAINTEXT (kafka.request.logger)"
)
TEXTS = [TEXT, TEXT_27, TEXT_PRODUCE]


def test_the_text_of_kafka_2_7_and_older_gives_header_times_session_and_kind(spark):
    parsed = parse_request_log(raw(spark, TEXTS))
    rows = sorted(kept(parsed).collect(), key=lambda row: row.position)

    fetch, newer, produce = rows
    for row in (fetch, newer):
        assert (row.api, row.api_version, row.client_id, row.correlation_id) == (
            "FETCH",
            11,
            "broker-2-fetcher-0",
            17,
        )
        assert (row.kind, row.follower_id, row.session_id, row.session_epoch) == ("follower", 2, 99, 4)
        assert (row.total_ms, row.remote_ms, row.throttle_ms, row.send_ms) == (502.42, 500.0, 0.0, 0.118)
        assert (row.principal, row.listener, row.software_version) == ("User:CN=a,OU=b", "SASL_SSL", "2.7.0")
        assert (row.partitions, row.quality_flags) == (None, ["text_form"])
    assert (produce.client_id, produce.kind, produce.throttle_ms, produce.software_name) == (
        None,
        "other",
        None,
        None,
    )


def test_text_that_is_cut_or_joined_is_quarantined(spark):
    rows = {
        "cut": TEXT[:-120],
        "no times": TEXT[:150] + TAIL,
        "joined": TEXT + TEXT,
        "bad number": TEXT.replace(b"0.112", b"0.1.2"),
    }
    parsed = parse_request_log(raw(spark, [{"value": v, "position": name} for name, v in rows.items()]))

    assert outcomes(parsed) == {
        "cut": ("quarantined", "truncated_line"),
        "no times": ("quarantined", "bad_text_form"),
        "joined": ("quarantined", "several_objects"),
        "bad number": ("quarantined", "missing_field"),
    }
