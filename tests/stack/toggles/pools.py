"""Toggles of the GPU pools."""

from typing import Any

from tests.stack.toggles.toggle import Toggle

POOL = "gpuPools.rtx-pro-6000"
L40S = {
    "product": "l40s",
    "instanceTypes": ["g6e.4xlarge"],
    "capacity": "on-demand",
    "maxGpus": 2,
    "ami": "al2023@v20260724",
    "rootVolumeGib": 50,
    "techniques": [],
    "warmNodes": 0,
    "consolidateAfter": "10m",
    "updateWindow": "never",
    "expireAfter": "never",
}

_DEPLOYMENT = "Deployment gemma"
_NODE_POOL, _CLASS = "NodePool gpu-pools-rtx-pro-6000", "EC2NodeClass gpu-pools-rtx-pro-6000"
_STATIC: dict[str, Any] = {
    f"{POOL}.capacity": {"static": {"nodes": 1, "market": "on-demand"}},
    f"{POOL}.consolidateAfter": "never",
    f"{POOL}.updateWindow": "never",
}
_SATURDAY = {"schedule": "0 9 * * sat", "duration": "2h"}

_WHAT = (
    Toggle(
        path="gpuPools.l40s",
        value=L40S,
        changes=("NodePool gpu-pools-l40s", "EC2NodeClass gpu-pools-l40s"),
        outputs=("gpuPools",),
    ),
    Toggle(path=POOL, value=..., refused='servers.gemma.pool: "rtx-pro-6000"; allowed: none'),
    Toggle(
        path=f"{POOL}.product",
        value="l40s",
        refused=f'{POOL}.instanceTypes: ["g7e.2xlarge", "g7e.4xlarge"]; g7e.2xlarge has no whole l40s GPU, did you'
        " mean g6e.2xlarge?; g7e.4xlarge has no whole l40s GPU, did you mean g6e.4xlarge?",
    ),
    Toggle(
        path=f"{POOL}.product",
        value="l40s",
        also={f"{POOL}.instanceTypes": ["g6e.4xlarge"]},
        changes=(_DEPLOYMENT, _NODE_POOL, "RolePolicy gemma-publisher"),
        outputs=("gpuPools", "servers"),
    ),
    # twice the network: more readers
    Toggle(
        path=f"{POOL}.instanceTypes", value=["g7e.8xlarge"], changes=(_DEPLOYMENT, _NODE_POOL), outputs=("servers",)
    ),
    *(
        Toggle(
            path=f"{POOL}.instanceTypes.{key}",
            value=value,
            also={f"{POOL}.instanceTypes": {"gpus": 1}},
            changes=(_NODE_POOL,),
            outputs=("servers",),
        )
        for key, value in {
            "gpus": 2,
            "minVcpus": 16,
            "maxVcpus": 8,
            "minMemoryGib": 128,
            "minNetworkGbps": 100,
        }.items()
    ),
    Toggle(path=f"{POOL}.maxGpus", value=4, changes=(_NODE_POOL,), outputs=("gpuPools",)),
)

_CAPACITY = (
    Toggle(path=f"{POOL}.capacity", value="on-demand", changes=(_NODE_POOL,), outputs=("gpuPools",)),
    Toggle(
        path=f"{POOL}.capacity",
        value={"reserved": {"ids": ["cr-0123456789abcdef0"]}},
        changes=(_NODE_POOL, _CLASS),
        outputs=("gpuPools",),
    ),
    Toggle(
        path=f"{POOL}.capacity.reserved.ids",
        value=["cr-0123456789abcdef1"],
        also={f"{POOL}.capacity": {"reserved": {"ids": ["cr-0123456789abcdef0"]}}},
        changes=(_CLASS,),
        outputs=("gpuPools",),
    ),
    # another object: Karpenter turns no dynamic NodePool into a static one
    Toggle(
        path=f"{POOL}.capacity.static.nodes",
        value=2,
        also=_STATIC,
        changes=(_NODE_POOL, f"{_NODE_POOL}.static"),
        outputs=("gpuPools", "servers"),
    ),
    Toggle(
        path=f"{POOL}.capacity.static.market",
        value="spot-first",
        also=_STATIC,
        changes=(f"{_NODE_POOL}.static",),
        outputs=("gpuPools", "servers"),
    ),
    Toggle(
        path=f"{POOL}.warmNodes",
        value=1,
        changes=("Deployment warm-nodes-rtx-pro-6000",),
        outputs=("gpuPools", "servers"),
    ),
    Toggle(
        path=f"{POOL}.warmNodes",
        value=2,
        refused=f"{POOL}.maxGpus: gemma 1 + warmNodes 2 x 1 = 3 GPUs > 2",
    ),
    Toggle(
        path=f"{POOL}.prices",
        value={"g7e.2xlarge": 3.5, "g7e.4xlarge": 4},
        also={f"{POOL}.warmNodes": 1},
        changes=("Deployment warm-nodes-rtx-pro-6000",),
        outputs=("gpuPools", "servers"),
    ),
)

_NODES = (
    Toggle(path=f"{POOL}.ami", value="al2023@v20260818", changes=(_CLASS,)),
    Toggle(path=f"{POOL}.ami", value="bottlerocket@v1.46.0", changes=(_CLASS, _NODE_POOL)),
    Toggle(
        path=f"{POOL}.ami",
        value="al2023@latest",
        refused=f'{POOL}.ami: "al2023@latest"; drifts every node at each AMI release; expected al2023@vYYYYMMDD, or'
        " allowLatestAmi: true beside it",
    ),
    Toggle(
        path=f"{POOL}.ami",
        value="al2023@latest",
        also={f"{POOL}.allowLatestAmi": True},
        changes=(_CLASS,),
    ),
    Toggle(path=f"{POOL}.allowLatestAmi", value=True, nothing="it only lets `ami` end in @latest"),
    Toggle(path=f"{POOL}.rootVolumeGib", value=100, changes=(_CLASS,)),
    Toggle(path=f"{POOL}.techniques", value=["parallel-pull"], nothing="the preset of its server asks for it already"),
    Toggle(
        path=f"{POOL}.techniques",
        value=["image-prepull"],
        also={"servers.gemma.preset": "step-3"},
        changes=(_CLASS,),
        outputs=("servers",),
    ),
)

_DISRUPTION = (
    Toggle(path=f"{POOL}.consolidateAfter", value="2h", changes=(_NODE_POOL,)),
    Toggle(path=f"{POOL}.updateWindow", value="always", changes=(_NODE_POOL,)),
    Toggle(path=f"{POOL}.updateWindow", value=_SATURDAY, changes=(_NODE_POOL,)),
    Toggle(path=f"{POOL}.updateWindow.schedule", value="30 2 * * mon-fri", changes=(_NODE_POOL,)),
    Toggle(path=f"{POOL}.updateWindow.duration", value="90m", changes=(_NODE_POOL,)),
    Toggle(path=f"{POOL}.expireAfter", value="336h", changes=(_NODE_POOL,)),
)

_KARPENTER = (
    Toggle(
        path="karpenter.version",
        value="1.15.2",
        also={"karpenter.digest": f"sha256:{'0' * 64}"},
        changes=("Release karpenter", "Release karpenter-crd", "Policy karpenter-controller-node-lifecycle"),
    ),
    Toggle(
        path="karpenter.digest",
        value=f"sha256:{'1' * 64}",
        also={"karpenter.version": "1.15.2", "karpenter.digest": f"sha256:{'0' * 64}"},
        changes=("Release karpenter",),
    ),
    Toggle(
        path="karpenter.version",
        value="1.14.2",
        refused='karpenter.version: "1.14.2"; the digest of its image is not known here; expected karpenter.digest'
        " beside it, from `crane digest public.ecr.aws/karpenter/controller:1.14.2`",
    ),
)

POOLS = (*_KARPENTER, *_WHAT, *_CAPACITY, *_NODES, *_DISRUPTION)
