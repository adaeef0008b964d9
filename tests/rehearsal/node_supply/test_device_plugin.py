"""The device plugin's values, judged by the chart that they are for."""

from collections.abc import Mapping
from typing import Any

from infra.gpu_pools import labels
from infra.gpu_pools.device_plugin import IMAGE, VERSION, values
from tests.infra.gpu_pools.pools import pool
from tests.rehearsal.node_supply.chart import chart_values, templates, version


def unknown(given: Mapping[str, Any], known: Mapping[str, Any], above: str = "") -> list[str]:
    """Names of values that the chart does not have. What has no keys there (null, {}) takes any."""
    found = []
    for key, value in given.items():
        if key not in known:
            found.append(f"{above}{key}")
        elif isinstance(value, Mapping) and isinstance(known[key], Mapping) and known[key]:
            found += unknown(value, known[key], f"{above}{key}.")
    return found


def test_the_chart_is_the_pinned_one() -> None:
    assert version() == VERSION
    assert f"{chart_values()['image']['repository']}:v{version()}" == IMAGE


def test_every_value_is_one_that_the_chart_has() -> None:
    """Helm passes an unknown one over in silence. `nfd.enabled` is the condition of a dependency (Chart.yaml)."""
    assert unknown(values(IMAGE), chart_values()) == ["nfd.enabled"]
    assert unknown({"tollerations": [], "gfd": {"on": False}}, chart_values()) == ["tollerations", "gfd.on"]
    for name in ("mofedEnabled", "nodeSelector", "tolerations", "image.pullPolicy"):
        assert f".Values.{name}" in templates()


def test_the_charts_own_affinity_is_content_with_the_pools_label() -> None:
    """It is merged, not replaced: one of its terms must hold on every node."""
    affinity = chart_values()["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    on_node = labels("chat", pool())
    assert any(
        all(on_node.get(rule["key"]) in rule["values"] for rule in term["matchExpressions"])
        for term in affinity["nodeSelectorTerms"]
    )
