"""The offline `kubernetes` provider: known kinds, names, and objects as an API server returns them.

When the kubeconfig is unknown (first preview of a stack that makes its cluster) the engine asks no
provider at all, here as on AWS, so objects pass a preview unchecked; `admit` and `up` are for that.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from importlib.metadata import version

from rehearsal.providers.naming import AutoName, choose
from rehearsal.providers.package import Birth, Kind, Made, Package, Proposal
from rehearsal.providers.values import SIGNATURE, Properties, is_unknown

_NAME = AutoName(property="metadata.name", limit=253, lower=False, digits=8)
_AUTONAMED = "pulumi.com/autonamed"
_DEFAULT_NAMESPACE = "default"


def _nothing(_object: Properties) -> Properties:
    return {}


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


_Computed = Callable[[Properties], Properties]

# Type token: (namespaced, what the cluster adds to an object of that kind).
_OBJECTS: dict[str, tuple[bool, _Computed]] = {
    "kubernetes:core/v1:Namespace": (False, _active),
    "kubernetes:core/v1:ServiceAccount": (True, _nothing),
    "kubernetes:core/v1:ConfigMap": (True, _nothing),
    "kubernetes:core/v1:Secret": (True, _nothing),
    "kubernetes:core/v1:Service": (True, _service),
    "kubernetes:core/v1:PersistentVolume": (False, _bound),
    "kubernetes:core/v1:PersistentVolumeClaim": (True, _bound),
    "kubernetes:core/v1:ResourceQuota": (True, _nothing),
    "kubernetes:core/v1:LimitRange": (True, _nothing),
    "kubernetes:apps/v1:Deployment": (True, _deployment),
    "kubernetes:apps/v1:DaemonSet": (True, _daemon_set),
    "kubernetes:batch/v1:Job": (True, _job),
    "kubernetes:batch/v1:CronJob": (True, _nothing),
    "kubernetes:networking.k8s.io/v1:NetworkPolicy": (True, _nothing),
    "kubernetes:policy/v1:PodDisruptionBudget": (True, _nothing),
    "kubernetes:rbac.authorization.k8s.io/v1:Role": (True, _nothing),
    "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding": (True, _nothing),
    "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole": (False, _nothing),
    "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding": (False, _nothing),
    "kubernetes:scheduling.k8s.io/v1:PriorityClass": (False, _nothing),
    "kubernetes:storage.k8s.io/v1:StorageClass": (False, _nothing),
}


def _make(computed: _Computed) -> Callable[[Birth], Made]:
    def make(birth: Birth) -> Made:
        metadata = birth.inputs["metadata"]
        space = metadata.get("namespace")
        outputs = computed(birth.inputs)
        outputs["metadata"] = {
            "uid": str(uuid.UUID(birth.digits(32))),
            "resourceVersion": "1",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        identifier = f"{space}/{metadata['name']}" if space else metadata["name"]
        return Made(id=identifier, outputs=outputs)

    return make


_KINDS = {token: Kind(make=_make(computed)) for token, (_, computed) in _OBJECTS.items()}


def find(token: str) -> Kind:
    """The kind of a kubernetes type token. Raises LookupError naming the table to extend."""
    try:
        return _KINDS[token]
    except KeyError:
        raise LookupError(
            f"the offline kubernetes provider does not know the kind `{token}`: "
            "add it to _OBJECTS in rehearsal/providers/kubernetes.py"
        ) from None


def check(_kind: Kind, proposal: Proposal) -> Properties:
    """Adds what pulumi-kubernetes adds in Check: `metadata.name` and the default namespace.

    A generated name is marked with an annotation and kept on later updates. Raises
    NameRefusedError when no name can be chosen.
    """
    inputs = dict(proposal.news)
    metadata = inputs.get("metadata", {})
    if is_unknown(metadata) or SIGNATURE in metadata:
        return inputs
    metadata = dict(metadata)
    if not metadata.get("name") and not metadata.get("generateName"):
        old = proposal.olds.get("metadata", {})
        kept = old.get("name") if _AUTONAMED in (old.get("annotations") or {}) else None
        metadata["name"] = kept or choose(_NAME, proposal.logical, proposal.seed, proposal.autonaming)
        metadata["annotations"] = {**(metadata.get("annotations") or {}), _AUTONAMED: "true"}
    namespaced, _ = _OBJECTS[proposal.token]
    if namespaced and not metadata.get("namespace"):
        metadata["namespace"] = proposal.instance.config.get("namespace", _DEFAULT_NAMESPACE)
    inputs["metadata"] = metadata
    return inputs


def package() -> Package:
    """The provider, with the version of the installed SDK."""
    return Package(name="kubernetes", version=version("pulumi-kubernetes"), find=find, check=check)
