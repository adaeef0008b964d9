"""Which arguments of `eks.Cluster` the offline component honours; the others are refused.

An argument that is dropped silently would give a plan that AWS never makes, so everything that
changes the children and is not built in `cluster.py` ends the rehearsal with one line.
"""

from __future__ import annotations

from rehearsal.providers.values import Properties, has_unknown, reveal

# Arguments that must have one value, because the other value adds children that are not built.
_FIXED: dict[str, tuple[object, str]] = {
    "skipDefaultNodeGroup": (True, "a default node group"),
    "skipDefaultSecurityGroups": (True, "default security groups"),
    "useDefaultVpcCni": (True, "a managed vpc-cni add-on of the component"),
    "bootstrapSelfManagedAddons": (False, "self-managed add-ons"),
    "authenticationMode": ("API", "an aws-auth ConfigMap"),
}
_OFF: dict[str, str] = {
    "createOidcProvider": "an OIDC provider",
    "createInstanceRole": "an instance role",
}
_ADDONS = {"kubeProxyAddonOptions": True, "corednsAddonOptions": False}
"""Add-on options to whether the component makes the add-on when the option is absent."""

_HONOURED = frozenset(
    {
        "accessEntries",
        "clusterTags",
        "deletionProtection",
        "enabledClusterLogTypes",
        "encryptionConfigKeyArn",
        "endpointPrivateAccess",
        "endpointPublicAccess",
        "kubernetesServiceIpAddressRange",
        "name",
        "privateSubnetIds",
        "publicAccessCidrs",
        "publicSubnetIds",
        "subnetIds",
        "tags",
        "upgradePolicy",
        "version",
        "vpcId",
    }
)


def refuse_unmodelled(name: str, args: Properties) -> None:
    """Raise ValueError, naming the cluster and the argument, for the first one not honoured."""
    for key in sorted(args):
        if reveal(args[key]) != args[key]:
            raise ValueError(
                f"eks.Cluster {name!r}: `{key}` is a secret, which the offline eks provider does "
                "not carry into the component's children"
            )
    for key, (wanted, otherwise) in _FIXED.items():
        if args.get(key) != wanted:
            raise ValueError(_message(name, key, f"set it to {wanted!r}", otherwise))
    for key, otherwise in _OFF.items():
        if args.get(key):
            raise ValueError(_message(name, key, "leave it off", otherwise))
    for key, default in _ADDONS.items():
        if (args.get(key) or {}).get("enabled", default):
            raise ValueError(_message(name, key, "set enabled=False", "an add-on"))
    if not args.get("vpcId"):
        raise ValueError(_message(name, "vpcId", "set it", "a look-up of the default VPC"))
    # endpointPublicAccess defaults to true on EKS and in the component.
    if args.get("publicAccessCidrs") and args.get("endpointPublicAccess") is False:
        raise ValueError(
            f"eks.Cluster {name!r}: `publicAccessCidrs` can only be set when `endpointPublicAccess` is true"
        )
    if has_unknown(list(args.get("accessEntries") or {})):
        raise ValueError(f"eks.Cluster {name!r}: the keys of `accessEntries` must be known")
    known = _HONOURED | _FIXED.keys() | _OFF.keys() | _ADDONS.keys()
    for key in sorted(args.keys() - known):
        raise ValueError(
            f"eks.Cluster {name!r}: the offline eks provider does not model `{key}`: "
            "leave it out, or build it in rehearsal/providers/eks/cluster.py"
        )


def _message(name: str, key: str, advice: str, otherwise: str) -> str:
    return f"eks.Cluster {name!r}: `{key}`: {advice}; the offline eks provider does not model {otherwise}"
