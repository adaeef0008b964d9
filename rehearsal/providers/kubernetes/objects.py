"""The Kubernetes kinds that the rehearsal knows, and which of their fields cannot be changed.

`replaces` is `forceNew` of pulumi-kubernetes (`provider/pkg/provider/diff.go`, commit f47bc2d6f199):
pulumi deletes and creates an object for a change there, and updates it for any other. `metadata.name`
and `metadata.namespace` belong to it for every kind. A field that the API server alone refuses to
change (`value` of a PriorityClass, most of a PersistentVolumeClaim) is an update here as there: `up`
fails at it, and only a real API server tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rehearsal.providers.values import Properties


@dataclass(frozen=True, kw_only=True)
class Object:
    """One kind of object."""

    namespaced: bool = True
    computed: Callable[[Properties], Properties] = lambda _given: {}
    """What the cluster adds to an object with these inputs."""
    replaces: tuple[str, ...] = ()
    """Paths of fields whose change replaces the object."""
    contents: tuple[str, ...] = ()
    """As `replaces`, unless the provider is told that contents may change (`mutable_by`) and the
    object is not `immutable`."""
    mutable_by: str = ""
    """The provider's argument for that."""


def _deployment(given: Properties) -> Properties:
    replicas = given.get("spec", {}).get("replicas", 1)
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    return {"status": {"observedGeneration": 1, **dict.fromkeys(counts, replicas)}}


def _daemon_set(_given: Properties) -> Properties:
    return {"status": {"observedGeneration": 1, "numberMisscheduled": 0}}


def _job(_given: Properties) -> Properties:
    return {"status": {"succeeded": 1}}


def _service(given: Properties) -> Properties:
    if given.get("spec", {}).get("clusterIP"):
        return {}
    return {"spec": {"clusterIP": "172.20.0.42", "type": "ClusterIP"}, "status": {}}


def _active(_given: Properties) -> Properties:
    return {"status": {"phase": "Active"}}


def _bound(_given: Properties) -> Properties:
    return {"status": {"phase": "Bound"}}


_VOLUME_SOURCES = (
    *("awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "csi", "fc", "flexVolume", "flocker"),
    *("gcePersistentDisk", "glusterfs", "hostPath", "iscsi", "local", "nfs", "photonPersistentDisk", "portworxVolume"),
    *("quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume"),
)
_BINDING = ("roleRef",)

OBJECTS: dict[str, Object] = {
    "kubernetes:core/v1:Namespace": Object(namespaced=False, computed=_active),
    "kubernetes:core/v1:ServiceAccount": Object(),
    "kubernetes:core/v1:ConfigMap": Object(contents=("binaryData", "data"), mutable_by="enableConfigMapMutable"),
    "kubernetes:core/v1:Secret": Object(
        replaces=("type",), contents=("data", "stringData"), mutable_by="enableSecretMutable"
    ),
    "kubernetes:core/v1:Service": Object(computed=_service, replaces=("spec.clusterIP",)),
    "kubernetes:core/v1:PersistentVolume": Object(
        namespaced=False, computed=_bound, replaces=tuple(f"spec.{source}" for source in _VOLUME_SOURCES)
    ),
    "kubernetes:core/v1:PersistentVolumeClaim": Object(
        computed=_bound,
        replaces=("spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"),
    ),
    "kubernetes:core/v1:ResourceQuota": Object(replaces=("spec.scopes",)),
    "kubernetes:core/v1:LimitRange": Object(),
    "kubernetes:apps/v1:Deployment": Object(computed=_deployment, replaces=("spec.selector",)),
    "kubernetes:apps/v1:DaemonSet": Object(computed=_daemon_set, replaces=("spec.selector",)),
    "kubernetes:batch/v1:Job": Object(
        computed=_job, replaces=("spec.completions", "spec.parallelism", "spec.selector", "spec.template")
    ),
    "kubernetes:batch/v1:CronJob": Object(),
    "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy": Object(namespaced=False),
    "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding": Object(namespaced=False),
    "kubernetes:networking.k8s.io/v1:NetworkPolicy": Object(),
    "kubernetes:policy/v1:PodDisruptionBudget": Object(),
    "kubernetes:rbac.authorization.k8s.io/v1:Role": Object(),
    "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding": Object(replaces=_BINDING),
    "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole": Object(namespaced=False),
    "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding": Object(namespaced=False, replaces=_BINDING),
    "kubernetes:scheduling.k8s.io/v1:PriorityClass": Object(namespaced=False),
    "kubernetes:storage.k8s.io/v1:StorageClass": Object(namespaced=False, replaces=("parameters", "provisioner")),
    "kubernetes:karpenter.sh/v1:NodePool": Object(namespaced=False),
    "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass": Object(namespaced=False),
}
"""Type token to kind."""
