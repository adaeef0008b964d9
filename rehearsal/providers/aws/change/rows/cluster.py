"""Rules for clusters and how their nodes start. Sources in brackets: `table.py`."""

from __future__ import annotations

from rehearsal.providers.aws.change.rules import Rule
from rehearsal.providers.change.compare import Difference

RULES: dict[str, Rule] = {
    "aws:eks/cluster:Cluster": Rule(
        schema="AWS::EKS::Cluster",
        replaces=("remoteNetworkConfig",),  # tf; CloudFormation updates it
        # Encryption can be added, never taken away; another key is planned as an update that EKS is never asked for.
        updates=("encryptionConfig",),  # tf
        replaces_when={
            "encryptionConfig": (Difference.DELETE,),  # tf
            "computeConfig.nodeRoleArn": (Difference.UPDATE, Difference.DELETE),  # tf
        },
        sets=(
            *("enabledClusterLogTypes", "encryptionConfig.resources", "computeConfig.nodePools"),  # tf
            *("vpcConfig.publicAccessCidrs", "vpcConfig.securityGroupIds", "vpcConfig.subnetIds"),  # tf
        ),
        # tf
        keeps=("accessConfig", "kubernetesNetworkConfig", "upgradePolicy", "version", "vpcConfig.publicAccessCidrs"),
        defaults={
            "accessConfig.bootstrapClusterCreatorAdminPermissions": True,  # tf
            "bootstrapSelfManagedAddons": True,  # tf
            "vpcConfig.endpointPrivateAccess": False,  # tf
            "vpcConfig.endpointPublicAccess": True,  # tf
        },
    ),
    "aws:eks/addon:Addon": Rule(
        schema="AWS::EKS::Addon",
        names={"NamespaceConfig": None},
        sets=("podIdentityAssociations",),  # tf
        keeps=("addonVersion", "configurationValues"),  # tf
    ),
    "aws:eks/nodeGroup:NodeGroup": Rule(
        schema="AWS::EKS::Nodegroup",
        names={"NodegroupName": "nodeGroupName", "NodeRole": "nodeRoleArn", "Subnets": "subnetIds"},
        replaces=("launchTemplate.id", "launchTemplate.name", "nodeGroupNamePrefix"),  # tf
        sets=("subnetIds", "taints", "remoteAccess.sourceSecurityGroupIds"),  # tf
        keeps=(
            *("amiType", "capacityType", "diskSize", "instanceTypes", "nodeRepairConfig"),  # tf
            *("releaseVersion", "updateConfig", "version"),  # tf
        ),
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Rule(
        schema="AWS::EKS::PodIdentityAssociation",
        defaults={"disableSessionTags": False},  # tf
    ),
    "aws:eks/accessEntry:AccessEntry": Rule(
        schema="AWS::EKS::AccessEntry",
        sets=("kubernetesGroups",),  # tf
        keeps=("kubernetesGroups", "userName"),  # tf
        defaults={"type": "STANDARD"},  # tf
    ),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": Rule(
        replaces=("accessScope", "clusterName", "policyArn", "principalArn"),  # tf
        sets=("accessScope.namespaces",),  # tf
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": Rule(
        schema="AWS::EC2::LaunchTemplate",
        names={"LaunchTemplateName": "name"},
        replaces=("namePrefix",),  # memory
        sets=("securityGroupNames", "vpcSecurityGroupIds"),  # tf
    ),
}
