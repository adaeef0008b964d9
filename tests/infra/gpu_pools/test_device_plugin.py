"""The device plugin's release. Its chart judges the values in tests/rehearsal/node_supply."""

import pytest

from infra.gpu_pools import labels
from infra.gpu_pools.device_plugin import CHART, IMAGE, REPOSITORY, VERSION, DevicePlugin, DevicePluginArgs, values
from tests.harness import record
from tests.images import NO_CACHE
from tests.infra.gpu_pools.pools import AMIS, pool

RELEASE = "kubernetes:helm.sh/v3:Release"


def test_the_image_is_the_one_that_was_given() -> None:
    given = values("mirror.example:5000/nvidia/k8s-device-plugin:v1")["image"]
    assert (given["repository"], given["tag"]) == ("mirror.example:5000/nvidia/k8s-device-plugin", "v1")


@pytest.mark.parametrize("family", AMIS)
def test_it_runs_on_the_nodes_that_do_not_have_it_built_in(family: str) -> None:
    """On no node, Karpenter thinks that it is still starting (KP#2833). Bottlerocket has the plugin itself."""
    on_node = labels("chat", pool(ami=AMIS[family]))
    selected = values(IMAGE)["nodeSelector"].items() <= on_node.items()
    assert selected == (family == "al2023")


def test_KRP_10_it_tolerates_every_taint_and_brings_no_other_daemon() -> None:
    """The chart tolerates its own key alone, and its sub-chart an Equal `present` (k8s-device-plugin#68, #1934)."""
    given = values(IMAGE)
    assert given["tolerations"] == [{"operator": "Exists"}]
    assert (given["gfd"], given["nfd"]) == ({"enabled": False}, {"enabled": False})


def test_the_release_is_pinned_and_waits_for_no_node() -> None:
    recording = record(lambda: DevicePlugin("plugin", DevicePluginArgs(images=NO_CACHE, after=[])))
    release = recording.one(RELEASE).inputs
    assert (release["chart"], release["version"]) == (CHART, VERSION)
    assert release["repositoryOpts"] == {"repo": REPOSITORY}
    assert release["namespace"] == "kube-system"
    assert release["skipAwait"] is True
