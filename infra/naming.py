"""Physical names that other things must know, their limits, and the partition that a region belongs to.

Everything that nobody else has to know is auto-named by the engine.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

CLUSTER_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"
"""EKS API model, CreateCluster.name: 1 to 100 characters."""

MOUNTPOINT_NAMESPACE = "kube-system"
MOUNTPOINT_SERVICE_ACCOUNT = "s3-csi-driver-sa"
"""Both are fixed by the EKS add-on `aws-mountpoint-s3-csi-driver` (its chart's `node.serviceAccount.name`)."""

KARPENTER_NAMESPACE = "kube-system"
"""API priority and fairness puts the controller's requests before the pods' there (Karpenter's installation page)."""

KARPENTER_SERVICE_ACCOUNT = "karpenter"

SQS_NAME_LIMIT = 80
"""SQS API, CreateQueue.QueueName: letters, digits, - and _, as in a cluster's name."""

EVERY_TAINT: Mapping[str, str] = {"operator": "Exists"}
"""Toleration of node agents: a second taint on a pool must not keep them off (k8s-device-plugin#68)."""

TECHNIQUES_ANNOTATION = "vllm-eks/techniques"
"""On a server's Deployment, not on its pod: what its start is made of, for people and for the plan."""

IDLE_ANNOTATION = "vllm-eks/idle"
"""On the Deployment of a server whose replicas the clock decides, in place of `pulumi up`."""

ACCOUNT_ANNOTATION = "vllm-eks/account"
CLUSTER_ANNOTATION = "vllm-eks/cluster"
"""On Job templates: whose they are, so that a kubeconfig of another cluster is noticed."""

FORBIDDEN_SERVICE_NAMES = re.compile(r"^vllm(-|$)")
"""A Service `vllm` puts VLLM_PORT=tcp://... into every pod of its namespace and kills vLLM there (vllm#34199)."""


@dataclass(frozen=True)
class Partition:
    """The part of AWS that a region lies in: ARNs and host names differ between them."""

    name: str
    dns_suffix: str

    def arn(self, service: str, resource: str, *, region: str = "", account: str = "") -> str:
        """Return an ARN; global services have no region, what AWS owns has no account."""
        return f"arn:{self.name}:{service}:{region}:{account}:{resource}"

    def managed_policy(self, policy: str) -> str:
        """Return the ARN of a policy that AWS manages."""
        return self.arn("iam", f"policy/{policy}", account="aws")


@dataclass(frozen=True)
class Place:
    """Where a stack lives in AWS: all that an ARN or a host name of its own has to say."""

    partition: Partition
    region: str
    account: str

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of something regional in this account."""
        return self.partition.arn(service, resource, region=self.region, account=self.account)


def partition_of(region: str) -> Partition:
    """Return the partition of a region, from its name alone (botocore's partitions.json has the same prefixes)."""
    if region.startswith("cn-"):
        return Partition("aws-cn", "amazonaws.com.cn")
    if region.startswith("us-gov-"):
        return Partition("aws-us-gov", "amazonaws.com")
    return Partition("aws", "amazonaws.com")


def endpoint_service(region: str, service: str) -> str:
    """Return the VPC endpoint service name.

    Some interface services carry another prefix in China (`aws ec2 describe-vpc-endpoint-services` there; the CDK keeps
    the same list of exceptions).
    """
    reversed_in_china = {"ecr.api", "ecr.dkr", "sts"}
    prefix = "cn.com.amazonaws" if region.startswith("cn-") and service in reversed_in_china else "com.amazonaws"
    return f"{prefix}.{region}.{service}"


def shortened(name: str, limit: int) -> str:
    """Return the name, cut to `limit` characters: the end becomes a hash of the whole, so that no two become one."""
    if len(name) <= limit:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: limit - len(digest) - 1]}-{digest}"


def interruption_queue(cluster: str) -> str:
    """Return the name of the queue that tells a cluster's Karpenter of instances that end."""
    return shortened(f"{cluster}-karpenter", SQS_NAME_LIMIT)


def publisher_path(cluster: str) -> str:
    """Return the IAM path of the roles that publish a cluster's start-up caches: a bucket's policy knows them by it.

    Paths take 512 characters of printable ASCII (IAM API model, pathType). Whoever may create roles below it, may
    publish.
    """
    return f"/vllm-eks/{cluster}/publisher/"


def onboarding_path(cluster: str) -> str:
    """Return the IAM path of the role that copies models into a cluster's bucket."""
    return f"/vllm-eks/{cluster}/onboarding/"


def server_labels(server: str) -> dict[str, str]:
    """Return the labels of everything of a server; its pods are found by them."""
    return {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": server}


def server_of(labels: Mapping[str, str]) -> str | None:
    """Return the server whose labels these are; None: nobody's."""
    name = labels.get("app.kubernetes.io/instance")
    return name if name and server_labels(name).items() <= labels.items() else None


def server_service_account(server: str) -> str:
    """Return the service account that a vLLM server's pods run as."""
    return f"{server}-server"


def publisher_service_account(server: str) -> str:
    """Return the service account that builds a server's start-up cache run as: the only one that may publish it."""
    return f"{server}-publisher"


def cache_build(server: str, *, candidate: bool = False) -> str:
    """Return the name of the CronJob that a server's cache builds are made from. CronJobs may have 52 characters."""
    return f"{server}-cache-build{'-candidate' if candidate else ''}"


def scaler_service_account(server: str) -> str:
    """Return the service account of the Jobs that stop and start a server by the clock."""
    return f"{server}-scaler"


def idle_job(server: str, what: Literal["stop", "start"]) -> str:
    """Return the name of the CronJob that stops or starts a server. CronJobs may have 52 characters."""
    return f"{server}-{what}"


ONBOARDING = "weights-onboard"
"""Name of the CronJob that copies of models into the bucket are made from, and of their service account."""
