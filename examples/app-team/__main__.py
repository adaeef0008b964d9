"""An application on the platform: what it needs to know comes from the platform's stack, typed."""

import pulumi
import pulumi_aws
import pulumi_kubernetes

import outputs
from client import Client, ClientArgs
from model_reader import ModelReader, ModelReaderArgs
from needs import needs, shown

NAMESPACE = "app-team"

config = pulumi.Config()
server, token = config.require("server"), shown(config)
platform = outputs.read(pulumi.StackReference(config.require("platform")))
needed = platform.apply(lambda it: needs(it, server, token=token is not None))

aws = pulumi_aws.Provider(
    "platform-aws",
    region=platform.apply(lambda it: it.region),
    # a role in another account would be of no use to the cluster's pods
    allowed_account_ids=[needed.apply(lambda it: it.account)],
    default_tags={"tags": {"project": pulumi.get_project(), "environment": pulumi.get_stack()}},
)
cluster = pulumi_kubernetes.Provider(
    "platform",
    kubeconfig=platform.apply(lambda it: it.kubeconfig),
    # The text may change (a rotated certificate, another argument) while it stays the same cluster. Not the name: a
    # cluster that is made anew has it again, and nothing of yours in it.
    cluster_identifier=platform.apply(lambda it: it.cluster_endpoint),
)
reader = ModelReader(
    "reader",
    ModelReaderArgs(needs=needed, namespace=NAMESPACE, service_account="client"),
    pulumi.ResourceOptions(provider=aws),
)
Client(
    "client",
    ClientArgs(
        platform=platform, needs=needed, namespace=NAMESPACE, service_account=reader.service_account, token=token
    ),
    pulumi.ResourceOptions(provider=cluster),
)

pulumi.export("url", needed.apply(lambda it: it.url))
pulumi.export("model", needed.apply(lambda it: it.model))
