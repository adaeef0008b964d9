"""The picture holds what is in the plan, in its place, and nothing lies over anything."""

from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import pytest

from ops.diagram.drawing import Drawing
from ops.diagram.layout import RADIUS, WIDTH, Placed, laid
from ops.diagram.picture import document, drawings, svg
from ops.markup.measure import BOLD, cut, width, wrapped
from tests.ops.diagram.conftest import STACKS, many

SERVED = [name for name in STACKS if name != "no server"]


def paths(drawn: Drawing) -> dict[int, tuple[str, ...]]:
    return {it.number: it.boxes for it in drawn.paths}


@pytest.fixture
def of(plan):
    """`of(server)`: the picture of a server of the plan with many."""
    return lambda server: next(it for it in drawings(plan("many")) if it.server == server)


def test_the_paths_of_the_shortest_start(plan):
    assert paths(drawings(plan("dev"))[0]) == {
        1: ("deployment", "karpenter", "ec2", "node"),
        2: ("registry", "nat", "image", "engine"),
        3: ("bucket", "gateway", "engine"),
        4: ("bucket", "gateway", "restore", "cache", "engine"),
        5: ("client", "service", "proxy", "engine"),
    }


def test_an_image_that_is_cached_in_ecr_comes_from_there_and_by_its_endpoint(plan):
    (drawn,) = drawings(plan("prod"))
    assert paths(drawn)[2] == ("registry", "ecr", "interfaces", "image", "engine")
    assert drawn.boxes["registry"].lines == ("registry-1.docker.io",)
    assert drawn.boxes["ecr"].lines == ("pull-through cache", "inference-prod/docker-hub/")


def test_the_baseline_has_neither_cache_nor_proxy_and_reads_weights_through_a_mount(of):
    drawn = of("step-0")
    assert paths(drawn)[3] == ("bucket", "gateway", "loader", "engine")
    assert paths(drawn)[5] == ("client", "service", "engine")
    assert 4 not in paths(drawn)
    assert not {"restore", "cache", "proxy"} & drawn.boxes.keys()
    assert drawn.missing == (
        "4 is not there: no start-up cache is restored",
        "the weights are read through a mount, by one stream",
    )


def test_a_cache_that_only_the_node_keeps_is_a_box_and_no_path(of):
    drawn = of("step-2")
    assert "cache" in drawn.boxes
    assert 4 not in paths(drawn)
    assert drawn.missing == ("4 is not there: no start-up cache is restored, and the node keeps what it compiled",)
    # its mount is there for auxiliary files alone
    assert "loader" in drawn.boxes
    assert paths(drawn)[3] == ("bucket", "gateway", "engine")


def test_a_server_that_sleeps_shows_who_wakes_it(of):
    drawn = of("step-5")
    assert drawn.boxes["proxy"].lines == ("tokens, paths, limits", "asks the agent: awake?")


def test_weights_that_a_node_keeps_come_by_their_copy(of):
    drawn = of("local-weights")
    assert paths(drawn)[3] == ("bucket", "gateway", "loader", "engine")
    assert drawn.boxes["loader"].title == "Weights on disk"


def test_each_server_has_a_part_of_its_own(plan):
    drawn = drawings(plan("many"))
    assert {it.server for it in drawn} == set(many()["servers"])
    text = svg(plan("many"))
    assert text.count('class="server"') == len(drawn) == 5
    assert [it.server for it in drawn if "restore" in it.boxes] == ["a-server-with-a-long-name"]


def test_a_stack_without_a_server_says_so(plan):
    text = svg(plan("no server"))
    assert "The plan has no server, so it has no cold start." in text
    assert document(plan("no server"))["servers"] == []


def test_the_order_in_which_the_engine_meets_resources_changes_nothing(plan):
    many_ = plan("many")
    assert svg(replace(many_, resources=many_.resources[::-1])) == svg(many_)


@pytest.mark.parametrize("name", SERVED)
def test_every_box_stands_for_resources_of_the_plan(plan, name):
    urns = {it.urn for it in plan(name).resources}
    for drawn in drawings(plan(name)):
        for key, box in drawn.boxes.items():
            assert box.urns, key
            assert set(box.urns) <= urns
        assert all(set(it.boxes) <= drawn.boxes.keys() for it in drawn.paths)


def overlap(one, other) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def area(it: Placed) -> tuple[float, float, float, float]:
    return (it.x, it.y, it.right, it.bottom)


def texts(it: Placed) -> list[tuple[str, tuple[float, float, float, float]]]:
    sizes = {"title": 13, "line": 11.5}
    return [
        (
            word.text,
            (word.x, word.y - 10, word.x + width(word.text, sizes[word.kind], bold=word.kind == "title"), word.y + 3),
        )
        for word in it.words
    ]


def parts(drawn: Drawing):
    found = laid(drawn, 100)
    boxes = {it.key: area(it) for it in found.boxes}
    words = [each for it in (*found.boxes, *found.frames) for each in texts(it)]
    badges = [(it.x - RADIUS, it.y - RADIUS, it.x + RADIUS, it.y + RADIUS) for it in found.badges]
    strokes = [
        (min(x1, x2) - 3, min(y1, y2) + (1 if y1 != y2 else -3), max(x1, x2) + 3, max(y1, y2) - (1 if y1 != y2 else -3))
        for it in found.arrows
        for (x1, y1), (x2, y2) in zip(it.points, it.points[1:], strict=False)
    ]
    return found, boxes, words, badges, strokes


@pytest.mark.parametrize("name", SERVED)
def test_nothing_lies_over_anything(plan, name):
    for drawn in drawings(plan(name)):
        found, boxes, words, badges, strokes = parts(drawn)
        assert boxes.keys() == drawn.boxes.keys()
        assert [it for it in combinations(boxes.items(), 2) if overlap(it[0][1], it[1][1])] == []
        assert [it for it in combinations(words, 2) if overlap(it[0][1], it[1][1])] == []
        assert [(badge, key) for badge in badges for key, box in boxes.items() if overlap(badge, box)] == []
        assert [(badge, word) for badge in badges for word in words if overlap(badge, word[1])] == []
        assert [it for it in combinations(badges, 2) if overlap(*it)] == []
        # a path ends at the edge of a box, and what it only touches it does not cross
        inner = {key: (x1 + 3, y1 + 3, x2 - 3, y2 - 3) for key, (x1, y1, x2, y2) in boxes.items()}
        assert [(stroke, key) for stroke in strokes for key, box in inner.items() if overlap(stroke, box)] == []
        assert [(stroke, word) for stroke in strokes for word in words if overlap(stroke, word[1])] == []
        assert all(box[0] >= 0 and box[2] <= WIDTH and box[3] <= found.bottom for box in boxes.values())


@pytest.mark.parametrize("name", ["dev", "staging", "prod"])
def test_no_title_of_a_committed_stack_loses_its_middle(plan, name):
    for drawn in drawings(plan(name)):
        shown = {
            it.key: " ".join(word.text for word in it.words if word.kind == "title") for it in parts(drawn)[0].boxes
        }
        assert shown == {key: box.title for key, box in drawn.boxes.items()}


@pytest.mark.parametrize("name", SERVED)
def test_every_piece_of_a_path_leads_from_its_box_to_the_next(plan, name):
    for drawn in drawings(plan(name)):
        found, boxes, *_ = parts(drawn)
        pieces = iter(found.arrows)
        for path in drawn.paths:
            for one, other in zip(path.boxes, path.boxes[1:], strict=False):
                arrow = next(pieces)
                for (x, y), key in ((arrow.points[0], one), (arrow.points[-1], other)):
                    left, top, right, bottom = boxes[key]
                    assert left - 0.1 <= x <= right + 0.1
                    assert top - 0.1 <= y <= bottom + 0.1
        assert {it.number for it in found.badges} == {it.number for it in drawn.paths}


@pytest.mark.parametrize("name", STACKS)
def test_a_picture_loads_nothing_and_says_what_it_shows(plan, name):
    root = ElementTree.fromstring(svg(plan(name)))  # noqa: S314 - our own
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    title, described = root.find(f"{space}title"), root.find(f"{space}desc")
    assert root.get("aria-labelledby") == f"{title.get('id')} {described.get('id')}"
    for drawn in drawings(plan(name)):
        assert all(f"{it.number}. {it.title}: " in described.text for it in drawn.paths)
    assert not {"script", "image", "use", "a"} & {it.tag.removeprefix(space) for it in root.iter()}
    assert "http" not in svg(plan(name)).replace("http://www.w3.org/2000/svg", "")
    assert svg(plan(name)) == svg(plan(name))


RENDERED = """[...document.querySelectorAll('g.thing')].flatMap(thing => {
  const box = thing.querySelector('rect').getBoundingClientRect();
  return [...thing.querySelectorAll('text')].filter(it => {
    const text = it.getBoundingClientRect();
    return text.width < 1 || text.left < box.left || text.right > box.right || text.bottom > box.bottom;
  }).map(it => it.textContent);
})"""
OVER = """(texts => texts.flatMap(([one, a], place) => texts.slice(place + 1).filter(([, b]) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom - 3 && b.top < a.bottom - 3)
  .map(([other]) => one + ' over ' + other)))(
  [...document.querySelectorAll('text')].map(it => [it.textContent, it.getBoundingClientRect()]))"""
BEYOND = f"""[...document.querySelectorAll('text')].filter(it => it.getBoundingClientRect().right > {WIDTH})
  .map(it => it.textContent)"""


@pytest.mark.parametrize("name", STACKS)
def test_a_browser_keeps_texts_in_their_boxes(plan, name, chromium, tmp_path):
    file = tmp_path / "picture.svg"
    file.write_text(svg(plan(name)), encoding="utf-8")
    chromium.open(file, WIDTH)
    assert chromium.complaints() == []
    assert chromium.asked() == []
    assert (chromium.value("document.querySelectorAll('g.thing').length") > 0) is (name != "no server")
    assert chromium.value(RENDERED) == []
    assert chromium.value(OVER) == []
    assert chromium.value(BEYOND) == []


def test_what_has_no_room_loses_its_middle():
    assert cut("abc", 100, 10) == "abc"
    shorter = cut("a-very-long-name-indeed", 60, 10)
    assert shorter.startswith("a-v")
    assert "\u2026" in shorter
    assert width(shorter, 10) <= 60
    assert width("a", 10, bold=True) == pytest.approx(width("a", 10) * BOLD)


def test_lines_break_between_words_and_are_no_more_than_asked_for():
    assert wrapped("one two three", 45, 10, 2) == ["one two", "three"]
    found = wrapped("one averyveryverylongword and more of it that has no room", 60, 10, 2)
    assert len(found) == 2
    assert all(width(it, 10) <= 60 for it in found)
    assert wrapped("", 60, 10, 2) == []
