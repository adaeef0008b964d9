"""An application on the platform: what it needs to know comes from the platform's stack, typed."""

import pulumi
import pulumi_kubernetes

import outputs
from client import Client, ClientArgs

config = pulumi.Config()
platform = outputs.read(pulumi.StackReference(config.require("platform")))

cluster = pulumi_kubernetes.Provider(
    "platform",
    kubeconfig=platform.apply(lambda it: it.kubeconfig),
    # The text may change (a rotated certificate, another argument) while it stays the same cluster. Not the name: a
    # cluster that is made anew has it again, and nothing of yours in it.
    cluster_identifier=platform.apply(lambda it: it.cluster_endpoint),
)
client = Client(
    "client",
    ClientArgs(platform=platform, server=config.require("server"), namespace="app-team"),
    pulumi.ResourceOptions(provider=cluster),
)

pulumi.export("url", client.url)
pulumi.export("model", client.model)
