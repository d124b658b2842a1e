"""What a run hands to its publisher, kept instead of sent."""

from tests.collectors.real_prometheus import read_back


class Published:
    """What a run hands to its publisher; `on_flush` may do harm between two windows."""

    def __init__(self):
        """Begin without a page."""
        self.lines, self.flushes = [], 0
        self.on_flush = lambda _: None

    def __call__(self, *_, **__):
        """Stand in for the class."""
        return self

    def check(self):
        """Be there."""

    def serve(self, *_):
        """Have no failure."""

    def abandon(self):
        """Forget nothing."""

    def send(self, line, _delivered):
        """Keep a page."""
        self.lines.append(line)

    def flush(self, *_):
        """Have every ack."""
        self.flushes += 1
        self.on_flush(self.flushes)
        return 0

    @property
    def samples(self):
        """Give all samples with their node, read by the reference parser."""
        return [(line.node, *sample) for line in self.lines for sample in read_back(line.value)]

    @property
    def positions(self):
        """Give the pages' positions."""
        return [line.position for line in self.lines]
