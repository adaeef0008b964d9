"""How many vCPUs a stack file can take at most."""

from itertools import combinations_with_replacement

import pytest

from infra.instances import catalogue
from ops.preflight.capacity.need import QUOTAS, largest, pool_parts, quota_of, system_parts

NEVER = {"updateWindow": "never"}


def rows(*names):
    return tuple(catalogue()[name] for name in names)


@pytest.fixture
def parts(asked):
    """`parts(...)`: what the dev stack's pool takes with changed keys."""

    def of(**keys):
        stack = asked(lambda settings: settings["gpuPools"]["rtx-pro-6000"].update(keys)).stack
        (found,) = [list(pool_parts(name, pool)) for name, pool in stack.settings.pools.items()]
        return {(quota.code, it.kind): (it.vcpus, str(it)) for quota, it in found}

    return of


@pytest.mark.parametrize(
    ("kind", "on_demand", "spot"),
    [
        ("g7e.2xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("gr6.4xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("vt1.3xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("p3dn.24xlarge", "L-417A185B", "L-7212CCBC"),
        ("p4de.24xlarge", "L-417A185B", "L-7212CCBC"),
        ("p5.48xlarge", "L-417A185B", "L-C4BD4855"),
        ("p5en.48xlarge", "L-417A185B", "L-C4BD4855"),
        ("p6-b200.48xlarge", "L-417A185B", None),
        ("m7i.large", "L-1216C47A", "L-34B43A08"),
        ("im4gn.large", "L-1216C47A", "L-34B43A08"),
        ("x2idn.16xlarge", None, None),
        ("hpc7a.12xlarge", None, None),
        ("inf2.xlarge", None, None),
    ],
)
def test_the_letters_of_a_type_and_of_p_its_generation_say_its_quota(kind, on_demand, spot):
    codes = {market: quota_of(kind, market) for market in ("on-demand", "spot")}
    assert {market: it and it.code for market, it in codes.items()} == {"on-demand": on_demand, "spot": spot}


def test_every_type_that_a_pool_may_have_is_in_a_quota_and_of_p6_on_spot_it_is_unknown():
    assert len({it.code for it in QUOTAS}) == len(QUOTAS) == 7
    assert [name for name in catalogue() if quota_of(name, "on-demand") is None] == []
    assert {name.partition("-")[0] for name in catalogue() if quota_of(name, "spot") is None} == {"p6"}


@pytest.mark.parametrize("gpus", range(1, 9))
def test_no_mix_of_types_has_more_vcpus_than_the_one_that_is_counted(gpus):
    kinds = rows("g7e.2xlarge", "g7e.8xlarge", "g7e.12xlarge")
    mixes = [mix for count in range(gpus + 1) for mix in combinations_with_replacement(kinds, count)]
    most = max(sum(it.vcpus for it in mix) for mix in mixes if sum(it.gpus for it in mix) <= gpus)
    found = largest(kinds, gpus)
    assert sum(kind.vcpus * count for kind, count in found.items()) == most
    assert sum(kind.gpus * count for kind, count in found.items()) <= gpus


def test_a_spot_first_pool_takes_all_of_it_in_either_market(parts):
    """The largest type counts: Karpenter may take it. A warm node lies within maxGpus, so it changes nothing."""
    expected = {
        ("L-3819A6DF", "need"): (32, "rtx-pro-6000 2 x g7e.4xlarge x 16"),
        ("L-DB2E81BA", "fall-back"): (32, "rtx-pro-6000 2 x g7e.4xlarge x 16 when Spot has none"),
    }
    assert parts(**NEVER) == expected
    assert parts(warmNodes=1, **NEVER) == expected


def test_a_changed_node_is_replaced_by_one_beside_it(parts):
    found = parts()
    assert found["L-3819A6DF", "beside"] == (16, "rtx-pro-6000 1 x g7e.4xlarge x 16 while nodes are replaced")
    assert found["L-DB2E81BA", "beside"][0] == 16


def test_an_on_demand_pool_takes_nothing_of_spot(parts):
    assert parts(capacity="on-demand", **NEVER) == {("L-DB2E81BA", "need"): (32, "rtx-pro-6000 2 x g7e.4xlarge x 16")}


def test_a_static_pool_takes_what_it_is_and_one_node_while_it_changes(parts):
    static = {"capacity": {"static": {"nodes": 1, "market": "on-demand"}}, "consolidateAfter": "never"}
    assert parts(**static) == {
        ("L-DB2E81BA", "need"): (16, "rtx-pro-6000 1 x g7e.4xlarge x 16"),
        ("L-DB2E81BA", "beside"): (16, "rtx-pro-6000 1 x g7e.4xlarge x 16 while nodes are replaced"),
    }


def test_reservations_hold_their_vcpus_already(parts):
    assert parts(capacity={"reserved": {"ids": ["cr-0123456789abcdef0"]}}) == {}


def test_system_nodes_count_by_the_largest_type_and_by_four_more_in_an_update(asked):
    def two(settings):
        settings["cluster"]["systemNodes"].update(instanceTypes=["m7i.large", "m7i.xlarge"], count=3)

    system = asked(two).stack.settings.cluster.system_nodes
    found = [(quota.code, it.kind, str(it)) for quota, it in system_parts(system, 2, {"m7i.large": 2, "m7i.xlarge": 4})]
    assert found == [
        ("L-1216C47A", "need", "system 3 x m7i.xlarge x 4"),
        ("L-1216C47A", "beside", "system 4 x m7i.xlarge x 4 while nodes are replaced"),
    ]
