"""The offline `kubernetes` provider: known kinds, names, and objects as an API server returns them.

When the kubeconfig is unknown (first preview of a stack that makes its cluster) the engine asks no
provider at all, here as on AWS, so objects pass a preview unchecked; `admit` and `up` are for that.
"""

from __future__ import annotations

import uuid
from importlib.metadata import version

from rehearsal.providers.kubernetes import charts
from rehearsal.providers.kubernetes.change import AUTONAMED, diff
from rehearsal.providers.kubernetes.cluster import diff_config
from rehearsal.providers.kubernetes.objects import OBJECTS, Object
from rehearsal.providers.naming import AutoName, choose
from rehearsal.providers.package import Birth, Kind, Made, Package, Proposal
from rehearsal.providers.values import SIGNATURE, Properties, is_unknown

_NAME = AutoName(property="metadata.name", limit=253, lower=False, digits=8)
_DEFAULT_NAMESPACE = "default"


def _kind(which: Object) -> Kind:
    def make(birth: Birth) -> Made:
        metadata = birth.inputs["metadata"]
        space = metadata.get("namespace")
        outputs = which.computed(birth.inputs)
        outputs["metadata"] = {
            "uid": str(uuid.UUID(birth.digits(32))),
            "resourceVersion": "1",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        identifier = f"{space}/{metadata['name']}" if space else metadata["name"]
        return Made(id=identifier, outputs=outputs)

    return Kind(make=make, applied=True)


_KINDS = {token: _kind(which) for token, which in OBJECTS.items()} | {charts.RELEASE: charts.KIND}


def find(token: str) -> Kind:
    """The kind of a kubernetes type token. Raises LookupError naming the table to extend."""
    try:
        return _KINDS[token]
    except KeyError:
        raise LookupError(
            f"the offline kubernetes provider does not know the kind `{token}`: "
            "add it to OBJECTS in rehearsal/providers/kubernetes/objects.py"
        ) from None


def check(_kind: Kind, proposal: Proposal) -> Properties:
    """Adds what pulumi-kubernetes adds in Check: for an object, `metadata.name` and the default namespace.

    A generated name is marked with an annotation and kept on later updates. Raises
    NameRefusedError when no name can be chosen.
    """
    namespace = proposal.instance.config.get("namespace", _DEFAULT_NAMESPACE)
    if proposal.token == charts.RELEASE:
        return charts.check(proposal, namespace)
    inputs = dict(proposal.news)
    metadata = inputs.get("metadata", {})
    if is_unknown(metadata) or SIGNATURE in metadata:
        return inputs
    metadata = dict(metadata)
    if not metadata.get("name") and not metadata.get("generateName"):
        old = proposal.olds.get("metadata", {})
        kept = old.get("name") if AUTONAMED in (old.get("annotations") or {}) else None
        metadata["name"] = kept or choose(_NAME, proposal.logical, proposal.seed, proposal.autonaming)
        metadata["annotations"] = {**(metadata.get("annotations") or {}), AUTONAMED: "true"}
    if OBJECTS[proposal.token].namespaced and not metadata.get("namespace"):
        metadata["namespace"] = namespace
    inputs["metadata"] = metadata
    return inputs


def package() -> Package:
    """The provider, with the version of the installed SDK."""
    return Package(
        name="kubernetes",
        version=version("pulumi-kubernetes"),
        find=find,
        check=check,
        diff=diff,
        diff_config=diff_config,
    )
