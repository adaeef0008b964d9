"""How long Kubernetes is supported, and whether the pinned add-ons are there for it."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from infra.cluster.addons import AWS_NAMES
from ops.failures import RefusedError, UnclearError
from ops.preflight.releases import addons, pins, versions
from ops.preflight.releases.versions import Support, support_finding
from tests.ops.preflight.cloud import DENIED, THROTTLED
from tests.ops.preflight.conftest import version

TODAY = date(2026, 11, 30)
UPGRADE = "a newer cluster.version"


def lines(findings):
    return [(it.verdict, it.subject, it.found, it.fix) for it in findings]


def in_days(days):
    return {"1.36": Support(standard=TODAY + timedelta(days), extended=None)}


@pytest.mark.parametrize(
    ("days", "finding"),
    [
        (60, ("ok", "standard support until 2027-01-29: 60 days", "")),
        (
            59,
            (
                "warn",
                "standard support until 2027-01-28: 59 days < 60, then EKS upgrades the cluster by itself",
                UPGRADE,
            ),
        ),
        (
            0,
            (
                "warn",
                "standard support until 2026-11-30: 0 days < 60, then EKS upgrades the cluster by itself",
                UPGRADE,
            ),
        ),
        (
            -1,
            (
                "fail",
                "standard support until 2026-11-29: over since 1 days, and EKS upgrades the cluster by itself",
                UPGRADE,
            ),
        ),
    ],
)
def test_the_end_of_standard_support_comes_as_a_warning_first(days, finding):
    verdict, found, fix = finding
    assert lines([support_finding("1.36", in_days(days), TODAY)]) == [(verdict, "Kubernetes 1.36", found, fix)]


def test_a_minor_that_eks_does_not_have_fails_with_those_that_it_has():
    known = {**in_days(1), "1.35": None}
    assert lines([support_finding("1.37", known, TODAY)]) == [
        (
            "fail",
            "Kubernetes 1.37",
            "EKS has no such version here; it has 1.35, 1.36",
            "one of those in cluster.version",
        )
    ]
    assert support_finding("1.37", {}, TODAY).found == "EKS has no such version here; it has none at all"


def test_a_minor_without_a_date_is_unknown():
    assert support_finding("1.36", {"1.36": None}, TODAY).verdict == "unknown"


def test_both_ends_are_told_and_all_pages_are_read(asked, cloud):
    cloud.on(
        "DescribeClusterVersions",
        {"clusterVersions": [version("1.35", 2027)], "nextToken": "2"},
        {"clusterVersions": [version("1.36", 2090)]},
    )
    found = lines(versions.check(asked()))[0]
    days = (datetime(2090, 6, 1, tzinfo=UTC).date() - datetime.now(UTC).date()).days
    assert found == (
        "ok",
        "Kubernetes 1.36",
        f"standard support until 2090-06-01, extended until 2091-06-01: {days} days",
        "",
    )


def test_a_day_is_awss_wherever_the_shell_is(asked, cloud):
    """Botocore tells an instant in the shell's time zone."""
    instant = datetime(2090, 5, 31, 17, tzinfo=timezone(timedelta(hours=-7)))
    told = [{"clusterVersion": "1.36", "endOfStandardSupportDate": instant, "endOfExtendedSupportDate": instant}]
    cloud.on("DescribeClusterVersions", {"clusterVersions": told})
    assert lines(versions.check(asked()))[0][2].startswith(
        "standard support until 2090-06-01, extended until 2090-06-01: "
    )


def test_each_addon_is_a_line_in_the_stack_files_spelling(asked):
    found = lines(versions.check(asked()))[1:]
    assert [it[1] for it in found] == [
        f"cluster.addons.{key}"
        for key in ("vpcCni", "kubeProxy", "podIdentityAgent", "coredns", "metricsServer", "mountpointS3")
    ]
    assert {it[2] for it in found} == {"default: today v1.9.9-eksbuild.1, the newest is v1.10.2-eksbuild.3"}


@pytest.mark.parametrize(
    ("pin", "finding"),
    [
        ("v1.9.9-eksbuild.1", ("ok", "v1.9.9-eksbuild.1 is there, the newest is v1.10.2-eksbuild.3", "")),
        (
            "v1.2.3-eksbuild.4",
            (
                "fail",
                "v1.2.3-eksbuild.4 is not there for Kubernetes 1.36",
                "v1.10.2-eksbuild.3, or default; all of them: --pins",
            ),
        ),
    ],
    ids=["there", "not there"],
)
def test_a_pinned_addon_must_be_there_for_the_minor(asked, pin, finding):
    verdict, found, fix = finding
    stack = asked(lambda settings: settings["cluster"]["addons"].update(vpcCni=pin))
    assert lines(versions.check(stack))[1] == (verdict, "cluster.addons.vpcCni", found, fix)


def test_an_addon_that_eks_does_not_have_fails(asked, cloud):
    cloud.on("DescribeAddonVersions", {"addons": []})
    assert lines(versions.check(asked()))[1] == (
        "fail",
        "cluster.addons.vpcCni",
        "EKS has no vpc-cni for Kubernetes 1.36",
        "another cluster.version",
    )


@pytest.mark.parametrize(
    ("refusal", "fix"),
    [(DENIED, "allow eks:{}, then run again"), (THROTTLED, "run again later")],
    ids=["denied", "throttled"],
)
@pytest.mark.parametrize(
    ("operation", "subject"),
    [("DescribeClusterVersions", "Kubernetes 1.36"), ("DescribeAddonVersions", "cluster.addons.vpcCni")],
)
def test_what_nobody_tells_is_unknown(asked, cloud, operation, subject, refusal, fix):
    cloud.on(operation, refusal)
    why = f"eks:{operation}: AWS answers {refusal.code}: {refusal.message}"
    assert ("unknown", subject, why, fix.format(operation)) in lines(versions.check(asked()))


def one(name, **more):
    return {
        "addons": [{"addonName": name, "addonVersions": [{"addonVersion": it} for it in more.pop("versions")]}],
        **more,
    }


def test_the_newest_addon_is_so_by_number_over_all_pages(asked, cloud):
    cloud.on(
        "DescribeAddonVersions",
        lambda params: one(params["addonName"], versions=["v1.10.0-eksbuild.1", "v1.9.0-eksbuild.12"]),
    )
    assert {*pins.newest(asked()).values()} == {"v1.10.0-eksbuild.1"}
    cloud.on(
        "DescribeAddonVersions",
        lambda params: one(params["addonName"], versions=["v1.9.0-eksbuild.9"], nextToken="2"),
        lambda params: one(params["addonName"], versions=["v1.9.0-eksbuild.10", "latest"]),
    )
    stack = asked()
    assert addons.newest(addons.versions(stack.aws.client("eks"), "vpc-cni", "1.36")) == "v1.9.0-eksbuild.10"


def test_pins_without_an_answer_are_3_and_without_a_version_1(asked, cloud):
    cloud.on("DescribeAddonVersions", DENIED)
    with pytest.raises(UnclearError) as unclear:
        pins.newest(asked())
    assert str(unclear.value) == (
        "eks:DescribeAddonVersions: AWS answers AccessDeniedException: not authorized; allow"
        " eks:DescribeAddonVersions, then run again"
    )
    cloud.on("DescribeAddonVersions", {"addons": []})
    with pytest.raises(RefusedError) as refused:
        pins.newest(asked())
    assert str(refused.value) == f"cluster.version: EKS has no {', '.join(AWS_NAMES.values())} for Kubernetes 1.36"
