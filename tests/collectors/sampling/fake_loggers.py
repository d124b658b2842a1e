# ruff: noqa: D102, D107 (as the class says)
"""Brokers for tests of sampling."""

from collectors.sampling import record
from collectors.sampling.brokers import ChangeResult, Level

REQUEST, CLIENT, ROOT = "kafka.request.logger", "org.apache.kafka.clients.NetworkClient", "root"
REFUSED = "InvalidRequestException: Removing the log level of the root logger is not allowed"


class FakeLoggers:
    """Loggers of brokers as Kafka keeps them: one without a level of its own has its parent's."""

    def __init__(self, folder, own):
        self.folder, self.own, self.away, self.recorded = folder, own, set(), []

    def level(self, broker, logger):
        return self.own[broker].get(logger, self.own[broker].get(ROOT, "INFO"))

    def levels(self, _brokers, loggers):
        here = [broker for broker in self.own if broker not in self.away]
        found = [
            Level(broker, logger, self.level(broker, logger), self.level(broker, ROOT))
            for broker in here
            for logger in loggers
        ]
        return found, dict.fromkeys(self.away, "it is away")

    def change(self, changes):
        kept = record.read(self.folder)
        self.recorded.append(kept.levels if kept else ())
        outcomes = []
        refused = {each.broker for each in changes if (each.logger, each.to) == (ROOT, "-")}
        sent = [each for each in changes if each.broker not in self.away | refused]
        before = [self.level(each.broker, each.logger) for each in sent]
        for each, level in zip(sent, before, strict=True):
            is_done = level == each.before
            if is_done and each.to == "-":
                self.own[each.broker].pop(each.logger)
            elif is_done:
                self.own[each.broker][each.logger] = each.to
            outcomes.append(
                ChangeResult(each.broker, each.logger, is_done, self.level(each.broker, each.logger))
            )
        failures = dict.fromkeys(self.away & {each.broker for each in changes}, "it is away")
        return outcomes, failures | dict.fromkeys(refused, REFUSED)
