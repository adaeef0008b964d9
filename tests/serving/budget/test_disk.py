"""Disk of a node: image, caches and kept weights against the local NVMe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.budget import disk
from serving.budget.disk import Footprint, footprint, line, refusals, room, warnings
from tests.serving.situations import situation

XLARGE = {"product": "l40s", "instanceTypes": ["g6e.xlarge", "g6e.2xlarge"]}


def test_compressed_layers_stay_unless_parallel_pull_discards_them() -> None:
    assert footprint(situation(), ()).image_gib - footprint(situation(), ("parallel-pull",)).image_gib > 8


def test_weights_are_kept_by_one_technique_alone() -> None:
    assert footprint(situation(), ("streaming-loader", "node-cache")).weights == 0
    assert footprint(situation(), ("local-weights",)).weights == 30.5


def test_kept_weights_that_the_smallest_disk_cannot_hold_are_refused() -> None:
    about = situation(nodes=XLARGE, model={"sizeGib": 300})
    assert list(refusals(about, ("local-weights", "parallel-pull"))) == [
        (
            ("model", "sizeGib"),
            "disk 23.3 GiB image + 2.0 GiB caches + 300.0 GiB weights = 325.3 GiB > 212.5 GiB of local NVMe on"
            " g6e.xlarge (85 % of it)",
        )
    ]
    assert not list(refusals(about, ("parallel-pull",)))


def test_an_image_that_no_disk_can_hold_is_refused_of_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "IMAGE_UNPACKED", 300.0)
    about = situation(nodes=XLARGE)
    assert list(refusals(about, ("parallel-pull",))) == [
        (
            ("pool",),
            "disk 300.0 GiB image + 2.0 GiB caches = 302.0 GiB > 212.5 GiB of local NVMe on g6e.xlarge (85 % of it)",
        )
    ]


def test_servers_that_have_room_one_by_one_and_not_together_are_a_warning() -> None:
    about = situation(nodes={**XLARGE, "techniques": []}, model={"sizeGib": 100})
    names = ("local-weights", "parallel-pull")
    same = Footprint(about.engine.image_reference, 23.3, 2.0, 60.0)
    other = Footprint("registry.example.com/vllm:v1", 23.3, 2.0, 80.0)
    assert not list(warnings(about, names, {}))
    assert not list(warnings(about, names, {"same": same}))
    assert list(warnings(about, names, {"same": same, "other": other})) == [
        (
            ("pool",),
            "disk 46.6 GiB images + 102.0 GiB own + 144.0 GiB of other, same = 292.6 GiB > 212.5 GiB of local NVMe on"
            " g6e.xlarge (85 % of it)",
        )
    ]


def test_the_line_is_the_sum_against_the_type() -> None:
    about = situation()
    assert line(about, ("parallel-pull",), about.pool.types[0]) == (
        "23.3 GiB image + 2.0 GiB caches = 25.3 GiB of 1615 GiB of local NVMe on g7e.2xlarge"
    )


@given(sizes=st.tuples(*[st.floats(min_value=0.1, max_value=2000)] * 2).map(sorted))
def test_more_weights_never_take_less_disk_and_are_refused_exactly_beyond_the_room(sizes: list[float]) -> None:
    names = ("local-weights",)
    abouts = [situation(nodes=XLARGE, model={"sizeGib": size}) for size in sizes]
    totals = [footprint(about, names).total for about in abouts]
    assert 0 < totals[0] <= totals[1]
    for about, total in zip(abouts, totals, strict=True):
        lacking = [kind for kind in about.pool.types if total > room(kind)]
        assert len(list(refusals(about, names))) == len(lacking)
