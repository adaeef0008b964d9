"""The report, as a person reads it."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from rehearsal.identities.report import report
from tests.rehearsal.identities import scene
from tests.rehearsal.identities.conftest import EVERY, Resources
from tests.rehearsal.identities.scene import allow, attached, document, managed, stack

SNAPSHOT = Path(__file__).with_name("gemma-publisher.md")
SECTION = re.compile(r"^## (.*)$", re.MULTILINE)


def section(text: str, role: str) -> str:
    """One role's part."""
    return text.partition(f"## {role}\n")[2].partition("\n## ")[0].strip() + "\n"


def without_ends(text: str) -> str:
    """Names in AWS end in seven digits that differ from one `up` to the next."""
    return re.sub(r"-[0-9a-f]{7}\b", "-0000000", text)


def test_the_section_of_a_publisher(resources: Callable[[str], Resources]) -> None:
    assert without_ends(section(report("dev", resources("dev")), "gemma-publisher")) == SNAPSHOT.read_text()


def test_every_role_of_every_stack_has_a_section(resources: Callable[[str], Resources]) -> None:
    for name in EVERY:
        text = report(name, resources(name))
        roles = [it["urn"].rpartition("::")[2] for it in resources(name) if it["type"] == "aws:iam/role:Role"]
        assert set(roles) <= set(SECTION.findall(text))
        assert "too big" not in text
        assert "not known here" not in text


def test_what_is_wrong_stands_at_the_top() -> None:
    big = managed("nodes", "m", allow("S" * 6144, "s3:GetObject", f"{scene.BUCKET}/x"))
    text = report("dev", stack(big, attached("nodes", ["AmazonS3FullAccess"])))
    head = text.partition("\n## ")[0]
    size = len("".join(document(allow("S" * 6144, "s3:GetObject", f"{scene.BUCKET}/x")).split()))
    assert f"- too big: nodes, nodes-m: characters: {size} > 6144\n" in head
    assert "- not known here, so not looked at: nodes: AmazonS3FullAccess" in head


def test_a_refusal_and_what_it_stops_are_said() -> None:
    more = managed("b-server", "more", allow("Put", "s3:PutObject", f"{scene.BUCKET}/vllm-cache/*"))
    text = report("dev", stack(more))
    edge = "a-server: b/vllm-cache/ (b-server-more: Put; stopped by models-policy: CachesByPublishers)"
    assert f"- {edge}\n" in section(text, "b-server") + "\n"
    assert "| CachesByPublishers | everybody | **never** `s3:PutObject`<br>`s3:ReplicateObject` |" in text


def test_the_command_writes_a_file_for_a_stack(
    run: Callable[..., subprocess.CompletedProcess[str]], project: Callable[..., Path], tmp_path: Path
) -> None:
    program = """
import json, pulumi, pulumi_aws as aws
trust = json.dumps({"Version": "2012-10-17", "Statement": {"Sid": "T", "Effect": "Allow",
  "Principal": {"Service": "eks.amazonaws.com"}, "Action": "sts:AssumeRole"}})
at = pulumi.ResourceOptions(provider=aws.Provider("aws", region="us-west-2", allowed_account_ids=["123456789012"]))
role = aws.iam.Role("mine", assume_role_policy=trust, opts=at)
"""
    place = str(project(program))
    done = run("iam-report", "--stack", "dev", "--project", place, "--output", str(tmp_path / "out"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{tmp_path / 'out' / 'dev.md'}\n"
    text = (tmp_path / "out" / "dev.md").read_text()
    assert "\nRoles: 1. Written from" in text
    assert "- assumed by Service eks.amazonaws.com\n" in text
    (Path(place) / "__main__.py").write_text(program + "aws.sqs.Queue('q', policy=trust, opts=at)\n")
    done = run("iam-report", "--stack", "dev", "--project", place)
    assert (done.returncode, done.stdout) == (1, "")
    said = "urn:pulumi:dev::own::aws:sqs/queue:Queue::q: policy holds a policy that is not read\n"
    assert done.stderr == said


def test_a_place_that_is_no_folder_is_a_usage_mistake(
    run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    done = run("iam-report", "--stack", "dev", "--output", str(file))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"--output {file}: no folder\n")
