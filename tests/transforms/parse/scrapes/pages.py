"""Records of pages, and the samples of an outcome."""

from transforms.parse.record import Record

SCRAPED_US = 1_795_252_768_987_716
POSITION = f"broker-1/scrape/{SCRAPED_US}710"


def record(value, **fields):
    return Record(**({"value": value, "cluster": "prod", "node": "broker-1", "position": POSITION} | fields))


def samples(outcome):
    """Return the samples as (series_id, at, value)."""
    rows = []
    for block in outcome.rows["metric_samples"]:
        ids = block.series_id.tolist()
        at = [block.at] * len(ids) if isinstance(block.at, int) else block.at.tolist()
        rows += zip(ids, at, block.value.tolist(), strict=True)
    return rows
