"""What ends a collector, said in a sentence that names the way out."""


class CollectorError(Exception):
    """The collector cannot go on; positions are those of the last acknowledged lines."""
