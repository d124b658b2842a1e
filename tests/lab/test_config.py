import tomllib
from xml.etree import ElementTree as ET

from lab import config


def properties(text):
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def listeners(value):
    return dict(entry.split("://") for entry in value.split(","))


def test_every_follower_is_told_the_proxy_and_the_broker_binds_what_is_behind_it(laid_out):
    for broker in laid_out.brokers:
        told = properties(config.server_properties(laid_out, broker))
        bound, advertised = listeners(told["listeners"]), listeners(told["advertised.listeners"])
        assert told["inter.broker.listener.name"] == f"PEER{broker.id}"
        assert set(bound) == set(advertised) | {"CONTROLLER"}
        for link in laid_out.links:
            if link.leader == broker.id:
                assert bound[f"PEER{link.follower}"] == f"127.0.0.1:{link.target_port}"
                assert advertised[f"PEER{link.follower}"] == f"127.0.0.1:{link.listen_port}"


def test_each_broker_is_in_a_rack_of_its_own(laid_out):
    racks = [properties(config.server_properties(laid_out, b))["broker.rack"] for b in laid_out.brokers]

    assert racks == ["east-1a", "east-1b", "east-1c"]


def test_everything_listens_on_loopback(laid_out):
    written = [config.server_properties(laid_out, broker) for broker in laid_out.brokers]
    for told in map(properties, [*written, config.telemetry_properties(laid_out)]):
        assert {where.split(":")[0] for where in listeners(told["listeners"]).values()} == {"127.0.0.1"}


def test_no_port_is_given_twice(laid_out):
    ports = [link.listen_port for link in laid_out.links]
    ports += [p for b in laid_out.brokers for p in (b.client_port, b.controller_port, b.exporter_port)]
    ports += [p for b in laid_out.brokers for p in b.peer_ports.values()]
    ports += [laid_out.telemetry_port, laid_out.telemetry_controller_port, laid_out.control_port]

    assert len(ports) == len(set(ports))


def test_rotated_logs_keep_names_the_report_knows(tmp_path):
    root = ET.fromstring(config.log4j2(tmp_path, request_log=True, client_log=True))  # noqa: S314 (ours)
    names = {a.get("fileName"): a.get("filePattern") for a in root.iter("RollingFile")}

    assert all(rotated == f"{name}.%i" for name, rotated in names.items())
    assert {name.rsplit("/")[-1] for name in names} >= {"kafka-request.log", "network-client.log"}


def test_the_request_log_can_be_off_from_the_start(tmp_path):
    levels = {}
    for is_on in (True, False):
        root = ET.fromstring(config.log4j2(tmp_path, request_log=is_on, client_log=True))  # noqa: S314 (ours)
        levels[is_on] = {x.get("name"): x.get("level") for x in root.iter("Logger")}["kafka.request.logger"]

    assert levels == {True: "DEBUG", False: "WARN"}


def test_the_overlay_is_settings_the_pipeline_loads(laid_out):
    from conf.settings import Settings  # noqa: PLC0415 (so that a broken overlay fails here alone)

    config.write_all(laid_out)
    settings = Settings.load(laid_out.settings_file)

    assert settings.telemetry.bootstrap_servers == laid_out.telemetry_bootstrap_servers
    assert [(f.kind, f.node) for f in settings.collector.files][:2] == [
        ("request-log", "broker-1"),
        ("client-log", "broker-1"),
    ]
    assert settings.collector.meta_properties == f"{laid_out.state}/broker-1/data/meta.properties"
    assert [e.url for e in settings.collector.endpoints] == [b.exporter_url for b in laid_out.brokers]


def test_a_folder_with_quotes_and_spaces_is_still_toml(laid_out, tmp_path):
    laid_out.state = tmp_path / 'a "quoted" place'

    assert tomllib.loads(config.lab_toml(laid_out))["warehouse"]["root"] == str(tmp_path / "warehouse")
