"""Ways in from the internet."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policies.conftest import UNKNOWN, found, resource, unchecked

CLUSTER = "aws:eks/cluster:Cluster"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
GROUP_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
SERVICE = "kubernetes:core/v1:Service"
INGRESS_OBJECT = "kubernetes:networking.k8s.io/v1:Ingress"
BETA = "service.beta.kubernetes.io/"
ALB = "alb.ingress.kubernetes.io/"


def cluster(**network: Any):
    return resource(CLUSTER, {"vpcConfig": network})


def answers(wide: str) -> list[str]:
    return [f"its API answers {wide}; name ranges in vpcConfig.publicAccessCidrs, or make it private"]


def lets(wide: str, place: str = "") -> list[str]:
    return [f"{place}lets {wide} in; name ranges, or the port in this rule's `ports`"]


@pytest.mark.parametrize(
    "its",
    [
        cluster(endpointPublicAccess=False),
        cluster(endpointPublicAccess=True, publicAccessCidrs=["203.0.113.0/24", "10.0.0.0/8", "2001:db8::/32"]),
        cluster(endpointPublicAccess=UNKNOWN, publicAccessCidrs=["203.0.113.0/24"]),
        cluster(endpointPublicAccess=False, publicAccessCidrs=["0.0.0.0/0"]),
        cluster(endpointPublicAccess=False, publicAccessCidrs=UNKNOWN),
    ],
)
def test_a_cluster_that_answers_some_passes(its):
    assert found("cluster-endpoint", its) == []
    assert unchecked("cluster-endpoint", its) == []


@pytest.mark.parametrize(
    "its",
    [
        cluster(),
        cluster(publicAccessCidrs=[]),
        cluster(publicAccessCidrs=None, endpointPublicAccess=None),
        resource(CLUSTER, {}),
        resource(CLUSTER, {"vpcConfig": None}),
    ],
)
def test_a_cluster_answers_everybody_where_nothing_is_said(its):
    assert found("cluster-endpoint", its) == answers("0.0.0.0/0")


def test_two_halves_of_the_internet_are_all_of_it():
    halves = ["128.0.0.0/1", "0.0.0.0/1", "203.0.113.0/24", "2000::/3", "fc00::/7"]
    assert found("cluster-endpoint", cluster(publicAccessCidrs=halves)) == answers("0.0.0.0/1, 128.0.0.0/1, 2000::/3")


def test_a_range_that_is_not_known_hides_none_of_the_others():
    its = cluster(endpointPublicAccess=True, publicAccessCidrs=[UNKNOWN, "0.0.0.0/0", 3, "everywhere"])
    assert found("cluster-endpoint", its) == [
        *answers("0.0.0.0/0"),
        "vpcConfig.publicAccessCidrs[2]: expected a text, found a number",
        "vpcConfig.publicAccessCidrs[3]: no range of addresses: 'everywhere'",
    ]
    assert unchecked("cluster-endpoint", its) == ["vpcConfig.publicAccessCidrs[0]"]


@pytest.mark.parametrize(
    ("its", "path"),
    [
        (resource(CLUSTER, {"vpcConfig": UNKNOWN}), "vpcConfig"),
        (cluster(publicAccessCidrs=UNKNOWN), "vpcConfig.publicAccessCidrs"),
        (cluster(endpointPublicAccess=UNKNOWN, publicAccessCidrs=["::/0"]), "vpcConfig.endpointPublicAccess"),
    ],
)
def test_a_cluster_that_is_not_known_is_not_checked_yet(its, path):
    assert unchecked("cluster-endpoint", its) == [path]
    assert found("cluster-endpoint", its) == []


@pytest.mark.parametrize(
    ("its", "says"),
    [
        (resource(CLUSTER, {"vpcConfig": ["x"]}), "vpcConfig: expected a mapping, found a list"),
        (cluster(publicAccessCidrs="0.0.0.0/0"), "vpcConfig.publicAccessCidrs: expected a list, found a text"),
        (cluster(endpointPublicAccess="no"), "vpcConfig.endpointPublicAccess: expected true or false, found a text"),
    ],
)
def test_mistyped_clusters(its, says):
    assert found("cluster-endpoint", its) == [says]


@pytest.mark.parametrize(
    ("its", "says"),
    [
        (resource(INGRESS, {"cidrIpv4": "0.0.0.0/0", "ipProtocol": "tcp"}), lets("0.0.0.0/0")),
        (resource(INGRESS, {"cidrIpv6": "::/0"}), lets("::/0")),
        (resource(GROUP_RULE, {"type": "ingress", "cidrBlocks": ["10.0.0.0/8", "0.0.0.0/0"]}), lets("0.0.0.0/0")),
        (resource(GROUP_RULE, {"ipv6CidrBlocks": ["::/0"], "cidrBlocks": ["0.0.0.0/0"]}), lets("0.0.0.0/0, ::/0")),
        (resource(GROUP, {"ingress": [{}, {"cidrBlocks": ["0.0.0.0/0"]}]}), lets("0.0.0.0/0", "ingress[1] ")),
    ],
)
def test_a_group_that_lets_the_internet_in_is_refused(its, says):
    assert found("open-ingress", its) == says


@pytest.mark.parametrize(
    "its",
    [
        resource(INGRESS, {"cidrIpv4": "10.0.0.0/8"}),
        resource(INGRESS, {"referencedSecurityGroupId": UNKNOWN}),
        resource(GROUP_RULE, {"type": "egress", "cidrBlocks": ["0.0.0.0/0"]}),
        resource(GROUP, {"egress": [{"cidrBlocks": ["0.0.0.0/0"]}], "ingress": []}),
        resource(GROUP, {}),
        resource(INGRESS, {}),
    ],
)
def test_a_group_that_lets_some_in_passes(its):
    assert found("open-ingress", its) == []
    assert unchecked("open-ingress", its) == []


def test_one_opening_that_is_not_known_hides_none_of_the_others():
    openings = [UNKNOWN, {"cidrBlocks": UNKNOWN, "ipv6CidrBlocks": ["::/0"]}, 3, {"cidrBlocks": ["0.0.0.0/0", UNKNOWN]}]
    assert found("open-ingress", resource(GROUP, {"ingress": openings})) == [
        *lets("::/0", "ingress[1] "),
        "ingress[2]: expected a mapping, found a number",
        *lets("0.0.0.0/0", "ingress[3] "),
    ]
    assert unchecked("open-ingress", resource(GROUP, {"ingress": openings})) == [
        "ingress[0]",
        "ingress[1].cidrBlocks",
        "ingress[3].cidrBlocks[1]",
    ]
    assert unchecked("open-ingress", resource(GROUP, {"ingress": UNKNOWN})) == ["ingress"]
    assert unchecked("open-ingress", resource(GROUP_RULE, {"type": UNKNOWN})) == ["type"]


def test_configuration_opens_a_port():
    its = {"cidrIpv4": "0.0.0.0/0", "ipProtocol": "tcp", "fromPort": 443.0, "toPort": 443.0}
    assert found("open-ingress", resource(INGRESS, its), config={"ports": ["443"]}) == []
    for other in ({"toPort": 8443.0}, {"ipProtocol": "-1"}, {"fromPort": None, "toPort": None}):
        assert found("open-ingress", resource(INGRESS, {**its, **other}), config={"ports": ["443"]}) == lets(
            "0.0.0.0/0"
        )
    assert found("open-ingress", resource(INGRESS, its), config={"ports": ["80"]}) == lets("0.0.0.0/0")


def service(annotations: Any = None, kind: str = SERVICE, **spec: Any):
    return resource(kind, {"metadata": {"annotations": annotations}, "spec": {"type": "LoadBalancer", **spec}})


def balances(wide: str, narrow: str = "spec.loadBalancerSourceRanges", key: str = f"{BETA}aws-load-balancer-scheme"):
    return [f"its load balancer answers {wide}; name ranges in {narrow}, or set {key}: internal"]


@pytest.mark.parametrize(
    "its",
    [
        service(type="ClusterIP"),
        service(type=None),
        resource(SERVICE, {}),
        service({f"{BETA}aws-load-balancer-scheme": "internal"}),
        service({f"{BETA}aws-load-balancer-internal": "true"}),
        service({f"{BETA}aws-load-balancer-type": "external"}),
        service(loadBalancerClass="service.k8s.aws/nlb"),
        service(loadBalancerSourceRanges=["203.0.113.0/24"]),
        service({f"{BETA}load-balancer-source-ranges": "203.0.113.0/24, 198.51.100.0/24"}),
        service(kind=INGRESS_OBJECT),
        service({f"{ALB}scheme": "internet-facing", f"{ALB}inbound-cidrs": "203.0.113.0/24"}, INGRESS_OBJECT),
        service({f"{ALB}scheme": "internet-facing", f"{ALB}security-groups": UNKNOWN}, INGRESS_OBJECT),
    ],
)
def test_a_load_balancer_for_some_passes(its):
    assert found("open-service", its) == []
    assert unchecked("open-service", its) == []


def test_a_load_balancer_for_everybody_is_refused():
    assert found("open-service", service()) == balances("0.0.0.0/0")
    facing = {f"{BETA}aws-load-balancer-scheme": "internet-facing"}
    assert found("open-service", service(facing, loadBalancerClass="service.k8s.aws/nlb")) == balances("0.0.0.0/0")
    assert found("open-service", service(loadBalancerSourceRanges=[UNKNOWN, "::/0"])) == balances("::/0")
    assert found("open-service", service({f"{ALB}scheme": "internet-facing"}, INGRESS_OBJECT)) == balances(
        "0.0.0.0/0", f"{ALB}inbound-cidrs", f"{ALB}scheme"
    )
    assert found("open-service", service(), config={"exceptions": ["i?"]}) == []


def test_a_load_balancer_that_is_not_known_is_not_checked_yet():
    assert unchecked("open-service", service(type=UNKNOWN)) == ["spec.type"]
    assert unchecked("open-service", service(UNKNOWN)) == ["metadata.annotations"]
    assert unchecked("open-service", service(loadBalancerSourceRanges=[UNKNOWN, "::/0"])) == [
        "spec.loadBalancerSourceRanges[0]"
    ]
    assert found("open-service", service(type=3)) == ["spec.type: expected a text, found a number"]
