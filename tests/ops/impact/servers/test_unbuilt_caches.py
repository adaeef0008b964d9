"""A key that stays is no hit where nobody has built what it names."""

import pytest

from infra.gpu_pools import POOL_LABEL
from ops.impact.compare import unfilled
from tests.ops.impact.plans import changed, pod, side, stack
from tests.ops.impact.servers.test_servers import MISSES, SECONDS, chat, keeps, lasting


@pytest.mark.parametrize(
    ("was", "now", "longer"),
    [
        ("node-cache", "node-cache,cache-restore", {"fresh node": 80.0, "warm node": 80.0}),
        ("", "node-cache,cache-restore", dict.fromkeys(SECONDS, 80.0)),
        ("", "node-cache", dict.fromkeys(SECONDS, 80.0)),
    ],
    ids=["restored", "restored and kept", "kept"],
)
def test_a_cache_that_nobody_has_built_is_no_hit_though_its_key_stays(was, now, longer):
    """A node that kept it still has it."""
    impact = changed(keeps(now), before=keeps(was), misses=MISSES)
    found = chat(impact).cache
    assert (found.outcome, found.cold, found.longer) == ("to be built", False, longer)
    assert not chat(impact).untouched
    assert chat(changed(keeps(now), before=keeps(was))).cache.longer is None


def test_a_first_restore_makes_a_fresh_node_slower_than_predicted():
    def move(document):
        keeps("node-cache,cache-restore")(document)
        pod(document)["nodeSelector"][POOL_LABEL] = "l4"

    assert lasting(changed(move, before=keeps("node-cache"), misses=MISSES)) == [("rollout", "fresh node", 256.0)]


def test_servers_that_begin_to_keep_or_restore_a_cache_are_asked_for_what_a_miss_costs():
    def sides(was, now):
        both = stack(), stack()
        for document, techniques in zip(both, (was, now), strict=True):
            keeps(techniques)(document)
        return [side(it) for it in both]

    assert unfilled(*sides("node-cache", "node-cache,cache-restore")) == ["chat"]
    assert unfilled(*sides("node-cache,cache-restore", "node-cache")) == []
