"""ECR's rules lead where the program thinks, and the secrets behind them can be read."""

import pytest

from ops.preflight.content import registry
from tests.ops.preflight.cloud import DENIED, THROTTLED, Refusal

SECRET = "ecr-pullthroughcache/inference-dev/docker-hub"  # noqa: S105 - its name
ARN = f"arn:aws:secretsmanager:us-west-2:000000000000:secret:{SECRET}-abc"
HUB = "inference-dev/docker-hub"


def hub(settings):
    settings["imageCache"]["upstreams"] = ["docker-hub"]


def rule(prefix, url, arn=None):
    return {"ecrRepositoryPrefix": prefix, "upstreamRegistryUrl": url, **({"credentialArn": arn} if arn else {})}


def rules(*made):
    return {"pullThroughCacheRules": list(made)}


def lines(findings):
    return [(it.verdict, it.subject, it.found, it.fix) for it in findings]


def test_rules_that_are_not_there_are_made(asked):
    made = "no rule yet; `pulumi up` makes it"
    assert lines(registry.check(asked())) == [
        ("ok", f"inference-dev/{name}", made, "") for name in ("ecr-public", "quay", "k8s")
    ]


def test_rules_that_are_there_lead_to_their_upstream_and_all_pages_are_read(asked, cloud):
    cloud.on(
        "DescribePullThroughCacheRules",
        {**rules(rule("inference-dev/ecr-public", "public.ecr.aws")), "nextToken": "2"},
        rules(rule("inference-dev/quay", "quay.io"), rule("inference-dev/k8s", "registry.k8s.io")),
    )
    assert lines(registry.check(asked())) == [
        ("ok", "inference-dev/ecr-public", "rule to public.ecr.aws", ""),
        ("ok", "inference-dev/quay", "rule to quay.io", ""),
        ("ok", "inference-dev/k8s", "rule to registry.k8s.io", ""),
    ]


def test_a_rule_of_that_prefix_to_elsewhere_fails(asked, cloud):
    cloud.on("DescribePullThroughCacheRules", rules(rule("inference-dev/quay", "ghcr.io")))
    assert lines(registry.check(asked()))[1] == (
        "fail",
        "inference-dev/quay",
        "a rule to ghcr.io has this prefix; expected quay.io",
        "another imageCache.prefix (the rule is another stack's), or delete the rule: aws ecr"
        " delete-pull-through-cache-rule --ecr-repository-prefix inference-dev/quay",
    )


def test_no_upstreams_ask_nothing(asked, cloud):
    stack = asked(lambda settings: settings["imageCache"].update(upstreams=[]))
    assert lines(registry.check(stack)) == [
        ("ok", "-", "imageCache.upstreams is empty: nodes pull from the registries themselves", "")
    ]
    assert cloud.asked == []


@pytest.mark.parametrize(
    ("there", "secret", "finding"),
    [
        (
            False,
            Refusal("ResourceNotFoundException"),
            ("ok", "not there yet; `pulumi up` makes it of the configuration key dockerHubCredentials", ""),
        ),
        (
            True,
            Refusal("ResourceNotFoundException"),
            ("fail", "no secret, and the rule needs it: ECR cannot log in", "pulumi refresh, then pulumi up"),
        ),
        (True, {"ARN": ARN}, ("ok", "there", "")),
        (False, {"ARN": ARN}, ("ok", "there, and no rule uses it yet", "")),
        (
            True,
            {"ARN": ARN, "KmsKeyId": "arn:aws:kms:us-west-2:000000000000:alias/aws/secretsmanager"},
            ("ok", "there", ""),
        ),
        (
            True,
            {"ARN": ARN, "KmsKeyId": "alias/ours"},
            (
                "fail",
                "encrypted with alias/ours: ECR reads secrets with aws/secretsmanager alone",
                f"aws secretsmanager update-secret --secret-id {SECRET} --kms-key-id alias/aws/secretsmanager",
            ),
        ),
        (
            True,
            {"ARN": f"{ARN}-another"},
            ("warn", f"the rule logs in with {ARN}", "pulumi refresh, then pulumi up"),
        ),
        (
            False,
            DENIED,
            (
                "unknown",
                "secretsmanager:DescribeSecret: AWS answers AccessDeniedException: not authorized",
                "allow secretsmanager:DescribeSecret, then run again",
            ),
        ),
        (
            True,
            THROTTLED,
            (
                "unknown",
                "secretsmanager:DescribeSecret: AWS answers ThrottlingException: Rate exceeded",
                "run again later",
            ),
        ),
    ],
    ids=["to be made", "lost", "there", "early", "AWS's key", "another key", "another secret", "denied", "throttled"],
)
def test_the_secret_of_an_upstream_with_a_login(asked, cloud, there, secret, finding):
    made = [rule(HUB, "registry-1.docker.io", ARN)] if there else []
    cloud.on("DescribePullThroughCacheRules", rules(*made))
    cloud.on("DescribeSecret", secret)
    verdict, found, fix = finding
    assert lines(registry.check(asked(hub)))[1] == (verdict, SECRET, found, fix)


def test_a_deleted_secret_keeps_its_name_against_moto(real, aws):
    """Secrets Manager keeps it for days, and `up` cannot make another of that name."""
    secrets = aws("secretsmanager")
    made = secrets.create_secret(Name=SECRET, SecretString="{}")["ARN"]
    client = real().aws.client("secretsmanager")
    assert registry.described(client, SECRET) == registry.Secret(arn=made, key="", deleted=False)
    secrets.delete_secret(SecretId=SECRET)
    deleted = registry.described(client, SECRET)
    assert registry.secret_finding(SECRET, "dockerHubCredentials", None, deleted).found == (
        "deleted, and its name is kept: ECR cannot read it, and `pulumi up` cannot make it"
    )


@pytest.mark.parametrize(
    ("refusal", "fix"),
    [(DENIED, "allow ecr:DescribePullThroughCacheRules, then run again"), (THROTTLED, "run again later")],
    ids=["denied", "throttled"],
)
def test_rules_that_nobody_tells_are_unknown(asked, cloud, refusal, fix):
    cloud.on("DescribePullThroughCacheRules", refusal)
    why = f"ecr:DescribePullThroughCacheRules: AWS answers {refusal.code}: {refusal.message}"
    assert lines(registry.check(asked())) == [("unknown", "inference-dev", why, fix)]
