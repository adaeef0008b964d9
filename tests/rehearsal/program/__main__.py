"""A bucket, a small network, a cluster and one namespace."""

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as k8s

config = pulumi.Config()
region = pulumi.Config("aws").require("region")
zones = config.require_int("zones")
if not 1 <= zones <= 3:
    raise pulumi.RunError(f"tiny:zones: {zones} is not allowed: 1, 2 or 3")

main = aws.Provider("main", region=region, default_tags={"tags": {"team": "ml", "stack": "dev"}})
other = aws.Provider("other", region="us-east-1", default_tags={"tags": {"team": "other"}})


class Network(pulumi.ComponentResource):
    """One VPC."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__("tiny:index:Network", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        vpc = aws.ec2.Vpc(name, cidr_block="10.0.0.0/16", tags={"Name": name}, opts=child)
        self.vpc_id = vpc.id
        self.subnets = [
            aws.ec2.Subnet(
                f"{name}-{zone}",
                vpc_id=vpc.id,
                cidr_block=f"10.0.{zone}.0/24",
                availability_zone=f"{region}{'abc'[zone]}",
                opts=child,
            ).id
            for zone in range(zones)
        ]
        self.register_outputs({"vpcId": self.vpc_id})


network = Network("net", pulumi.ResourceOptions(providers=[main]))
aws.s3.Bucket("Weights", opts=pulumi.ResourceOptions(provider=main))
aws.s3.Bucket("copy", opts=pulumi.ResourceOptions(provider=other))
cluster = eks.Cluster(
    "tiny",
    name="tiny-dev",
    version="1.36",
    vpc_id=network.vpc_id,
    private_subnet_ids=network.subnets,
    skip_default_node_group=True,
    skip_default_security_groups=True,
    bootstrap_self_managed_addons=False,
    authentication_mode=eks.AuthenticationMode.API,
    endpoint_private_access=True,
    endpoint_public_access=True,
    public_access_cidrs=["203.0.113.0/24"],
    coredns_addon_options=eks.CoreDnsAddonOptionsArgs(enabled=False),
    kube_proxy_addon_options=eks.KubeProxyAddonOptionsArgs(enabled=False),
    use_default_vpc_cni=True,
    create_oidc_provider=False,
    access_entries={
        "admin": eks.AccessEntryArgs(
            principal_arn="arn:aws:iam::111122223333:role/admin",
            access_policies={
                "a": eks.AccessPolicyAssociationArgs(
                    access_scope=aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
                    policy_arn="arn:aws:eks::aws:cluster-access-policy/AmazonEKSAdminPolicy",
                )
            },
        )
    },
    opts=pulumi.ResourceOptions(providers=[main], depends_on=[network]),
)
aws.eks.Addon(
    "coredns",
    addon_name="coredns",
    cluster_name=cluster.eks_cluster.name,
    opts=pulumi.ResourceOptions(provider=main),
)
api = k8s.Provider("api", kubeconfig=cluster.kubeconfig_json)
k8s.core.v1.Namespace("serving", opts=pulumi.ResourceOptions(provider=api))

pulumi.export("vpc", network.vpc_id)
pulumi.export("region", region)
pulumi.export("token", pulumi.Output.secret("hunter2"))
pulumi.export("securityGroup", cluster.eks_cluster.vpc_config.cluster_security_group_id)
