"""Karpenter in the cluster: its definitions and its controller, two charts of one version."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pulumi
from pulumi_kubernetes.helm.v3 import Release
from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from infra.cluster.cluster import Cluster
from infra.cluster.system_nodes import SYSTEM_LABEL
from infra.karpenter.identity import KarpenterIdentity
from infra.karpenter.policies import numbers
from infra.naming import KARPENTER_NAMESPACE, KARPENTER_SERVICE_ACCOUNT
from infra.section import Section

REGISTRY = "public.ecr.aws/karpenter"

CONTROLLER_IMAGE = f"{REGISTRY}/controller"
"""Never rewritten to an image cache, and always with a digest: a cold cache answers a digest with "not found"
(containers-roadmap#2837), and without Karpenter there is no node on which it could warm up."""

DIGESTS: Mapping[str, str] = {
    "1.14.1": "sha256:723130949e4cab989461ff07d1be4cd781d63515432494641b33c235f300ae23",
}
"""Of the controller's image, by release, as charts publish them."""

_GATES_OF_1_14 = {
    "nodeRepair": False,
    "nodeOverlay": False,
    "reservedCapacity": True,
    "spotToSpotConsolidation": False,
    "staticCapacity": False,
    "capacityBuffer": False,
}

FEATURE_GATES: Mapping[str, Mapping[str, Mapping[str, bool]]] = {
    "1.14": {"featureGates": _GATES_OF_1_14},
    "1.15": {
        "featureGates": {
            **_GATES_OF_1_14,
            "terminateFirstDrift": False,
            "terminateFirstRepair": False,
            "podDeletionCostManagement": False,
        },
        "awsFeatureGates": {
            "nodeClassCEL": False,
            "draNVIDIAGPU": False,
            "draEFA": False,
            "rebootForRepair": False,
        },
    },
}
"""Every gate of a minor release, by the chart's values: what a later patch switches on must not come by itself."""

NEWEST_KUBERNETES: Mapping[str, str] = {"1.14": "1.36", "1.15": "1.37"}
"""Up to which minor of Kubernetes a minor release works (karpenter.sh, compatibility matrix)."""

REPLICAS = 2
"""One works, one waits. They stand on two nodes in two zones, or the second stays pending (aws.md 0.22)."""

WAIT_SECONDS = 600
"""Two nodes pull 60 MB and two pods take a lease: a minute. Ten, and something is wrong."""

KEPT_REVISIONS = 10
"""Helm keeps every revision as a Secret, for ever, unless it is told."""


class KarpenterSettings(Section):
    """`karpenter`."""

    digest: Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")] | None = Field(
        default=None,
        description="sha256: and 64 hex digits, of the controller's image, for a version whose digest is not known",
    )
    version: Annotated[
        str, StringConstraints(pattern=rf"^({'|'.join(map(re.escape, FEATURE_GATES))})\.(0|[1-9][0-9]*)$")
    ] = Field(
        description=f"three numbers of a release of {' or '.join(FEATURE_GATES)} without v, for example"
        f" {next(iter(DIGESTS))}"
    )

    @field_validator("version")
    @classmethod
    def _known_image(cls, value: str, info: ValidationInfo) -> str:
        if "digest" in info.data:  # else it is refused already
            known, given = DIGESTS.get(value), info.data["digest"]
            if known is None and given is None:
                raise ValueError(
                    "the digest of its image is not known here; expected karpenter.digest beside it, from"
                    f" `crane digest {CONTROLLER_IMAGE}:{value}`"
                )
            if None not in (known, given) and known != given:
                raise ValueError(f"its image has the digest {known}; expected that or no karpenter.digest")
        return value

    @property
    def minor(self) -> str:
        """The minor release, for example 1.14."""
        return self.version.rpartition(".")[0]

    @property
    def image(self) -> Mapping[str, str]:
        """The controller's image, as the chart's values name its parts.

        The chart's own are not relied on: in the source of a release they are those of the one before.
        """
        digest = self.digest or DIGESTS[self.version]
        return {"repository": CONTROLLER_IMAGE, "tag": self.version, "digest": digest}


def kubernetes_problems(settings: KarpenterSettings, kubernetes: str) -> Iterator[str]:
    """Yield what is wrong with the version beside a Kubernetes minor."""
    newest = NEWEST_KUBERNETES[settings.minor]
    if numbers(kubernetes) > numbers(newest):
        yield f'"{settings.version}" works up to Kubernetes {newest}, not with cluster.version {kubernetes}'


def values(
    settings: KarpenterSettings,
    *,
    cluster_name: pulumi.Input[str],
    queue_name: pulumi.Input[str],
    static_capacity: bool,
) -> dict[str, Any]:
    """Return the controller chart's values.

    Args:
        settings: which release.
        cluster_name: as EKS knows it.
        queue_name: a name, not an ARN.
        static_capacity: whether a pool has a fixed number of nodes, which is behind a gate.
    """
    gates = {key: dict(of) for key, of in FEATURE_GATES[settings.minor].items()}
    gates["featureGates"]["staticCapacity"] = static_capacity
    size = {"cpu": "1", "memory": "1Gi"}
    return {
        "replicas": REPLICAS,
        # set, because the chart would derive it from the release's name, and the association would miss it
        "serviceAccount": {"create": True, "name": KARPENTER_SERVICE_ACCOUNT},
        # nodes of its own would end with it on them
        "nodeSelector": {SYSTEM_LABEL: "true"},
        # of the cluster: CoreDNS runs on the system nodes too
        "dnsPolicy": "ClusterFirst",
        "controller": {"image": dict(settings.image), "resources": {"requests": size, "limits": dict(size)}},
        "settings": {
            "clusterName": cluster_name,
            "interruptionQueue": queue_name,
            # prices are asked of AWS: without them Spot offerings cannot be compared
            "isolatedVPC": False,
            # on the way of every cold start: how long it waits for further pods before it asks for a node
            "batchIdleDuration": "1s",
            **gates,
        },
    }


@dataclass(frozen=True, kw_only=True)
class KarpenterArgs:
    """Identity and cluster come whole: pods need rights, queue and nodes, and no value shows that."""

    settings: KarpenterSettings
    identity: KarpenterIdentity
    cluster: Cluster
    static_capacity: bool


class Karpenter(pulumi.ComponentResource):
    """Definitions and controller. Pools and node classes depend on this component, so they go while it still works."""

    version: pulumi.Output[str]
    """Of the controller's chart: known when the controller runs."""

    def __init__(self, name: str, args: KarpenterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:Karpenter", name, None, opts)

        # `crds/` of a chart is installed once and never upgraded, so definitions have a chart of their own. Helm must
        # never take them away by itself (atomic, clean-up): every pool would go with them, and every node.
        definitions = Release(
            f"{name}-crd",
            name="karpenter-crd",
            chart=f"oci://{REGISTRY}/karpenter-crd",
            version=args.settings.version,
            namespace=KARPENTER_NAMESPACE,
            atomic=False,
            cleanup_on_fail=False,
            timeout=WAIT_SECONDS,
            max_history=KEPT_REVISIONS,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[args.cluster]),
        )
        controller = Release(
            name,
            name="karpenter",
            chart=f"oci://{REGISTRY}/karpenter",
            version=args.settings.version,
            namespace=KARPENTER_NAMESPACE,
            values=values(
                args.settings,
                cluster_name=args.cluster.name,
                queue_name=args.identity.queue_name,
                static_capacity=args.static_capacity,
            ),
            skip_crds=True,
            # A failed upgrade goes back to the controller that worked. A failed installation goes away whole, so that
            # the next `up` starts new pods: credentials are injected at admission, and pods without stay without.
            atomic=True,
            cleanup_on_fail=True,
            skip_await=False,
            timeout=WAIT_SECONDS,
            max_history=KEPT_REVISIONS,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[definitions, args.identity, args.cluster]),
        )

        self.version = controller.version
        self.register_outputs({"version": self.version})
