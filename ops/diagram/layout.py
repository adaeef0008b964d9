"""Where everything stands: lanes made by hand, so that each path runs straight down a column of its own.

Columns: requests, the supply of nodes, the image, the start-up cache, the weights. Lanes: outside, AWS, the VPC's edge,
the cluster, the node. A path that passes a box which is not its own does so in a channel beside it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ops.diagram.drawing import Box, Drawing, Path
from ops.markup.measure import BOLD, cut, wrapped

WIDTH = 1300
TITLE, LINE = 13, 11.5
"""Pixels of the text of boxes."""

PAD, GAP, LANE = 10, 48, 18
"""Pixels: inside a box; between rows, where arrows and their numbers are; between a frame and its first row."""

GUTTER = (46.0, 186.0)
"""Where the lanes' labels are."""


@dataclass(frozen=True)
class Words:
    """A line of text."""

    text: str
    x: float
    y: float
    kind: str
    """`title` or `line`."""


@dataclass(frozen=True)
class Placed:
    """A box, or the frame of a lane."""

    key: str
    x: float
    y: float
    width: float
    height: float
    words: tuple[Words, ...]

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.height


@dataclass(frozen=True)
class Arrow:
    """One piece of a path, with an arrow's head at its end."""

    number: int
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Badge:
    """The number of a path."""

    number: int
    x: float
    y: float


RADIUS = 10


@dataclass(frozen=True)
class Laid:
    """A whole picture of one server."""

    frames: tuple[Placed, ...]
    boxes: tuple[Placed, ...]
    arrows: tuple[Arrow, ...]
    badges: tuple[Badge, ...]
    bottom: float


REQUEST = (200.0, 370.0)
SUPPLY, WITHIN_SUPPLY = (398.0, 628.0), (432.0, 594.0)
UP, DOWN = 415.0, 611.0
"""Beside what stands within the column of supply: from Karpenter up to EC2, and from EC2 down to the node."""
IMAGE, IMAGE_SHARED, IMAGE_PAST = (656.0, 872.0), (656.0, 834.0), 853.0
CACHE = (896.0, 1070.0)
WEIGHTS, WEIGHTS_SHARED, WEIGHTS_PAST = (1090.0, 1268.0), (1090.0, 1230.0), 1249.0
"""A column, what a box in it takes when a path passes it, and where that passes."""


@dataclass(frozen=True)
class _Columns:
    """Where boxes stand and paths run: both hang on which boxes lie on their column's path."""

    spans: Mapping[str, tuple[float, float]]
    image: float
    weights: float


def _columns(drawing: Drawing) -> _Columns:
    on = {path.number: set(path.boxes) for path in drawing.paths}
    past_ecr = "ecr" in drawing.boxes and "ecr" not in on.get(2, ())
    past_loader = "loader" in drawing.boxes and "loader" not in on.get(3, ())
    private = "interfaces" in on.get(2, ())
    spans = {
        "client": REQUEST,
        "service": REQUEST,
        "proxy": REQUEST,
        "ec2": SUPPLY,
        "node": SUPPLY,
        "deployment": WITHIN_SUPPLY,
        "karpenter": WITHIN_SUPPLY,
        "registry": IMAGE,
        "ecr": IMAGE_SHARED if past_ecr else IMAGE,
        "interfaces": IMAGE if private else WITHIN_SUPPLY,
        "nat": WITHIN_SUPPLY if private else IMAGE,
        "image": IMAGE,
        "bucket": (CACHE[0], WEIGHTS[1]),
        "gateway": (CACHE[0], WEIGHTS[1]),
        "restore": CACHE,
        "cache": CACHE,
        "loader": WEIGHTS_SHARED if past_loader else WEIGHTS,
        "engine": (SUPPLY[0] if "proxy" in drawing.boxes else REQUEST[0], WEIGHTS[1]),
    }
    return _Columns(
        spans,
        IMAGE_PAST if past_ecr else sum(IMAGE_SHARED) / 2,
        WEIGHTS_PAST if past_loader else sum(WEIGHTS_SHARED) / 2,
    )


ROWS: Mapping[str, Sequence[Sequence[str]]] = {
    "outside": [("registry",)],
    "aws": [("ec2", "ecr", "bucket")],
    "vpc": [("nat", "interfaces", "gateway")],
    "cluster": [("client", "deployment"), ("service", "karpenter")],
    "node": [("node", "image", "restore", "loader"), ("cache",), ("proxy", "engine")],
}
"""Boxes by lane and row, from above."""


def laid(drawing: Drawing, top: float) -> Laid:
    """Return where everything of a drawing stands.

    Args:
        drawing: what is there.
        top: where it may begin, in pixels.
    """
    columns = _columns(drawing)
    boxes: dict[str, Placed] = {}
    starts: dict[str, float] = {}
    ends: dict[str, float] = {}
    y = top
    for lane, rows in ROWS.items():
        starts[lane] = y
        y += LANE
        label = _label(drawing.lanes.get(lane, ()), y)
        for row in rows:
            if here := [key for key in row if key in drawing.boxes]:
                placed = [_placed(key, drawing.boxes[key], columns.spans[key], y) for key in here]
                height = max(it.height for it in placed)
                boxes |= {it.key: Placed(it.key, it.x, it.y, it.width, height, it.words) for it in placed}
                y += height + GAP
        # a lane without boxes still has its label
        y = max(y, label[-1].y + GAP if label else y)
        ends[lane] = y - GAP + LANE / 2
        y = ends[lane] + GAP - LANE * 1.5
    frames = tuple(_frames(drawing, starts, ends))
    arrows = tuple(arrow for path in drawing.paths for arrow in _arrows(path, boxes, columns))
    badges = tuple(badge for arrow in arrows if (badge := _badge(arrow)))
    return Laid(frames, tuple(boxes.values()), arrows, badges, max(it.bottom for it in frames))


def _label(lines: Sequence[str], top: float) -> tuple[Words, ...]:
    left, right = GUTTER
    title, *rest = lines or ("",)
    words = [Words(cut(title, right - left, TITLE, bold=True), left, top + TITLE, "title")]
    for line in filter(None, rest):
        words += [
            Words(part, left, words[-1].y + 16 * (place + 1), "line")
            for place, part in enumerate(wrapped(line, right - left, LINE, 2))
        ]
    return tuple(words)


def _placed(key: str, box: Box, span: tuple[float, float], top: float) -> Placed:
    left, right = span
    room = right - left - 2 * PAD
    titles = wrapped(box.title, room / BOLD, TITLE, 2) or [""]
    words = [Words(it, left + PAD, top + PAD + TITLE - 2 + 16 * row, "title") for row, it in enumerate(titles)]
    for line in box.lines:
        for part in wrapped(line, room, LINE, 2):
            words.append(Words(part, left + PAD, words[-1].y + 16, "line"))
    return Placed(key, left, top, right - left, words[-1].y - top + PAD, tuple(words))


def _frames(drawing: Drawing, starts: Mapping[str, float], ends: Mapping[str, float]) -> Iterator[Placed]:
    """Each lane inside the one before it, but for the first."""
    lanes = list(ROWS)
    for depth, lane in enumerate(lanes):
        inset = 8.0 + 7 * max(0, depth - 1)
        last = lane if lane == lanes[0] else lanes[-1]
        bottom = ends[last] + (0 if lane == lanes[0] else 7 * (len(lanes) - 1 - depth)) + 3
        yield Placed(
            lane,
            inset,
            starts[lane],
            WIDTH - 2 * inset,
            bottom - starts[lane],
            _label(drawing.lanes.get(lane, ()), starts[lane] + LANE),
        )


def _arrows(path: Path, boxes: Mapping[str, Placed], columns: _Columns) -> Iterator[Arrow]:
    across = {2: columns.image, 3: columns.weights, 4: sum(CACHE) / 2, 5: sum(REQUEST) / 2}
    for one, other in zip(path.boxes, path.boxes[1:], strict=False):
        before, after = boxes[one], boxes[other]
        points: tuple[tuple[float, float], ...]
        if one == "karpenter":
            middle = before.y + before.height / 2
            points = ((before.x, middle), (UP, middle), (UP, after.bottom))
        elif before.y == after.y:
            middle = before.y + before.height / 2
            points = ((before.right, middle), (after.x, middle))
        else:
            x = across.get(path.number, DOWN if one == "ec2" else sum(WITHIN_SUPPLY) / 2)
            points = ((x, before.bottom), (x, after.y))
        yield Arrow(path.number, points)


def _badge(arrow: Arrow) -> Badge | None:
    """The number, in the middle of the longest straight piece; none where there is no room for it."""
    pieces = list(zip(arrow.points, arrow.points[1:], strict=False))
    (x1, y1), (x2, y2) = max(pieces, key=lambda it: abs(it[0][0] - it[1][0]) + abs(it[0][1] - it[1][1]))
    if abs(x1 - x2) + abs(y1 - y2) < GAP - 4:
        return None
    return Badge(arrow.number, (x1 + x2) / 2, (y1 + y2) / 2)
