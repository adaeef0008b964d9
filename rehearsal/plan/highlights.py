"""The two or three inputs of a resource that a reader of the plan wants to see."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from infra.naming import TECHNIQUES_ANNOTATION
from rehearsal.plan.plan import UNKNOWN, PlannedResource

Inputs = Mapping[str, Any]

AWS_DECIDES = "default (AWS decides)"
"""Shown for a version that the program leaves to AWS; a number here would be invented."""

MOST_ACTIONS = 4
"""Of a policy: enough to know which it is."""


def highlights(resource: PlannedResource) -> list[str]:
    """Short texts, most telling first; what is unknown or not given is left out."""
    pick = _PICKS.get(resource.type)
    if pick is None:
        pick = _kubernetes if resource.type.startswith("kubernetes:") else _named
    return [text for text in pick(resource.inputs) if text and UNKNOWN not in text]


def _of(*keys: str) -> Callable[[Inputs], list[str]]:
    return lambda inputs: [_text(inputs.get(key)) for key in keys]


def _text(value: Any) -> str:
    if value is None or isinstance(value, Mapping):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    return str(value)


def _last(value: Any) -> str:
    return _text(value).rpartition("/")[2]


def _named(inputs: Inputs) -> list[str]:
    return [_text(inputs.get("name"))]


def _provider(inputs: Inputs) -> list[str]:
    accounts = inputs.get("allowedAccountIds")
    # The SDK sends lists to a provider as JSON text.
    allowed = json.loads(accounts) if isinstance(accounts, str) and accounts.startswith("[") else accounts
    account = _text(allowed)
    return [_text(inputs.get("region")), f"account {account}" if account else ""]


def _subnet(inputs: Inputs) -> list[str]:
    public = "public addresses" if inputs.get("mapPublicIpOnLaunch") else ""
    return [_text(inputs.get("cidrBlock")), _text(inputs.get("availabilityZone")), public]


def _route(inputs: Inputs) -> list[str]:
    way = next((key for key in ("natGatewayId", "gatewayId") if key in inputs), "")
    names = {"natGatewayId": "by NAT gateway", "gatewayId": "by internet gateway"}
    return [_text(inputs.get("destinationCidrBlock")), names.get(way, "")]


def _rule(inputs: Inputs) -> list[str]:
    protocol = _text(inputs.get("ipProtocol"))
    ports = sorted({_text(inputs.get("fromPort")), _text(inputs.get("toPort"))} - {""})
    return [
        "all protocols" if protocol == "-1" else f"{protocol} {'-'.join(ports)}".strip(),
        _text(inputs.get("cidrIpv4")),
        _text(inputs.get("description")),
    ]


def _object(value: Any) -> Inputs:
    """An unknown object reads as an empty one."""
    return value if isinstance(value, Mapping) else {}


def _objects(value: Any) -> list[Inputs]:
    return [_object(item) for item in value] if isinstance(value, list) else []


def _statements(document: Any) -> list[Inputs]:
    """The statements of an IAM document; none when it is unknown or no JSON."""
    if not isinstance(document, str) or UNKNOWN in document:
        return []
    try:
        return _objects(_object(json.loads(document)).get("Statement"))
    except json.JSONDecodeError:
        return []


def _role(inputs: Inputs) -> list[str]:
    services = [
        _text(_object(statement.get("Principal")).get("Service"))
        for statement in _statements(inputs.get("assumeRolePolicy"))
    ]
    return [f"for {', '.join(filter(None, services))}"] if any(services) else []


def _policy(inputs: Inputs) -> list[str]:
    asked = [statement.get("Action") for statement in _statements(inputs.get("policy"))]
    actions = list(dict.fromkeys(_text(one) for of in asked for one in (of if isinstance(of, list) else [of])))
    more = f" and {len(actions) - MOST_ACTIONS} more" if len(actions) > MOST_ACTIONS else ""
    return [", ".join(filter(None, actions[:MOST_ACTIONS])) + more]


def _cluster(inputs: Inputs) -> list[str]:
    vpc = _object(inputs.get("vpcConfig"))
    cidrs = _text(vpc.get("publicAccessCidrs")) or "0.0.0.0/0"
    return [
        _text(inputs.get("name")),
        f"Kubernetes {inputs.get('version') or AWS_DECIDES}",
        f"API open to {cidrs}" if vpc.get("endpointPublicAccess", True) else "API private",
        f"logs {_text(inputs.get('enabledClusterLogTypes')) or 'off'}",
        "secrets with a KMS key" if inputs.get("encryptionConfig") else "",
        "deletion protection" if inputs.get("deletionProtection") else "",
    ]


def _addon(inputs: Inputs) -> list[str]:
    return [_text(inputs.get("addonVersion")) or AWS_DECIDES]


def _node_group(inputs: Inputs) -> list[str]:
    scaling = _object(inputs.get("scalingConfig"))
    low, high = _text(scaling.get("minSize")), _text(scaling.get("maxSize"))
    return [
        _text(inputs.get("instanceTypes")),
        f"{low}-{high} nodes" if low != high else f"{low} nodes",
        _text(inputs.get("amiType")),
    ]


def _identity(inputs: Inputs) -> list[str]:
    return [f"{_text(inputs.get('namespace'))}/{_text(inputs.get('serviceAccount'))}"]


def _cache_rule(inputs: Inputs) -> list[str]:
    signed_in = "signed in" if inputs.get("credentialArn") else "anonymous"
    return [f"{_text(inputs.get('upstreamRegistryUrl'))} at {_text(inputs.get('ecrRepositoryPrefix'))}/", signed_in]


def _repository(inputs: Inputs) -> list[str]:
    scanned = _object(inputs.get("imageScanningConfiguration")).get("scanOnPush")
    tags = _text(inputs.get("imageTagMutability")).lower() or "mutable"
    return [_text(inputs.get("name")), f"{tags} tags", "scanned on push" if scanned else ""]


def _event_rule(inputs: Inputs) -> list[str]:
    pattern = inputs.get("eventPattern")
    if not isinstance(pattern, str) or UNKNOWN in pattern:
        return []
    return [_text(_object(json.loads(pattern)).get("detail-type"))]


def _release(inputs: Inputs) -> list[str]:
    return [f"{_text(inputs.get('namespace'))}/{_text(inputs.get('name'))}", f"chart {_text(inputs.get('version'))}"]


def _endpoint(inputs: Inputs) -> list[str]:
    return [_text(inputs.get("vpcEndpointType")) or "Gateway", _text(inputs.get("serviceName"))]


def _kubernetes(inputs: Inputs) -> list[str]:
    metadata = _object(inputs.get("metadata"))
    place = "/".join(filter(None, (_text(metadata.get("namespace")), _text(metadata.get("name")))))
    return [place, *_spec(inputs.get("kind"), _object(inputs.get("spec"))), *_techniques(metadata)]


def _spec(kind: Any, spec: Inputs) -> list[str]:
    match kind:
        case "Deployment" | "DaemonSet" | "Job":
            pod = _object(_object(spec.get("template")).get("spec"))
            return [text for container in _objects(pod.get("containers")) for text in _container(container)]
        case "CronJob":
            job = _object(_object(spec.get("jobTemplate")).get("spec"))
            clock = " ".join(filter(None, (_text(spec.get("schedule")), _text(spec.get("timeZone")))))
            when = "only by hand" if spec.get("suspend") else clock
            return [when, *_spec("Job", job)]
        case "Service":
            ports = [_text(port.get("port")) for port in _objects(spec.get("ports"))]
            return [f"port {', '.join(ports)}"] if ports else []
        case "PersistentVolume" | "PersistentVolumeClaim":
            return [_text(spec.get("accessModes"))]
        case "NodePool":
            return _node_pool(spec)
        case "EC2NodeClass":
            images = [_text(term.get("alias")) for term in _objects(spec.get("amiSelectorTerms"))]
            return [*images, _text(spec.get("instanceStorePolicy"))]
        case _:
            return []


def _node_pool(spec: Inputs) -> list[str]:
    of_template = _object(_object(spec.get("template")).get("spec")).get("requirements")
    wanted = {each.get("key"): _text(each.get("values")) for each in _objects(of_template)}
    limits = _object(spec.get("limits"))
    return [
        wanted.get("node.kubernetes.io/instance-type", ""),
        wanted.get("karpenter.sh/capacity-type", ""),
        f"{spec['replicas']} nodes always" if "replicas" in spec else "",
        *(f"at most {_text(limit)} {_last(name)}" for name, limit in limits.items()),
    ]


def _container(container: Inputs) -> list[str]:
    limits = _object(_object(container.get("resources")).get("limits"))
    gpus = _text(limits.get("nvidia.com/gpu"))
    return [_text(container.get("image")), f"{gpus} GPU" if gpus else "", _text(limits.get("memory"))]


def _techniques(metadata: Inputs) -> list[str]:
    techniques = _text(_object(metadata.get("annotations")).get(TECHNIQUES_ANNOTATION))
    return [f"techniques {techniques}"] if techniques else []


def _template(inputs: Inputs) -> list[str]:
    disks = [_object(mapping.get("ebs")).get("volumeSize") for mapping in _objects(inputs.get("blockDeviceMappings"))]
    return [_text(inputs.get("instanceType")), *(f"{_text(size)} GiB disk" for size in disks if size)]


_PICKS: dict[str, Callable[[Inputs], list[str]]] = {
    "pulumi:providers:aws": _provider,
    "aws:ec2/vpc:Vpc": _of("cidrBlock"),
    "aws:ec2/subnet:Subnet": _subnet,
    "aws:ec2/route:Route": _route,
    "aws:ec2/vpcEndpoint:VpcEndpoint": _endpoint,
    "aws:ec2/securityGroup:SecurityGroup": _of("description"),
    "aws:ec2/launchTemplate:LaunchTemplate": _template,
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule,
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule,
    "aws:iam/role:Role": _role,
    "aws:iam/rolePolicy:RolePolicy": _policy,
    "aws:iam/policy:Policy": _policy,
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": lambda it: [_last(it.get("policyArn"))],
    "aws:eks/cluster:Cluster": _cluster,
    "aws:eks/addon:Addon": _addon,
    "aws:eks/nodeGroup:NodeGroup": _node_group,
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": _identity,
    "aws:eks/accessEntry:AccessEntry": _of("principalArn"),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": lambda it: [_last(it.get("policyArn"))],
    "aws:sqs/queue:Queue": _of("name"),
    "aws:sqs/queuePolicy:QueuePolicy": _policy,
    "aws:cloudwatch/eventRule:EventRule": _event_rule,
    "aws:cloudwatch/eventTarget:EventTarget": lambda it: [_text(it.get("arn")).rpartition(":")[2]],
    "kubernetes:helm.sh/v3:Release": _release,
    "kubernetes:scheduling.k8s.io/v1:PriorityClass": lambda it: [f"value {_text(it.get('value'))}"],
    "aws:kms/key:Key": _of("description"),
    "aws:kms/alias:Alias": _of("name"),
    "aws:s3/bucket:Bucket": _of("bucket"),
    "aws:ecr/pullThroughCacheRule:PullThroughCacheRule": _cache_rule,
    "aws:ecr/repositoryCreationTemplate:RepositoryCreationTemplate": _of("prefix", "imageTagMutability"),
    "aws:ecr/repository:Repository": _repository,
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": _of("repository"),
    "aws:secretsmanager/secret:Secret": _of("name"),
    # its value is nobody's to see
    "aws:secretsmanager/secretVersion:SecretVersion": lambda _: [],
}
