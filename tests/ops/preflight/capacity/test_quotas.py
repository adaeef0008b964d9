"""Quotas: what is needed, in use and had, apart by family and market; and never ok when nobody could tell."""

import pytest

from ops.preflight.capacity import quotas
from tests.ops.preflight.cloud import DENIED, DENIED_EC2, THROTTLED, Refusal
from tests.ops.preflight.conftest import instance

ABSENT = Refusal("NoSuchResourceException", "The specified quota does not exist")
G_SPOT, G, P_SPOT, P, STANDARD = "L-3819A6DF", "L-DB2E81BA", "L-C4BD4855", "L-417A185B", "L-1216C47A"
NAMES = {
    G_SPOT: "All G and VT Spot Instance Requests",
    G: "Running On-Demand G and VT instances",
    P_SPOT: "All P5 Spot Instance Requests",
    P: "Running On-Demand P instances",
    STANDARD: "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
}


def tol_01(settings):
    """3 x g6e.12xlarge (48 vCPUs each) on Spot with on-demand behind it, 1 x p5.48xlarge (192)."""
    pool = settings["gpuPools"]["rtx-pro-6000"]
    pool |= {"updateWindow": "never", "capacity": "spot-first", "techniques": []}
    g = {**pool, "product": "l40s", "instanceTypes": ["g6e.12xlarge"], "maxGpus": 12}
    p = {**pool, "product": "h100", "instanceTypes": ["p5.48xlarge"], "maxGpus": 8}
    settings["gpuPools"] = {"g": g, "p": p}
    settings["servers"] = {}


def values(**by_code):
    """What GetServiceQuota answers for each code."""
    known = {code.replace("_", "-"): it for code, it in by_code.items()}

    def say(params):
        it = known.get(params["QuotaCode"], 1000)
        return it if isinstance(it, Refusal) else {"Quota": {"Value": float(it)}}

    return say


def request(code, vcpus):
    return (
        f"ask for {vcpus} vCPUs: aws service-quotas request-service-quota-increase --region us-west-2"
        f" --service-code ec2 --quota-code {code} --desired-value {vcpus}"
    )


def by_code(findings):
    found = {it.subject.split()[0]: it for it in findings}
    assert {code: it.subject for code, it in found.items()} == {code: f"{code} {NAMES[code]}" for code in found}
    return found


def lines(findings):
    return {code: (it.verdict, it.found, it.fix) for code, it in by_code(findings).items()}


def test_TOL_01_vcpus_of_each_market_and_family_with_what_is_in_use_and_never_ok_unread(asked, cloud):
    """Handed case TOL-01: people compare instances with vCPUs, one market, and read "not listed" as fine."""
    cloud.on("GetServiceQuota", values(L_3819A6DF=128, L_DB2E81BA=0, L_C4BD4855=ABSENT, L_417A185B=192))
    cloud.on("GetAWSDefaultServiceQuota", ABSENT)
    # 64 vCPUs of G Spot in use, on two pages
    page = [instance("g6e.8xlarge", lifecycle="spot")]
    cloud.on("DescribeInstances", {"Reservations": page, "NextToken": "2"}, {"Reservations": page})
    found = lines(quotas.check(asked(tol_01)))
    assert len(cloud.times("DescribeInstances")) == 2
    assert found[G_SPOT] == (
        "fail",
        "need 144 vCPUs (g 3 x g6e.12xlarge x 48) + 64 in use = 208 > 128",
        request(G_SPOT, 208),
    )
    assert found[G] == (
        "warn",
        "need 144 vCPUs (g 3 x g6e.12xlarge x 48 when Spot has none) + 0 in use = 144 > 0",
        request(G, 144),
    )
    assert found[P_SPOT] == (
        "unknown",
        "need 192 vCPUs (p 1 x p5.48xlarge x 192); the account has no value for it, nor do AWS's defaults",
        "look it up in Service Quotas",
    )
    assert found[P][:2] == (
        "ok",
        "need 192 vCPUs (p 1 x p5.48xlarge x 192 when Spot has none) + 0 in use = 192 <= 192",
    )
    assert found[STANDARD][0] == "ok"
    assert {*found} == {G_SPOT, G, P_SPOT, P, STANDARD}


def test_a_quota_that_the_account_has_no_value_of_has_awss_default(asked, cloud):
    cloud.on("GetServiceQuota", values(L_C4BD4855=ABSENT))
    cloud.on("GetAWSDefaultServiceQuota", {"Quota": {"Value": 0.0}})
    verdict, found, fix = lines(quotas.check(asked(tol_01)))[P_SPOT]
    assert (verdict, found) == ("fail", "need 192 vCPUs (p 1 x p5.48xlarge x 192) + 0 in use = 192 > 0")
    assert fix == request(P_SPOT, 192)
    assert cloud.times("GetAWSDefaultServiceQuota") == [{"ServiceCode": "ec2", "QuotaCode": P_SPOT}]


@pytest.mark.parametrize(
    ("refusal", "fix"),
    [
        (DENIED, "allow servicequotas:GetServiceQuota, then run again"),
        (THROTTLED, "run again later"),
        (Refusal("TooManyRequestsException"), "run again later"),
    ],
    ids=["denied", "throttled", "too many"],
)
def test_a_quota_that_nobody_tells_is_unknown(asked, cloud, refusal, fix):
    """IAM calls the service `servicequotas`, whatever the client is called."""
    cloud.on("GetServiceQuota", values(L_3819A6DF=refusal))
    found = lines(quotas.check(asked(tol_01)))
    assert found[G_SPOT] == (
        "unknown",
        "need 144 vCPUs (g 3 x g6e.12xlarge x 48); servicequotas:GetServiceQuota: AWS answers"
        f" {refusal.code}: {refusal.message}",
        fix,
    )
    assert {it[0] for code, it in found.items() if code != G_SPOT} == {"ok"}


def test_a_default_that_nobody_tells_is_unknown(asked, cloud):
    cloud.on("GetServiceQuota", values(L_3819A6DF=ABSENT))
    cloud.on("GetAWSDefaultServiceQuota", DENIED)
    verdict, found, fix = lines(quotas.check(asked(tol_01)))[G_SPOT]
    assert verdict == "unknown"
    assert found.endswith("servicequotas:GetAWSDefaultServiceQuota: AWS answers AccessDeniedException: not authorized")
    assert fix == "allow servicequotas:GetAWSDefaultServiceQuota, then run again"


def test_a_quota_without_a_value_is_unknown(asked, cloud):
    error = {"ErrorCode": "DEPENDENCY_SERVICE_ERROR", "ErrorMessage": "x"}
    cloud.on("GetServiceQuota", {"Quota": {"ErrorReason": error}})
    cloud.on("GetAWSDefaultServiceQuota", {"Quota": {}})
    assert {it[0] for it in lines(quotas.check(asked(tol_01))).values()} == {"unknown"}


@pytest.mark.parametrize("operation", ["DescribeInstances", "DescribeCapacityReservations"])
def test_without_usage_only_what_fits_in_no_case_is_told(asked, cloud, operation):
    cloud.on(operation, DENIED_EC2)
    cloud.on("GetServiceQuota", values(L_3819A6DF=128, L_DB2E81BA=1000))
    found = lines(quotas.check(asked(tol_01)))
    assert found[G_SPOT] == (
        "fail",
        "need 144 vCPUs (g 3 x g6e.12xlarge x 48) > 128, without what is in use",
        request(G_SPOT, 144),
    )
    why = f"ec2:{operation}: AWS answers UnauthorizedOperation: You are not authorized"
    assert found[G] == (
        "unknown",
        f"need 144 vCPUs (g 3 x g6e.12xlarge x 48 when Spot has none), have 1000; in use: {why}",
        f"allow ec2:{operation}, then run again",
    )


def test_a_fall_back_beside_a_pool_that_must_have_on_demand_warns_with_both(asked, cloud):
    def both(settings):
        tol_01(settings)
        settings["gpuPools"]["od"] = {**settings["gpuPools"]["g"], "capacity": "on-demand", "maxGpus": 4}

    stack = asked(both)
    cloud.on("GetServiceQuota", values(L_DB2E81BA=100))
    assert lines(quotas.check(stack))[G] == (
        "warn",
        "need 192 vCPUs (od 1 x g6e.12xlarge x 48 + g 3 x g6e.12xlarge x 48 when Spot has none) + 0 in use = 192 > 100",
        request(G, 192),
    )
    cloud.on("GetServiceQuota", values(L_DB2E81BA=47))
    assert lines(quotas.check(stack))[G][:2] == (
        "fail",
        "need 48 vCPUs (od 1 x g6e.12xlarge x 48) + 0 in use = 48 > 47",
    )


def test_a_replaced_node_without_room_is_a_warning_and_asked_for_at_once(asked, cloud):
    cloud.on("GetServiceQuota", values(L_3819A6DF=32))
    assert lines(quotas.check(asked()))[G_SPOT] == (
        "warn",
        "need 48 vCPUs (rtx-pro-6000 2 x g7e.4xlarge x 16 + rtx-pro-6000 1 x g7e.4xlarge x 16 while nodes are replaced)"
        " + 0 in use = 48 > 32",
        request(G_SPOT, 48),
    )
    cloud.on("GetServiceQuota", values(L_3819A6DF=31))
    assert lines(quotas.check(asked()))[G_SPOT][1:] == (
        "need 32 vCPUs (rtx-pro-6000 2 x g7e.4xlarge x 16) + 0 in use = 32 > 31",
        request(G_SPOT, 48),
    )


def test_system_nodes_need_the_standard_quota(asked, cloud):
    """5 is what new accounts have."""
    cloud.on("GetServiceQuota", values(L_1216C47A=5))
    assert lines(quotas.check(asked()))[STANDARD] == (
        "warn",
        "need 12 vCPUs (system 2 x m7i.large x 2 + system 4 x m7i.large x 2 while nodes are replaced)"
        " + 0 in use = 12 > 5",
        request(STANDARD, 12),
    )


@pytest.mark.parametrize(
    ("answers", "found", "fix"),
    [
        (
            DENIED_EC2,
            "ec2:DescribeInstanceTypes: AWS answers UnauthorizedOperation: You are not authorized",
            "allow ec2:DescribeInstanceTypes, then run again",
        ),
        ({"InstanceTypes": []}, "EC2 knows no type m7i.large here", "correct cluster.systemNodes"),
    ],
    ids=["denied", "empty"],
)
def test_system_nodes_of_a_size_that_nobody_tells_are_unknown(asked, cloud, answers, found, fix):
    cloud.on("DescribeInstanceTypes", answers)
    told = {it.subject: it for it in quotas.check(asked())}
    assert (told["system nodes"].verdict, told["system nodes"].found, told["system nodes"].fix) == (
        "unknown",
        found,
        fix,
    )
    assert f"{STANDARD} {NAMES[STANDARD]}" not in told


def test_a_family_without_a_known_quota_is_unknown(asked, cloud):
    def odd(settings):
        settings["cluster"]["systemNodes"]["instanceTypes"] = ["x2idn.16xlarge"]

    cloud.on(
        "DescribeInstanceTypes",
        {"InstanceTypes": [{"InstanceType": "x2idn.16xlarge", "VCpuInfo": {"DefaultVCpus": 64}}]},
    )
    (need, beside) = [it for it in quotas.check(asked(odd)) if it.subject.startswith("system")]
    assert (need.verdict, need.subject, need.found) == (
        "unknown",
        "system 2 x x2idn.16xlarge x 64",
        "128 vCPUs, and no quota is known for the type",
    )
    assert beside.verdict == "unknown"
