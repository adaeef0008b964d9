"""The parameter that Karpenter will ask for, and what its absence means."""

import pytest

from infra.node_boot.ami import ami_alias
from ops.preflight.releases import ami
from tests.ops.preflight.cloud import DENIED, THROTTLED, Refusal

PATH = (
    "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia/"
    "amazon-eks-node-al2023-x86_64-nvidia-1.36-v20260724/image_id"
)
SUBJECT = "rtx-pro-6000 al2023@v20260724"


def lines(findings):
    return [(it.verdict, it.subject, it.found, it.fix) for it in findings]


@pytest.mark.parametrize(
    ("alias", "path"),
    [
        ("al2023@v20260724", PATH),
        (
            "al2023@latest",
            "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia/recommended/image_id",
        ),
        ("bottlerocket@v1.46.0", "/aws/service/bottlerocket/aws-k8s-1.36-nvidia/x86_64/1.46.0/image_id"),
        ("bottlerocket@latest", "/aws/service/bottlerocket/aws-k8s-1.36-nvidia/x86_64/latest/image_id"),
    ],
)
def test_the_path_is_karpenters(alias, path):
    """karpenter-provider-aws v1.14.1, pkg/providers/amifamily: resolvePath, and Bottlerocket without the v."""
    assert ami.parameter(ami_alias(alias, allow_latest=True), "1.36", "x86_64") == path


def test_an_image_that_is_published(asked, cloud):
    assert lines(ami.check(asked())) == [("ok", SUBJECT, "ami-0123 for Kubernetes 1.36", "")]
    assert cloud.times("GetParameter") == [{"Name": PATH}]


def test_an_alias_that_was_never_published_for_the_minor_fails(asked, cloud):
    """`v20251103` never was for 1.35 (amazon-eks-machine-learning#170)."""
    cloud.on("GetParameter", Refusal("ParameterNotFound", "", 400))
    assert lines(ami.check(asked())) == [
        (
            "fail",
            SUBJECT,
            f"not published for Kubernetes 1.36: no {PATH}",
            "another gpuPools.rtx-pro-6000.ami, of: aws ssm get-parameters-by-path --recursive --path"
            " /aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia",
        )
    ]


@pytest.mark.parametrize(
    ("refusal", "fix"),
    [(DENIED, "allow ssm:GetParameter, then run again"), (THROTTLED, "run again later")],
    ids=["denied", "throttled"],
)
def test_what_nobody_tells_is_unknown(asked, cloud, refusal, fix):
    cloud.on("GetParameter", refusal)
    why = f"ssm:GetParameter: AWS answers {refusal.code}: {refusal.message}"
    assert lines(ami.check(asked())) == [("unknown", SUBJECT, why, fix)]


def test_against_moto_which_has_no_such_release(real):
    assert [it.verdict for it in ami.check(real())] == ["fail"]
