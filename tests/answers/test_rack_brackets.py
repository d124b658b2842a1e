"""The racks in a heat map of broker pairs."""

from itertools import combinations, pairwise

import pytest

from answers.slow_links.figures import heat_map
from answers.slow_links.matrix import Matrix
from answers.slow_links.rack_brackets import with_racks
from answers.slow_links.racks import by_rack

HOSTILE = '<a href="javascript:alert(1)">r</a>'


CELL = {"rtt_ms": 1.5, "estimator": "p10", "n": 99, "rtt_low_ms": 1.4, "rtt_high_ms": 1.6}
CELL |= {"rtt_p50_ms": 1.7, "rtt_p99_ms": 2.0}


def plain(brokers):
    """Return the heat map of brokers, each of which fetches from all others."""
    cells = [[None if leader == follower else CELL for leader in brokers] for follower in brokers]
    return heat_map(Matrix(method="paired", brokers=brokers, cells=cells), (0.0, 2.0))


def drawn(racks, brokers=None):
    ordered = brokers or by_rack(racks, racks)
    return with_racks(plain(ordered), ordered, racks)


def spread(brokers, racks):
    return {broker: f"east-1{chr(97 + broker % racks)}" for broker in range(1, brokers + 1)}


def labels(figure):
    """Return the labels of the racks and their places: those of the leaders, then those of the followers."""
    named = [one for one in figure.layout.annotations if one.hovertext]
    below, right = ([one for one in named if one[axis] == "paper"] for axis in ("yref", "xref"))
    return [(one.text, one.x) for one in below], [(one.text, one.y) for one in right]


def test_without_racks_the_figure_stays_as_it_is():
    assert drawn({}, [1, 2]) == plain([1, 2])


def test_each_rack_has_a_bracket_on_both_sides_and_a_line_to_the_next():
    figure = drawn({1: "b", 2: "a", 3: "b", 4: "a", 5: "c"}, [2, 4, 1, 3, 6])

    expected = [("a", 0.5), ("b", 2.5), ("rack unknown", 4)]
    assert labels(figure) == (expected, expected)
    lines = [shape for shape in figure.layout.shapes if shape.type == "line"]
    assert [shape.x0 for shape in lines if shape.yref == "paper"] == [1.5, 3.5]
    assert [shape.y0 for shape in lines if shape.xref == "paper"] == [1.5, 3.5]
    paths = [shape.path for shape in figure.layout.shapes if shape.type == "path"]
    assert paths[:2] == ["M-0.42,-3 V-9 H1.42 V-3", "M3,-0.42 H9 V1.42 H3"]
    assert len(paths) == 6


def test_a_rack_is_the_text_of_a_user():
    (below, _) = labels(drawn({1: HOSTILE, 2: "r" * 50}))

    assert [text for text, _ in below] == ["·a href·javascr…", f"{'r' * 15}…"]
    assert {one.hovertext for one in drawn({1: "r" * 50}).layout.annotations} == {None, "r" * 40}


@pytest.mark.parametrize(("length", "text"), [(16, "r" * 16), (17, f"{'r' * 15}…")])
def test_a_label_of_16_characters_is_whole(length, text):
    (below, _) = labels(drawn({1: "r" * length}))

    assert [text for text, _ in below] == [text]


@pytest.mark.parametrize(("name", "angle"), [("east-1b", 0), ("r" * 16, -90)])
def test_all_labels_are_turned_if_one_is_wider_than_its_rack(name, angle):
    """The first rack has eight brokers, the second has one."""
    figure = drawn(dict.fromkeys(range(1, 9), "a") | {9: name})

    below = [one for one in figure.layout.annotations if one.hovertext and one.yref == "paper"]
    assert [one.textangle for one in below] == [angle, angle]


TICKS = """() => [...document.querySelectorAll(".xtick text")]
    .map((text) => text.getBoundingClientRect()).map((box) => [box.left, box.right])"""
BOXES = """() => [...document.querySelectorAll(".annotation-text")]
    .filter((text) => text.textContent.startsWith("east"))
    .map((text) => text.getBoundingClientRect()).map((box) => [box.left, box.top, box.right, box.bottom])"""
RANGES = (
    "() => ['xaxis', 'yaxis'].map((axis) => document.querySelector('.js-plotly-plot').layout[axis].range)"
)
SCALE = "() => document.querySelector('.cbfills').getBoundingClientRect().left"
CELLS = "() => { const box = document.querySelector('.hm image').getBoundingClientRect();\
    return [box.right, box.bottom]; }"


@pytest.mark.parametrize(("brokers", "racks"), [(3, 3), (9, 3), (30, 3), (30, 10)])
def test_labels_are_next_to_the_cells_and_apart_from_each_other(browser, tmp_path, brokers, racks):
    figure = drawn(spread(brokers, racks))
    page = browser.new_page(viewport={"width": 640, "height": 1000})
    figure.write_html(tmp_path / "racks.html")
    page.goto((tmp_path / "racks.html").as_uri())
    page.wait_for_selector(".hm image")

    boxes, ranges, (right, bottom) = (page.evaluate(each) for each in (BOXES, RANGES, CELLS))

    page.screenshot(path=tmp_path / "racks.png")
    assert ranges == [[-0.5, brokers - 0.5], [brokers - 0.5, -0.5]]
    assert len(boxes) == 2 * racks
    assert all(box[0] > right or box[1] > bottom for box in boxes)
    assert max(box[2] for box in boxes) < page.evaluate(SCALE) < 640
    assert max(box[3] for box in boxes) < figure.layout.height + 10
    overlaps = [
        (one, other)
        for one, other in combinations(boxes, 2)
        if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
    ]
    assert overlaps == []
    ticks = sorted(page.evaluate(TICKS))
    assert len(ticks) == brokers
    assert all(one[1] < other[0] for one, other in pairwise(ticks))


@pytest.mark.parametrize("brokers", [3, 30])
def test_a_cell_without_a_figure_is_marked_at_its_place(brokers):
    """The number of a broker is the name of a category, and would be a place in a mark."""
    figure = plain(range(1, brokers + 1))

    assert [(one.x, one.y) for one in figure.layout.annotations] == [(at, at) for at in range(brokers)]
    assert figure.data[0].x[-1] == ("broker 3" if brokers == 3 else "30")
