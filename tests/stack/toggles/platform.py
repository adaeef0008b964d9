"""Toggles of the network, the cluster and what every resource carries."""

from tests.stack.toggles.toggle import Toggle

_ZONES = ["us-west-2a", "us-west-2b"]
_SUBNETS = tuple(f"Subnet network-{scope}-{zone}" for scope in ("private", "public") for zone in _ZONES)
_PROTECTED = ("Cluster cluster", "Vpc network", "Bucket models")
_SUBNETS_OF_C = ("Subnet network-private-us-west-2c", "Subnet network-public-us-west-2c")

_NETWORK = (
    Toggle(path="network.cidr", value="10.80.0.0/16", replaces=("Vpc network", *_SUBNETS)),
    Toggle(
        path="network.zones",
        value=[*_ZONES, "us-west-2c"],
        adds=_SUBNETS_OF_C,
        changes=("VpcEndpoint network-s3", "Route network-private-us-west-2c-default"),
    ),
    # anywhere in the list: a zone's letter decides its addresses (docs/decisions/0002)
    Toggle(
        path="network.zones",
        value=["us-west-2c", *_ZONES],
        adds=_SUBNETS_OF_C,
        changes=("VpcEndpoint network-s3", "Route network-private-us-west-2c-default"),
    ),
    Toggle(
        path="network.zones",
        value=_ZONES,
        stack="prod",
        removes=_SUBNETS_OF_C,
        changes=("VpcEndpoint network-s3", "NatGateway network-nat-us-west-2c"),
    ),
    Toggle(
        path="network.zones",
        value=["us-west-2a", "us-west-2c"],
        refused='cluster.zones: "us-west-2b"; did you mean us-west-2c?',
    ),
    Toggle(
        path="network.nat",
        value="per-zone",
        changes=("NatGateway network-nat-us-west-2b", "Route network-private-us-west-2b-default"),
    ),
    Toggle(
        path="network.nat",
        value="single",
        stack="prod",
        changes=("NatGateway network-nat-us-west-2b", "Route network-private-us-west-2b-default"),
    ),
    Toggle(
        path="network.interfaceEndpoints",
        value=["sts", "logs"],
        changes=("SecurityGroup network-endpoints", "VpcEndpoint network-sts", "VpcEndpoint network-logs"),
    ),
    Toggle(
        path="network.interfaceEndpoints",
        value=["ecr.api", "ecr.dkr", "sts", "eks-auth"],
        stack="prod",
        changes=("VpcEndpoint network-logs",),
    ),
)

_CONTROL_PLANE = (
    Toggle(
        path="name",
        value="inference-two",
        replaces=("Cluster cluster", "NodeGroup cluster-system"),
        changes=("Provider kubernetes", "PodIdentityAssociation gemma-server", "Addon cluster-coredns"),
        outputs=("clusterName", "clusterEndpoint", "kubeconfig"),
    ),
    Toggle(
        path="cluster.version",
        value="1.37",
        also={"karpenter.version": "1.15.2", "karpenter.digest": f"sha256:{'0' * 64}"},
        changes=("Cluster cluster", "NodeGroup cluster-system"),
    ),
    Toggle(
        path="cluster.version",
        value="1.37",
        refused='karpenter.version: "1.14.1" works up to Kubernetes 1.36, not with cluster.version 1.37',
    ),
    # the order says only where a single NAT gateway stands
    Toggle(
        path="cluster.zones",
        value=["us-west-2b", "us-west-2a"],
        changes=("NatGateway network-nat-us-west-2a", "NatGateway network-nat-us-west-2b"),
    ),
    # EKS itself then refuses the control plane's subnets in another zone
    Toggle(
        path="cluster.zones",
        value=["us-west-2a", "us-west-2c"],
        stack="prod",
        replaces=("NodeGroup cluster-system",),
        changes=("Cluster cluster",),
    ),
    Toggle(path="cluster.serviceCidr", value="172.21.0.0/16", replaces=("Cluster cluster",)),
    Toggle(path="cluster.publicAccess", value=["198.51.100.0/24"], changes=("Cluster cluster",)),
    Toggle(path="cluster.publicAccess", value=[], changes=("Cluster cluster",)),
    Toggle(path="cluster.publicAccess", value=["198.51.100.0/24"], stack="prod", changes=("Cluster cluster",)),
    Toggle(path="cluster.logs", value=["audit"], changes=("Cluster cluster",)),
    # A key can be added to a cluster, and never be changed or taken off again. The AWS provider replaces the cluster
    # for the second, and does nothing at all for the first (eks/cluster.go).
    Toggle(path="cluster.secretsKey", value="stack", changes=("Cluster cluster", "Key cluster-secrets")),
    Toggle(
        path="cluster.secretsKey",
        value="aws",
        stack="prod",
        replaces=("Cluster cluster",),
        changes=("Key cluster-secrets",),
        stopped="Key cluster-secrets",
    ),
    Toggle(
        path="cluster.secretsKey",
        value="arn:aws:kms:us-west-2:000000000000:key/1",
        stack="prod",
        changes=("Cluster cluster", "Key cluster-secrets"),
        stopped="Key cluster-secrets",
    ),
    Toggle(path="cluster.deletionProtection", value=True, changes=_PROTECTED),
    Toggle(path="cluster.deletionProtection", value=False, stack="prod", changes=_PROTECTED),
)

_TEAM = "cluster.access.platform-team"
_ROLE = "arn:aws:iam::000000000000:role/other"

_ACCESS = (
    Toggle(path=f"{_TEAM}.principal", value=_ROLE, changes=("Cluster cluster",)),
    Toggle(path=f"{_TEAM}.policy", value="admin", changes=("Cluster cluster",)),
    Toggle(
        path=f"{_TEAM}.namespaces",
        value=["chat"],
        also={f"{_TEAM}.policy": "edit"},
        changes=("Cluster cluster",),
    ),
    Toggle(path=_TEAM, value=..., changes=("Cluster cluster",)),
    Toggle(
        path="cluster.access.second",
        value={"principal": _ROLE, "policy": "view", "namespaces": []},
        changes=("Cluster cluster",),
    ),
)

_ADDONS = tuple(
    Toggle(path=f"cluster.addons.{key}", value="v1.2.3-eksbuild.4", changes=(f"Addon {name}",))
    for key, name in {
        "vpcCni": "cluster-vpc-cni",
        "kubeProxy": "cluster-kube-proxy",
        "podIdentityAgent": "cluster-eks-pod-identity-agent",
        "coredns": "cluster-coredns",
        "metricsServer": "cluster-metrics-server",
        "mountpointS3": "mountpoint-aws-mountpoint-s3-csi-driver",
    }.items()
)

_SYSTEM_NODES = (
    Toggle(path="cluster.systemNodes.instanceTypes", value=["m7i.xlarge"], replaces=("NodeGroup cluster-system",)),
    Toggle(path="cluster.systemNodes.count", value=3, changes=("NodeGroup cluster-system",)),
    Toggle(path="cluster.systemNodes.diskGib", value=100, changes=("LaunchTemplate cluster-system",)),
)

_EVERYWHERE = (
    Toggle(path="tags.environment", value="test", changes=("Provider aws", "LaunchTemplate cluster-system")),
    Toggle(path="tags.team", value="ml", changes=("Provider aws", "LaunchTemplate cluster-system")),
    Toggle(path="tags.project", value=..., changes=("Provider aws", "LaunchTemplate cluster-system")),
    Toggle(
        path="account.id",
        value="111122223333",
        refused='account.deployer: "arn:aws:iam::000000000000:role/vllm-eks-deployer" is not of account.id'
        " 111122223333",
    ),
    Toggle(
        path="account.id",
        value="111122223333",
        also={"account.deployer": "arn:aws:iam::111122223333:role/vllm-eks-deployer"},
        changes=("Provider aws",),
        outputs=("account", "imagePrefixes"),
    ),
    Toggle(
        path="account.deployer",
        value=_ROLE,
        # EKS makes the first deployer admin by itself and never moves that
        changes=("BucketPolicy models-policy",),
    ),
)

PLATFORM = (*_NETWORK, *_CONTROL_PLANE, *_ACCESS, *_ADDONS, *_SYSTEM_NODES, *_EVERYWHERE)
