"""
Log-bucket histograms as `map<int,bigint>`: bucket -> count. Any SQL engine can merge them by addition.

A bucket contains the values `gamma^(k-1) < |x| <= gamma^k` with `gamma = (1 + a) / (1 - a)`. Its value
differs from any value in it by at most `a` = 1 %. The key is `sign(x) * (k + OFFSET)`, so keys sort like
values. Bucket 0 contains all values below one nanosecond.
"""

import math

RELATIVE_ERROR = 0.01
SMALLEST_MS = 1e-6
"""One nanosecond, the resolution of the finest clock. Smaller values count as zero."""

GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
LN_GAMMA = math.log(GAMMA)
OFFSET = 1 - math.ceil(math.log(SMALLEST_MS) / LN_GAMMA)
"""The offset of every exponent; the smallest value has key 1."""

Z_95 = 1.959964
RANK_SLACK = 1e-9
"""0.07 x 100 is 7.000000000000001 in binary; without the slack its rank would be 8."""
