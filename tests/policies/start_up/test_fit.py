import csv
from pathlib import Path

import pytest

from guardrails.start_up import instances
from infra.instances import CATALOGUE
from tests.policies.conftest import UNKNOWN, found, unchecked
from tests.policies.start_up.shapes import JOB, container, deployment, gpus, pod, pool, workload

MEND = "; ask for less, or for larger instances"


def asking(count="1", **requests):
    return container(resources=gpus(count, **requests))


def of(spec, *pools, **config):
    return found("requests-fit", deployment(spec), *pools, config=config)


def test_the_sizes_are_those_of_the_catalogue():
    """The pack is of use without this program, so it has a table of its own, cut out of the program's."""
    with CATALOGUE.open() as whole, Path(instances.__file__).with_suffix(".csv").open() as cut:
        rows, own = list(csv.DictReader(whole)), list(csv.DictReader(cut))
    assert own == [{key: row[key] for key in own[0]} for row in rows]


def test_a_pod_that_fits_passes():
    assert of(pod(asking(cpu="7910m", memory="58Gi")), pool(types=("g6e.2xlarge",))) == []


@pytest.mark.parametrize(
    ("container", "said"),
    [
        (asking(cpu=8), "cpu 8 > 7.91 allocatable on g6e.2xlarge"),
        (asking(cpu="100m", memory="64Gi"), "memory 65536Mi > 59627Mi allocatable on g6e.2xlarge"),
        (asking("2"), "nvidia.com/gpu 2 > 1 allocatable on g6e.2xlarge"),
        # a limit alone is a request
        (container(resources={"limits": {"nvidia.com/gpu": 1, "cpu": "8"}}), "cpu 8 > 7.91 allocatable on g6e.2xlarge"),
        (
            container(resources={"limits": {"amd.com/gpu": 1}}),
            "amd.com/gpu 1 > 0 allocatable on g6e.2xlarge",
        ),
    ],
)
def test_what_no_node_has_is_said_with_both_figures(container, said):
    assert of(pod(container), pool(types=("g6e.2xlarge",))) == [f"it fits on no node: {said}{MEND}"]


def test_what_a_setting_of_the_node_decides_may_fit():
    slices = container(resources={"limits": {"nvidia.com/mig-1g.5gb": 1, "ephemeral-storage": "9Ti"}})
    assert of(pod(slices), pool()) == []
    assert of(pod(slices), pool(), allocatable={"g6e.2xlarge": {"ephemeral-storage": "400Gi"}}) == [
        f"it fits on no node: ephemeral-storage 9437184Mi > 409600Mi allocatable on g6e.2xlarge{MEND}"
    ]


def test_one_type_that_fits_is_enough():
    big = pod(asking(cpu="12"))
    assert of(big, pool(types=("g6e.2xlarge", "g6e.4xlarge"))) == []
    assert of(big, pool(types=("g6e.2xlarge", "g6e.xlarge"))) == [
        "it fits on no node: cpu 12 > 7.91 allocatable on g6e.2xlarge; cpu 12 > 3.92 allocatable on g6e.xlarge" + MEND
    ]


def test_a_type_that_nobody_knows_may_fit():
    assert of(pod(asking(cpu="12")), pool(types=("g6e.2xlarge", "g99.2xlarge"))) == []
    given = {"g99.2xlarge": {"cpu": "11", "nvidia.com/gpu": "1"}}
    assert of(pod(asking(cpu="12")), pool(types=("g6e.2xlarge", "g99.2xlarge")), allocatable=given) == [
        "it fits on no node: cpu 12 > 7.91 allocatable on g6e.2xlarge; cpu 12 > 11 allocatable on g99.2xlarge" + MEND
    ]


def test_sizes_and_what_agents_take_are_configured():
    spec = pod(asking(cpu="7.5"))
    assert of(spec, pool(), agents={"cpu": "410m"}) == []
    assert of(spec, pool(), agents={"cpu": "500m"}) == [
        "it fits on no node: cpu 7.5 + 0.5 of agents > 7.91 allocatable on g6e.2xlarge" + MEND
    ]
    assert of(spec, pool(), allocatable={"g6e.2xlarge": {"cpu": 7}}) == [
        "it fits on no node: cpu 7.5 > 7 allocatable on g6e.2xlarge" + MEND
    ]
    assert of(spec, pool(), allocatable={"g6e.2xlarge": {"cpu": "x"}}) == [
        "allocatable.g6e.2xlarge.cpu: no quantity of Kubernetes: 'x'"
    ]


def test_types_follow_from_family_and_product_too():
    def needs(key, *values, operator="In"):
        return {"key": f"karpenter.k8s.aws/instance-{key}", "operator": operator, "values": list(values)}

    spec = pod(asking(cpu="200"))
    many = [needs("family", "g6e")]
    assert of(spec, pool(types=None, requirements=many)) == [
        "it fits on no node: cpu 200 > 47.81 allocatable on g6e.12xlarge; cpu 200 > 63.77 allocatable on g6e.16xlarge;"
        f" cpu 200 > 95.69 allocatable on g6e.24xlarge; and 5 more types{MEND}"
    ]
    few = [needs("gpu-name", "l40s"), needs("gpu-count", "1"), needs("cpu", "33", operator="Gt")]
    assert of(spec, pool(types=None, requirements=few)) == [
        f"it fits on no node: cpu 200 > 63.77 allocatable on g6e.16xlarge{MEND}"
    ]
    assert of(spec, pool(types=None, requirements=[needs("family", "g99")])) == []


def test_a_pod_that_names_its_type_needs_no_pool():
    chosen = {"nodeSelector": {"node.kubernetes.io/instance-type": "g6e.2xlarge"}}
    assert of(pod(asking(cpu="8"), **chosen)) == [f"it fits on no node: cpu 8 > 7.91 allocatable on g6e.2xlarge{MEND}"]
    assert of(pod(asking(cpu="8"))) == []


def test_requests_are_counted_as_the_scheduler_does():
    def first(cpu, **given):
        return {"name": "first", "resources": {"requests": {"cpu": cpu}}, **given}

    server = asking(cpu="6")
    sidecar = {"restartPolicy": "Always"}
    room = pool(types=("g6e.2xlarge",))
    assert of(pod(server, initContainers=[first("7"), first("7")]), room) == []
    assert of(pod(server, initContainers=[first("7"), first("1", **sidecar)]), room) == []
    for spec, cpu in [
        (pod(server, initContainers=[first("2", **sidecar)]), "8"),
        # it runs beside the sidecar that started before it
        (pod(server, initContainers=[first("1", **sidecar), first("7")]), "8"),
        (pod(server, asking("0", cpu="2")), "8"),
        (pod(server, overhead={"cpu": "2"}), "8"),
        (pod(server, resources={"requests": {"cpu": "9"}}), "9"),
    ]:
        assert of(spec, room) == [f"it fits on no node: cpu {cpu} > 7.91 allocatable on g6e.2xlarge{MEND}"]


def test_pods_without_a_gpu_and_pods_without_requests_pass():
    assert of({"containers": [{"name": "web", "resources": {"requests": {"cpu": "999"}}}]}, pool()) == []
    for spec in (None, {}, {"containers": None}, {"containers": [{}]}, {"containers": [{"resources": None}]}):
        assert found("requests-fit", workload(JOB, spec), pool()) == []


def test_a_request_that_is_not_known_hides_no_other():
    path = "spec.template.spec.containers[0].resources.requests"
    server = deployment(pod(asking(cpu="8", memory=UNKNOWN)))
    assert unchecked("requests-fit", server, pool()) == [f"{path}.memory"]
    assert found("requests-fit", server, pool()) == [
        f"it fits on no node: cpu 8 > 7.91 allocatable on g6e.2xlarge{MEND}"
    ]
    other = deployment(pod(asking(cpu="8")), "other")
    assert len(found("requests-fit", deployment(UNKNOWN), other, pool())) == 1


def test_wrong_types_are_named_by_their_path():
    path = "spec.template.spec.containers[0].resources.requests"
    assert of(pod(asking(cpu="eight")), pool()) == [f"{path}.cpu: no quantity of Kubernetes: 'eight'"]
    assert of(pod(asking(cpu=True)), pool()) == [f"{path}.cpu: no quantity of Kubernetes: 'True'"]
    assert of(pod(asking(cpu="1.2.3")), pool()) == [f"{path}.cpu: no quantity of Kubernetes: '1.2.3'"]
    assert of(pod(asking(memory="1e999999999")), pool()) == [f"{path}.memory: no quantity of Kubernetes: '1e999999999'"]
    assert of(pod(nodeSelector="l40s"), pool()) == ["spec.template.spec.nodeSelector: expected a mapping, found a text"]
