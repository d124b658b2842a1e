from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from lab.proxy.frames import FrameCounter


@given(st.lists(st.binary(max_size=40), max_size=20), st.data())
def test_frames_are_counted_however_the_stream_is_cut(bodies, data):
    """TCP keeps bytes and order, not boundaries; an empty frame is a frame."""
    stream = b"".join(len(body).to_bytes(4) + body for body in bodies)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    counter = FrameCounter()

    parts = zip([0, *cuts], [*cuts, len(stream)], strict=True)
    ends = [a + end for a, b in parts for end in counter.ends_in(stream[a:b])]

    wanted = list(accumulate(4 + len(body) for body in bodies))
    assert ends == wanted


def test_a_frame_counts_where_its_last_byte_is():
    counter = FrameCounter()

    assert [counter.ends_in(c) for c in (b"\0\0\0\3a", b"b", b"c\0\0\0\1", b"d")] == [
        [],
        [],
        [1],
        [1],
    ]
