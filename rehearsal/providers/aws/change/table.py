"""Which changes replace an AWS resource, type by type.

Sources, in brackets behind each line:
  cfn     the CloudFormation schema (`create_only.json`)
  tf      the schema in internal/service/ of hashicorp/terraform-provider-aws, read for this table
          (v5 and v6 versions; the provider behind pulumi-aws 7.51 may be newer)
  pulumi  provider/resources.go of pulumi/pulumi-aws
  memory  terraform-provider-aws source, from memory, unproven

Not modelled: a dedicated VPC turned to default tenancy updates in place; `privateDnsEnabled` of a
Gateway endpoint replaces; a subnet's `ipv6CidrBlock` replaces when it assigned such addresses [tf].
"""

from __future__ import annotations

from rehearsal.providers.aws.change.rules import Rule
from rehearsal.providers.change.compare import Difference

_APPEARS_OR_GOES = (Difference.ADD, Difference.DELETE)
# An existing rule may get other values, but not another kind of source: ModifyPlan in
# ec2/vpc_security_group_ingress_rule.go [tf]. CloudFormation replaces a rule at every change.
_GROUP_RULE = Rule(
    replaces=("securityGroupId",),
    replaces_when=dict.fromkeys(
        ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId"), _APPEARS_OR_GOES
    ),
)
# s3/bucket_versioning.go [tf], the others alike [memory]
_OF_BUCKET = Rule(replaces=("bucket", "expectedBucketOwner"))

_EC2 = {
    "aws:ec2/vpc:Vpc": Rule(
        schema="AWS::EC2::VPC",
        names={"VpcEncryptionControl": None},
        replaces=("instanceTenancy",),  # memory
        keeps=("cidrBlock", "enableDnsHostnames"),  # tf
        defaults={"enableDnsSupport": True, "instanceTenancy": "default"},  # tf
    ),
    "aws:ec2/subnet:Subnet": Rule(
        schema="AWS::EC2::Subnet",
        keeps=("availabilityZone", "availabilityZoneId", "cidrBlock", "ipv6CidrBlock"),  # tf
        defaults={"assignIpv6AddressOnCreation": False, "ipv6Native": False, "mapPublicIpOnLaunch": False},  # tf
    ),
    # detached from one VPC and attached to the other [memory]
    "aws:ec2/internetGateway:InternetGateway": Rule(schema="AWS::EC2::InternetGateway", keeps=("vpcId",)),
    "aws:ec2/eip:Eip": Rule(
        schema="AWS::EC2::EIP",
        names={"TransferAddress": None},
        replaces=("domain", "publicIpv4Pool"),  # tf
        keeps=("domain", "ipamPoolId", "networkBorderGroup", "publicIpv4Pool"),  # tf
    ),
    "aws:ec2/natGateway:NatGateway": Rule(
        schema="AWS::EC2::NatGateway",
        names={"PrivateIpAddress": "privateIp"},
        replaces=("secondaryPrivateIpAddressCount",),  # tf
        sets=("secondaryAllocationIds", "secondaryPrivateIpAddresses"),  # tf
        keeps=("privateIp", "secondaryPrivateIpAddressCount", "secondaryPrivateIpAddresses"),  # tf
        defaults={"connectivityType": "public"},  # tf
    ),
    "aws:ec2/routeTable:RouteTable": Rule(
        schema="AWS::EC2::RouteTable",
        sets=("propagatingVgws", "routes"),  # memory
        keeps=("propagatingVgws", "routes"),  # memory
    ),
    "aws:ec2/route:Route": Rule(schema="AWS::EC2::Route"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Rule(
        schema="AWS::EC2::SubnetRouteTableAssociation",
        replaces=("gatewayId",),  # tf
        updates=("routeTableId",),  # ReplaceRouteTableAssociation [tf]
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Rule(
        schema="AWS::EC2::VPCEndpoint",
        sets=("routeTableIds", "securityGroupIds", "subnetIds", "dnsOptions.privateDnsSpecifiedDomains"),  # tf
        keeps=(
            *("dnsOptions", "ipAddressType", "policy", "privateDnsEnabled"),  # tf
            *("routeTableIds", "securityGroupIds", "serviceRegion", "subnetConfigurations", "subnetIds"),  # tf
        ),
        defaults={"vpcEndpointType": "Gateway"},  # tf
    ),
    "aws:ec2/securityGroup:SecurityGroup": Rule(
        schema="AWS::EC2::SecurityGroup",
        names={"GroupDescription": "description", "GroupName": "name"},
        replaces=("namePrefix",),  # memory
        sets=("egress", "ingress"),  # memory
        keeps=("egress", "ingress", "vpcId"),  # memory
        defaults={"description": "Managed by Pulumi"},  # pulumi
    ),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": Rule(
        replaces=("vpcId",),  # tf
        sets=("egress", "ingress"),  # tf
        keeps=("vpcId",),  # tf
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": Rule(
        schema="AWS::EC2::LaunchTemplate",
        names={"LaunchTemplateName": "name"},
        replaces=("namePrefix",),  # memory
        sets=("securityGroupNames", "vpcSecurityGroupIds"),  # tf
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _GROUP_RULE,
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _GROUP_RULE,
}

_IAM = {
    "aws:iam/role:Role": Rule(
        schema="AWS::IAM::Role",
        names={"RoleName": "name"},
        replaces=("namePrefix",),  # memory
        sets=("inlinePolicies", "managedPolicyArns"),  # memory
        keeps=("inlinePolicies", "managedPolicyArns"),  # memory
        defaults={"forceDetachPolicies": False, "maxSessionDuration": 3600, "path": "/"},  # memory
    ),
    "aws:iam/policy:Policy": Rule(
        schema="AWS::IAM::ManagedPolicy",
        names={"ManagedPolicyName": "name"},
        replaces=("namePrefix",),  # memory
        defaults={"path": "/"},  # memory
    ),
    "aws:iam/rolePolicy:RolePolicy": Rule(
        schema="AWS::IAM::RolePolicy",
        names={"PolicyName": "name", "RoleName": "role"},
        replaces=("namePrefix",),  # memory
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Rule(replaces=("policyArn", "role")),  # tf
}

_EKS = {
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
}

_KMS = {
    "aws:kms/key:Key": Rule(
        schema="AWS::KMS::Key",
        replaces=("customKeyStoreId", "customerMasterKeySpec", "keyUsage", "multiRegion", "xksKeyId"),  # tf
        keeps=("description", "multiRegion", "policy", "rotationPeriodInDays"),  # tf
        defaults={
            "bypassPolicyLockoutSafetyCheck": False,  # tf
            "customerMasterKeySpec": "SYMMETRIC_DEFAULT",  # tf
            "enableKeyRotation": False,  # tf
            "isEnabled": True,  # tf
            "keyUsage": "ENCRYPT_DECRYPT",  # tf
        },
    ),
    "aws:kms/alias:Alias": Rule(
        schema="AWS::KMS::Alias",
        names={"AliasName": "name"},
        replaces=("namePrefix",),  # memory
    ),
}

_S3 = {
    "aws:s3/bucket:Bucket": Rule(
        schema="AWS::S3::Bucket",
        names={"BucketName": "bucket", "BucketNamePrefix": "bucketPrefix"},
        replaces=("objectLockEnabled",),  # memory
        keeps=("objectLockEnabled",),  # memory
        defaults={"forceDestroy": False},  # tf
    ),
    "aws:s3/bucketPolicy:BucketPolicy": Rule(schema="AWS::S3::BucketPolicy"),
    "aws:s3/bucketVersioning:BucketVersioning": _OF_BUCKET,
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": Rule(replaces=("bucket",)),  # memory
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": Rule(
        replaces=("bucket",),  # tf
        defaults=dict.fromkeys(
            ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets"), False
        ),  # tf
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _OF_BUCKET,
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _OF_BUCKET,
}

_ECR = {
    "aws:ecr/repository:Repository": Rule(
        schema="AWS::ECR::Repository",
        names={
            "RepositoryName": "name",
            "EncryptionConfiguration": "encryptionConfigurations",
            "EncryptionConfiguration/EncryptionType": "encryptionConfigurations.encryptionType",
            "EncryptionConfiguration/KmsKey": "encryptionConfigurations.kmsKey",
        },
        keeps=("encryptionConfigurations", "imageScanningConfiguration"),  # tf: SuppressMissingOptional...
        defaults={"forceDelete": False, "imageTagMutability": "MUTABLE"},  # tf
    ),
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": Rule(replaces=("policy", "repository")),  # tf
    "aws:ecr/pullThroughCacheRule:PullThroughCacheRule": Rule(
        schema="AWS::ECR::PullThroughCacheRule",
        names={"UpstreamRegistry": None},
        updates=("credentialArn", "customRoleArn"),  # UpdatePullThroughCacheRule [tf]
    ),
    "aws:ecr/repositoryCreationTemplate:RepositoryCreationTemplate": Rule(
        schema="AWS::ECR::RepositoryCreationTemplate",
        sets=("appliedFors",),  # tf
        keeps=("encryptionConfigurations",),  # tf
        defaults={"imageTagMutability": "MUTABLE"},  # tf
    ),
}

_SECRETS_MANAGER = {
    "aws:secretsmanager/secret:Secret": Rule(
        schema="AWS::SecretsManager::Secret",
        replaces=("namePrefix", "type"),  # tf, and for `type` the SDK's docstring
        sets=("replicas",),  # tf
        keeps=("policy", "replicas"),  # tf
        defaults={"forceOverwriteReplicaSecret": False, "recoveryWindowInDays": 30},  # tf
    ),
    "aws:secretsmanager/secretVersion:SecretVersion": Rule(
        replaces=("secretBinary", "secretId", "secretString", "secretStringWoVersion"),  # tf
        sets=("versionStages",),  # tf
        keeps=("versionStages",),  # tf
    ),
}

_EVENTS = {
    "aws:sqs/queue:Queue": Rule(
        schema="AWS::SQS::Queue",
        names={"QueueName": "name"},
        replaces=("namePrefix",),  # tf
        keeps=(
            *("deduplicationScope", "fifoThroughputLimit", "kmsDataKeyReusePeriodSeconds", "policy"),  # tf
            *("redriveAllowPolicy", "redrivePolicy", "sqsManagedSseEnabled"),  # tf
        ),
        defaults={
            "contentBasedDeduplication": False,  # tf
            "delaySeconds": 0,  # tf
            "fifoQueue": False,  # tf
            "messageRetentionSeconds": 345600,  # tf
            "receiveWaitTimeSeconds": 0,  # tf
            "visibilityTimeoutSeconds": 30,  # tf
        },
    ),
    "aws:sqs/queuePolicy:QueuePolicy": Rule(replaces=("queueUrl",)),  # tf
    "aws:cloudwatch/eventRule:EventRule": Rule(
        schema="AWS::Events::Rule",
        replaces=("eventBusName", "namePrefix"),  # tf
        keeps=("state",),  # tf
        defaults={"eventBusName": "default", "forceDestroy": False},  # tf
    ),
    "aws:cloudwatch/eventTarget:EventTarget": Rule(
        replaces=("eventBusName", "rule", "targetId"),  # tf
        keeps=("targetId",),  # tf
        defaults={"eventBusName": "default", "forceDestroy": False},  # tf
    ),
}

RULES: dict[str, Rule] = _EC2 | _IAM | _EKS | _KMS | _S3 | _ECR | _SECRETS_MANAGER | _EVENTS
"""Type token to rule; a test holds it against the kinds of the offline provider."""
