"""Spark's `xxhash64` in Python."""

from xxhash import xxh64_intdigest

SEED = 42


def xxhash64(*texts: str | None, seed: int = SEED) -> int:
    """
    Return the hash of some columns, as Spark's `xxhash64`; NULL leaves the hash unchanged.

    `seed` is the hash of the columns before them.

    >>> xxhash64("lab", None, "topic"), xxhash64("topic", seed=xxhash64("lab"))
    (-2351243728675616522, -2351243728675616522)
    """
    digest = seed
    for text in texts:
        digest = digest if text is None else xxh64_intdigest(text.encode(errors="replace"), digest)
    return digest - (digest >> 63 << 64)
