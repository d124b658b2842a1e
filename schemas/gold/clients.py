"""Gold about clients, all of it: which partition a record goes to, how a moved leader is found, metadata."""

from schemas.gold.leader_redirect import LEADER_REDIRECT, LEADER_REDIRECT_SUMMARY
from schemas.gold.metadata_lookup import METADATA_LOOKUP, METADATA_LOOKUP_SUMMARY
from schemas.gold.partition_skew import PARTITION_SKEW, PARTITION_SKEW_SPAN, PARTITION_SKEW_SUMMARY

CLIENT_SUMMARIES = (
    PARTITION_SKEW_SPAN,
    PARTITION_SKEW_SUMMARY,
    LEADER_REDIRECT_SUMMARY,
    METADATA_LOOKUP_SUMMARY,
)

CLIENT_TABLES = (PARTITION_SKEW, LEADER_REDIRECT, METADATA_LOOKUP)
