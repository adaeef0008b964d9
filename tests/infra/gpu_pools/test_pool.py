"""What a pool may be. Every refusal is one line, and says what is allowed."""

from typing import Any

import pytest

from infra.gpu_pools import GpuPool
from infra.node_boot import NodeBoot
from infra.section import Complaint, right_part, validated
from tests.infra.gpu_pools.pools import AMIS, CAPACITIES, pool, raw, refusals

EXPECTED_CAPACITY = "expected spot-first, on-demand, {reserved: {...}} or {static: {...}}"
AMI = "expected al2023@vYYYYMMDD or bottlerocket@vX.Y.Z"
TYPES = (
    "expected a list of EC2 instance types that carry this product, or a rule such as {gpus: 1, minMemoryGib: 64} with"
    " the keys gpus, minVcpus, maxVcpus, minMemoryGib, minNetworkGbps"
)

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"product": "l40"}, 'product: "l40"; not a GPU product that a pool may have; did you mean l40s?'),
    (
        {"product": ["l4", "l40s"]},
        'product: ["l4", "l40s"]; expected one GPU product: a100, a10g, b200, b300, h100, h200, l4, l40s,'
        " rtx-pro-server-6000",
    ),
    (
        {"instanceTypes": ["g6.xlarge", "g6e.xlarge"]},
        'instanceTypes: ["g6.xlarge", "g6e.xlarge"]; g6e.xlarge has no whole l4 GPU, did you mean g6.xlarge?',
    ),
    (
        {"instanceTypes": ["g6f.xlarge"]},
        'instanceTypes: ["g6f.xlarge"]; g6f.xlarge has no whole l4 GPU, did you mean g6.xlarge?',
    ),
    (
        {"instanceTypes": ["g6.xlarge", "g6.xlarge"]},
        'instanceTypes: ["g6.xlarge", "g6.xlarge"]; g6.xlarge stands there twice',
    ),
    ({"instanceTypes": []}, f"instanceTypes: []; {TYPES}"),
    ({"instanceTypes": "g6.xlarge"}, f'instanceTypes: "g6.xlarge"; {TYPES}'),
    ({"instanceTypes": [1]}, f"instanceTypes: [1]; {TYPES}"),
    ({"instanceTypes": {"gpu": 1}}, 'instanceTypes: {"gpu": 1}; gpu: unknown key; did you mean gpus?'),
    (
        {"instanceTypes": {"gpus": 0}},
        'instanceTypes: {"gpus": 0}; gpus: 0; expected a whole number of GPUs of one instance, 1 to 16',
    ),
    (
        {"instanceTypes": {}},
        "instanceTypes: {}; gpus: missing; expected a whole number of GPUs of one instance, 1 to 16",
    ),
    ({"capacity": "spot"}, f'capacity: "spot"; {EXPECTED_CAPACITY}'),
    ({"capacity": 3}, f"capacity: 3; {EXPECTED_CAPACITY}"),
    ({"capacity": {}}, f"capacity: {{}}; {EXPECTED_CAPACITY}"),
    ({"capacity": {"reservd": {}}}, "capacity.reservd: unknown key; did you mean reserved?"),
    (
        {"capacity": {"reserved": {"ids": []}}},
        "capacity.reserved.ids: []; expected a list of 1 to 30 capacity"
        " reservations, for example [cr-0123456789abcdef0]",
    ),
    (
        {"capacity": {"reserved": {"ids": ["ocr-1"]}}},
        'capacity.reserved.ids.0: "ocr-1"; expected a list of 1 to 30'
        " capacity reservations, for example [cr-0123456789abcdef0]",
    ),
    (
        {"capacity": {"static": {"nodes": 0, "market": "on-demand"}}, "consolidateAfter": "never"},
        "capacity.static.nodes: 0; expected a whole number of nodes, 1 to 1000",
    ),
    (
        {"capacity": {"static": {"nodes": 1}}, "consolidateAfter": "never"},
        "capacity.static.market: missing; expected spot-first or on-demand",
    ),
    (
        {"capacity": CAPACITIES["static"], "instanceTypes": ["g6.xlarge", "g6.12xlarge"]},
        'capacity: {"static": {"nodes": 1, "market": "on-demand"}}; static nodes must have the same number of GPUs, and'
        " these types have [1, 4]",
    ),
    (
        {"capacity": {"static": {"nodes": 3, "market": "on-demand"}}, "instanceTypes": ["g6.12xlarge"]},
        "maxGpus: 8; less than static.nodes 3 x 4 GPUs = 12 GPUs",
    ),
    ({"maxGpus": 0}, "maxGpus: 0; expected a whole number of GPUs, 1 to 1000"),
    (
        {"instanceTypes": ["g6.12xlarge"], "maxGpus": 2},
        "maxGpus: 2; one g6.12xlarge has 4 GPUs, so the pool could never start it",
    ),
    (
        {"ami": ...},
        "ami: missing; expected a pinned AMI alias, al2023@vYYYYMMDD or bottlerocket@vX.Y.Z: its family is"
        " the nodes' OS",
    ),
    ({"ami": "al2@v20240101"}, f'ami: "al2@v20240101"; not an AMI family whose boot is known; {AMI}'),
    ({"ami": "ami-0123456789abcdef0"}, f'ami: "ami-0123456789abcdef0"; not an AMI family whose boot is known; {AMI}'),
    ({"ami": "al2023"}, 'ami: "al2023"; has no version; expected al2023@vYYYYMMDD'),
    (
        {"ami": "al2023@v1.46.0"},
        'ami: "al2023@v1.46.0"; not an AL2023 release; expected al2023@vYYYYMMDD, for example al2023@v20260724',
    ),
    (
        {"ami": "bottlerocket@v20260724"},
        'ami: "bottlerocket@v20260724"; not a Bottlerocket release; expected'
        " bottlerocket@vX.Y.Z, for example bottlerocket@v1.46.0",
    ),
    (
        {"ami": "al2023@latest"},
        'ami: "al2023@latest"; drifts every node at each AMI release; expected al2023@vYYYYMMDD,'
        " or allowLatestAmi: true beside it",
    ),
    (
        {"rootVolumeGib": 8},
        "rootVolumeGib: 8; expected a whole number of GiB, 30 to 1000 (images and caches lie on the local NVMe)",
    ),
    (
        {"techniques": ["soci"]},
        'techniques.0: "soci"; expected a list out of image-prepull, parallel-pull (may be empty)',
    ),
    (
        {"techniques": ["image-prepull", "parallel-pull"]},
        'techniques: ["image-prepull", "parallel-pull"]; image-prepull: not together with parallel-pull until a node'
        " has shown that an image pulled past kubelet into SOCI's snapshotter is found by it",
    ),
    (
        {"techniques": ["image-prepull"], "ami": AMIS["bottlerocket"]},
        'techniques: ["image-prepull"]; image-prepull: bottlerocket has no shell; expected an al2023 image',
    ),
    (
        {"techniques": ["parallel-pull"], "ami": "al2023@v20250101"},
        'techniques: ["parallel-pull"]; parallel-pull: al2023@v20250101 is older than v20250822, the first al2023'
        " release with it",
    ),
    ({"warmNodes": -1}, "warmNodes: -1; expected a whole number of nodes, 0 to 100, that stay ready without work"),
    (
        {"capacity": CAPACITIES["static"], "warmNodes": 1},
        "warmNodes: 1; static nodes are always there, and pods make no more of them; expected 0",
    ),
    (
        {"consolidateAfter": "30s"},
        'consolidateAfter: "30s"; expected how long an empty node stays: never, or a time such as 10m or 2h',
    ),
    (
        {"capacity": CAPACITIES["static"], "consolidateAfter": "10m"},
        'consolidateAfter: "10m"; Karpenter never consolidates static nodes; expected never',
    ),
    (
        {"expireAfter": "2h"},
        'expireAfter: "2h"; expiry heeds neither budgets nor pods; expected never, or 24h and more',
    ),
    (
        {"expireAfter": "30d"},
        'expireAfter: "30d"; expected never, or the age at which a node is replaced whatever runs on it, 24h and more',
    ),
    (
        {"prices": {"g6e.xlarge": 1.0}},
        'prices: {"g6e.xlarge": 1.0}; g6e.xlarge is not a type of this pool, did you mean g6.xlarge?',
    ),
    (
        {"prices": {"g6.xlarge": "dear"}},
        'prices.g6.xlarge: "dear"; expected USD an hour, 0.01 to 1000, by type, on-demand, in this region (where the'
        " catalogue has none)",
    ),
    (
        {"minValues": 3},
        "minValues: unknown key; allowed: allowLatestAmi, ami, capacity, consolidateAfter, expireAfter,"
        " instanceTypes, maxGpus, prices, product, rootVolumeGib, techniques, updateWindow, warmNodes",
    ),
]


@pytest.mark.parametrize(("changes", "line"), WRONG, ids=lambda value: str(value)[:60])
def test_a_mistake_is_one_line(changes: dict[str, Any], line: str) -> None:
    if changes.get("product"):
        changes = {"instanceTypes": ["g6.xlarge"], **changes}
    assert refusals(**changes) == [line]


def test_a_rule_that_nothing_fits_says_what_there_is() -> None:
    assert refusals("h100", instanceTypes={"gpus": 4}) == [
        'instanceTypes: {"gpus": 4}; no type with the GPU h100 fits; there are p5.48xlarge (8 GPUs, 192 vCPUs, 2048'
        " GiB, 3200 Gbit/s), p5.4xlarge (1 GPU, 16 vCPUs, 256 GiB, 100 Gbit/s)"
    ]


def test_KRP_03_latest_needs_an_explicit_word() -> None:
    """An alias at latest drifts every node the moment that a new image is published (KP#6862)."""
    assert pool(ami="al2023@latest", allowLatestAmi=True).os_image.version == "latest"
    assert refusals(ami="al2023@latest")
    assert refusals(ami="al2023@latest", allowLatestAmi=False)


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_what_is_right_of_a_wrong_pool_can_be_read(capacity: str) -> None:
    """So that one mistake of a pool hides none between it and its servers."""
    given = raw(capacity=CAPACITIES[capacity], maxGpus="many")
    whole, complaints = validated(GpuPool, given, "pool")
    assert whole is None
    assert [str(each) for each in complaints] == ['maxGpus: "many"; expected a whole number of GPUs, 1 to 1000']
    right = right_part(GpuPool, given, {each.path for each in complaints if isinstance(each, Complaint)})
    assert right.capacity.shape == capacity
    assert [kind.gpu for kind in right.types] == ["l4"] * len(right.types)


def test_the_right_part_of_a_wrong_shape_keeps_its_other_keys() -> None:
    given = raw(capacity={"static": {"nodes": "x", "market": "on-demand"}})
    _, complaints = validated(GpuPool, given, "pool")
    right = right_part(GpuPool, given, {each.path for each in complaints})
    assert right.capacity.static is not None
    assert right.capacity.static.market == "on-demand"


def test_a_price_of_the_stack_file_goes_before_the_catalogues() -> None:
    one = pool("rtx-pro-server-6000", prices={"g7e.2xlarge": 3.5})
    price = one.price("g7e.2xlarge", "us-east-1")
    assert price is not None
    assert (price.usd, price.source) == (3.5, "stack file")
    assert one.price("g7e.4xlarge", "us-west-2") is None


def test_a_pool_boots_as_its_techniques_say() -> None:
    images = ["a:1", "b:2"]
    assert pool().boot(images) == NodeBoot(os="al2023", parallel_pull=False, prepull=())
    assert pool(techniques=["parallel-pull"]).boot(images) == NodeBoot(os="al2023", parallel_pull=True, prepull=())
    assert pool(techniques=["image-prepull"]).boot(images).prepull == ("a:1", "b:2")
    assert pool(ami=AMIS["bottlerocket"]).boot(images).os == "bottlerocket"
