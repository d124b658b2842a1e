"""The headline of a report."""

from answers.leader_redirects import redirects as leader_redirects
from answers.metadata_lookups import lookups as metadata_lookups
from answers.opening import opening
from answers.partition_skew import sentences as skew
from answers.slow_links import culprits
from answers.slow_links.culprits import Headline
from answers.throttles.sentences import bad_throttles
from serving.report.answers import Answers


def headline_of(answers: Answers) -> Headline:
    """Return the sentence at the top of a report, with its evidence."""
    links = culprits.headline(
        answers.broker_rtt_culprit, answers.broker_rtt_accused, answers.broker_rtt_quiet
    )
    clients = {
        "redirect": leader_redirects.headline(answers.leader_redirect_summary),
        "skew": skew.headline(answers.partition_skew_summary),
        "metadata": metadata_lookups.headline(answers.metadata_lookup),
    }
    scenarios = {row["scenario"] for row in answers.perf_summaries}
    return opening(links, clients, scenarios, bad_throttles(answers.throttle_compliance))
