"""A client of one vLLM server: asks it something every minute and logs the answer."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import Namespace
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs
from pulumi_kubernetes.networking.v1 import (
    NetworkPolicy,
    NetworkPolicyEgressRuleArgs,
    NetworkPolicyPeerArgs,
    NetworkPolicyPortArgs,
    NetworkPolicySpecArgs,
)

from outputs import Platform, Server

IMAGE = "curlimages/curl:8.11.1"
NOBODY = 65534

ASK = """
body='{"model": "'"$MODEL"'", "max_tokens": 16, "messages": [{"role": "user", "content": "Say hello."}]}'
while true; do
  curl --silent --show-error --max-time 120 --json "$body" "$OPENAI_BASE_URL/chat/completions"
  echo
  sleep 60
done
"""


@dataclass(frozen=True, kw_only=True)
class ClientArgs:
    """The platform, and what is the application's own choice."""

    platform: pulumi.Output[Platform]
    server: str
    namespace: str


class Client(pulumi.ComponentResource):
    """A namespace, its network policy and a Deployment that PodSecurity's `restricted` admits."""

    url: pulumi.Output[str]
    model: pulumi.Output[str]

    def __init__(self, name: str, args: ClientArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("app-team:index:Client", name, None, opts)
        labels = {"app.kubernetes.io/name": name}
        server = args.platform.apply(lambda platform: chosen(platform, args.server))
        self.url = server.apply(lambda it: it.url)
        self.model = server.apply(lambda it: it.model)

        namespace = Namespace(
            name,
            metadata={"name": args.namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
            opts=pulumi.ResourceOptions(parent=self),
        )
        policy = NetworkPolicy(
            name,
            metadata={"namespace": namespace.metadata.name},
            spec=NetworkPolicySpecArgs(
                pod_selector=LabelSelectorArgs(),
                policy_types=["Ingress", "Egress"],
                egress=[
                    NetworkPolicyEgressRuleArgs(to=[_namespace(args.platform.apply(lambda it: it.namespace))]),
                    NetworkPolicyEgressRuleArgs(to=[_namespace("kube-system")], ports=[_dns("UDP"), _dns("TCP")]),
                ],
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        Deployment(
            name,
            metadata={"namespace": namespace.metadata.name, "labels": labels},
            spec={
                "replicas": 1,
                "selector": {"match_labels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "automount_service_account_token": False,
                        "enable_service_links": False,
                        "termination_grace_period_seconds": 1,  # a shell as process 1 ignores SIGTERM
                        "security_context": {
                            "run_as_non_root": True,
                            "run_as_user": NOBODY,
                            "run_as_group": NOBODY,
                            "seccomp_profile": {"type": "RuntimeDefault"},
                        },
                        "containers": [
                            {
                                "name": name,
                                "image": IMAGE,
                                "command": ["sh", "-c", ASK],
                                "env": [
                                    {"name": "OPENAI_BASE_URL", "value": self.url},
                                    {"name": "MODEL", "value": self.model},
                                ],
                                "resources": {
                                    "requests": {"cpu": "10m", "memory": "32Mi"},
                                    "limits": {"memory": "32Mi"},
                                },
                                "security_context": {
                                    "allow_privilege_escalation": False,
                                    "read_only_root_filesystem": True,
                                    "capabilities": {"drop": ["ALL"]},
                                },
                            }
                        ],
                    },
                },
            },
            # a pod that starts before the policy is there has no policy for a moment
            opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
        )

        self.register_outputs({"url": self.url, "model": self.model})


def chosen(platform: Platform, name: str) -> Server:
    """Return the server of that name.

    Raises:
        pulumi.RunError: the platform has none.
    """
    if name not in platform.servers:
        served = ", ".join(sorted(platform.servers)) or "nothing"
        raise pulumi.RunError(f'app-team:server: "{name}"; the platform serves {served}')
    return platform.servers[name]


def _namespace(name: pulumi.Input[str]) -> NetworkPolicyPeerArgs:
    return NetworkPolicyPeerArgs(
        namespace_selector=LabelSelectorArgs(match_labels={"kubernetes.io/metadata.name": name})
    )


def _dns(protocol: str) -> NetworkPolicyPortArgs:
    return NetworkPolicyPortArgs(port=53, protocol=protocol)
