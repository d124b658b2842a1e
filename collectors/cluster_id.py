"""Kafka's id of the observed cluster, as its brokers store it."""

from pathlib import Path

from conf.exit_codes import WrongUseError

KEY = "cluster.id"


def cluster_id_in(file: str) -> str:
    """
    Return the cluster id in a `meta.properties`, which each log folder of a broker has.

    Raises:
        WrongUseError: the file cannot be read, or does not name the id.

    """
    where = f"[collector] meta_properties = {file!r}"
    try:
        lines = Path(file).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        message = f"{where} cannot be read ({error}): name the file in a folder of the broker's `log.dirs`"
        raise WrongUseError(message) from error
    entries = {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}
    if not entries.get(KEY):
        message = f"{where} has no {KEY}: name the file in a folder of the broker's `log.dirs`"
        raise WrongUseError(message)
    return entries[KEY]
