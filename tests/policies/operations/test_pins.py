"""Charts and node images that move by themselves."""

from __future__ import annotations

import pulumi
import pytest

from guardrails.operations.pins import CHARTS, RELEASE, chart_name
from guardrails.pools import NODE_CLASS
from guardrails.value import Value
from tests.policies.conftest import UNKNOWN, found, resource, unchecked

OTHERS = sorted(CHARTS - {RELEASE})
MEND = "name one, as 1.2.3 (a chart on disk: begin its path with ./)"


@pytest.mark.parametrize("kind", sorted(CHARTS))
@pytest.mark.parametrize("version", ["1.14.1", "v0.19.3", "1.0.0-rc.1", "2.1.0+build.5"])
def test_a_chart_of_one_version_passes(kind, version):
    assert found("chart-version", resource(kind, {"chart": "oci://r.example/karpenter", "version": version})) == []


@pytest.mark.parametrize("kind", sorted(CHARTS))
@pytest.mark.parametrize("version", ["1", "1.14", "^1.14.1", ">=1.0.0", "1.14.x", "latest", "1.14.1 - 1.15.0"])
def test_a_chart_of_many_versions(kind, version):
    it = resource(kind, {"chart": "karpenter", "version": version})
    assert found("chart-version", it) == [f"chart karpenter has version {version}; {MEND}"]


@pytest.mark.parametrize("kind", sorted(CHARTS))
@pytest.mark.parametrize("version", [{}, {"version": None}, {"version": ""}])
def test_a_chart_without_a_version(kind, version):
    assert found("chart-version", resource(kind, {"chart": "karpenter", **version})) == [
        f"chart karpenter has no version; {MEND}"
    ]


@pytest.mark.parametrize(
    "chart",
    ["./charts/own", "../own", "/charts/own", "https://r.example/own-1.2.3.tgz", "oci://r.example/own@sha256:0a"],
)
def test_a_chart_that_cannot_move_needs_no_version(chart):
    assert found("chart-version", resource(RELEASE, {"chart": chart})) == []
    # v4 takes files too
    assert found("chart-version", resource(OTHERS[1], {"chart": pulumi.FileAsset("own-1.2.3.tgz")})) == []


def test_a_release_names_a_chart_and_older_charts_do_not_say_theirs():
    assert found("chart-version", resource(RELEASE, {})) == [f"chart without a name has no version; {MEND}"]
    for kind in OTHERS:
        assert found("chart-version", resource(kind, {})) == []


def test_TST_03_charts():
    assert unchecked("chart-version", resource(RELEASE, {"chart": "karpenter", "version": UNKNOWN})) == ["version"]
    assert unchecked("chart-version", resource(RELEASE, {"chart": UNKNOWN, "version": "1.0.0"})) == ["chart"]
    assert found("chart-version", resource(RELEASE, {"chart": "karpenter", "version": 1.14})) == [
        "version: expected a text, found a number"
    ]
    assert found("chart-version", resource(RELEASE, {"chart": {}})) == ["chart: expected a text, found a mapping"]


@pytest.mark.parametrize(
    ("chart", "name"),
    [
        ("karpenter", "karpenter"),
        ("oci://public.ecr.aws/karpenter/karpenter", "karpenter"),
        ("oci://public.ecr.aws/karpenter/karpenter:1.14.1", "karpenter"),
        ("oci://public.ecr.aws/karpenter/karpenter@sha256:0a", "karpenter"),
        ("./charts/karpenter/", "karpenter"),
        ("https://r.example/karpenter-1.14.1.tgz", "karpenter"),
        ("https://r.example/karpenter-crd-1.14.1.tgz", "karpenter-crd"),
        ("karpenter-crd", "karpenter-crd"),
        (pulumi.FileArchive("karpenter"), ""),
    ],
)
def test_a_charts_own_name(chart, name):
    assert chart_name(Value({"chart": chart})) == name


def nodes(*terms):
    return resource(NODE_CLASS, {"spec": {"amiSelectorTerms": list(terms)}})


@pytest.mark.parametrize(
    "term",
    [
        {"alias": "al2023@v20260724"},
        {"alias": "bottlerocket@v1.20.0"},
        {"alias": "windows2022@latest"},
        {"id": "ami-0123456789"},
        {"name": "team-gpu-2026-07-24", "owner": "self"},
        {"tags": {"release": "7"}},
        {"ssmParameter": "/team/gpu/image"},
        {"ssmParameter": "/aws/service/eks/optimized-ami/1.36/x/amazon-eks-node-al2023-v20260724/image_id"},
    ],
)
def test_an_image_of_one_release_passes(term):
    assert found("ami-version", nodes(term)) == []


RECOMMENDED = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia/recommended/image_id"
LATEST = "/aws/service/bottlerocket/aws-k8s-1.36/x86_64/latest/image_id"


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ({"alias": "al2023@latest"}, "alias is al2023@latest, which moves; name a release, as al2023@v20260724"),
        (
            {"alias": "bottlerocket@latest"},
            "alias is bottlerocket@latest, which moves; name a release, as bottlerocket@v1.20.0",
        ),
        (
            {"name": "amazon-eks-node-*"},
            "name is amazon-eks-node-*, and the newest image that fits is taken; name one image, or its id",
        ),
        *(
            (
                {"ssmParameter": it},
                f"ssmParameter is {it}, which moves; name the parameter of a release, or an id",
            )
            for it in (RECOMMENDED, LATEST)
        ),
    ],
)
def test_an_image_that_moves(term, said):
    # a term that is not known hides none that is
    assert found("ami-version", nodes(UNKNOWN, term)) == [f"spec.amiSelectorTerms[1].{said}"]
    assert unchecked("ami-version", nodes(UNKNOWN, term)) == ["spec.amiSelectorTerms[0]"]


@pytest.mark.parametrize("props", [{}, {"spec": None}, {"spec": {"amiSelectorTerms": []}}])
def test_TST_03_a_class_without_an_image(props):
    mend = "name a release, as {alias: al2023@v20260724}, or the id of an image"
    assert found("ami-version", resource(NODE_CLASS, props)) == [f"spec.amiSelectorTerms is empty; {mend}"]
    assert found("ami-version", nodes(None, {})) == [
        f"spec.amiSelectorTerms[{place}] is empty; {mend}" for place in (0, 1)
    ]


def test_TST_03_images():
    assert unchecked("ami-version", resource(NODE_CLASS, {"spec": UNKNOWN})) == ["spec"]
    for key in ("alias", "name", "ssmParameter"):
        assert unchecked("ami-version", nodes({key: UNKNOWN})) == [f"spec.amiSelectorTerms[0].{key}"]
        assert found("ami-version", nodes({key: True})) == [
            f"spec.amiSelectorTerms[0].{key}: expected a text, found true or false"
        ]
    assert found("ami-version", resource(NODE_CLASS, {"spec": {"amiSelectorTerms": "al2023@latest"}})) == [
        "spec.amiSelectorTerms: expected a list, found a text"
    ]
    assert found("ami-version", nodes("al2023@latest")) == [
        "spec.amiSelectorTerms[0]: expected a mapping, found a text"
    ]
