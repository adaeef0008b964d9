"""Ways in from the internet."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from guardrails.exceptions import excepted
from guardrails.reading import Gathering, below, each
from guardrails.rule import Around, Resource, Rule, whole
from guardrails.value import MalformedError, Value

CLUSTER = "aws:eks/cluster:Cluster"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
GROUPS = frozenset({"aws:ec2/securityGroup:SecurityGroup", "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"})
GROUP_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
SERVICE = "kubernetes:core/v1:Service"
INGRESS_OBJECT = "kubernetes:networking.k8s.io/v1:Ingress"
_OF_SERVICES = "service.beta.kubernetes.io/"
_OF_INGRESSES = "alb.ingress.kubernetes.io/"
_SHORTEST = {4: 8, 6: 16}
"""Prefix of what one organisation can have. Two halves, 0.0.0.0/1 and 128.0.0.0/1, are everybody too."""
_PRIVATE = ipaddress.IPv6Network("fc00::/7")


@dataclass(frozen=True)
class Opening:
    """One thing that a security group lets in."""

    of: Value
    keys: tuple[str, ...]
    """Below which its ranges are, one text or a list each."""
    protocol: str


def _wide(ranges: Iterable[Value], gathering: Gathering) -> list[str]:
    """Return those ranges that are the internet, or most of it."""
    found = set()
    for it in ranges:
        with gathering.reading():
            text = it.text()
            if text and _is_wide(text, it.path):
                found.add(text)
    return sorted(found)


def _is_wide(text: str, path: str) -> bool:
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise MalformedError(f"{path}: no range of addresses: {text!r}") from None
    if isinstance(network, ipaddress.IPv6Network) and network.subnet_of(_PRIVATE):
        return False
    return network.prefixlen < _SHORTEST[network.version]


def _endpoint(props: Value, _: Around) -> Iterator[str]:
    network = props["vpcConfig"]
    gathering = Gathering()
    given = list(each(below(network, "publicAccessCidrs")))
    # EKS answers everybody where no ranges are given, and answers at all where nothing says that it does not
    wide = _wide(given, gathering) if given else ["0.0.0.0/0"]
    if not (wide or gathering.missed) or network["endpointPublicAccess"].flag() is False:
        return
    if wide:
        yield f"its API answers {', '.join(wide)}; name ranges in vpcConfig.publicAccessCidrs, or make it private"
    yield from gathering.ended()


def _openings(resource: Resource) -> Iterator[Opening]:
    if resource.kind == INGRESS:
        yield Opening(resource.props, ("cidrIpv4", "cidrIpv6"), "ipProtocol")
    elif resource.kind == GROUP_RULE:
        if resource.props["type"].text() != "egress":
            yield Opening(resource.props, ("cidrBlocks", "ipv6CidrBlocks"), "protocol")
    else:
        for it in each(resource.props["ingress"]):
            yield Opening(it, ("cidrBlocks", "ipv6CidrBlocks"), "protocol")


def _ingress(opening: Opening, around: Around) -> Iterator[str]:
    gathering = Gathering()
    ranges = [it for key in opening.keys for it in _one_or_more(opening.of[key], gathering)]
    if (wide := _wide(ranges, gathering)) and not _meant(opening, around):
        yield f"{_place(opening)}lets {', '.join(wide)} in; name ranges, or the port in this rule's `ports`"
    yield from gathering.ended()


def _one_or_more(value: Value, gathering: Gathering) -> list[Value]:
    found: list[Value] = []
    with gathering.reading():
        found.extend(value.one_or_more())
    return found


def _place(opening: Opening) -> str:
    return f"{opening.of.path} " if opening.of.path else ""


def _meant(opening: Opening, around: Around) -> bool:
    """Whether it is one port that the user wants open."""
    ports = {str(it) for it in around.config["ports"]}
    if not ports or opening.of[opening.protocol].text().lower() not in {"tcp", "udp", "6", "17"}:
        return False
    first, last = opening.of["fromPort"].number(), opening.of["toPort"].number()
    return first is not None and first == last and f"{first:g}" in ports


def _service(props: Value, around: Around) -> Iterator[str]:
    if excepted(around.resource.name, around):
        return
    said = props.at("metadata", "annotations")
    gathering = Gathering()
    if around.resource.kind == SERVICE:
        if props.at("spec", "type").text() != "LoadBalancer" or not _is_public(props, said):
            return
        ranges = [*each(props.at("spec", "loadBalancerSourceRanges"))] or _listed(
            said[f"{_OF_SERVICES}load-balancer-source-ranges"]
        )
        narrow, private = "spec.loadBalancerSourceRanges", f"{_OF_SERVICES}aws-load-balancer-scheme: internal"
    else:
        # a controller makes it internal where nothing says otherwise; groups of its own say who comes in
        scheme, groups = said[f"{_OF_INGRESSES}scheme"], said[f"{_OF_INGRESSES}security-groups"]
        if scheme.text() != "internet-facing" or not groups.is_missing:
            return
        ranges = _listed(said[f"{_OF_INGRESSES}inbound-cidrs"])
        narrow, private = f"{_OF_INGRESSES}inbound-cidrs", f"{_OF_INGRESSES}scheme: internal"
    if wide := _wide(ranges, gathering) if ranges else ["0.0.0.0/0"]:
        yield f"its load balancer answers {', '.join(wide)}; name ranges in {narrow}, or set {private}"
    yield from gathering.ended()


def _is_public(props: Value, said: Value) -> bool:
    scheme = said[f"{_OF_SERVICES}aws-load-balancer-scheme"].text()
    if scheme:
        return scheme != "internal"
    if said[f"{_OF_SERVICES}aws-load-balancer-internal"].text() in {"true", "0.0.0.0/0"}:
        return False
    # AWS's controller makes it internal, the one that is part of Kubernetes does not
    taken = said[f"{_OF_SERVICES}aws-load-balancer-type"].text() in {"external", "nlb-ip"}
    return not (taken or props.at("spec", "loadBalancerClass").text())


def _listed(value: Value) -> list[Value]:
    return [Value(it.strip(), value.path) for it in value.text().split(",") if it.strip()]


RULES = (
    Rule(
        id="cluster-endpoint",
        says="The API of a cluster does not answer the whole internet.",
        why="Every stolen token and every fault of the API server is then for everybody.",
        source="EKS documentation, cluster endpoint access",
        kinds=frozenset({CLUSTER}),
        parts=whole,
        check=_endpoint,
    ),
    Rule(
        id="open-ingress",
        says="No security group lets the whole internet in.",
        why="A server that answers everybody serves everybody, and pays for it.",
        source="EC2 documentation, security group rules",
        kinds=GROUPS | {INGRESS, GROUP_RULE},
        parts=_openings,
        check=_ingress,
        config={"ports": []},
    ),
    Rule(
        id="open-service",
        says="No load balancer of Kubernetes answers the whole internet.",
        why="A Service of type LoadBalancer is public unless it says otherwise, and vLLM asks nobody who he is.",
        source="AWS Load Balancer Controller and cloud-provider-aws documentation, annotations; gpu.md 8",
        kinds=frozenset({SERVICE, INGRESS_OBJECT}),
        parts=whole,
        check=_service,
        config={"exceptions": []},
    ),
)
