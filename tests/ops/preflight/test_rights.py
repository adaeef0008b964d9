"""The rights in the documentation are those that the checks name when they are denied, and IAM knows each."""

import json
import re

from ops.preflight.run import report
from tests.harness import ROOT
from tests.infra.linter import findings as linted
from tests.ops.preflight.cloud import Refusal

OTHERWISE_CALLED = {"HeadBucket": "s3:ListBucket", "HeadObject": "s3:GetObject"}
FREE = {"GetCallerIdentity"}
PUBLIC = ("RESOURCE_MISMATCH", "ssm:GetParameter")
"""AWS's own parameters are of no account, which the linter has not heard of. Karpenter's policy spells them so too."""


def statements():
    text = (ROOT / "docs/preflight.md").read_text()
    return json.loads(re.search(r"```json\n(.*?)```", text, re.DOTALL)[1])["Statement"]


def documented():
    actions = [it["Action"] for it in statements()]
    return {action for it in actions for action in ([it] if isinstance(it, str) else it)}


def test_the_documented_rights_are_those_that_the_code_names():
    sources = "\n".join(path.read_text() for path in (ROOT / "ops/preflight").rglob("*.py"))
    named = set(re.findall(r'answer\(\s*"([a-z0-9]+:[A-Za-z0-9]+)"', sources))
    assert len(named) > 15
    assert documented() == named


def test_every_request_has_its_right(asked, cloud):
    """All but GetCallerIdentity, which needs none."""

    def more(settings):
        settings["imageCache"].update(upstreams=["docker-hub"], repositories={"engine": {"keepOnDestroy": False}})
        image = "000000000000.dkr.ecr.us-west-2.amazonaws.com/inference-dev/engine:v1"
        settings["servers"]["gemma"].update(techniques=[])
        settings["servers"]["gemma"]["engine"]["image"] = image

    cloud.on("GetServiceQuota", Refusal("NoSuchResourceException"))
    cloud.on("GetAWSDefaultServiceQuota", {"Quota": {"Value": 1.0}})
    cloud.on("DescribeSecret", Refusal("ResourceNotFoundException"))
    cloud.on("DescribeImages", {"imageDetails": []})
    cloud.on("DescribeRegions", {"Regions": []})
    found = report(asked(more), lambda _: None)
    assert "the check itself broke" not in str(found)
    operations = {name for name, _ in cloud.asked} - FREE
    by_name = {action.partition(":")[2] for action in documented()}
    assert {name for name in operations if name not in by_name and name not in OTHERWISE_CALLED} == set()
    used = {OTHERWISE_CALLED.get(name, name).rpartition(":")[2] for name in operations}
    assert by_name - used == {"DescribeRegions"}


def test_iam_knows_each_action_on_its_resource():
    concrete = json.loads(json.dumps(statements()).replace("ACCOUNT", "000000000000").replace("REGION", "us-west-2"))
    found = {(issue, action) for _, issue, action in linted("preflight", concrete)}
    assert found == {PUBLIC}
