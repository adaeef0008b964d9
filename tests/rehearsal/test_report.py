"""The plan as it is printed."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from rehearsal.plan.highlights import AWS_DECIDES, highlights
from rehearsal.plan.plan import HIDDEN, UNKNOWN, Message, Plan, PlannedResource
from rehearsal.plan.report import report, short_type


class Terminal(io.StringIO):
    def isatty(self):
        return True


def resource(kind, name, parent=None, /, *, needs=(), provider=None, **inputs):
    return PlannedResource(
        urn=f"urn:{name}",
        type=kind,
        name=name,
        parent=parent and f"urn:{parent}",
        custom=kind.split(":")[0] in {"aws", "kubernetes", "pulumi"} and kind != "pulumi:pulumi:Stack",
        inputs=inputs,
        provider=provider,
        dependencies=tuple(f"urn:{need}" for need in needs),
    )


PLAN = Plan(
    project="vllm-eks",
    stack="dev",
    resources=(
        resource("pulumi:pulumi:Stack", "vllm-eks-dev"),
        resource("vllm-eks:infra:Cluster", "cluster", "vllm-eks-dev"),
        resource("aws:eks/addon:Addon", "dns", "cluster", needs=("vpc",)),
        resource("vllm-eks:infra:Network", "network", "vllm-eks-dev"),
        resource("aws:ec2/subnet:Subnet", "b", "network", needs=("vpc",), cidrBlock="10.0.1.0/24"),
        resource("aws:ec2/subnet:Subnet", "a", "network", needs=("vpc",), cidrBlock="10.0.0.0/24"),
        resource("aws:ec2/vpc:Vpc", "vpc", "network", cidrBlock="10.0.0.0/16"),
        resource("pulumi:providers:eks", "default_4_4_0"),
    ),
    outputs={
        "url": f"http://{UNKNOWN}:8000",
        "token": HIDDEN,
        "zones": ["a", "b"],
        "pool": {"count": 1, "on": True},
    },
    messages=(Message(severity="warning", text="memory is tight", urn=None),),
    seconds=3.21,
)


def test_what_the_program_says_of_its_resources_is_shown_and_what_providers_say_is_not():
    said = Message(
        severity="info", text="gemma: predicted start\n  total  1.0", urn="urn:pulumi:dev::vllm-eks::a:b:C::x"
    )
    noise = Message(severity="info", text="a new version is there", urn=None)
    shown = printed(replace(PLAN, messages=(noise, said)), io.StringIO())
    assert "\ngemma: predicted start\n  total  1.0\n\nResources\n" in shown
    assert "new version" not in shown


def printed(plan, stream):
    report(plan, stream)
    return stream.getvalue()


def test_the_whole_report_in_the_order_of_creation():
    assert printed(PLAN, io.StringIO()) == (
        "vllm-eks / dev   what `pulumi up` would create from nothing\n"
        "\n"
        "Network network\n"
        "  ec2.Vpc     vpc  10.0.0.0/16\n"
        "  ec2.Subnet  a    10.0.0.0/24\n"
        "  ec2.Subnet  b    10.0.1.0/24\n"
        "\n"
        "Cluster cluster\n"
        "  eks.Addon  dns  default (AWS decides)\n"
        "\n"
        "warning: memory is tight\n"
        "\n"
        "Resources\n"
        "  2 ec2.Subnet    1 ec2.Vpc       1 eks.Addon\n"
        "\n"
        "Outputs\n"
        "  pool:\n"
        "    count: 1\n"
        "    on: true\n"
        "  token: [secret]\n"
        "  url: known after up\n"
        "  zones: a, b\n"
        "\n"
        "4 resources in 2 components, previewed in 3.2 s. Nothing was created: the cloud is offline.\n"
    )


def test_only_a_terminal_gets_colours():
    assert "\x1b[" not in printed(PLAN, io.StringIO())
    assert "\x1b[1mNetwork\x1b[0m network" in printed(PLAN, Terminal())


def test_the_order_does_not_depend_on_the_timing_of_the_engine():
    turned = Plan(**{**vars(PLAN), "resources": tuple(reversed(PLAN.resources))})
    assert printed(turned, io.StringIO()) == printed(PLAN, io.StringIO())


@pytest.mark.parametrize(
    ("token", "short"),
    [
        ("aws:ec2/vpc:Vpc", "ec2.Vpc"),
        ("kubernetes:apps/v1:Deployment", "k8s.Deployment"),
        ("pulumi:providers:aws", "provider aws"),
        ("eks:index:Cluster", "eks.Cluster"),
    ],
)
def test_types_are_short(token, short):
    assert short_type(token) == short


@pytest.mark.parametrize(
    ("token", "inputs", "shown"),
    [
        ("aws:eks/addon:Addon", {"addonVersion": None}, [AWS_DECIDES]),
        ("aws:eks/addon:Addon", {"addonVersion": "v1.2.3-eksbuild.1"}, ["v1.2.3-eksbuild.1"]),
        (
            "aws:eks/cluster:Cluster",
            {"name": "dev"},
            ["dev", "Kubernetes default (AWS decides)", "API open to 0.0.0.0/0", "logs off"],
        ),
        (
            "aws:eks/cluster:Cluster",
            {
                "name": "dev",
                "version": "1.36",
                "vpcConfig": {"endpointPublicAccess": False},
                "enabledClusterLogTypes": ["api", "audit"],
                "encryptionConfig": {"provider": {"keyArn": UNKNOWN}},
                "deletionProtection": True,
            },
            [
                "dev",
                "Kubernetes 1.36",
                "API private",
                "logs api, audit",
                "secrets with a KMS key",
                "deletion protection",
            ],
        ),
        (
            "aws:eks/nodeGroup:NodeGroup",
            {"instanceTypes": ["m7i.large"], "scalingConfig": {"minSize": 2, "maxSize": 3}},
            ["m7i.large", "2-3 nodes"],
        ),
        ("aws:ec2/subnet:Subnet", {"cidrBlock": UNKNOWN, "availabilityZone": "eu-west-1a"}, ["eu-west-1a"]),
        ("aws:iam/role:Role", {"name": "r", "assumeRolePolicy": UNKNOWN}, []),
        ("aws:kms/key:Key", {"description": HIDDEN}, [HIDDEN]),
        (
            "kubernetes:batch/v1:CronJob",
            {
                "kind": "CronJob",
                "metadata": {"name": "build", "namespace": "x"},
                "spec": {
                    "suspend": True,
                    "schedule": "0 0 31 2 *",
                    "jobTemplate": {"spec": {"template": {"spec": {"containers": [{"image": "vllm:v1"}]}}}},
                },
            },
            ["x/build", "only by hand", "vllm:v1"],
        ),
        (
            "kubernetes:batch/v1:CronJob",
            {"kind": "CronJob", "metadata": {"name": "stop"}, "spec": {"schedule": "0 20 * * 1", "timeZone": "UTC"}},
            ["stop", "0 20 * * 1 UTC"],
        ),
        (
            "kubernetes:apps/v1:Deployment",
            {
                "kind": "Deployment",
                "metadata": {"name": "web", "namespace": "x", "annotations": {"vllm-eks/techniques": "a,b"}},
                "spec": {
                    "template": {
                        "spec": {
                            "containers": [
                                {
                                    "image": "registry.example/a/vllm:v1",
                                    "resources": {"limits": {"nvidia.com/gpu": "1", "memory": "48Gi"}},
                                }
                            ]
                        }
                    }
                },
            },
            ["x/web", "registry.example/a/vllm:v1", "1 GPU", "48Gi", "techniques a,b"],
        ),
        (
            "aws:ec2/launchTemplate:LaunchTemplate",
            {"blockDeviceMappings": [{"ebs": {"volumeSize": 50}}]},
            ["50 GiB disk"],
        ),
        (
            "kubernetes:karpenter.sh/v1:NodePool",
            {
                "kind": "NodePool",
                "metadata": {"name": "chat.static"},
                "spec": {
                    "replicas": 2,
                    "limits": {"nvidia.com/gpu": "4"},
                    "template": {
                        "spec": {
                            "requirements": [
                                {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
                                {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["a", "b"]},
                            ]
                        }
                    },
                },
            },
            ["chat.static", "a, b", "spot", "2 nodes always", "at most 4 gpu"],
        ),
        (
            "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass",
            {
                "kind": "EC2NodeClass",
                "metadata": {"name": "chat"},
                "spec": {"amiSelectorTerms": [{"alias": "al2023@v1"}], "instanceStorePolicy": "RAID0"},
            },
            ["chat", "al2023@v1", "RAID0"],
        ),
        (
            "kubernetes:helm.sh/v3:Release",
            {"namespace": "kube-system", "name": "karpenter", "version": "1.14.1"},
            ["kube-system/karpenter", "chart 1.14.1"],
        ),
        (
            "aws:cloudwatch/eventRule:EventRule",
            {"eventPattern": '{"source": ["aws.ec2"], "detail-type": ["A Warning"]}'},
            ["A Warning"],
        ),
        ("aws:cloudwatch/eventRule:EventRule", {"eventPattern": UNKNOWN}, []),
        ("aws:cloudwatch/eventTarget:EventTarget", {"arn": "arn:aws:sqs:r:1:a-queue"}, ["a-queue"]),
        ("kubernetes:core/v1:Secret", {"metadata": {"name": "s"}, "stringData": HIDDEN}, ["s"]),
        ("kubernetes:core/v1:Service", {"kind": "Service", "metadata": UNKNOWN, "spec": UNKNOWN}, []),
    ],
)
def test_what_is_shown_of_a_resource(token, inputs, shown):
    assert highlights(resource(token, "n", **inputs)) == shown


def test_a_plan_over_a_standing_stack_shows_what_changes_and_the_components_around_it():
    def changed(it):
        actions = {"vpc": ("replace", {"cidrBlock": "update-replace", "tags.a": "add"}), "a": ("delete", {})}
        action, paths = actions.get(it.name, ("same", {}))
        return replace(it, action=action, changed=paths)

    plan = replace(PLAN, resources=tuple(changed(it) for it in PLAN.resources), outputs={}, messages=())
    assert printed(plan, io.StringIO()) == (
        "vllm-eks / dev   what `pulumi up` would change\n"
        "\n"
        "Network network\n"
        "  ec2.Vpc     vpc  10.0.0.0/16 · replace: cidrBlock (update-replace), tags.a\n"
        "  ec2.Subnet  a    10.0.0.0/24 · delete\n"
        "\n"
        "1 replaced, 1 deleted, 2 unchanged; previewed in 3.2 s. Nothing was created: the cloud is offline.\n"
    )


def test_a_plan_that_changes_nothing_says_so():
    plan = replace(PLAN, resources=tuple(replace(it, action="same") for it in PLAN.resources), outputs={}, messages=())
    assert printed(plan, io.StringIO()).splitlines()[-1].startswith("4 unchanged; previewed in 3.2 s.")


def test_a_long_output_is_cut():
    plan = replace(PLAN, outputs={"kubeconfig": "x" * 1000})
    assert f"  kubeconfig: {'x' * 80}... (1000 characters)\n" in printed(plan, io.StringIO())
