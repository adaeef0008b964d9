"""The checked-in stack files on the real Pulumi engine, and what it sees compared with what the mocks saw."""

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from rehearsal.plan.plan import UNKNOWN, Plan, PlannedResource
from rehearsal.preview import preview
from serving.ladder import PRESETS
from tests.harness import ROOT, SECRETS, stack_recording, stack_settings

INSIDE_EKS = "eks:index:Cluster$"
"""The component's own children: the engine sees them, mocks do not."""


@cache
def planned(stack: str) -> Plan:
    return preview(stack, project=ROOT, secrets=SECRETS)


def test_engine_and_mocks_see_the_same_resources(stack: str) -> None:
    engine = {
        (resource.type, resource.name)
        for resource in planned(stack).resources
        if INSIDE_EKS not in resource.urn and resource.type != "pulumi:pulumi:Stack" and not _engines_own(resource)
    }
    assert engine == {(r.kind, r.name) for r in stack_recording(stack).registered}


def test_nothing_stands_below_an_unexpected_parent(stack: str) -> None:
    plan = planned(stack)
    for resource in plan.resources:
        if resource.custom and not resource.type.startswith("pulumi:providers:"):
            assert "vllm-eks:" in resource.urn, f"{resource.urn} hangs off no component of ours"


def test_the_plan_says_how_fast_each_server_will_start(stack: str) -> None:
    said = [it for it in planned(stack).messages if "predicted start on g7e.2xlarge" in it.text]
    assert [it.urn.rpartition("::")[2] for it in said if it.urn] == list(stack_settings(stack)["servers"])
    (server,) = planned(stack).outputs["servers"].values()
    fresh = server["predicted"]["g7e.2xlarge"]["freshNode"]
    assert round(sum(phase["seconds"] for phase in fresh["phases"].values()), 1) == fresh["seconds"]
    assert f"{fresh['seconds']:.1f}" in said[0].text


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_one_changed_word_to_the_engine(tmp_path: Path, preset: str) -> None:
    raw = stack_settings("dev")
    raw["servers"]["gemma"]["preset"] = preset
    plan = preview("dev", project=variant(tmp_path, raw))
    techniques = plan.one("kubernetes:apps/v1:Deployment", "gemma").inputs["metadata"]["annotations"]
    expected = dict.fromkeys((*PRESETS[preset].techniques, "front-proxy"))
    assert techniques["vllm-eks/techniques"] == ",".join(expected)


def test_addon_versions_are_left_to_aws_and_never_invented(stack: str) -> None:
    addons = planned(stack).of("aws:eks/addon:Addon")
    assert len(addons) == 6
    assert [addon.name for addon in addons if "addonVersion" in addon.inputs] == []


def test_default_tags_reach_every_taggable_aws_resource(stack: str) -> None:
    tags = stack_settings(stack)["tags"]
    tagged = [r for r in planned(stack).resources if "tagsAll" in r.inputs]
    assert len(tagged) > 20
    for resource in tagged:
        assert tags.items() <= resource.inputs["tagsAll"].items(), resource.urn


def test_what_only_aws_knows_is_unknown_in_the_plan(stack: str) -> None:
    plan = planned(stack)
    assert plan.outputs["kubeconfig"] == UNKNOWN
    assert plan.outputs["clusterName"] == stack_settings(stack)["name"]


def test_PUL_07_a_kubeconfig_that_is_not_known_yet_is_unknown_and_no_text(stack: str) -> None:
    """Made of the JSON of an unknown it would be `null`, and the provider would take the shell's cluster."""
    assert planned(stack).one("pulumi:providers:kubernetes", "kubernetes").inputs["kubeconfig"] == UNKNOWN


def test_policies_are_readable_in_the_plan(stack: str) -> None:
    """They name the bucket and the cluster by values that are known before `up`: a reviewer sees them."""
    policies = {it.name: it.inputs["policy"] for it in planned(stack).of("aws:iam/rolePolicy:RolePolicy")}
    policies |= {it.name: it.inputs["policy"] for it in planned(stack).of("aws:iam/policy:Policy")}
    bucket, cluster = stack_settings(stack)["modelBucket"]["name"], stack_settings(stack)["name"]
    readers = {"mountpoint-reader", "gemma-server", "gemma-publisher", "onboarding"}
    assert {name for name, text in policies.items() if bucket in text} == readers
    assert {name for name, text in policies.items() if cluster in text} >= {
        f"karpenter-controller-{key}" for key in ("node-lifecycle", "iam-integration", "interruption", "zonal-shift")
    }
    assert [name for name, text in policies.items() if UNKNOWN in text] == []


def test_PUL_01_no_text_of_the_plan_holds_an_output_instead_of_its_value(stack: str) -> None:
    assert "Output object" not in repr(planned(stack).as_json())


def _engines_own(resource: PlannedResource) -> bool:
    """Default providers of `eks` (it has no settings of its own) and of the engine's built-in resources."""
    return resource.type.startswith("pulumi:providers:") and resource.name.startswith("default")


def variant(folder: Path, raw: dict[str, Any], region: str = "us-west-2") -> Path:
    """A copy of the program beside one stack file of its own, `Pulumi.dev.yaml`."""
    for name in ("infra", "serving"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__main__.py", "settings.py", "checks.py", "outputs.py", "Pulumi.yaml"):
        shutil.copy(ROOT / name, folder / name)
    config = {"aws:region": region, "pulumi:disable-default-providers": ["aws", "kubernetes"]}
    (folder / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": {**config, "vllm-eks:settings": raw}}))
    return folder


def run(project: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rehearsal", "preview", "--stack", "dev", "--project", str(project)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_bad_stack_file_ends_with_its_lines_alone(tmp_path: Path) -> None:
    raw = stack_settings("dev")
    raw["network"]["cidr"] = "10.0.0.0/24"
    raw["servers"]["gemma"]["pool"] = "none"
    done = run(variant(tmp_path, raw))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "the stack file has 2 mistakes:",
        '  network.cidr: "10.0.0.0/24"; /24 is too small; expected a prefix length of 16 to 20',
        '  servers.gemma.pool: "none"; allowed: rtx-pro-6000',
    ]


def test_IAM_05_a_stack_in_china_holds_no_arn_of_another_partition(tmp_path: Path) -> None:
    raw = json.loads(
        json.dumps(stack_settings("prod")).replace("arn:aws:", "arn:aws-cn:").replace("us-west-2", "cn-north-1")
    )
    raw["imageCache"]["upstreams"] = []  # ECR caches none there
    text = repr(preview("dev", project=variant(tmp_path, raw, "cn-north-1")).as_json())
    assert "arn:aws-cn:iam::aws:policy/AmazonEKSClusterPolicy" in text
    assert "arn:aws:" not in text
