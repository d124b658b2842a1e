"""What ends a sample, said in a sentence that names the way out."""


class SampleError(Exception):
    """Nothing is left switched on by what raises it, unless its message says so."""
